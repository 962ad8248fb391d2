/* JSON values: extracting those of a column's rows together, and testing one. */
#include <stdlib.h>
#include <string.h>

#include "fastfilter/tests.h"
#include "fastfilter/text.h"
#include "json/scanner.h"

bool ff_group_bind(ff_group *group, ff_type *column, int32_t *num_slots) {
    return ff_source_bind(&group->source, column, num_slots) &&
           ff_type_is_string(ff_type_decoded(group->source.type));
}

/* Where a group's texts are: in a plain string array, or on a way to be gone for each row. */
typedef struct {
    ff_place place; /* direct: the array, and what may be null on the way to it */
    const uint8_t *readable; /* direct: the end of the array's bytes */
    bool direct;
    ff_validity validities[FF_TYPE_MAX_DEPTH + 1];
} text_place;

static void find_texts(const ff_group *group, const ff_batch *batch, text_place *texts) {
    ff_type_id id = group->source.type->id;
    texts->direct = group->source.direct && (id == FF_TYPE_STRING || id == FF_TYPE_LARGE_STRING) &&
                    group->source.num_steps <= FF_TYPE_MAX_DEPTH;
    if (texts->direct) {
        ff_place_find(&texts->place, &group->source, batch->columns[group->source.column], texts->validities);
        const ff_view *view = texts->place.view;
        int64_t at = view->offset + view->length;
        const int32_t *offsets = view->values;
        const int64_t *large_offsets = view->values;
        int64_t length = id == FF_TYPE_STRING ? offsets[at] : large_offsets[at];
        texts->readable = view->data == NULL ? NULL : (const uint8_t *)view->data + length;
    }
}

/* The text of a row, and up to where the bytes behind it may be read. */
static ff_presence find_text(const ff_group *group, const ff_batch *batch, const text_place *texts, int64_t row,
                             ff_bytes *text, const uint8_t **readable, ff_run *run) {
    const ff_view *view;
    int64_t index;
    if (texts->direct) {
        for (int32_t at = 0; at < texts->place.num_validities; at++) {
            const ff_validity *validity = &texts->place.validities[at];
            if (!ff_bit(validity->bits, validity->offset + row)) {
                return FF_AT_NULL;
            }
        }
        view = texts->place.view;
        index = texts->place.base + row;
    } else {
        const ff_view *column = batch->columns[group->source.column];
        ff_presence presence = ff_locate(&group->source, column, row, &view, &index, &run->fault);
        if (presence != FF_AT_VALUE) {
            return presence;
        }
    }
    *text = ff_string_at(view, index, run->uuid, &run->fault);
    const uint8_t *end = text->data + text->length;
    *readable = texts->direct && texts->readable != NULL && texts->readable > end ? texts->readable : end;
    return FF_AT_VALUE;
}

/* Extracts the slots of one row. A null text is a NULL value with nothing in it. *checked: the text has been validated,
 * or there is none; if `strict`, it is (unless it is trusted). */
static ff_json_status extract_row(const ff_group *group, const ff_batch *batch, const text_place *texts, int64_t row,
                                  bool strict, ff_json_value *values, bool *checked, ff_run *run) {
    ff_bytes text;
    const uint8_t *readable;
    ff_presence presence = find_text(group, batch, texts, row, &text, &readable, run);
    if (presence != FF_AT_VALUE) {
        *checked = true;
        memset(values, 0, sizeof(ff_json_value) * (size_t)group->num_slots); /* FF_MISSING */
        if (presence == FF_AT_NULL && group->root_slot >= 0) {
            values[group->root_slot].kind = FF_NULL;
        }
        return FF_JSON_OK;
    }
    *checked = strict;
    ff_json_status status = strict
                                ? ff_json_extract(group->paths, text, readable, values, &run->keys)
                                : ff_json_extract_trusting(group->paths, text, readable, values, &run->keys, checked);
    if (status == FF_JSON_NO_MEMORY) {
        ff_fault_memory(&run->fault);
    }
    return status;
}

