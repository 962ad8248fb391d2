/* Substring search: memchr for the needle's first byte, and where a text is made to defeat that, the two-way algorithm
 * (Crochemore and Perrin, 1991), which is linear and needs no memory. And a quick one, which may give up. */
#include "fastfilter/text.h"

#include <string.h>

/* Start (minus one) of the greatest suffix of the needle in byte order, or in the reverse order, and its period. */
static int64_t greatest_suffix(ff_bytes needle, bool reverse, int64_t *period) {
    int64_t suffix = -1, candidate = 0, offset = 1;
    *period = 1;
    while (candidate + offset < needle.length) {
        uint8_t a = needle.data[candidate + offset], b = needle.data[suffix + offset];
        if (a == b) {
            if (offset == *period) {
                candidate += offset;
                offset = 1;
            } else {
                offset++;
            }
        } else if (reverse ? a > b : a < b) {
            candidate += offset;
            offset = 1;
            *period = candidate - suffix;
        } else {
            suffix = candidate++;
            offset = *period = 1;
        }
    }
    return suffix;
}

static bool find_two_way(ff_bytes text, ff_bytes needle) {
    const uint8_t *x = needle.data;
    int64_t length = needle.length, period, reverse_period;
    int64_t cut = greatest_suffix(needle, false, &period);
    int64_t reverse_cut = greatest_suffix(needle, true, &reverse_period);
    if (reverse_cut > cut) {
        cut = reverse_cut;
        period = reverse_period;
    }
    bool periodic = memcmp(x, x + period, (size_t)(cut + 1)) == 0;
    if (!periodic) {
        int64_t left = cut + 1, right = length - cut - 1;
        period = (left > right ? left : right) + 1;
    }
    int64_t known = -1; /* x[0..known] is known to match at `start`; only of use if the needle is periodic */
    for (int64_t start = 0; start <= text.length - length;) {
        const uint8_t *y = text.data + start;
        int64_t i = (cut > known ? cut : known) + 1;
        while (i < length && x[i] == y[i]) {
            i++;
        }
        if (i < length) {
            start += i - cut;
            known = -1;
            continue;
        }
        i = cut;
        while (i > known && x[i] == y[i]) {
            i--;
        }
        if (i <= known) {
            return true;
        }
        start += period;
        known = periodic ? length - period - 1 : -1;
    }
    return false;
}

bool ff_find(ff_bytes text, ff_bytes needle) {
    if (needle.length == 0) {
        return true;
    }
    if (needle.length > text.length) {
        return false;
    }
    const uint8_t *position = text.data, *end = text.data + text.length;
    const uint8_t *last_start = end - needle.length;
    uint8_t first = needle.data[0], last = needle.data[needle.length - 1];
    int64_t wasted = 0; /* bytes of the needle compared in vain; bounded by a multiple of the bytes passed over */
    while (position <= last_start) {
        position = memchr(position, first, (size_t)(last_start - position + 1));
        if (position == NULL) {
            return false;
        }
        if (position[needle.length - 1] == last) {
            if (memcmp(position, needle.data, (size_t)needle.length) == 0) {
                return true;
            }
            wasted += needle.length;
            if (wasted > 4096 + 8 * (position - text.data)) {
                ff_bytes rest = {position, end - position};
                return find_two_way(rest, needle);
            }
        }
        position++;
    }
    return false;
}

/* A byte of a needle, and the bit that a text's byte may lack: `(byte | fold) == letter` for a letter of either case. */
typedef struct {
    int64_t place;
    uint8_t letter, fold;
} anchor;

static inline anchor anchor_at(ff_bytes needle, int64_t place, bool ignore_case) {
    uint8_t letter = needle.data[place];
    bool folds = ignore_case && letter >= 'a' && letter <= 'z';
    return (anchor){place, letter, folds ? 0x20 : 0};
}

static inline bool is_at(const uint8_t *text, anchor byte) {
    return (text[byte.place] | byte.fold) == byte.letter;
}

static inline bool occurs_at(const uint8_t *text, ff_bytes needle, bool ignore_case) {
    if (!ignore_case) {
        return memcmp(text, needle.data, (size_t)needle.length) == 0;
    }
    for (int64_t i = 0; i < needle.length; i++) {
        uint8_t byte = text[i];
        if ((byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte) != needle.data[i]) {
            return false;
        }
    }
    return true;
}

enum { POSITIONS = 32 }; /* compared at once: a loop of fixed length that compilers turn into vectors */

int ff_find_quickly(ff_bytes text, ff_bytes needle, bool ignore_case) {
    if (needle.length == 0) {
        return 1;
    }
    anchor first = anchor_at(needle, 0, ignore_case), last = anchor_at(needle, needle.length - 1, ignore_case);
    int64_t num_starts = text.length - needle.length + 1, wasted = 0;
    for (int64_t at = 0; at < num_starts; at += POSITIONS) {
        const uint8_t *here = text.data + at;
        int64_t count = num_starts - at < POSITIONS ? num_starts - at : POSITIONS;
        if (count == POSITIONS) {
            uint8_t any = 0;
            for (int i = 0; i < POSITIONS; i++) {
                any |= (uint8_t)(((here[i] | first.fold) == first.letter) &
                                 ((here[i + last.place] | last.fold) == last.letter));
            }
            if (!any) {
                continue;
            }
        }
        for (int64_t i = 0; i < count; i++) {
            if (is_at(here + i, first) && is_at(here + i, last)) {
                if (occurs_at(here + i, needle, ignore_case)) {
                    return 1;
                }
                wasted += needle.length;
                if (wasted > 4096 + 8 * at) {
                    return -1;
                }
            }
        }
    }
    return 0;
}
