#include "fastfilter/text.h"
#include "fastfilter/utf8.h"

#include <string.h>

/* Reads a text as UTF-16 code units. A byte that begins no character stands for a unit of its own value. */
typedef struct {
    const uint8_t *position;
    const uint8_t *end;
    int32_t low_surrogate; /* of the character just read; 0 if there is none to come */
} unit_reader;

static int32_t next_unit(unit_reader *reader) {
    if (reader->low_surrogate != 0) {
        int32_t unit = reader->low_surrogate;
        reader->low_surrogate = 0;
        return unit;
    }
    if (reader->position == reader->end) {
        return -1;
    }
    uint32_t code_point;
    int length = ff_utf8_decode(reader->position, reader->end, &code_point);
    if (length == 0) {
        return *reader->position++;
    }
    reader->position += length;
    if (code_point < 0x10000) {
        return (int32_t)code_point;
    }
    reader->low_surrogate = (int32_t)(0xDC00 + (code_point & 0x3FF));
    return (int32_t)(0xD800 + ((code_point - 0x10000) >> 10));
}

/* The number of leading bytes that are equal. */
static int64_t common_prefix(const uint8_t *left, const uint8_t *right, int64_t length) {
    int64_t i = 0;
    for (; i + 8 <= length; i += 8) {
        uint64_t a, b;
        memcpy(&a, left + i, 8);
        memcpy(&b, right + i, 8);
        if (a != b) {
            break;
        }
    }
    while (i < length && left[i] == right[i]) {
        i++;
    }
    return i;
}

int ff_compare_utf16(ff_bytes left, ff_bytes right) {
    int64_t shorter = left.length < right.length ? left.length : right.length;
    int64_t prefix = common_prefix(left.data, right.data, shorter);
    if (prefix == shorter) {
        return left.length < right.length ? -1 : left.length > right.length;
    }
    uint8_t a = left.data[prefix], b = right.data[prefix];
    /* UTF-8 and UTF-16 disagree only where a character above U+FFFF (lead byte F0 and up) meets one of U+E000 to U+FFFF
     * (lead bytes EE, EF), or a lone surrogate (lead byte ED), which may be a half of it. */
    if (a < 0xED || b < 0xED || (a >= 0xF0) == (b >= 0xF0)) {
        return a < b ? -1 : 1;
    }
    unit_reader left_reader = {left.data + prefix, left.data + left.length, 0};
    unit_reader right_reader = {right.data + prefix, right.data + right.length, 0};
    for (;;) {
        int32_t left_unit = next_unit(&left_reader), right_unit = next_unit(&right_reader);
        if (left_unit != right_unit) {
            return left_unit < right_unit ? -1 : 1;
        }
        if (left_unit < 0) {
            return 0;
        }
    }
}