/* Room for the values of a morsel, when the first is wanted. */
static ff_json_value *group_values(int32_t group, ff_run *run) {
    ff_group_run *own = &run->group_runs[group];
    if (own->values == NULL) {
        size_t num_values = (size_t)run->morsel_rows * (size_t)run->groups[group].num_slots;
        own->values = malloc(num_values * sizeof(ff_json_value));
        if (own->values == NULL) {
            ff_fault_memory(&run->fault);
        }
    }
    return own->values;
}

/* A string's content; NULL data (and a fault) if there is no memory. */
static ff_bytes content(const ff_json_value *value, ff_run *run) {
    ff_bytes text = ff_json_string(value, &run->text);
    if (text.data == NULL && value->escaped) {
        ff_fault_memory(&run->fault);
        text.length = 0;
    }
    return text;
}

static bool equals_scalar(const ff_constant *constant, const ff_json_value *value, ff_run *run) {
    switch (value->kind) {
    case FF_BOOL: return value->text.data[0] == 't' ? constant->has_true : constant->has_false;
    case FF_NUMBER:
        return constant->num_int64s + constant->num_uint64s + constant->num_doubles > 0 &&
               ff_in_numbers(constant, ff_json_number(value->text));
    case FF_STRING: {
        if (constant->num_strings + constant->num_instants == 0) {
            return false;
        }
        ff_bytes text = content(value, run);
        return ff_in_strings(constant, text) || ff_in_instants(constant, text);
    }
    default: return false;
    }
}

/* Whether some element of an ARRAY equals a scalar; or, if case is ignored, is a STRING equal to the text. */
static bool any_element(const ff_constant *constant, bool ignore_case, const ff_json_value *array, ff_run *run) {
    int64_t position = 0;
    ff_json_value element;
    while (ff_json_next_element(array, &position, &element)) {
        bool equal;
        if (ignore_case) {
            equal = element.kind == FF_STRING &&
                    ff_equal_bytes(ff_lowered(content(&element, run), run), constant->text);
        } else if (element.kind == FF_NULL) {
            equal = constant->has_null;
        } else {
            equal = equals_scalar(constant, &element, run);
        }
        if (equal) {
            return true;
        }
    }
    return false;
}

/* Whether the JSONB text of a value that is no STRING, nor too long to be one of them, is among the strings. */
static bool text_among(const ff_constant *constant, const ff_json_value *value, ff_run *run) {
    if ((value->kind == FF_ARRAY || value->kind == FF_OBJECT) && !constant->has_container) {
        return false;
    }
    int64_t longest = constant->num_strings == 0 ? -1 : constant->strings[constant->num_strings - 1].length;
    run->other.length = 0;
    ff_text_status status = longest < 0 ? FF_TEXT_TOO_LONG : ff_json_text(value, longest, &run->other);
    if (status == FF_TEXT_NO_MEMORY) {
        ff_fault_memory(&run->fault);
    }
    return status == FF_TEXT_OK && ff_in_strings(constant, ff_buffer_bytes(&run->other));
}

static bool contains(const ff_constant *constant, const ff_json_value *value, ff_run *run) {
    int found = ff_json_contains(constant->pattern, value, &run->keys);
    if (found < 0) {
        ff_fault_memory(&run->fault);
    }
    return found > 0;
}

