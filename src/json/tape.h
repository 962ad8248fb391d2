/* A value taken apart: one node for every value and key in it, in the order of the text, in a caller's buffer. */
#ifndef FASTFILTER_JSON_TAPE_H
#define FASTFILTER_JSON_TAPE_H

#include "fastfilter/json.h"

typedef struct {
    uint64_t start : 48;  /* a scalar or key: its first byte, in the text or (if decoded) in the tape's strings */
    uint64_t kind : 8;    /* a key is an FF_STRING */
    uint64_t decoded : 8; /* 1: a string that had escapes in it; its content stands in the tape's strings */
    int64_t extent;       /* a scalar or key: its number of bytes; an array or object: the index behind its last node */
    int64_t next_key;     /* after ff_json_tape_order: the key that follows in order; for an object its first; or -1 */
} ff_json_node;

typedef struct {
    ff_bytes text;
    ff_buffer *buffer; /* holds the strings from `strings_start` on, and behind them the nodes */
    int64_t strings_start;
    int64_t strings_length;
    int64_t nodes_start;
    int64_t num_nodes;
    int64_t open; /* while recording: the innermost open array or object, or -1 */
} ff_json_tape;

/* Valid until the buffer grows. */
static inline ff_json_node *ff_json_tape_node(const ff_json_tape *tape, int64_t index) {
    return (ff_json_node *)(void *)(tape->buffer->data + tape->nodes_start) + index;
}

static inline bool ff_json_is_container(const ff_json_node *node) {
    return node->kind >= FF_ARRAY;
}

/* The index behind a node and all that is in it. */
static inline int64_t ff_json_tape_skip(const ff_json_tape *tape, int64_t index) {
    const ff_json_node *node = ff_json_tape_node(tape, index);
    return ff_json_is_container(node) ? node->extent : index + 1;
}

/* The bytes of a scalar or key, a string's without its quotes and escapes. Valid until the buffer grows. */
static inline ff_bytes ff_json_tape_bytes(const ff_json_tape *tape, const ff_json_node *node) {
    const uint8_t *base = node->decoded ? tape->buffer->data + tape->strings_start : tape->text.data;
    ff_bytes bytes = {base + node->start, node->extent};
    return bytes;
}

/* Records the one value that is all of `text` but for white space, behind what is in `buffer`. */
ff_json_status ff_json_tape_record(ff_json_tape *tape, ff_bytes text, ff_buffer *buffer);

/* Called while recording. False if there is no memory. */
bool ff_json_tape_push_scalar(ff_json_tape *tape, uint8_t kind, const uint8_t *start, const uint8_t *end);
bool ff_json_tape_push_string(ff_json_tape *tape, const uint8_t *start, const uint8_t *end, bool escaped);
bool ff_json_tape_open(ff_json_tape *tape, uint8_t kind);
void ff_json_tape_close(ff_json_tape *tape);

/* Chains the keys of every object by length, then bytes (JSONB's order), of equal keys the last one only. */
void ff_json_tape_order(ff_json_tape *tape);

#endif
