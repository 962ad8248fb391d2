/* A view of bytes, and a growable scratch buffer that belongs to one call on one thread. */
#ifndef FASTFILTER_BYTES_H
#define FASTFILTER_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    const uint8_t *data;
    int64_t length;
} ff_bytes;

typedef struct {
    uint8_t *data;
    int64_t length;
    int64_t capacity;
    bool failed; /* an allocation failed; the contents are then not to be used */
} ff_buffer;

/* Initialise with `ff_buffer buffer = {0};`. */
void ff_buffer_free(ff_buffer *buffer);
/* Room for `extra` more bytes behind `length`; false (and `failed` set) if there is no memory. */
bool ff_buffer_reserve(ff_buffer *buffer, int64_t extra);
bool ff_buffer_append(ff_buffer *buffer, const void *data, int64_t length);

static inline ff_bytes ff_buffer_bytes(const ff_buffer *buffer) {
    ff_bytes bytes = {buffer->data, buffer->length};
    return bytes;
}

/* Whether as many bytes are equal; a call is made for long ones only. */
static inline bool ff_same_bytes(const void *left, const void *right, size_t length) {
    const uint8_t *a = left, *b = right;
    uint64_t head_a, head_b, tail_a, tail_b;
    if (length > 16) {
        return memcmp(a, b, length) == 0;
    }
    if (length < 8) {
        uint8_t difference = 0;
        for (size_t i = 0; i < length; i++) {
            difference |= a[i] ^ b[i];
        }
        return difference == 0;
    }
    memcpy(&head_a, a, 8);
    memcpy(&head_b, b, 8);
    memcpy(&tail_a, a + length - 8, 8);
    memcpy(&tail_b, b + length - 8, 8);
    return ((head_a ^ head_b) | (tail_a ^ tail_b)) == 0;
}

#endif
