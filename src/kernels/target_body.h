/* The hot kernels of one CPU target; each thin file target_*.c opens its target, names it, and includes this.
 *
 * The bodies are plain C on fixed runs of 64 rows or bytes without branches, which compilers make as wide as the target
 * is; only masks of 64 bytes are spelled in intrinsics, since no compiler finds the instructions for them. Scalar
 * meaning of every kernel: `destination` gets the candidates on whose value the test's `matches` is true. */
#include <string.h>

#include "fastfilter/intervals.h"
#include "fastfilter/target.h"
#include "fastfilter/text.h"

#if defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__)
#include <immintrin.h>
#endif

/* Of 64 rows, so few candidates are looked at one by one: about what comparing all 64 costs. */
#if defined(__AVX512BW__)
#define FEW 2
#elif defined(__AVX2__)
#define FEW 4
#else
#define FEW 10
#endif

/* 64 bytes of 0 or 1 as the bits of a word. Without an instruction for it, a multiplication moves eight into a byte. */
static inline uint64_t pack(const uint8_t *flags) {
    uint64_t bits = 0;
#if defined(FF_SCALAR_TARGET)
    for (int row = 0; row < 64; row++) {
        bits |= (uint64_t)flags[row] << row;
    }
#elif defined(__AVX512BW__)
    __m512i all = _mm512_loadu_si512(flags);
    bits = _mm512_test_epi8_mask(all, all);
#elif defined(__AVX2__)
    for (int half = 0; half < 2; half++) {
        __m256i part = _mm256_loadu_si256((const __m256i *)(flags + 32 * half));
        bits |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_slli_epi16(part, 7)) << (32 * half);
    }
#elif defined(__SSE2__)
    for (int quarter = 0; quarter < 4; quarter++) {
        __m128i part = _mm_loadu_si128((const __m128i *)(flags + 16 * quarter));
        bits |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(part, 7)) << (16 * quarter);
    }
#else
    for (int byte = 0; byte < 8; byte++) {
        uint64_t eight;
        memcpy(&eight, flags + 8 * byte, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        eight = __builtin_bswap64(eight);
#endif
        bits |= (eight * UINT64_C(0x0102040810204080) >> 56) << (8 * byte);
    }
#endif
    return bits;
}

/* The bits of 64 positions where `(at[i] | fold) == byte` and `(other[i] | other_fold) == other_byte`. */
static inline uint64_t pair_mask(const uint8_t *at, uint8_t fold, uint8_t byte, const uint8_t *other,
                                 uint8_t other_fold, uint8_t other_byte) {
#if defined(FF_SCALAR_TARGET)
    uint64_t mask = 0;
    for (int i = 0; i < 64; i++) {
        mask |= (uint64_t)(((at[i] | fold) == byte) & ((other[i] | other_fold) == other_byte)) << i;
    }
    return mask;
#elif defined(__AVX512BW__)
    __m512i a = _mm512_or_si512(_mm512_loadu_si512(at), _mm512_set1_epi8((char)fold));
    __m512i b = _mm512_or_si512(_mm512_loadu_si512(other), _mm512_set1_epi8((char)other_fold));
    __mmask64 first = _mm512_cmpeq_epi8_mask(a, _mm512_set1_epi8((char)byte));
    return _mm512_mask_cmpeq_epi8_mask(first, b, _mm512_set1_epi8((char)other_byte));
#elif defined(__AVX2__)
    uint64_t mask = 0;
    for (int half = 0; half < 2; half++) {
        __m256i a = _mm256_loadu_si256((const __m256i *)(at + 32 * half));
        __m256i b = _mm256_loadu_si256((const __m256i *)(other + 32 * half));
        a = _mm256_cmpeq_epi8(_mm256_or_si256(a, _mm256_set1_epi8((char)fold)), _mm256_set1_epi8((char)byte));
        b = _mm256_cmpeq_epi8(_mm256_or_si256(b, _mm256_set1_epi8((char)other_fold)), _mm256_set1_epi8((char)other_byte));
        mask |= (uint64_t)(uint32_t)_mm256_movemask_epi8(_mm256_and_si256(a, b)) << (32 * half);
    }
    return mask;
#elif defined(__SSE2__)
    uint64_t mask = 0;
    for (int part = 0; part < 4; part++) {
        __m128i a = _mm_loadu_si128((const __m128i *)(at + 16 * part));
        __m128i b = _mm_loadu_si128((const __m128i *)(other + 16 * part));
        a = _mm_cmpeq_epi8(_mm_or_si128(a, _mm_set1_epi8((char)fold)), _mm_set1_epi8((char)byte));
        b = _mm_cmpeq_epi8(_mm_or_si128(b, _mm_set1_epi8((char)other_fold)), _mm_set1_epi8((char)other_byte));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_and_si128(a, b)) << (16 * part);
    }
    return mask;
