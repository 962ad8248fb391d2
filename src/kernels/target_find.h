/* Occurrence of a text in strings, 64 bytes at once. Included by target_body.h. */

static inline uint8_t folded(uint8_t byte) {
    return byte >= 'A' && byte <= 'Z' ? byte | 0x20 : byte;
}

static inline bool occurs_at(const uint8_t *at, ff_bytes needle, bool ignore_case) {
    if (!ignore_case) {
        return memcmp(at, needle.data, (size_t)needle.length) == 0;
    }
    int64_t same = 0;
    while (same < needle.length && folded(at[same]) == needle.data[same]) {
        same++;
    }
    return same == needle.length;
}

static inline bool has_high_byte(const uint8_t *at, int64_t length) {
    uint8_t any = 0;
    for (int64_t i = 0; i < length; i++) {
        any |= at[i];
    }
    return any >= 0x80;
}

/* Texts far apart come one cache line at a time from memory; asking for the next ones' first lines hides that. */
static inline void prefetch(const uint8_t *at, int64_t length) {
    for (int64_t line = 0; line < length && line < 256; line += 64) {
        __builtin_prefetch(at + line);
    }
}

/* Whether U+0130 or U+212A is there: the only characters whose lower case has an ASCII letter in it (the generator of the
 * lower-case table asserts it). Without them an ASCII needle is found by folding ASCII letters alone. */
static inline bool has_odd_letter(const uint8_t *at, int64_t length) {
    bool odd = false;
    for (int64_t i = 0; i + 1 < length; i++) {
        odd |= (at[i] == 0xC4) & (at[i + 1] == 0xB0);
        odd |= (at[i] == 0xE2) & (at[i + 1] == 0x84);
    }
    return odd;
}

/* The rows where the needle occurs, among `candidates` of up to 64 rows whose bytes lie one behind the other in `data`.
 *
 * Two rare bytes of the needle are compared at 64 positions at once, over all the rows' bytes, and the row of a hit is
 * found afterwards. Bytes compared in vain are bounded by a multiple of the bytes passed over; when a needle is made to
 * defeat that, *gave_up is the first row not decided (else num_rows). With `ignore_case`, *high is set if a row without
 * the needle has a byte that is not ASCII; perhaps also if others have. */
