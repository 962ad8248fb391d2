/* Choosing a test's kernel by the type it reads, the kernels for every way of reaching a value, and a run's memory. */
#include <stdlib.h>
#include <string.h>

#include "fastfilter/target.h"

static bool never(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    (void)test, (void)view, (void)index, (void)run;
    return false;
}

static bool always(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    (void)test, (void)view, (void)index, (void)run;
    return true;
}

static void dense_always(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                         const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    (void)test, (void)view, (void)first, (void)run;
    memmove(destination, candidates, 8 * (size_t)ff_num_words(num_rows));
}

static void dense_never(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                        const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    (void)test, (void)view, (void)first, (void)candidates, (void)run;
    memset(destination, 0, 8 * (size_t)ff_num_words(num_rows));
}

/* The answer on the value of an encoded array at an index. */
static bool decide(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_decode(&view, &index, &run->fault) == FF_AT_VALUE ? test->matches(test, view, index, run) : test->on_null;
}

static void kernel_never(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                         const uint64_t *source, uint64_t *destination, ff_run *run) {
    (void)test, (void)batch, (void)first_row, (void)source, (void)run;
    memset(destination, 0, 8 * (size_t)ff_num_words(num_rows));
}

/* Follows the steps row by row: maps, and encoded structs. */
static void kernel_located(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                           const uint64_t *source, uint64_t *destination, ff_run *run) {
    const ff_view *column = batch->columns[test->source->column];
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t found = 0;
        for (uint64_t left = source[word]; left != 0; left &= left - 1) {
            int bit = ff_first_bit(left);
            const ff_view *view;
            int64_t index;
            ff_presence presence =
                ff_locate(test->source, column, first_row + 64 * word + bit, &view, &index, &run->fault);
            bool answer = presence == FF_AT_VALUE  ? test->matches(test, view, index, run)
                          : presence == FF_AT_NULL ? test->on_null
                                                   : false;
            found |= (uint64_t)answer << bit;
        }
        destination[word] = found;
    }
}

/* The source rows whose value is there; those where it is null are in run->nulls if the test passes them. */
static const uint64_t *split_nulls(const ff_test *test, const ff_place *place, int64_t first_row, int64_t num_rows,
                                   const uint64_t *source, ff_run *run) {
    if (place->num_validities == 0 && !place->all_null && !test->on_null) {
        return source;
    }
    int64_t num_words = ff_num_words(num_rows);
    uint64_t *valid = run->candidates;
    if (place->all_null) {
        memset(valid, 0, 8 * (size_t)num_words);
    } else {
        memcpy(valid, source, 8 * (size_t)num_words);
        for (int32_t at = 0; at < place->num_validities; at++) {
            const ff_validity *validity = &place->validities[at];
            ff_keep_bits(valid, validity->bits, validity->offset + first_row, num_rows, true);
        }
    }
    for (int64_t word = 0; test->on_null && word < num_words; word++) {
        run->nulls[word] = source[word] & ~valid[word];
    }
    return run->candidates;
}

static void add_nulls(const ff_test *test, int64_t num_rows, uint64_t *destination, const ff_run *run) {
    for (int64_t word = 0; test->on_null && word < ff_num_words(num_rows); word++) {
        destination[word] |= run->nulls[word];
    }
}

/* A plain array: presence by words, then values. */
static void kernel_direct(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                          const uint64_t *source, uint64_t *destination, ff_run *run) {
    const ff_place *place = &batch->places[test->source_number];
    const uint64_t *candidates = split_nulls(test, place, first_row, num_rows, source, run);
    int64_t first = place->base + first_row;
    if (test->dense != NULL) {
        test->dense(test, place->view, first, num_rows, candidates, destination, run);
    } else {
        for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
            uint64_t found = 0;
            for (uint64_t left = candidates[word]; left != 0; left &= left - 1) {
                int bit = ff_first_bit(left);
                found |= (uint64_t)test->matches(test, place->view, first + 64 * word + bit, run) << bit;
            }
            destination[word] = found;
        }
    }
    add_nulls(test, num_rows, destination, run);
}

/* Bytes of an integer. */
static int64_t width_of(ff_type_id id) {
    switch (id) {
    case FF_TYPE_INT8:
    case FF_TYPE_UINT8: return 1;
    case FF_TYPE_INT16:
    case FF_TYPE_UINT16: return 2;
    case FF_TYPE_INT32:
    case FF_TYPE_UINT32: return 4;
    default: return 8;
    }
}

