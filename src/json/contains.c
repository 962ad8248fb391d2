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

/* An array of the pattern looked for in an array, or an object in an object. */
typedef struct {
    int64_t wanted;  /* the pattern's container */
    int64_t item;    /* what of it is looked for: an element, or a member's key; or one of those below */
    int64_t index;   /* the value's container */
    int64_t element; /* of arrays: the element that is compared with the item */
} open_pair;

enum { ALL_FOUND = -1, LACKING = -2 };

static open_pair open_containers(const ff_json_pattern *pattern, int64_t wanted, int64_t index) {
    const ff_json_node *node = ff_json_tape_node(&pattern->tape, wanted);
    int64_t first = wanted + 1 < node->extent ? wanted + 1 : ALL_FOUND;
    return (open_pair){wanted, node->kind == FF_OBJECT ? node->next_key : first, index, index + 1};
}

/* Finds the nodes to compare next, or sets the item to LACKING. */
static void choose_nodes(const ff_json_pattern *pattern, const ff_json_tape *tape, open_pair *pair, int64_t *wanted,
                         int64_t *index) {
    if (ff_json_tape_node(tape, pair->index)->kind == FF_OBJECT) {
        *wanted = pair->item + 1;
        *index = find_member(tape, pair->index,
                             ff_json_tape_bytes(&pattern->tape, ff_json_tape_node(&pattern->tape, pair->item)));
    } else {
        *wanted = pair->item;
        *index = pair->element < ff_json_tape_node(tape, pair->index)->extent ? pair->element : -1;
    }
    if (*index < 0) {
        pair->item = LACKING;
    }
}

/* Goes on to what is to be compared after nodes that `fit` or do not. */
static void advance(const ff_json_pattern *pattern, const ff_json_tape *tape, open_pair *pair, bool fit) {
    if (ff_json_tape_node(tape, pair->index)->kind == FF_OBJECT) {
        pair->item = fit ? ff_json_tape_node(&pattern->tape, pair->item)->next_key : LACKING;
    } else if (fit) {
        int64_t next = ff_json_tape_skip(&pattern->tape, pair->item);
        pair->item = next < ff_json_tape_node(&pattern->tape, pair->wanted)->extent ? next : ALL_FOUND;
        pair->element = pair->index + 1;
    } else {
        pair->element = ff_json_tape_skip(tape, pair->element);
    }
}

/* Whether the value's container holds the pattern's, of the same kind. Every pair of nodes meets at most once, as their
 * parents do. Pairs are open as deep as the pattern, which FF_JSON_MAX_DEPTH bounds. */
static bool contains_container(const ff_json_pattern *pattern, const ff_json_tape *tape) {
    open_pair pairs[FF_JSON_MAX_DEPTH];
    int depth = 0;
    pairs[0] = open_containers(pattern, 0, 0);
    for (;;) {
        int64_t wanted = -1, index = -1;
        if (pairs[depth].item >= 0) {
            choose_nodes(pattern, tape, &pairs[depth], &wanted, &index);
        }
        bool fit = false;
        if (pairs[depth].item < 0) {
            fit = pairs[depth].item == ALL_FOUND;
            if (depth == 0) {
                return fit;
            }
            depth--;
        } else {
            const ff_json_node *node = ff_json_tape_node(tape, index);
            if (node->kind == ff_json_tape_node(&pattern->tape, wanted)->kind) {
                if (ff_json_is_container(node)) {
                    pairs[++depth] = open_containers(pattern, wanted, index);
                    continue;
                }
                fit = equals_scalar(pattern, wanted, ff_json_tape_bytes(tape, node));
            }
        }
        advance(pattern, tape, &pairs[depth], fit);
    }
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
        return contains_container(pattern, &tape);
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
