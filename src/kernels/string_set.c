/* Sets of strings by hash, and the rare bytes of a needle. */
#include <stdlib.h>
#include <string.h>

#include "fastfilter/tests.h"

/* Places looked at in the worst case; strings that need more get another multiplier, and at last no set. */
#define LONGEST_PROBE 8

static bool fill(ff_string_set *set, const ff_bytes *strings, int32_t num_strings) {
    for (uint64_t place = 0; place <= set->last_place; place++) {
        set->places[place].length = -1;
    }
    memset(set->hashes, 0, (set->last_hash + 1) / 8);
    for (int32_t at = 0; at < num_strings; at++) {
        ff_bytes string = strings[at];
        ff_string_place own = {.length = string.length, .data = string.data};
        memcpy(&own.head, string.data, (size_t)(string.length < 8 ? string.length : 8));
        if (string.length > 8) {
            memcpy(&own.tail, string.data + string.length - 8, 8);
        }
        uint64_t hash = ff_string_hash(set, own.head, own.tail, own.length), bit = (hash >> 16) & set->last_hash;
        uint64_t place = hash >> set->shift;
        int probes = 0;
        set->hashes[bit >> 6] |= UINT64_C(1) << (bit & 63);
        while (set->places[place].length >= 0) {
            place = (place + 1) & set->last_place;
            if (++probes > LONGEST_PROBE) {
                return false;
            }
        }
        set->places[place] = own;
        set->lengths |= UINT64_C(1) << (string.length < 63 ? string.length : 63);
    }
    return true;
}

bool ff_string_set_new(ff_string_set *set, const ff_bytes *strings, int32_t num_strings) {
    memset(set, 0, sizeof(*set));
    int bits = 3;
    while ((INT64_C(1) << bits) < 4 * (int64_t)num_strings) {
        bits++;
    }
    set->shift = 64 - bits;
    set->last_place = (UINT64_C(1) << bits) - 1;
    set->last_hash = 16 * (set->last_place + 1) - 1;
    size_t size = (size_t)(set->last_place + 1) * sizeof(ff_string_place);
    set->places = malloc(size + (set->last_hash + 1) / 8);
    if (set->places == NULL) {
        return false;
    }
    set->hashes = (uint64_t *)((char *)set->places + size);
    set->multiplier = UINT64_C(0x9E3779B97F4A7C15);
    for (int attempt = 0; attempt < 16; attempt++) {
        set->lengths = 0;
        if (fill(set, strings, num_strings)) {
            return true;
        }
        set->multiplier = set->multiplier * UINT64_C(0xD1342543DE82EF95) | 1;
    }
    ff_string_set_free(set);
    return true;
}

void ff_string_set_free(ff_string_set *set) {
    free(set->places);
    set->places = NULL;
}

/* How common a byte is, roughly: 0 for those hardly ever seen. */
static int commonness(uint8_t byte) {
    static const char common[] = " etaoinshrdlucmfwygpb,.v\"k-:_0123456789/'AISTCxMjEqzPDRNBLFWHOGUYVKJXQZ";
    const char *found = byte == 0 ? NULL : memchr(common, byte, sizeof(common) - 1);
    if (found != NULL) {
        return (int)(sizeof(common) - (size_t)(found - common)) + 8;
    }
    return byte >= 0xC0 ? 8 : byte >= 0x80 ? 12 : 4;
}

ff_json_needle ff_json_needle_of(ff_bytes bytes) {
    ff_json_needle needle = {.bytes = bytes, .anchors = ff_anchors_of(bytes, false)};
    size_t length = (size_t)(bytes.length < 8 ? bytes.length : 8);
    memset(&needle.head_mask, 0xFF, length);
    memcpy(&needle.head, bytes.data, length);
    memcpy(&needle.tail, bytes.data + bytes.length - length, length);
    return needle;
}

ff_anchors ff_anchors_of(ff_bytes needle, bool ignore_case) {
    ff_anchors anchors = {0};
    int best = 1 << 20, next = 1 << 20;
    for (int64_t at = 0; at < needle.length; at++) {
        uint8_t byte = needle.data[at];
        bool letter = ignore_case && byte >= 'a' && byte <= 'z';
        int rank = commonness(byte) + (letter ? commonness(byte ^ 0x20) : 0);
        anchors.high |= byte >= 0x80;
        if (rank < best) {
            next = best;
            anchors.second = anchors.first;
            best = rank;
            anchors.first = at;
        } else if (rank < next && byte != needle.data[anchors.first]) {
            next = rank;
            anchors.second = at;
        }
    }
    if (needle.length > 0) {
        if (next == 1 << 20) {
            anchors.second = needle.length - 1;
        }
        anchors.first_byte = needle.data[anchors.first];
        anchors.second_byte = needle.data[anchors.second];
        anchors.first_fold = ignore_case && anchors.first_byte >= 'a' && anchors.first_byte <= 'z' ? 0x20 : 0;
        anchors.second_fold = ignore_case && anchors.second_byte >= 'a' && anchors.second_byte <= 'z' ? 0x20 : 0;
    }
    return anchors;
}