/* Decides on the 64 entries, or fewer, from `first` on: a bit for each that passes. */
static uint64_t decide_entries(const ff_test *test, const ff_view *dictionary, int64_t first, int64_t num_entries,
                               ff_run *run) {
    ff_type_id id = dictionary->type->id;
    uint64_t passing = 0;
    if (test->dense != NULL && id != FF_TYPE_DICTIONARY && id != FF_TYPE_RUN_END_ENCODED && id != FF_TYPE_NULL) {
        uint64_t all = ~UINT64_C(0) >> (64 - num_entries);
        uint64_t present = dictionary->validity == NULL
                               ? all
                               : ff_load_bits(dictionary->validity, dictionary->offset + first, num_entries);
        test->dense(test, dictionary, first, num_entries, &present, &passing, run);
        return test->on_null ? passing | (all & ~present) : passing;
    }
    for (int64_t entry = 0; entry < num_entries; entry++) {
        passing |= (uint64_t)decide(test, dictionary, first + entry, run) << entry;
    }
    return passing;
}

/* Notes a run of entries that pass; the one before ends earlier. */
static void add_run(ff_verdicts *verdicts, int64_t lower, int64_t upper) {
    bool goes_on = verdicts->num_runs > 0 && verdicts->runs[verdicts->num_runs - 1].upper == lower - 1;
    if (goes_on) {
        verdicts->runs[verdicts->num_runs - 1].upper = upper;
    } else if (verdicts->num_runs >= 0 && verdicts->num_runs < FF_MOST_RUNS) {
        verdicts->runs[verdicts->num_runs++] = (ff_int64_interval){lower, upper};
    } else {
        verdicts->num_runs = -1;
    }
}

/* The verdicts on all of a dictionary's entries, decided when the run first asks; NULL if it has more entries than the
 * run has rows (or there is no memory), so that those that occur are to be decided one by one. */
static const ff_verdicts *verdicts_of(const ff_test *test, const ff_view *dictionary, ff_run *run) {
    ff_verdicts *verdicts = &run->verdicts[test->number];
    if (verdicts->flags != NULL || dictionary->length > run->num_rows) {
        return verdicts->flags == NULL ? NULL : verdicts;
    }
    verdicts->flags = calloc((size_t)dictionary->length + 1, 1);
    for (int64_t first = 0; verdicts->flags != NULL && first < dictionary->length; first += 64) {
        int64_t num_entries = dictionary->length - first < 64 ? dictionary->length - first : 64;
        uint64_t passing = decide_entries(test, dictionary, first, num_entries, run);
        for (uint64_t left = passing; left != 0; left &= left - 1) {
            int64_t entry = first + ff_first_bit(left);
            verdicts->flags[entry] = 1;
            add_run(verdicts, entry, entry);
        }
    }
    return verdicts->flags == NULL ? NULL : verdicts;
}

/* Whether the answer depends on nothing but whether a value is null. */
static bool asks_presence(const ff_test *test) {
    return test->opcode == FF_OP_EXISTS || test->opcode == FF_OP_IS_NULL;
}

static bool has_no_nulls(const ff_view *view) {
    ff_type_id id = view->type->id;
    return view->validity == NULL && id != FF_TYPE_DICTIONARY && id != FF_TYPE_RUN_END_ENCODED && id != FF_TYPE_NULL;
}

/* A dictionary: each entry is decided once. */
static void kernel_dictionary(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                              const uint64_t *source, uint64_t *destination, ff_run *run) {
    const ff_place *place = &batch->places[test->source_number];
    const ff_view *dictionary = ff_child(place->view, 0);
    const uint64_t *candidates = split_nulls(test, place, first_row, num_rows, source, run);
    int64_t first = place->base + first_row;
    const ff_verdicts *verdicts;
    if (asks_presence(test) && has_no_nulls(dictionary)) { /* whatever the entry is */
        test->dense(test, dictionary, 0, num_rows, candidates, destination, run);
    } else if ((verdicts = verdicts_of(test, dictionary, run)) != NULL) {
        ff_type_id id = place->view->type->index_id;
        const uint8_t *entries = (const uint8_t *)place->view->values + (place->view->offset + first) * width_of(id);
        if (!ff_target_in_use->map_entries[id](entries, num_rows, dictionary->length, verdicts, candidates,
                                               destination)) {
            ff_fault_data(&run->fault, "a dictionary index is out of range");
            return;
        }
    } else {
        for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
            uint64_t found = 0;
            for (uint64_t left = candidates[word]; left != 0; left &= left - 1) {
                int bit = ff_first_bit(left);
                int64_t entry = ff_dictionary_entry(place->view, first + 64 * word + bit, &run->fault);
                if (entry < 0) {
                    return;
                }
                found |= (uint64_t)decide(test, dictionary, entry, run) << bit;
            }
            destination[word] = found;
        }
    }
    add_nulls(test, num_rows, destination, run);
}

