/* One character of UTF-8 at a time. Lone surrogates in three bytes (WTF-8) count as characters here; who wants strict
 * UTF-8 refuses them. */
#ifndef FASTFILTER_UTF8_H
#define FASTFILTER_UTF8_H

#include <stdint.h>

/* The number of bytes (1 to 4) of the character at `position`, which is before `end`; 0 if there is none: an overlong
 * form, a stray or missing continuation byte, or a value above U+10FFFF. */
static inline int ff_utf8_decode(const uint8_t *position, const uint8_t *end, uint32_t *code_point) {
    uint32_t lead = position[0];
    if (lead < 0x80) {
        *code_point = lead;
        return 1;
    }
    int length = lead < 0xC2 ? 0 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : lead < 0xF5 ? 4 : 0;
    if (length == 0 || end - position < length) {
        return 0;
    }
    uint32_t value = lead & (0x7Fu >> length);
    for (int i = 1; i < length; i++) {
        if ((position[i] & 0xC0) != 0x80) {
            return 0;
        }
        value = value << 6 | (position[i] & 0x3Fu);
    }
    if ((length == 3 && value < 0x800) || (length == 4 && (value < 0x10000 || value > 0x10FFFF))) {
        return 0;
    }
    *code_point = value;
    return length;
}

/* Writes the character to `out` (room for 4 bytes) and returns its number of bytes. */
static inline int ff_utf8_encode(uint32_t code_point, uint8_t *out) {
    if (code_point < 0x80) {
        out[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        out[0] = (uint8_t)(0xC0 | code_point >> 6);
        out[1] = (uint8_t)(0x80 | (code_point & 0x3F));
        return 2;
    }
    if (code_point < 0x10000) {
        out[0] = (uint8_t)(0xE0 | code_point >> 12);
        out[1] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
        out[2] = (uint8_t)(0x80 | (code_point & 0x3F));
        return 3;
    }
    out[0] = (uint8_t)(0xF0 | code_point >> 18);
    out[1] = (uint8_t)(0x80 | (code_point >> 12 & 0x3F));
    out[2] = (uint8_t)(0x80 | (code_point >> 6 & 0x3F));
    out[3] = (uint8_t)(0x80 | (code_point & 0x3F));
    return 4;
}

static inline int ff_is_surrogate(uint32_t code_point) {
    return code_point >= 0xD800 && code_point <= 0xDFFF;
}

#endif