static bool json_matches(const ff_test *test, const ff_json_value *value, ff_run *run) {
    const ff_constant *constant = &test->constant;
    uint8_t kind = value->kind;
    if (kind == FF_MISSING) {
        return false;
    }
    if (kind == FF_NULL) {
        return test->on_null;
    }
    switch (test->opcode) {
    case FF_OP_EXISTS: return true;
    case FF_OP_EQUALS_ANY:
        if (kind == FF_ARRAY) {
            return test->elements != FF_ELEMENTS_NEVER && any_element(constant, false, value, run);
        }
        return test->elements != FF_ELEMENTS_ONLY && equals_scalar(constant, value, run);
    case FF_OP_NUMBER_RANGE: return kind == FF_NUMBER && ff_in_numbers(constant, ff_json_number(value->text));
    case FF_OP_TIMESTAMP_RANGE: return kind == FF_STRING && ff_in_instants(constant, content(value, run));
    case FF_OP_STRING_RANGE: return kind == FF_STRING && ff_within_bound(constant, content(value, run));
    case FF_OP_CONTAINS:
        return kind == FF_STRING  ? ff_find(content(value, run), constant->text)
               : kind == FF_ARRAY ? any_element(constant, false, value, run)
                                  : false;
    case FF_OP_CONTAINS_IGNORE_CASE:
        return kind == FF_STRING  ? ff_find(ff_lowered(content(value, run), run), constant->text)
               : kind == FF_ARRAY ? any_element(constant, true, value, run)
                                  : false;
    case FF_OP_TEXT_EQUALS_ANY:
        return kind == FF_STRING ? ff_in_strings(constant, content(value, run)) : text_among(constant, value, run);
    case FF_OP_TEXT_NUMBER_RANGE:
        if (kind == FF_STRING) {
            ff_bytes text = content(value, run);
            return ff_is_plain_number(text) && ff_in_doubles(constant, ff_parse_double(text));
        }
        return kind == FF_NUMBER && ff_in_doubles(constant, ff_parse_double(value->text));
    case FF_OP_JSON_CONTAINS: return contains(constant, value, run);
    default: return false; /* IS_NULL */
    }
}

/* ---- Rows by the word ---- */

/* The texts of up to 64 rows. */
typedef struct {
    const text_place *texts;
    int64_t first_row;
    int num_rows;
    bool together; /* they lie one behind the other, as `rows` says */
    ff_json_rows rows;
    int64_t bounds[65];
} word_texts;

static void find_word(word_texts *word, const text_place *texts, int64_t first_row, int num_rows) {
    word->texts = texts;
    word->first_row = first_row;
    word->num_rows = num_rows;
    word->together = texts->direct && texts->readable != NULL;
    if (!word->together) {
        return;
    }
    const ff_view *view = texts->place.view;
    int64_t at = view->offset + texts->place.base + first_row;
    if (view->type->id == FF_TYPE_STRING) {
        const int32_t *offsets = (const int32_t *)view->values + at;
        for (int row = 0; row <= num_rows; row++) {
            word->bounds[row] = offsets[row];
        }
    } else {
        memcpy(word->bounds, (const int64_t *)view->values + at, 8 * (size_t)(num_rows + 1));
    }
    word->rows = (ff_json_rows){view->data, texts->readable, word->bounds, num_rows};
    bool good = word->bounds[0] >= 0 && word->bounds[num_rows] <= texts->readable - word->rows.data;
    for (int row = 0; row < num_rows; row++) {
        good &= word->bounds[row] <= word->bounds[row + 1];
    }
    word->together = good; /* if not, whoever reads them one by one meets the fault */
}

/* The rows where there is a text. */
static uint64_t rows_not_null(const word_texts *word, uint64_t rows) {
    for (int32_t at = 0; at < word->texts->place.num_validities; at++) {
        const ff_validity *validity = &word->texts->place.validities[at];
        for (uint64_t left = rows; left != 0; left &= left - 1) {
            int row = ff_first_bit(left);
            bool valid = ff_bit(validity->bits, validity->offset + word->first_row + row);
            rows &= ~((uint64_t)!valid << row);
        }
    }
    return rows;
}

/* Those of the rows whose text begins with a brace. */
static uint64_t begin_with_brace(const word_texts *word, uint64_t rows) {
    for (uint64_t left = rows; left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        const uint8_t *end = word->rows.data + word->bounds[row + 1];
        const uint8_t *start = ff_json_skip_space(word->rows.data + word->bounds[row], end);
        rows &= ~((uint64_t)(start == end || *start != '{') << row);
    }
    return rows;
}

/* Validates the texts of word `at` of a group. A well-formed object is left to whoever wants a value of it; every other
 * text is looked at for itself. False at a fault. */