/* Runs: each is decided when its first row is asked for. */
static void kernel_runs(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                        const uint64_t *source, uint64_t *destination, ff_run *run) {
    const ff_place *place = &batch->places[test->source_number];
    const uint64_t *candidates = split_nulls(test, place, first_row, num_rows, source, run);
    int64_t first = place->base + first_row, start = 0, stop = 0, number;
    bool answer = false;
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t found = 0;
        for (uint64_t left = candidates[word]; left != 0; left &= left - 1) {
            int bit = ff_first_bit(left);
            int64_t index = first + 64 * word + bit;
            if (index < start || index >= stop) {
                if (!ff_find_run(place->view, index, &number, &start, &stop, &run->fault)) {
                    return;
                }
                answer = decide(test, ff_child(place->view, 1), number, run);
            }
            found |= (uint64_t)answer << bit;
        }
        destination[word] = found;
    }
    add_nulls(test, num_rows, destination, run);
}

void ff_place_find(ff_place *place, const ff_source *source, const ff_view *column, ff_validity *validities) {
    *place = (ff_place){.view = column, .validities = validities};
    for (int32_t step = 0;; step++) {
        if (place->view->validity != NULL) {
            validities[place->num_validities].bits = place->view->validity;
            validities[place->num_validities++].offset = place->view->offset + place->base;
        }
        if (step == source->num_steps) {
            break;
        }
        place->base += place->view->offset;
        place->view = ff_child(place->view, source->steps[step].child);
    }
    place->all_null = place->view->type->id == FF_TYPE_NULL;
}

static bool is_number(ff_type_id id) {
    return id >= FF_TYPE_INT8 && id <= FF_TYPE_DECIMAL256;
}

static bool is_instant(ff_type_id id) {
    return id >= FF_TYPE_TIMESTAMP && id <= FF_TYPE_DATE64;
}

/* Equality of a value, not its elements, with a scalar of the constant. */
static ff_matches *equals(const ff_type *type) {
    if (type->id == FF_TYPE_BOOL) {
        return ff_equals_bool;
    }
    if (is_number(type->id) || is_instant(type->id)) {
        return ff_number_matches(type->id);
    }
    return ff_type_is_string(type) ? ff_equals_string : never;
}

static ff_dense *dense_equals(const ff_test *test, ff_type_id id) {
    const ff_constant *constant = &test->constant;
    if (id != FF_TYPE_STRING && id != FF_TYPE_LARGE_STRING && id != FF_TYPE_STRING_VIEW) {
        return ff_target_in_use->numbers[id];
    }
    if (constant->num_instants > 0 || constant->num_strings == 0 ||
        (constant->num_strings > 1 && constant->set.places == NULL)) {
        return NULL;
    }
    return id == FF_TYPE_STRING         ? ff_target_in_use->string_equals
           : id == FF_TYPE_LARGE_STRING ? ff_target_in_use->large_string_equals
                                        : ff_target_in_use->string_view_equals;
}

/* Lists whose elements are plain and lie in the order of the lists. */
static ff_dense *dense_any(const ff_type *list) {
    ff_type_id element = list->children[0]->id;
    bool plain = element != FF_TYPE_DICTIONARY && element != FF_TYPE_RUN_END_ENCODED && element != FF_TYPE_NULL;
    return plain && (list->id == FF_TYPE_LIST || list->id == FF_TYPE_LARGE_LIST) ? ff_any_element_dense : NULL;
}

static ff_dense *dense_find(const ff_test *test, ff_type_id id) {
    if (test->constant.text.length == 0) { /* in every string */
        return dense_always;
    }
    return id == FF_TYPE_STRING         ? ff_target_in_use->string_find
           : id == FF_TYPE_LARGE_STRING ? ff_target_in_use->large_string_find
           : id == FF_TYPE_STRING_VIEW  ? ff_target_in_use->string_view_find
                                        : NULL;
}

