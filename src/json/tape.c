#include "tape.h"

#include "scanner.h"
#include "value.h"

static ff_json_node *push(ff_json_tape *tape, uint8_t kind) {
    if (!ff_buffer_reserve(tape->buffer, sizeof(ff_json_node))) {
        return NULL;
    }
    ff_json_node *node = ff_json_tape_node(tape, tape->num_nodes++);
    tape->buffer->length += (int64_t)sizeof *node;
    memset(node, 0, sizeof *node);
    node->kind = kind;
    node->next_key = -1;
    return node;
}

bool ff_json_tape_push_scalar(ff_json_tape *tape, uint8_t kind, const uint8_t *start, const uint8_t *end) {
    ff_json_node *node = push(tape, kind);
    if (node == NULL) {
        return false;
    }
    node->start = (uint64_t)(start - tape->text.data);
    node->extent = end - start;
    return true;
}

bool ff_json_tape_push_string(ff_json_tape *tape, const uint8_t *start, const uint8_t *end, bool escaped) {
    if (!escaped) {
        return ff_json_tape_push_scalar(tape, FF_STRING, start, end);
    }
    ff_json_node *node = push(tape, FF_STRING);
    if (node == NULL) {
        return false;
    }
    uint8_t *content = tape->buffer->data + tape->strings_start + tape->strings_length;
    node->decoded = true;
    node->start = (uint64_t)tape->strings_length;
    node->extent = ff_json_unescape(start, end, content) - content;
    tape->strings_length += node->extent;
    return true;
}

bool ff_json_tape_open(ff_json_tape *tape, uint8_t kind) {
    ff_json_node *node = push(tape, kind);
    if (node == NULL) {
        return false;
    }
    node->extent = tape->open; /* until it is closed */
    tape->open = tape->num_nodes - 1;
    return true;
}

void ff_json_tape_close(ff_json_tape *tape) {
    ff_json_node *node = ff_json_tape_node(tape, tape->open);
    tape->open = node->extent;
    node->extent = tape->num_nodes;
}

ff_json_status ff_json_tape_record(ff_json_tape *tape, ff_bytes text, ff_buffer *buffer) {
    /* Escapes shrink when they are decoded, so the text's length is room enough for all strings. */
    bool escapes = text.length > 0 && memchr(text.data, '\\', (size_t)text.length) != NULL;
    int64_t room = escapes ? text.length : 0;
    const int64_t alignment = 8;
    *tape = (ff_json_tape){.text = text, .buffer = buffer, .strings_start = buffer->length, .open = -1};
    if (!ff_buffer_reserve(buffer, room + alignment)) {
        return FF_JSON_NO_MEMORY;
    }
    buffer->length = tape->nodes_start = (buffer->length + room + alignment - 1) / alignment * alignment;
    const uint8_t *end = text.data + text.length;
    const uint8_t *position = ff_json_record_value(text.data, end, tape);
    if (position == NULL) {
        return buffer->failed ? FF_JSON_NO_MEMORY : FF_JSON_MALFORMED;
    }
    return ff_json_skip_space(position, end) == end ? FF_JSON_OK : FF_JSON_MALFORMED;
}

/* ---- Order of keys ---- */

static int compare_keys(const ff_json_tape *tape, int64_t left, int64_t right) {
    ff_bytes a = ff_json_tape_bytes(tape, ff_json_tape_node(tape, left));
    ff_bytes b = ff_json_tape_bytes(tape, ff_json_tape_node(tape, right));
    if (a.length != b.length) {
        return a.length < b.length ? -1 : 1;
    }
    return a.length == 0 ? 0 : memcmp(a.data, b.data, (size_t)a.length);
}

/* Merges two chains in order, each without equal keys, into one; `later` stands behind `earlier` in the text, so of
 * equal keys its own is kept. */
static int64_t merge_chains(const ff_json_tape *tape, int64_t earlier, int64_t later) {
    int64_t first = -1, last = -1;
    while (earlier >= 0 || later >= 0) {
        int order = earlier < 0 ? 1 : later < 0 ? -1 : compare_keys(tape, earlier, later);
        if (order == 0) {
            earlier = ff_json_tape_node(tape, earlier)->next_key;
            continue;
        }
        int64_t *source = order < 0 ? &earlier : &later;
        if (last < 0) {
            first = *source;
        } else {
            ff_json_tape_node(tape, last)->next_key = *source;
        }
        last = *source;
        *source = ff_json_tape_node(tape, last)->next_key;
    }
    return first;
}

static void order_object(const ff_json_tape *tape, int64_t object) {
    enum { NUM_CHAINS = 48 };
    /* chains[i] is empty or came of 2^i keys, all of them in front of those in chains[i - 1]. */
    int64_t chains[NUM_CHAINS];
    int num_chains = 0;
    int64_t end = ff_json_tape_node(tape, object)->extent;
    for (int64_t key = object + 1; key < end; key = ff_json_tape_skip(tape, key + 1)) {
        int64_t chain = key;
        int i = 0;
        for (; i < num_chains && chains[i] >= 0; i++) {
            chain = merge_chains(tape, chains[i], chain);
            chains[i] = -1;
        }
        if (i == num_chains) {
            num_chains++;
        }
        chains[i] = chain;
    }
    int64_t all = -1;
    for (int i = 0; i < num_chains; i++) {
        all = merge_chains(tape, chains[i], all);
    }
    ff_json_tape_node(tape, object)->next_key = all;
}

void ff_json_tape_order(ff_json_tape *tape) {
    for (int64_t i = 0; i < tape->num_nodes; i++) {
        if (ff_json_tape_node(tape, i)->kind == FF_OBJECT) {
            order_object(tape, i);
        }
    }
}
