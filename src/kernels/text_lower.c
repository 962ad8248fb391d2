#include "fastfilter/text.h"
#include "fastfilter/utf8.h"
#include "unicode_lower_table.h"

#include <string.h>

enum {
    CAPITAL_I_WITH_DOT = 0x130,
    COMBINING_DOT_ABOVE = 0x307,
    CAPITAL_SIGMA = 0x3A3,
    FINAL_SIGMA = 0x3C2,
    SMALL_SIGMA = 0x3C3
};

static inline ff_lower_record lower_record(uint32_t code_point) {
    uint32_t block = ff_lower_blocks[code_point >> FF_LOWER_BLOCK_BITS];
    return ff_lower_records[ff_lower_entries[block << FF_LOWER_BLOCK_BITS | (code_point & (FF_LOWER_BLOCK_SIZE - 1))]];
}

/* Whether the nearest character before `position` that is not case-ignorable is cased. */
static bool cased_before(const uint8_t *start, const uint8_t *position) {
    while (position > start) {
        const uint8_t *lead = position - 1;
        while (lead > start && position - lead < 4 && (*lead & 0xC0) == 0x80) {
            lead--;
        }
        uint32_t code_point = 0;
        if (ff_utf8_decode(lead, position, &code_point) != position - lead) {
            return false;
        }
        ff_casing casing = lower_record(code_point).casing;
        if (casing != FF_CASE_IGNORABLE) {
            return casing == FF_CASED;
        }
        position = lead;
    }
    return false;
}

static bool cased_after(const uint8_t *position, const uint8_t *end) {
    while (position < end) {
        uint32_t code_point;
        int length = ff_utf8_decode(position, end, &code_point);
        if (length == 0) {
            return false;
        }
        ff_casing casing = lower_record(code_point).casing;
        if (casing != FF_CASE_IGNORABLE) {
            return casing == FF_CASED;
        }
        position += length;
    }
    return false;
}

/* Lower-cases eight ASCII bytes at once: adds 0x20 to each byte from 'A' to 'Z'. */
static uint64_t lower_ascii(uint64_t bytes) {
    const uint64_t ones = 0x0101010101010101u;
    uint64_t from_a = bytes + (0x80 - 'A') * ones, past_z = bytes + (0x80 - 'Z' - 1) * ones;
    return bytes + ((from_a & ~past_z & 0x80 * ones) >> 2);
}

bool ff_lower(ff_bytes text, ff_buffer *out) {
    /* A character's lower case is at most half as long again (checked when the table is made). */
    if (!ff_buffer_reserve(out, text.length + text.length / 2 + 1)) {
        return false;
    }
    const uint8_t *position = text.data, *end = text.data + text.length;
    uint8_t *written = out->data + out->length;
    while (position < end) {
        for (uint64_t bytes; end - position >= 8; position += 8, written += 8) {
            memcpy(&bytes, position, 8);
            if ((bytes & 0x8080808080808080u) != 0) {
                break;
            }
            bytes = lower_ascii(bytes);
            memcpy(written, &bytes, 8);
        }
        /* Up to the next eight bytes of which the first is ASCII */
        while (position < end) {
            uint32_t code_point;
            int length = ff_utf8_decode(position, end, &code_point);
            if (length == 0) {
                *written++ = *position++;
            } else if (code_point == CAPITAL_I_WITH_DOT) {
                *written++ = 'i';
                written += ff_utf8_encode(COMBINING_DOT_ABOVE, written);
                position += length;
            } else if (code_point == CAPITAL_SIGMA) {
                bool final = cased_before(text.data, position) && !cased_after(position + length, end);
                written += ff_utf8_encode(final ? FINAL_SIGMA : SMALL_SIGMA, written);
                position += length;
            } else {
                written += ff_utf8_encode(code_point + (uint32_t)lower_record(code_point).delta, written);
                position += length;
            }
            if (end - position >= 8 && *position < 0x80) {
                break;
            }
        }
    }
    out->length = written - out->data;
    return true;
}