#else
    uint8_t flags[64];
    uint8_t any = 0;
    for (int i = 0; i < 64; i++) {
        flags[i] = (uint8_t)(((at[i] | fold) == byte) & ((other[i] | other_fold) == other_byte));
        any |= flags[i];
    }
    return any ? pack(flags) : 0;
#endif
}

/* -- numbers ------------------------------------------------------------------------------------------------------ */

/* A double bound as the nearest float that is not outside it. */
static inline float float_at_least(double bound) {
    float nearest = (float)bound;
    return (double)nearest < bound ? __builtin_nextafterf(nearest, __builtin_inff()) : nearest;
}

static inline float float_at_most(double bound) {
    float nearest = (float)bound;
    return (double)nearest > bound ? __builtin_nextafterf(nearest, -__builtin_inff()) : nearest;
}

#define CAST_LOWER(TYPE, bound) ((TYPE)(bound))
#define FLOAT_LOWER(TYPE, bound) float_at_least(bound)
#define FLOAT_UPPER(TYPE, bound) float_at_most(bound)

/* TYPE is what the column stores; VALUE what a single value is compared as, in the intervals FIELD, which lie in the
 * range of TYPE. A word with many candidates compares all of its 64 values with up to MANY intervals; a bound is looked
 * for where there are few candidates or more intervals than that. */
