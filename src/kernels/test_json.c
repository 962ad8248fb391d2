/* JSON values: extracting those of a column's rows together, and testing one. */
#include <stdlib.h>
#include <string.h>

#include "fastfilter/tests.h"
#include "fastfilter/text.h"

bool ff_group_bind(ff_group *group, ff_type *column, int32_t *num_slots) {
    return ff_source_bind(&group->source, column, num_slots) &&
           ff_type_is_string(ff_type_decoded(group->source.type));
}

/* Extracts the slots of one row. A null text is a NULL value with nothing in it. */
static ff_json_status extract_row(const ff_group *group, const ff_batch *batch, int64_t row, ff_json_value *values,
                                  ff_run *run) {
    const ff_view *view;
    int64_t index;
    const ff_view *column = batch->columns[group->source.column];
    ff_presence presence = ff_locate(&group->source, column, row, &view, &index, &run->fault);
    if (presence != FF_AT_VALUE) {
        memset(values, 0, sizeof(ff_json_value) * (size_t)group->num_slots); /* FF_MISSING */
        if (presence == FF_AT_NULL && group->root_slot >= 0) {
            values[group->root_slot].kind = FF_NULL;
        }
        return FF_JSON_OK;
    }
    ff_bytes text = ff_string_at(view, index, run->uuid, &run->fault);
    ff_json_status status = ff_json_extract(group->paths, text, text.data + text.length, values, &run->keys);
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

void ff_group_extract(int32_t group, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                      const uint64_t *wanted, ff_run *run) {
    const ff_group *at = &run->groups[group];
    ff_json_value *values = group_values(group, run);
    uint64_t *extracted = run->group_runs[group].extracted;
    for (int64_t word = 0; word < ff_num_words(num_rows) && values != NULL; word++) {
        uint64_t left = wanted[word] & ~extracted[word];
        extracted[word] |= left;
        for (; left != 0; left &= left - 1) {
            int64_t row = 64 * word + ff_first_bit(left);
            extract_row(at, batch, first_row + row, values + row * at->num_slots, run);
        }
    }
}

void ff_groups_check(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows, ff_run *run) {
    for (int32_t group = 0; group < num_groups; group++) {
        if (group_values(group, run) == NULL) {
            return;
        }
    }
    for (int64_t row = 0; row < num_rows; row++) {
        for (int32_t group = 0; group < num_groups; group++) {
            const ff_group *at = &run->groups[group];
            ff_json_value *values = run->group_runs[group].values + row * at->num_slots;
            ff_json_status status = extract_row(at, batch, first_row + row, values, run);
            if (run->fault.status == FF_OK && status != FF_JSON_OK) {
                run->fault.status = FF_BAD_JSON;
                run->fault.row = first_row + row;
                run->fault.json_status = (int32_t)status;
            }
            if (run->fault.status != FF_OK) {
                run->fault.column = at->source.column;
                return;
            }
            run->group_runs[group].extracted[row >> 6] |= UINT64_C(1) << (row & 63);
        }
    }
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

void ff_kernel_json(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                    const uint64_t *source, uint64_t *destination, ff_run *run) {
    ff_group_extract(test->group, batch, first_row, num_rows, source, run);
    if (run->fault.status != FF_OK) {
        return;
    }
    int32_t num_slots = run->groups[test->group].num_slots;
    const ff_json_value *values = run->group_runs[test->group].values + test->slot;
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t found = 0;
        for (uint64_t left = source[word]; left != 0; left &= left - 1) {
            int row = ff_first_bit(left);
            found |= (uint64_t)json_matches(test, &values[(64 * word + row) * num_slots], run) << row;
        }
        destination[word] = found;
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
