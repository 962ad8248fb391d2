/* JSONB containment. */
#include "scanner.h"
#include "value.h"

#include <stdlib.h>

struct ff_json_pattern {
    ff_buffer buffer; /* the tape's nodes and strings */
    ff_json_tape tape;
    ff_number *numbers; /* the value of each node that is a number */
    uint8_t *text;
};

ff_json_pattern *ff_json_pattern_new(ff_bytes json) {
    ff_json_pattern *pattern = calloc(1, sizeof *pattern);
    if (pattern == NULL) {
        return NULL;
    }
    pattern->text = malloc((size_t)json.length + 1);
    if (pattern->text == NULL) {
        ff_json_pattern_free(pattern);
        return NULL;
    }
    if (json.length > 0) {
        memcpy(pattern->text, json.data, (size_t)json.length);
    }
    ff_json_tape *tape = &pattern->tape;
    if (ff_json_tape_record(tape, (ff_bytes){pattern->text, json.length}, &pattern->buffer) == FF_JSON_OK) {
        pattern->numbers = calloc((size_t)tape->num_nodes, sizeof *pattern->numbers);
    }
    if (pattern->numbers == NULL) {
        ff_json_pattern_free(pattern);
        return NULL;
    }
    ff_json_tape_order(tape);
    for (int64_t i = 0; i < tape->num_nodes; i++) {
        const ff_json_node *node = ff_json_tape_node(tape, i);
        if (node->kind == FF_NUMBER) {
            pattern->numbers[i] = ff_json_number(ff_json_tape_bytes(tape, node));
        }
    }
    return pattern;
}

void ff_json_pattern_free(ff_json_pattern *pattern) {
    if (pattern != NULL) {
        ff_buffer_free(&pattern->buffer);
        free(pattern->numbers);
        free(pattern->text);
        free(pattern);
    }
}

/* A scalar of the pattern against a scalar of the same kind, given by its bytes (a string's unescaped). */
static bool equals_scalar(const ff_json_pattern *pattern, int64_t index, ff_bytes bytes) {
    const ff_json_node *node = ff_json_tape_node(&pattern->tape, index);
    if (node->kind == FF_NUMBER) {
        return ff_number_equal(pattern->numbers[index], ff_json_number(bytes));
    }
    return ff_bytes_equal(ff_json_tape_bytes(&pattern->tape, node), bytes);
}

static bool contains_container(const ff_json_pattern *pattern, int64_t wanted, const ff_json_tape *tape, int64_t index);

/* A node of the pattern in a node of the value: equal scalars, or a container in a container of its kind. Every pair of
 * nodes meets at most once, as their parents do. */
static bool contains_node(const ff_json_pattern *pattern, int64_t wanted, const ff_json_tape *tape, int64_t index) {
    const ff_json_node *wanted_node = ff_json_tape_node(&pattern->tape, wanted);
    const ff_json_node *node = ff_json_tape_node(tape, index);
    if (node->kind != wanted_node->kind) {
        return false;
    }
    return ff_json_is_container(node) ? contains_container(pattern, wanted, tape, index)
                                      : equals_scalar(pattern, wanted, ff_json_tape_bytes(tape, node));
}

/* The value of the last member of that name, or -1. */
static int64_t find_member(const ff_json_tape *tape, int64_t object, ff_bytes name) {
    int64_t found = -1, end = ff_json_tape_node(tape, object)->extent;
    for (int64_t key = object + 1; key < end; key = ff_json_tape_skip(tape, key + 1)) {
        if (ff_bytes_equal(ff_json_tape_bytes(tape, ff_json_tape_node(tape, key)), name)) {
            found = key + 1;
        }
    }
    return found;
}

/* Both nodes are arrays, or both are objects. Recursion is bounded by FF_JSON_MAX_DEPTH. */
static bool contains_container(const ff_json_pattern *pattern, int64_t wanted, const ff_json_tape *tape,
                               int64_t index) {
    const ff_json_tape *wanted_tape = &pattern->tape;
    const ff_json_node *wanted_node = ff_json_tape_node(wanted_tape, wanted);
    if (wanted_node->kind == FF_OBJECT) {
        for (int64_t key = wanted_node->next_key; key >= 0; key = ff_json_tape_node(wanted_tape, key)->next_key) {
            ff_bytes name = ff_json_tape_bytes(wanted_tape, ff_json_tape_node(wanted_tape, key));
            int64_t member = find_member(tape, index, name);
            if (member < 0 || !contains_node(pattern, key + 1, tape, member)) {
                return false;
            }
        }
        return true;
    }
    const int64_t wanted_end = wanted_node->extent, end = ff_json_tape_node(tape, index)->extent;
    for (int64_t item = wanted + 1; item < wanted_end; item = ff_json_tape_skip(wanted_tape, item)) {
        int64_t element = index + 1;
        while (element < end && !contains_node(pattern, item, tape, element)) {
            element = ff_json_tape_skip(tape, element);
        }
        if (element >= end) {
            return false;
        }
    }
    return true;
}

/* A bare scalar of the pattern against any value; -1 if there is no memory. */
static int matches_scalar(const ff_json_pattern *pattern, const ff_json_value *value, ff_buffer *scratch) {
    if (value->kind != ff_json_tape_node(&pattern->tape, 0)->kind) {
        return 0;
    }
    ff_bytes bytes = value->kind == FF_STRING ? ff_json_string(value, scratch) : value->text;
    return bytes.data == NULL ? -1 : equals_scalar(pattern, 0, bytes);
}

int ff_json_contains(const ff_json_pattern *pattern, const ff_json_value *value, ff_buffer *scratch) {
    const ff_json_node *wanted = ff_json_tape_node(&pattern->tape, 0);
    if (ff_json_is_container(wanted)) {
        if (value->kind != wanted->kind) {
            return 0;
        }
        ff_json_tape tape;
        scratch->length = 0;
        ff_json_status status = ff_json_tape_record(&tape, value->text, scratch);
        if (status != FF_JSON_OK) { /* malformed: in a text wrongly trusted */
            return status == FF_JSON_MALFORMED ? 0 : -1;
        }
        return contains_container(pattern, 0, &tape, 0);
    }
    if (value->kind != FF_ARRAY) {
        return matches_scalar(pattern, value, scratch);
    }
    ff_json_value element;
    for (int64_t position = 0; ff_json_next_element(value, &position, &element);) {
        int matches = matches_scalar(pattern, &element, scratch);
        if (matches != 0) {
            return matches;
        }
    }
    return 0;
}