static bool check_word(int32_t number, const ff_batch *batch, const word_texts *word, int64_t at, ff_run *run) {
    const ff_group *group = &run->groups[number];
    ff_group_run *own = &run->group_runs[number];
    ff_json_check *check = ff_json_paths_check(group->paths);
    uint64_t rows = ~UINT64_C(0) >> (64 - word->num_rows), good = 0;
    if (word->together && check != NULL) {
        good = check(&word->rows, begin_with_brace(word, rows_not_null(word, rows)));
    }
    own->checked[at] = rows;
    own->extracted[at] = rows & ~good;
    for (uint64_t left = rows & ~good; left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        ff_json_value *values = group_values(number, run);
        if (values == NULL) {
            return false;
        }
        bool checked;
        values += (64 * at + row) * group->num_slots;
        ff_json_status status =
            extract_row(group, batch, word->texts, word->first_row + row, true, values, &checked, run);
        if (run->fault.status != FF_OK) {
            run->fault.column = group->source.column;
            return false;
        }
        if (status != FF_JSON_OK) {
            run->fault = (ff_fault){.status = FF_BAD_JSON, .row = word->first_row + row,
                                    .json_status = (int32_t)status, .column = group->source.column};
            return false;
        }
    }
    return true;
}

void ff_groups_check(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows, ff_run *run) {
    ff_fault first = run->fault;
    for (int32_t number = 0; number < num_groups; number++) {
        text_place texts;
        find_texts(&run->groups[number], batch, &texts);
        for (int64_t at = 0; 64 * at < num_rows; at++) {
            word_texts word;
            find_word(&word, &texts, first_row + 64 * at, num_rows - 64 * at < 64 ? (int)(num_rows - 64 * at) : 64);
            if (!check_word(number, batch, &word, at, run)) {
                if (run->fault.status != FF_BAD_JSON) {
                    return;
                }
                first = run->fault;
                num_rows = first.row - first_row; /* an earlier one may be in another group */
                run->fault.status = FF_OK;
            }
        }
    }
    run->fault = first;
}

/* Those of the candidates whose text may pass the test. Where the search spares less than a quarter of the rows it
 * pauses, twice as long each time. */
static uint64_t prefiltered(const ff_test *test, const word_texts *word, uint64_t candidates, ff_run *run) {
    ff_needle_run *needle = &run->needles[test->number];
    int few = 16, asked = __builtin_popcountll(candidates);
    if (asked < few) {
        return candidates; /* reading all 64 texts would cost more */
    }
    if (needle->pause > 0) {
        needle->pause--;
        return candidates;
    }
    uint64_t left = test->holding(&word->rows, &test->needle, candidates);
    int num_left = __builtin_popcountll(left);
    if (needle->asked >= 1 << 12) {
        needle->asked /= 2;
        needle->left /= 2;
    }
    needle->asked += (uint32_t)asked;
    needle->left += (uint32_t)num_left;
    if (4 * num_left > 3 * asked) {
        needle->next_pause = needle->next_pause == 0 ? 1 : needle->next_pause < 1024 ? 2 * needle->next_pause : 1024;
        needle->pause = needle->next_pause;
    } else {
        needle->next_pause = 0;
    }
    return left;
}

/* Those of the candidates whose text may pass the test and all its `also`; the one that was lately true of the fewest is
 * asked first. */
static uint64_t all_prefiltered(const ff_test *tests, const word_texts *word, uint64_t candidates, ff_run *run) {
    const ff_test *rarest = tests;
    for (const ff_test *test = tests->also; test != NULL; test = test->also) {
        const ff_needle_run *own = &run->needles[test->number], *best = &run->needles[rarest->number];
        rarest = own->left * best->asked < best->left * own->asked ? test : rarest;
    }
    candidates = prefiltered(rarest, word, candidates, run);
    for (const ff_test *test = tests; test != NULL; test = test->also) {
        candidates = test == rarest ? candidates : prefiltered(test, word, candidates, run);
    }
    return candidates;
}

/* The key that is searched for to find the test's value, or no bytes: values are found in another way. */
static ff_bytes searched_key(const ff_test *test, const ff_group *group) {
    /* Of more paths all values of a row are found at once. */
    enum { FEW_SLOTS = 4 };
    bool searched = test->member != NULL && group->num_slots <= FEW_SLOTS;
    return searched ? ff_json_paths_key(group->paths, test->slot) : (ff_bytes){NULL, 0};
}

