/* Row sets: loading them from bitmaps at any offset, and storing them there. */
#include <string.h>

#include "fastfilter/tests.h"

uint64_t ff_load_bits(const uint8_t *bits, int64_t offset, int64_t num_bits) {
    const uint8_t *from = bits + (offset >> 3);
    int shift = (int)(offset & 7);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (num_bits == 64) {
        uint64_t whole;
        memcpy(&whole, from, 8);
        return shift == 0 ? whole : whole >> shift | (uint64_t)from[8] << (64 - shift);
    }
#endif
    int64_t num_bytes = (shift + num_bits + 7) >> 3; /* 1 to 9 */
    uint64_t word = 0;
    for (int64_t byte = 0; byte < num_bytes && byte < 8; byte++) {
        word |= (uint64_t)from[byte] << (8 * byte);
    }
    word >>= shift;
    if (num_bytes == 9) {
        word |= (uint64_t)from[8] << (64 - shift);
    }
    return num_bits == 64 ? word : word & ((UINT64_C(1) << num_bits) - 1);
}

void ff_store_bits(uint8_t *destination, int64_t offset, const uint64_t *source, int64_t num_bits) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if ((offset & 7) == 0) { /* whole bytes; a last one in part has none of its other bits set in the source */
        int64_t whole = num_bits >> 3;
        memcpy(destination + (offset >> 3), source, (size_t)whole);
        offset += 8 * whole;
        num_bits -= 8 * whole;
        if (num_bits > 0) {
            destination[offset >> 3] |= ((const uint8_t *)source)[whole];
        }
        return;
    }
#endif
    int shift = (int)(offset & 7);
    uint8_t *to = destination + (offset >> 3);
    for (int64_t done = 0; done < num_bits; done += 64) {
        uint64_t word = source[done >> 6];
        int64_t here = num_bits - done < 64 ? num_bits - done : 64;
        int64_t num_bytes = (shift + here + 7) >> 3;
        for (int64_t byte = 0; byte < num_bytes; byte++) {
            uint64_t part = byte == 0 ? word << shift : word >> (8 * byte - shift);
            if (part & 0xFF) {
                to[byte] |= (uint8_t)part;
            }
        }
        to += 8;
    }
}

void ff_keep_bits(uint64_t *rows, const uint8_t *bits, int64_t offset, int64_t num_rows, bool set) {
    uint64_t flip = set ? 0 : ~UINT64_C(0);
    int64_t whole = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    const uint8_t *from = bits + (offset >> 3);
    int shift = (int)(offset & 7);
    for (whole = 0; whole < num_rows >> 6; whole++, from += 8) {
        uint64_t word;
        memcpy(&word, from, 8);
        rows[whole] &= flip ^ (shift == 0 ? word : word >> shift | (uint64_t)from[8] << (64 - shift));
    }
#endif
    for (; whole < ff_num_words(num_rows); whole++) {
        int64_t left = num_rows - 64 * whole;
        rows[whole] &= flip ^ ff_load_bits(bits, offset + 64 * whole, left < 64 ? left : 64);
    }
}

bool ff_any_bit(const uint64_t *rows, int64_t num_words) {
    uint64_t any = 0;
    for (int64_t word = 0; word < num_words; word++) {
        any |= rows[word];
    }
    return any != 0;
}

static uint64_t next_word(const uint8_t *bits, int64_t num_bytes) {
    return ff_load_bits(bits, 0, num_bytes < 8 ? 8 * num_bytes : 64);
}

int64_t ff_count_bits(const uint8_t *bits, int64_t num_bytes) {
    int64_t total = 0;
    for (int64_t at = 0; at < num_bytes; at += 8) {
        total += __builtin_popcountll(next_word(bits + at, num_bytes - at));
    }
    return total;
}

void ff_bits_to_indices(const uint8_t *bits, int64_t num_bytes, int64_t first, int64_t *indices) {
    for (int64_t at = 0; at < num_bytes; at += 8) {
        for (uint64_t left = next_word(bits + at, num_bytes - at); left != 0; left &= left - 1) {
            *indices++ = first + 8 * at + ff_first_bit(left);
        }
    }
}