static ff_dense *dense_bound(ff_type_id id) {
    return id == FF_TYPE_STRING         ? ff_target_in_use->string_bound
           : id == FF_TYPE_LARGE_STRING ? ff_target_in_use->large_string_bound
           : id == FF_TYPE_STRING_VIEW  ? ff_target_in_use->string_view_bound
                                        : NULL;
}

/* Chooses `matches`, `element` and `dense` for a plain type. */
static void choose(ff_test *test, ff_type *type) {
    bool string = ff_type_is_string(type);
    bool list = ff_type_is_list(type);
    const ff_type *element = list ? ff_type_decoded(type->children[0]) : NULL;
    test->matches = never;
    switch (test->opcode) {
    case FF_OP_EXISTS:
        test->matches = always;
        test->dense = dense_always;
        break;
    case FF_OP_EQUALS_ANY:
        if (list && test->elements != FF_ELEMENTS_NEVER) {
            test->matches = ff_any_element;
            test->element = equals(element);
            test->element_dense = dense_equals(test, element->id);
            test->dense = dense_any(type);
        } else if (!list && test->elements != FF_ELEMENTS_ONLY) {
            test->matches = equals(type);
            test->dense = type->id == FF_TYPE_BOOL ? ff_equals_bool_dense : dense_equals(test, type->id);
        }
        break;
    case FF_OP_NUMBER_RANGE:
        if (is_number(type->id)) {
            test->matches = ff_number_matches(type->id);
            test->dense = ff_target_in_use->numbers[type->id];
        }
        break;
    case FF_OP_TIMESTAMP_RANGE:
        if (is_instant(type->id)) {
            test->matches = ff_number_matches(type->id);
            test->dense = ff_target_in_use->numbers[type->id];
        } else if (string) {
            test->matches = ff_string_instant;
        }
        break;
    case FF_OP_STRING_RANGE:
        test->matches = string ? ff_string_bound : never;
        test->dense = dense_bound(type->id);
        break;
    case FF_OP_CONTAINS:
        if (list && ff_type_is_string(element)) {
            test->matches = ff_any_element;
            test->element = ff_equals_string;
            test->element_dense = dense_equals(test, element->id);
            test->dense = dense_any(type);
        } else if (string) {
            test->matches = ff_string_contains;
            test->dense = dense_find(test, type->id);
        }
        break;
    case FF_OP_CONTAINS_IGNORE_CASE:
        if (list && ff_type_is_string(element)) {
            test->matches = ff_any_element;
            test->element = ff_string_equals_ignore_case;
        } else if (string) {
            test->matches = ff_string_contains_ignore_case;
            test->dense = dense_find(test, type->id);
        }
        break;
    case FF_OP_TEXT_EQUALS_ANY:
        if (!list && type->id != FF_TYPE_STRUCT && type->id != FF_TYPE_MAP) {
            test->matches = ff_text_equals;
            test->dense = string ? dense_equals(test, type->id) : NULL;
        } else if (test->constant.has_container) {
            test->matches = ff_json_text_equals;
        }
        break;
    case FF_OP_TEXT_NUMBER_RANGE:
        test->matches = ff_text_number_matches(type->id);
        if (test->matches == NULL) {
            test->matches = never;
        } else if (type->id == FF_TYPE_FLOAT64) {
            test->dense = ff_target_in_use->numbers[type->id];
        }
        break;
    case FF_OP_JSON_CONTAINS: test->matches = ff_json_contains_typed; break;
    case FF_OP_IS_NULL: test->dense = dense_never; break;
    default: break;
    }
}

/* Whether NULL passes: only IS_NULL asks for it, and containment of null in null. */
static bool passes_null(const ff_test *test) {
    if (test->opcode != FF_OP_JSON_CONTAINS) {
        return test->opcode == FF_OP_IS_NULL;
    }
    static const ff_json_value null = {.kind = FF_NULL, .text = {(const uint8_t *)"null", 4}};
    ff_buffer scratch = {0};
    bool passes = ff_json_contains(test->constant.pattern, &null, &scratch) == 1;
    ff_buffer_free(&scratch);
    return passes;
}

bool ff_test_reads_whole(const ff_test *test, const ff_type *type) {
    bool renders = test->opcode == FF_OP_TEXT_EQUALS_ANY || test->opcode == FF_OP_JSON_CONTAINS;
    bool asks_elements = (test->opcode == FF_OP_EQUALS_ANY && test->elements != FF_ELEMENTS_NEVER) ||
                         test->opcode == FF_OP_CONTAINS || test->opcode == FF_OP_CONTAINS_IGNORE_CASE;
    return renders || (asks_elements && ff_type_is_list(type));
}