/* Whether a search for the test's needle may spare texts: it is none that finds the value. */
static bool may_spare(const ff_test *test, const ff_group *group) {
    return test->holding != NULL && !ff_equal_bytes(searched_key(test, group), test->needle.bytes);
}

void ff_tests_conjoin(ff_test *tests, int32_t num_tests, ff_group *groups) {
    for (int32_t number = 0; number < num_tests; number++) {
        ff_test *last = &tests[number];
        ff_group *group = last->group < 0 ? NULL : &groups[last->group];
        if (group == NULL || group->checked_last) { /* the first test of a group searches for all */
            continue;
        }
        group->checked_last = true;
        for (int32_t later = number + 1; later < num_tests; later++) {
            ff_test *other = &tests[later];
            if (other->group == tests[number].group && may_spare(other, group)) {
                last->also = other;
                other->searched_before = true;
                last = other;
            }
        }
    }
}

/* ff_json_member, for all rows in one go or, where they are few, for each alone. */
static uint64_t find_members(const ff_test *test, const word_texts *word, const ff_json_needle *key,
                             uint64_t candidates, ff_json_value *values, uint64_t *other_way) {
    if (3 * __builtin_popcountll(candidates) > word->rows.num_rows) {
        return test->member(&word->rows, key, candidates, values, other_way);
    }
    uint64_t found = 0;
    *other_way = 0;
    for (uint64_t left = candidates; left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        ff_json_rows alone = word->rows;
        uint64_t other;
        alone.bounds += row;
        alone.num_rows = 1;
        found |= test->member(&alone, key, 1, values + row, &other) << row;
        *other_way |= other << row;
    }
    return found;
}

/* The rows whose text is well-formed. */
static uint64_t check_rows(const ff_group *group, const ff_batch *batch, const word_texts *word, uint64_t rows,
                           ff_run *run) {
    ff_json_check *check = ff_json_paths_check(group->paths);
    if (word->together) {
        return check(&word->rows, rows);
    }
    uint64_t good = 0;
    for (uint64_t left = rows; left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        ff_bytes text;
        const uint8_t *readable;
        if (find_text(group, batch, word->texts, word->first_row + row, &text, &readable, run) == FF_AT_VALUE) {
            const int64_t bounds[2] = {0, text.length};
            const ff_json_rows alone = {text.data, readable, bounds, 1};
            good |= check(&alone, 1) << row;
        }
    }
    return good;
}

/* Those of the rows of word `at` whose text is well-formed. */
static uint64_t well_formed(int32_t number, const ff_batch *batch, const word_texts *word, int64_t at, uint64_t rows,
                            ff_run *run) {
    ff_group_run *own = &run->group_runs[number];
    uint64_t unchecked = rows & ~own->checked[at];
    if (unchecked != 0) {
        uint64_t good = check_rows(&run->groups[number], batch, word, unchecked, run);
        own->checked[at] |= unchecked;
        own->malformed[at] |= unchecked & ~good;
    }
    return rows & ~own->malformed[at];
}

/* A test is false of a text that is not well-formed, so a text is validated only when the test is true of it, or even
 * when the row is about to match (see checked_last). */