#define DEFINE_STRING_FIND(NAME, OFFSET, SCAN)                                                                         \
    static inline uint64_t SCAN(const uint8_t *data, const uint8_t *end, const OFFSET *offsets, int num_rows,          \
                                ff_bytes needle, const ff_anchors *anchors, bool ignore_case, uint64_t candidates,     \
                                int *gave_up, bool *high) {                                                            \
        uint64_t found = 0;                                                                                            \
        int64_t length = needle.length, wasted = 0, start = (int64_t)offsets[0], stop = (int64_t)offsets[num_rows];    \
        int64_t first = anchors->first, second = anchors->second, last = stop - length, at = start;                    \
        int64_t readable = end - data - (first > second ? first : second) - 64;                                        \
        int64_t whole = readable < last - 63 ? readable : last - 63, ahead = num_rows > 1 ? 2048 : 0;                  \
        uint8_t first_byte = anchors->first_byte, first_fold = ignore_case ? anchors->first_fold : 0;                  \
        uint8_t second_byte = anchors->second_byte, second_fold = ignore_case ? anchors->second_fold : 0;              \
        int row = 0;                                                                                                   \
        *gave_up = num_rows;                                                                                           \
        for (; at <= last; at += 64) {                                                                                 \
            uint64_t mask = 0;                                                                                         \
            for (; at <= whole; at += 64) {                                                                            \
                __builtin_prefetch(data + at + ahead);                                                                 \
                *high |= ignore_case && has_high_64(data + at);                                                        \
                mask = pair_mask(data + at + first, first_fold, first_byte, data + at + second, second_fold,           \
                                 second_byte);                                                                         \
                if (mask != 0) {                                                                                       \
                    break;                                                                                             \
                }                                                                                                      \
            }                                                                                                          \
            if (mask == 0) { /* fewer than 64 positions are left, or not all of the 64 can be read */                  \
                if (at > last) {                                                                                       \
                    break;                                                                                             \
                }                                                                                                      \
                if (at <= readable) {                                                                                  \
                    *high |= ignore_case && has_high_64(data + at);                                                    \
                    mask = pair_mask(data + at + first, first_fold, first_byte, data + at + second, second_fold,       \
                                     second_byte);                                                                     \
                    mask &= ~UINT64_C(0) >> (63 - (last - at < 63 ? last - at : 63));                                  \
                } else if (ignore_case) {                                                                              \
                    *high |= has_high_byte(data + at, stop - at < 64 ? stop - at : 64);                                \
                }                                                                                                      \
                for (int i = 0; at > readable && i < 64 && at + i <= last; i++) {                                      \
                    const uint8_t *here = data + at + i;                                                               \
                    mask |= (uint64_t)(((here[first] | first_fold) == first_byte) &                                    \
                                       ((here[second] | second_fold) == second_byte))                                  \
                            << i;                                                                                      \
                }                                                                                                      \
            }                                                                                                          \
            while (mask != 0) {                                                                                        \
                int64_t hit = at + ff_first_bit(mask), next;                                                           \
                while ((int64_t)offsets[row + 1] <= hit) {                                                             \
                    row++;                                                                                             \
                }                                                                                                      \
                if (!(candidates >> row & 1)) {                                                                        \
                    next = (int64_t)offsets[row + 1];                                                                  \
                } else if (hit + length > (int64_t)offsets[row + 1]) {                                                 \
                    next = (int64_t)offsets[row + 1];                                                                  \
                    *high |= ignore_case && has_high_byte(data + hit, next - hit);                                     \
                } else if (occurs_at(data + hit, needle, ignore_case)) {                                               \
                    found |= UINT64_C(1) << row;                                                                       \
                    next = (int64_t)offsets[row + 1];                                                                  \
                } else {                                                                                               \
                    next = hit + 1;                                                                                    \
                    wasted += length;                                                                                  \
                    if (wasted > 4096 + 8 * (hit - start)) {                                                           \
                        *gave_up = row;                                                                                \
                        return found;                                                                                  \
                    }                                                                                                  \
                }                                                                                                      \
                if (next - at >= 64) {                                                                                 \
                    at = next - 64;                                                                                    \
                    break;                                                                                             \
                }                                                                                                      \
                mask &= ~UINT64_C(0) << (next - at);                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        *high |= ignore_case && at < stop && has_high_byte(data + at, stop - at);                                      \
        return found;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        const ff_constant *constant = &test->constant;                                                                 \
        const OFFSET *offsets = (const OFFSET *)view->values + view->offset + first;                                   \
        const uint8_t *data = view->data == NULL ? (const uint8_t *)"" : view->data;                                   \
        const uint8_t *end = data + ((const OFFSET *)view->values)[view->offset + view->length];                       \
        ff_bytes needle = constant->text;                                                                              \
        const ff_anchors *anchors = &constant->anchors;                                                                \
        bool ignore_case = test->opcode == FF_OP_CONTAINS_IGNORE_CASE;                                                 \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, offsets += 64) {                                 \
            int rows_here = num_rows - 64 * word < 64 ? (int)(num_rows - 64 * word) : 64;                              \
            uint64_t left = candidates[word], found = 0;                                                               \
            bool together = __builtin_popcountll(left) * 3 > rows_here;                                                \
            if (!together && word + 1 < ff_num_words(num_rows)) {                                                      \
                for (uint64_t ahead = candidates[word + 1]; ahead != 0; ahead &= ahead - 1) {                          \
                    int row = 64 + ff_first_bit(ahead);                                                                \
                    prefetch(data + offsets[row], (int64_t)offsets[row + 1] - (int64_t)offsets[row]);                  \
                }                                                                                                      \
            }                                                                                                          \
            while (left != 0) {                                                                                        \
                /* All the rows of the word in one go, or the next candidate alone. */                                 \
                int row = together ? 0 : ff_first_bit(left), count = together ? rows_here : 1;                         \
                uint64_t asked = together ? left : UINT64_C(1);                                                        \
                int64_t start = (int64_t)offsets[row], length = (int64_t)offsets[row + count] - start;                 \
                if (!ascends_##OFFSET(offsets + row, count)) {                                                         \
                    ff_fault_data(&run->fault, "the offsets of a string do not ascend");                               \
                    return;                                                                                            \
                }                                                                                                      \
                bool high = false;                                                                                     \
                int gave_up = 0;                                                                                       \
                uint64_t answer = 0;                                                                                   \
                if (!ignore_case) {                                                                                    \
                    answer = SCAN(data, end, offsets + row, count, needle, anchors, false, asked, &gave_up, &high);    \
                } else if (!anchors->high) {                                                                           \
                    answer = SCAN(data, end, offsets + row, count, needle, anchors, true, asked, &gave_up, &high);     \
                    if (high && has_odd_letter(data + start, length)) {                                                \
                        answer = 0;                                                                                    \
                        gave_up = 0;                                                                                   \
                    }                                                                                                  \
                } else if (!has_high_byte(data + start, length)) {                                                     \
                    gave_up = count; /* a needle that is not ASCII, in texts that are */                               \
                }                                                                                                      \
                for (int at = gave_up; at < count; at++) {                                                             \
                    if (asked >> at & 1) {                                                                             \
                        answer |= (uint64_t)test->matches(test, view, first + 64 * word + row + at, run) << at;        \
                    }                                                                                                  \
                }                                                                                                      \
                found |= answer << row;                                                                                \
                left = together ? 0 : left & (left - 1);                                                               \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
    }

static inline bool ascends_int32_t(const int32_t *offsets, int count) {
    bool good = offsets[0] >= 0;
    for (int row = 0; row < count; row++) {
        good &= offsets[row] <= offsets[row + 1];
    }
    return good;
}

static inline bool ascends_int64_t(const int64_t *offsets, int count) {
    bool good = offsets[0] >= 0;
    for (int row = 0; row < count; row++) {
        good &= offsets[row] <= offsets[row + 1];
    }
    return good;
}

DEFINE_STRING_FIND(string_find, int32_t, scan_strings)
DEFINE_STRING_FIND(large_string_find, int64_t, scan_large_strings)
