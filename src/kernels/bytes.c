#include "fastfilter/bytes.h"

#include <stdlib.h>
#include <string.h>

void ff_buffer_free(ff_buffer *buffer) {
    free(buffer->data);
    memset(buffer, 0, sizeof *buffer);
}

bool ff_buffer_reserve(ff_buffer *buffer, int64_t extra) {
    if (buffer->failed) {
        return false;
    }
    if (extra <= buffer->capacity - buffer->length) {
        return true;
    }
    if (extra > INT64_MAX / 4 - buffer->length) {
        buffer->failed = true;
        return false;
    }
    int64_t needed = buffer->length + extra;
    int64_t capacity = buffer->capacity < 64 ? 64 : buffer->capacity;
    while (capacity < needed) {
        capacity += capacity / 2;
    }
    uint8_t *data = (uint64_t)capacity <= SIZE_MAX ? realloc(buffer->data, (size_t)capacity) : NULL;
    if (data == NULL) {
        buffer->failed = true;
        return false;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return true;
}

bool ff_buffer_append(ff_buffer *buffer, const void *data, int64_t length) {
    if (!ff_buffer_reserve(buffer, length)) {
        return false;
    }
    if (length > 0) {
        memcpy(buffer->data + buffer->length, data, (size_t)length);
        buffer->length += length;
    }
    return true;
}