void ff_kernel_json(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                    const uint64_t *source, uint64_t *destination, ff_run *run) {
    const ff_group *group = &run->groups[test->group];
    ff_group_run *own = &run->group_runs[test->group];
    const bool trusted = ff_json_paths_trusted(group->paths);
    text_place texts;
    find_texts(group, batch, &texts);
    const ff_bytes key_bytes = searched_key(test, group);
    const bool by_key = texts.direct && key_bytes.length > 0;
    ff_json_needle key;
    if (by_key) {
        key = ff_json_needle_of(key_bytes);
    }
    const ff_test *prefilters = may_spare(test, group) && !test->searched_before ? test : test->also;
    for (int64_t at = 0; at < ff_num_words(num_rows); at++) {
        uint64_t candidates = source[at] & ~own->malformed[at], extracted = own->extracted[at], found = 0;
        uint64_t fresh = candidates & ~extracted;
        int rows_here = num_rows - 64 * at < 64 ? (int)(num_rows - 64 * at) : 64;
        word_texts word;
        if (candidates == 0) {
            destination[at] = 0;
            continue;
        }
        find_word(&word, &texts, first_row + 64 * at, rows_here);
        if (prefilters != NULL && !test->searched_before && word.together && fresh != 0) {
            fresh = all_prefiltered(prefilters, &word, fresh, run);
        }
        if (by_key && word.together && fresh != 0) {
            ff_json_value members[64];
            uint64_t other_way;
            uint64_t rows = rows_not_null(&word, find_members(test, &word, &key, fresh, members, &other_way));
            for (; rows != 0; rows &= rows - 1) {
                int row = ff_first_bit(rows);
                found |= (uint64_t)json_matches(test, &members[row], run) << row;
            }
            fresh = other_way;
        }
        candidates = (candidates & extracted) | fresh;
        if (candidates != 0) {
            ff_json_value *values = group_values(test->group, run);
            if (values == NULL) {
                return;
            }
            own->extracted[at] |= fresh;
            for (; candidates != 0; candidates &= candidates - 1) {
                int row = ff_first_bit(candidates);
                ff_json_value *of_row = values + (64 * at + row) * group->num_slots;
                if (fresh >> row & 1) {
                    bool checked;
                    extract_row(group, batch, &texts, word.first_row + row, false, of_row, &checked, run);
                    own->checked[at] |= (uint64_t)checked << row;
                }
                found |= (uint64_t)json_matches(test, of_row + test->slot, run) << row;
            }
        }
        destination[at] = trusted || group->checked_last ? found : well_formed(test->group, batch, &word, at, found, run);
    }
}

void ff_groups_check_last(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                          uint64_t *rows, ff_run *run) {
    for (int32_t number = 0; number < num_groups; number++) {
        const ff_group *group = &run->groups[number];
        if (!group->checked_last || ff_json_paths_trusted(group->paths)) {
            continue;
        }
        text_place texts;
        find_texts(group, batch, &texts);
        for (int64_t at = 0; at < ff_num_words(num_rows); at++) {
            if (rows[at] != 0) {
                word_texts word;
                int rows_here = num_rows - 64 * at < 64 ? (int)(num_rows - 64 * at) : 64;
                find_word(&word, &texts, first_row + 64 * at, rows_here);
                rows[at] = well_formed(number, batch, &word, at, rows[at], run);
                if (run->fault.status != FF_OK) {
                    run->fault.column = group->source.column;
                    return;
                }
            }
        }
    }
}

/* A rendered text as the value it is. */
static ff_json_value value_of(ff_bytes text) {
    ff_json_value value = {.text = text};
    switch (text.data[0]) {
    case 'n': value.kind = FF_NULL; break;
    case 't':
    case 'f': value.kind = FF_BOOL; break;
    case '[': value.kind = FF_ARRAY; break;
    case '{': value.kind = FF_OBJECT; break;
    case '"':
        value.kind = FF_STRING;
        value.text.data++;
        value.text.length -= 2;
        value.escaped = memchr(value.text.data, '\\', (size_t)value.text.length) != NULL;
        break;
    default: value.kind = FF_NUMBER; break;
    }
    return value;
}

/* A typed value rendered as JSON into run->text, which json tests do not use. False (and a fault) if it cannot be. */
static bool rendered(const ff_view *view, int64_t index, ff_json_value *value, ff_run *run) {
    run->text.length = 0;
    if (!ff_render(view, index, &run->text, &run->fault)) {
        return false;
    }
    *value = value_of(ff_buffer_bytes(&run->text));
    return true;
}

bool ff_json_contains_typed(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    ff_json_value value;
    return rendered(view, index, &value, run) && contains(&test->constant, &value, run);
}

bool ff_json_text_equals(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    ff_json_value value;
    return rendered(view, index, &value, run) && text_among(&test->constant, &value, run);
}