bool ff_test_prepare(ff_test *test) {
    ff_constant *constant = &test->constant;
    if (test->opcode == FF_OP_CONTAINS || test->opcode == FF_OP_CONTAINS_IGNORE_CASE) {
        constant->anchors = ff_anchors_of(constant->text, test->opcode == FF_OP_CONTAINS_IGNORE_CASE);
    }
    if (constant->needle.length > 0) {
        test->needle = ff_json_needle_of(constant->needle);
    }
    if (test->group < 0 && !ff_interval_table_new(constant)) {
        return false;
    }
    return constant->num_strings <= 1 || ff_string_set_new(&constant->set, constant->strings, constant->num_strings);
}

void ff_test_free(ff_test *test) {
    ff_json_pattern_free(test->constant.pattern);
    ff_string_set_free(&test->constant.set);
    ff_interval_table_free(&test->constant.table);
}

bool ff_test_bind(ff_test *test) {
    test->on_null = passes_null(test);
    test->matches = never;
    if (test->group >= 0) {
        test->kernel = ff_kernel_json;
        test->holding = test->constant.needle.length > 0 ? ff_target_in_use->json_holding : NULL;
        test->member = ff_target_in_use->json_member;
        return true;
    }
    if (test->source->column < 0) {
        test->kernel = kernel_never;
        return true;
    }
    ff_type *type = ff_type_decoded(test->source->type);
    if (type->id == FF_TYPE_UNSUPPORTED) {
        return false;
    }
    choose(test, type);
    if (test->matches == never && !test->on_null) {
        test->kernel = kernel_never;
    } else if (!test->source->direct) {
        test->kernel = kernel_located;
    } else if (test->source->type->id == FF_TYPE_DICTIONARY) {
        test->kernel = kernel_dictionary;
    } else if (test->source->type->id == FF_TYPE_RUN_END_ENCODED) {
        test->kernel = kernel_runs;
    } else {
        test->kernel = kernel_direct;
    }
    return true;
}

bool ff_run_start(ff_run *run, const ff_group *groups, int32_t num_groups, int32_t num_tests, int64_t num_rows,
                  int64_t morsel_rows) {
    memset(run, 0, sizeof(*run));
    size_t num_words = (size_t)ff_num_words(morsel_rows);
    run->num_rows = num_rows;
    run->morsel_rows = morsel_rows;
    run->groups = groups;
    run->candidates = malloc(8 * num_words);
    run->nulls = malloc(8 * num_words);
    run->needles = calloc((size_t)num_tests + 1, sizeof(ff_needle_run));
    run->verdicts = calloc((size_t)num_tests + 1, sizeof(ff_verdicts));
    run->group_runs = calloc((size_t)num_groups + 1, sizeof(ff_group_run));
    bool good = run->candidates && run->nulls && run->needles && run->verdicts && run->group_runs;
    for (int32_t group = 0; group < num_groups && good; group++) {
        ff_group_run *own = &run->group_runs[group];
        own->extracted = calloc(3 * num_words, 8);
        good = own->extracted != NULL;
        if (good) {
            own->checked = own->extracted + num_words;
            own->malformed = own->checked + num_words;
        }
    }
    return good;
}

void ff_run_free(ff_run *run, int32_t num_groups, int32_t num_tests) {
    for (int32_t group = 0; run->group_runs != NULL && group < num_groups; group++) {
        free(run->group_runs[group].extracted);
        free(run->group_runs[group].values);
    }
    for (int32_t test = 0; run->verdicts != NULL && test < num_tests; test++) {
        free(run->verdicts[test].flags);
    }
    free(run->candidates);
    free(run->nulls);
    free(run->needles);
    free(run->verdicts);
    free(run->group_runs);
    ff_buffer_free(&run->text);
    ff_buffer_free(&run->other);
    ff_buffer_free(&run->keys);
}

void ff_run_next_morsel(ff_run *run, int32_t num_groups) {
    for (int32_t group = 0; group < num_groups; group++) {
        /* The other row sets are behind this one. */
        memset(run->group_runs[group].extracted, 0, 3 * 8 * (size_t)ff_num_words(run->morsel_rows));
    }
}