#define MANY 48
#define DEFINE_NUMBERS(NAME, TYPE, VALUE, FIELD, LOWER, UPPER)                                                         \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        (void)run;                                                                                                     \
        const ff_constant *constant = &test->constant;                                                                 \
        const TYPE *values = (const TYPE *)view->values + view->offset + first;                                        \
        int32_t num_intervals = constant->num_##FIELD;                                                                 \
        int few = num_intervals <= MANY ? FEW + num_intervals : 64;                                                    \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, values += 64) {                                  \
            uint64_t left = candidates[word], found = 0;                                                               \
            if (num_rows - 64 * word >= 64 && __builtin_popcountll(left) > few) {                                      \
                uint8_t flags[64] = {0};                                                                               \
                for (int32_t at = 0; at < num_intervals; at++) {                                                       \
                    TYPE lower = LOWER(TYPE, constant->FIELD[at].lower);                                               \
                    TYPE upper = UPPER(TYPE, constant->FIELD[at].upper);                                               \
                    for (int row = 0; row < 64; row++) {                                                               \
                        flags[row] |= (uint8_t)((values[row] >= lower) & (values[row] <= upper));                      \
                    }                                                                                                  \
                }                                                                                                      \
                found = pack(flags) & left;                                                                            \
            } else {                                                                                                   \
                for (; left != 0; left &= left - 1) {                                                                  \
                    int row = ff_first_bit(left);                                                                      \
                    found |= (uint64_t)in_##FIELD(constant, (VALUE)values[row]) << row;                                \
                }                                                                                                      \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
    }

DEFINE_NUMBERS(int8, int8_t, int64_t, int64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(int16, int16_t, int64_t, int64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(int32, int32_t, int64_t, int64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(int64, int64_t, int64_t, int64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(uint8, uint8_t, uint64_t, uint64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(uint16, uint16_t, uint64_t, uint64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(uint32, uint32_t, uint64_t, uint64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(uint64, uint64_t, uint64_t, uint64s, CAST_LOWER, CAST_LOWER)
DEFINE_NUMBERS(float32, float, double, doubles, FLOAT_LOWER, FLOAT_UPPER)
DEFINE_NUMBERS(float64, double, double, doubles, CAST_LOWER, CAST_LOWER)

/* -- equality of strings ------------------------------------------------------------------------------------------ */

/* Up to eight bytes from `at`, as memcpy puts them into a zero; reads nothing behind `end`. */
static inline uint64_t load_up_to_8(const uint8_t *at, int64_t length, const uint8_t *end) {
    uint64_t bytes = 0;
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (end - at >= 8) {
        memcpy(&bytes, at, 8);
        return length >= 8 ? bytes : bytes & ((UINT64_C(1) << (8 * length)) - 1);
    }
#endif
    memcpy(&bytes, at, (size_t)(length < 8 ? length : 8));
    return bytes;
}

static inline bool equals_one(const uint8_t *at, const uint8_t *end, ff_bytes string, uint64_t head) {
    return load_up_to_8(at, string.length, end) == head &&
           (string.length <= 8 || memcmp(at + 8, string.data + 8, (size_t)string.length - 8) == 0);
}

/* Lengths first, 64 at a time; then eight bytes; then the rest. Several strings are looked up in the constant's table. */
#define DEFINE_STRING_EQUALS(NAME, OFFSET)                                                                             \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        const ff_constant *constant = &test->constant;                                                                 \
        const OFFSET *offsets = (const OFFSET *)view->values + view->offset + first;                                   \
        const uint8_t *data = view->data;                                                                              \
        const uint8_t *end = data + ((const OFFSET *)view->values)[view->offset + view->length];                       \
        bool one = constant->num_strings == 1;                                                                         \
        ff_bytes string = one ? constant->strings[0] : (ff_bytes){0};                                                  \
        uint64_t head = one ? load_up_to_8(string.data, string.length, string.data + string.length) : 0;               \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, offsets += 64) {                                 \
            uint64_t left = candidates[word], found = 0;                                                               \
            if (one && num_rows - 64 * word >= 64 && __builtin_popcountll(left) > FEW) {                               \
                uint8_t flags[64];                                                                                     \
                for (int row = 0; row < 64; row++) {                                                                   \
                    flags[row] = (uint8_t)(offsets[row + 1] - offsets[row] == (OFFSET)string.length);                  \
                }                                                                                                      \
                left &= pack(flags);                                                                                   \
            }                                                                                                          \
            for (; left != 0; left &= left - 1) {                                                                      \
                int row = ff_first_bit(left);                                                                          \
                int64_t start = (int64_t)offsets[row], length = (int64_t)offsets[row + 1] - start;                     \
                if (length < 0) {                                                                                      \
                    ff_fault_data(&run->fault, "its offsets decrease");                                                \
                    return;                                                                                            \
                }                                                                                                      \
                bool equal = one ? length == string.length && equals_one(data + start, end, string, head)              \
                                 : ff_string_set_has(&constant->set, data + start, length,                             \
                                                     load_up_to_8(data + start, length, end));                         \
                found |= (uint64_t)equal << row;                                                                       \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
    }

DEFINE_STRING_EQUALS(string_equals, int32_t)
DEFINE_STRING_EQUALS(large_string_equals, int64_t)

/* -- occurrence in strings ---------------------------------------------------------------------------------------- */

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
 * defeat that, *gave_up is the first row not decided (else num_rows). */
#define DEFINE_STRING_FIND(NAME, OFFSET, SCAN)                                                                         \
    static uint64_t SCAN(const uint8_t *data, const uint8_t *end, const OFFSET *offsets, int num_rows, ff_bytes needle,\
                         const ff_anchors *anchors, bool ignore_case, uint64_t candidates, int *gave_up) {             \
        uint64_t found = 0;                                                                                            \
        int64_t length = needle.length, wasted = 0, start = (int64_t)offsets[0];                                       \
        int64_t last = (int64_t)offsets[num_rows] - length, far = anchors->first > anchors->second ? anchors->first    \
                                                                                                   : anchors->second;  \
        int row = 0;                                                                                                   \
        *gave_up = num_rows;                                                                                           \
        for (int64_t at = start; at <= last; at += 64) {                                                               \
            uint64_t mask = 0;                                                                                         \
            if (end - data >= at + far + 64) {                                                                         \
                mask = pair_mask(data + at + anchors->first, anchors->first_fold, anchors->first_byte,                 \
                                 data + at + anchors->second, anchors->second_fold, anchors->second_byte);             \
            } else {                                                                                                   \
                for (int i = 0; i < 64 && at + i <= last; i++) {                                                       \
                    const uint8_t *here = data + at + i;                                                               \
                    mask |= (uint64_t)(((here[anchors->first] | anchors->first_fold) == anchors->first_byte) &         \
                                       ((here[anchors->second] | anchors->second_fold) == anchors->second_byte))       \
                            << i;                                                                                      \
                }                                                                                                      \
            }                                                                                                          \
            if (last - at < 63) {                                                                                      \
                mask &= (UINT64_C(1) << (last - at + 1)) - 1;                                                          \
            }                                                                                                          \
            while (mask != 0) {                                                                                        \
                int64_t hit = at + ff_first_bit(mask), next;                                                           \
                while ((int64_t)offsets[row + 1] <= hit) {                                                             \
                    row++;                                                                                             \
                }                                                                                                      \
                if (hit + length > (int64_t)offsets[row + 1] || !(candidates >> row & 1)) {                            \
                    next = (int64_t)offsets[row + 1];                                                                  \
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
                bool high = ignore_case && has_high_byte(data + start, length);                                        \
                int gave_up = 0;                                                                                       \
                uint64_t answer = 0;                                                                                   \
                if (ignore_case && !high && constant->anchors.high) {                                                  \
                    gave_up = count; /* a needle that is not ASCII, in texts that are */                               \
                } else if (!high || (!constant->anchors.high && !has_odd_letter(data + start, length))) {              \
                    answer = SCAN(data, end, offsets + row, count, needle, &constant->anchors, ignore_case, asked,     \
                                  &gave_up);                                                                           \
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

/* -- dictionaries ------------------------------------------------------------------------------------------------- */

/* A slot that is null may hold any number, so only candidates are checked; the verdict behind the last is zero. Verdicts
 * on few entries fit one word, which is shifted instead of memory being read. */
#define DEFINE_MAP(NAME, TYPE, UNSIGNED)                                                                                \
    static bool NAME(const void *entries, int64_t num_rows, int64_t num_entries, const uint8_t *verdicts,              \
                     const uint64_t *candidates, uint64_t *destination) {                                              \
        const TYPE *numbers = entries;                                                                                 \
        bool fits = num_entries <= 32;                                                                                 \
        uint32_t word_of_verdicts = 0;                                                                                 \
        for (int64_t entry = 0; fits && entry < num_entries; entry++) {                                                \
            word_of_verdicts |= (uint32_t)verdicts[entry] << entry;                                                    \
        }                                                                                                              \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, numbers += 64) {                                 \
            uint64_t left = candidates[word], found = 0;                                                               \
            if (num_rows - 64 * word >= 64 && __builtin_popcountll(left) > FEW) {                                      \
                uint8_t flags[64], outside[64], any = 0;                                                               \
                for (int row = 0; fits && row < 64; row++) {                                                           \
                    UNSIGNED number = (UNSIGNED)numbers[row];                                                          \
                    outside[row] = number >= (UNSIGNED)num_entries;                                                    \
                    flags[row] = word_of_verdicts >> ((uint32_t)number & 31) & 1;                                      \
                    any |= outside[row];                                                                               \
                }                                                                                                      \
                for (int row = 0; !fits && row < 64; row++) {                                                          \
                    uint64_t number = (uint64_t)numbers[row];                                                          \
                    outside[row] = number >= (uint64_t)num_entries;                                                    \
                    flags[row] = verdicts[outside[row] ? (uint64_t)num_entries : number];                              \
                    any |= outside[row];                                                                               \
                }                                                                                                      \
                if (any && (pack(outside) & left)) {                                                                   \
                    return false;                                                                                      \
                }                                                                                                      \
                found = pack(flags) & left;                                                                            \
            } else {                                                                                                   \
                for (; left != 0; left &= left - 1) {                                                                  \
                    int row = ff_first_bit(left);                                                                      \
                    uint64_t number = (uint64_t)numbers[row];                                                          \
                    if (number >= (uint64_t)num_entries) {                                                             \
                        return false;                                                                                  \
                    }                                                                                                  \
                    found |= (uint64_t)verdicts[number] << row;                                                        \
                }                                                                                                      \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
        return true;                                                                                                   \
    }

DEFINE_MAP(map_int8, int8_t, uint8_t)
DEFINE_MAP(map_int16, int16_t, uint16_t)
DEFINE_MAP(map_int32, int32_t, uint32_t)
DEFINE_MAP(map_int64, int64_t, uint64_t)
DEFINE_MAP(map_uint8, uint8_t, uint8_t)
DEFINE_MAP(map_uint16, uint16_t, uint16_t)
DEFINE_MAP(map_uint32, uint32_t, uint32_t)
DEFINE_MAP(map_uint64, uint64_t, uint64_t)

/* -- JSON texts --------------------------------------------------------------------------------------------------- */

#include "target_json.h"

const ff_target FF_TARGET_TABLE = {
    .name = FF_TARGET_NAME,
    .numbers =
        {
            [FF_TYPE_INT8] = int8,
            [FF_TYPE_INT16] = int16,
            [FF_TYPE_INT32] = int32,
            [FF_TYPE_DATE32] = int32,
            [FF_TYPE_DECIMAL32] = int32,
            [FF_TYPE_INT64] = int64,
            [FF_TYPE_DATE64] = int64,
            [FF_TYPE_TIMESTAMP] = int64,
            [FF_TYPE_DECIMAL64] = int64,
            [FF_TYPE_UINT8] = uint8,
            [FF_TYPE_UINT16] = uint16,
            [FF_TYPE_UINT32] = uint32,
            [FF_TYPE_UINT64] = uint64,
            [FF_TYPE_FLOAT32] = float32,
            [FF_TYPE_FLOAT64] = float64,
        },
    .string_equals = string_equals,
    .large_string_equals = large_string_equals,
    .json_holding = JSON_HOLDING,
    .json_check = JSON_CHECK,
    .json_marks = JSON_MARKS,
    .json_member = JSON_MEMBER,
    .string_find = string_find,
    .large_string_find = large_string_find,
    .map_entries =
        {
            [FF_TYPE_INT8] = map_int8,
            [FF_TYPE_INT16] = map_int16,
            [FF_TYPE_INT32] = map_int32,
            [FF_TYPE_INT64] = map_int64,
            [FF_TYPE_UINT8] = map_uint8,
            [FF_TYPE_UINT16] = map_uint16,
            [FF_TYPE_UINT32] = map_uint32,
            [FF_TYPE_UINT64] = map_uint64,
        },
};
