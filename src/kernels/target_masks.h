/* 64 values, lengths or bytes at once: which of them lie in a range, as the bits of a word.
 *
 * A vector compare leaves its answer in the sign of each lane. Lanes are narrowed to bytes with saturation, which keeps the
 * sign, and the signs of all bytes are one instruction away from being bits. */
#include <string.h>

#include "fastfilter/target.h"

#if !defined(FF_SCALAR_TARGET) && (defined(__AVX512BW__) || defined(__AVX2__) || defined(__SSE2__))
#include <immintrin.h>
#endif

#if defined(FF_SCALAR_TARGET)
#elif defined(__AVX512BW__)
#define MASKS_512
#elif defined(__AVX2__)
#define MASKS_BY_SIGN
#define VECTOR __m256i
#define V(OPERATION) _mm256_##OPERATION
#define BITS_OF(VALUE) _mm256_castps_si256(VALUE)
#define FLOATS_OF(VALUE) _mm256_castsi256_ps(VALUE)
#elif defined(__SSE2__)
#define MASKS_BY_SIGN
#define VECTOR __m128i
#define V(OPERATION) _mm_##OPERATION
#define BITS_OF(VALUE) _mm_castps_si128(VALUE)
#define FLOATS_OF(VALUE) _mm_castsi128_ps(VALUE)
#endif

/* -- flags -------------------------------------------------------------------------------------------------------- */

/* 64 bytes of 0 or 1 as the bits of a word. Without an instruction for it, a multiplication moves eight into a byte. */
static inline uint64_t pack(const uint8_t *flags) {
    uint64_t bits = 0;
#if defined(FF_SCALAR_TARGET)
    for (int row = 0; row < 64; row++) {
        bits |= (uint64_t)flags[row] << row;
    }
#elif defined(MASKS_512)
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

/* -- signs of lanes ----------------------------------------------------------------------------------------------- */

#if defined(MASKS_BY_SIGN)
static inline VECTOR load(const void *at) {
#if defined(__AVX2__)
    return _mm256_loadu_si256((const __m256i *)at);
#else
    return _mm_loadu_si128((const __m128i *)at);
#endif
}

/* The signs of a vector's bytes; narrowing leaves the values of each 128-bit half in groups of `group` bytes. */
static inline uint64_t signs_of_bytes(VECTOR bytes, int group) {
#if defined(__AVX2__)
    __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1), first, second;
    switch (group) {
    case 2:
        first = _mm_unpacklo_epi16(low, high);
        second = _mm_unpackhi_epi16(low, high);
        break;
    case 4:
        first = _mm_unpacklo_epi32(low, high);
        second = _mm_unpackhi_epi32(low, high);
        break;
    case 8:
        first = _mm_unpacklo_epi64(low, high);
        second = _mm_unpackhi_epi64(low, high);
        break;
    default: return (uint32_t)_mm256_movemask_epi8(bytes);
    }
    return (uint32_t)_mm_movemask_epi8(first) | (uint32_t)_mm_movemask_epi8(second) << 16;
#else
    (void)group;
    return (uint32_t)_mm_movemask_epi8(bytes);
#endif
}

/* The signs of the lanes of one, two, four or eight vectors, as many lanes as a vector has bytes. */
static inline uint64_t signs_1(const VECTOR *lanes) {
    return signs_of_bytes(lanes[0], 16);
}

static inline uint64_t signs_2(const VECTOR *lanes) {
    return signs_of_bytes(V(packs_epi16)(lanes[0], lanes[1]), 8);
}

static inline uint64_t signs_4(const VECTOR *lanes) {
    return signs_of_bytes(V(packs_epi16)(V(packs_epi32)(lanes[0], lanes[1]), V(packs_epi32)(lanes[2], lanes[3])), 4);
}

static inline VECTOR high_halves(VECTOR left, VECTOR right) {
    return BITS_OF(V(shuffle_ps)(FLOATS_OF(left), FLOATS_OF(right), 0xDD));
}

static inline uint64_t signs_8(const VECTOR *lanes) {
    VECTOR first = V(packs_epi32)(high_halves(lanes[0], lanes[1]), high_halves(lanes[2], lanes[3]));
    VECTOR second = V(packs_epi32)(high_halves(lanes[4], lanes[5]), high_halves(lanes[6], lanes[7]));
    return signs_of_bytes(V(packs_epi16)(first, second), 2);
}

/* A mask of 64 values of WIDTH bytes: LANES is an expression whose signs are wanted, with `at` its place in memory. */
#define COLLECT_SIGNS(WIDTH, BASE, LANES)                                                                              \
    uint64_t mask = 0;                                                                                                 \
    const char *base = (const char *)(BASE);                                                                           \
    for (size_t done = 0; done < 64; done += sizeof(VECTOR)) {                                                         \
        VECTOR lanes[WIDTH];                                                                                           \
        for (size_t part = 0; part < WIDTH; part++) {                                                                  \
            const char *at = base + WIDTH * done + sizeof(VECTOR) * part;                                              \
            lanes[part] = LANES;                                                                                       \
        }                                                                                                              \
        mask |= signs_##WIDTH(lanes) << done;                                                                          \
    }

static inline VECTOR above_1(VECTOR left, VECTOR right) {
    return V(cmpgt_epi8)(left, right);
}

static inline VECTOR above_2(VECTOR left, VECTOR right) {
    return V(cmpgt_epi16)(left, right);
}

static inline VECTOR above_4(VECTOR left, VECTOR right) {
    return V(cmpgt_epi32)(left, right);
}

static inline VECTOR above_8(VECTOR left, VECTOR right) {
#if defined(__AVX2__)
    return V(cmpgt_epi64)(left, right);
#else /* the sign of right - left, or of right where they differ so much that it overflows */
    __m128i difference = _mm_sub_epi64(right, left);
    return _mm_xor_si128(difference, _mm_and_si128(_mm_xor_si128(right, left), _mm_xor_si128(difference, right)));
#endif
}

static inline VECTOR same_8(VECTOR left, VECTOR right) {
#if defined(__AVX2__)
    return V(cmpeq_epi64)(left, right);
#else
    __m128i halves = _mm_cmpeq_epi32(left, right);
    return _mm_and_si128(halves, _mm_shuffle_epi32(halves, 0xB1));
#endif
}
#endif

/* -- ranges of numbers -------------------------------------------------------------------------------------------- */

/* NAME_range(lower, upper) prepares a closed range, NAME_mask tells which of 64 values lie in it.
 *
 * Integers are moved so that the range begins at the least number of their width; one comparison does then, the same for
 * signed and unsigned ones. */
#if defined(MASKS_BY_SIGN)
#define DEFINE_INTEGER_MASK(NAME, TYPE, UNSIGNED, WIDTH, LANE, SET)                                                    \
    typedef struct {                                                                                                   \
        VECTOR shift, limit;                                                                                           \
    } NAME##_range;                                                                                                    \
    static inline NAME##_range NAME##_range_of(TYPE lower, TYPE upper) {                                               \
        UNSIGNED least = (UNSIGNED)((UNSIGNED)1 << (8 * WIDTH - 1));                                                   \
        return (NAME##_range){V(SET)((LANE)(UNSIGNED)(least - (UNSIGNED)lower)),                                       \
                              V(SET)((LANE)(UNSIGNED)(least + (UNSIGNED)((UNSIGNED)upper - (UNSIGNED)lower)))};        \
    }                                                                                                                  \
    static inline uint64_t NAME##_mask(const TYPE *values, NAME##_range range) {                                       \
        COLLECT_SIGNS(WIDTH, values, above_##WIDTH(ADD_##WIDTH(load(at), range.shift), range.limit))                   \
        return ~mask;                                                                                                  \
    }

#define DEFINE_FLOAT_MASK(NAME, TYPE, WIDTH, SUFFIX)                                                                   \
    typedef struct {                                                                                                   \
        VECTOR lower, upper;                                                                                           \
    } NAME##_range;                                                                                                    \
    static inline NAME##_range NAME##_range_of(TYPE lower, TYPE upper) {                                               \
        return (NAME##_range){(VECTOR)V(set1_##SUFFIX)(lower), (VECTOR)V(set1_##SUFFIX)(upper)};                       \
    }                                                                                                                  \
    static inline uint64_t NAME##_mask(const TYPE *values, NAME##_range range) {                                       \
        COLLECT_SIGNS(WIDTH, values, inside_##SUFFIX(load(at), range.lower, range.upper))                              \
        return mask;                                                                                                   \
    }

#define ADD_1 V(add_epi8)
#define ADD_2 V(add_epi16)
#define ADD_4 V(add_epi32)
#define ADD_8 V(add_epi64)

#if defined(__AVX2__)
static inline VECTOR inside_ps(VECTOR value, VECTOR lower, VECTOR upper) {
    __m256 number = (__m256)value;
    return (VECTOR)_mm256_and_ps(_mm256_cmp_ps(number, (__m256)lower, _CMP_GE_OQ),
                                 _mm256_cmp_ps(number, (__m256)upper, _CMP_LE_OQ));
}

static inline VECTOR inside_pd(VECTOR value, VECTOR lower, VECTOR upper) {
    __m256d number = (__m256d)value;
    return (VECTOR)_mm256_and_pd(_mm256_cmp_pd(number, (__m256d)lower, _CMP_GE_OQ),
                                 _mm256_cmp_pd(number, (__m256d)upper, _CMP_LE_OQ));
}
#else
static inline VECTOR inside_ps(VECTOR value, VECTOR lower, VECTOR upper) {
    __m128 number = (__m128)value;
    return (VECTOR)_mm_and_ps(_mm_cmpge_ps(number, (__m128)lower), _mm_cmple_ps(number, (__m128)upper));
}

static inline VECTOR inside_pd(VECTOR value, VECTOR lower, VECTOR upper) {
    __m128d number = (__m128d)value;
    return (VECTOR)_mm_and_pd(_mm_cmpge_pd(number, (__m128d)lower), _mm_cmple_pd(number, (__m128d)upper));
}
#endif

DEFINE_INTEGER_MASK(int8, int8_t, uint8_t, 1, char, set1_epi8)
DEFINE_INTEGER_MASK(int16, int16_t, uint16_t, 2, short, set1_epi16)
DEFINE_INTEGER_MASK(int32, int32_t, uint32_t, 4, int, set1_epi32)
DEFINE_INTEGER_MASK(int64, int64_t, uint64_t, 8, long long, set1_epi64x)
DEFINE_INTEGER_MASK(uint8, uint8_t, uint8_t, 1, char, set1_epi8)
DEFINE_INTEGER_MASK(uint16, uint16_t, uint16_t, 2, short, set1_epi16)
DEFINE_INTEGER_MASK(uint32, uint32_t, uint32_t, 4, int, set1_epi32)
DEFINE_INTEGER_MASK(uint64, uint64_t, uint64_t, 8, long long, set1_epi64x)
DEFINE_FLOAT_MASK(float32, float, 4, ps)
DEFINE_FLOAT_MASK(float64, double, 8, pd)

#else

/* PART_MASK: the mask of the values that one vector holds. */
#if defined(MASKS_512)
#define DEFINE_MASK(NAME, TYPE, SET, PART_MASK)                                                                        \
    typedef struct {                                                                                                   \
        __m512i lower, upper;                                                                                          \
    } NAME##_range;                                                                                                    \
    static inline NAME##_range NAME##_range_of(TYPE lower, TYPE upper) {                                               \
        return (NAME##_range){(__m512i)SET(lower), (__m512i)SET(upper)};                                               \
    }                                                                                                                  \
    static inline uint64_t NAME##_mask(const TYPE *values, NAME##_range range) {                                       \
        uint64_t mask = 0;                                                                                             \
        for (size_t done = 0; done < 64; done += 64 / sizeof(TYPE)) {                                                  \
            __m512i part = _mm512_loadu_si512(values + done);                                                          \
            mask |= (uint64_t)PART_MASK << done;                                                                       \
        }                                                                                                              \
        return mask;                                                                                                   \
    }
#define IN_INTEGERS(KIND)                                                                                              \
    _mm512_mask_cmple_##KIND##_mask(_mm512_cmpge_##KIND##_mask(part, range.lower), part, range.upper)
#define IN_FLOATS(KIND, FLOATS)                                                                                        \
    _mm512_mask_cmp_##KIND##_mask(_mm512_cmp_##KIND##_mask((FLOATS)part, (FLOATS)range.lower, _CMP_GE_OQ),             \
                                  (FLOATS)part, (FLOATS)range.upper, _CMP_LE_OQ)
#else
#define DEFINE_MASK(NAME, TYPE, SET, PART_MASK)                                                                        \
    typedef struct {                                                                                                   \
        TYPE lower, upper;                                                                                             \
    } NAME##_range;                                                                                                    \
    static inline NAME##_range NAME##_range_of(TYPE lower, TYPE upper) {                                               \
        return (NAME##_range){lower, upper};                                                                           \
    }                                                                                                                  \
    static inline uint64_t NAME##_mask(const TYPE *values, NAME##_range range) {                                       \
        uint8_t flags[64];                                                                                             \
        for (int row = 0; row < 64; row++) {                                                                           \
            flags[row] = (uint8_t)((values[row] >= range.lower) & (values[row] <= range.upper));                       \
        }                                                                                                              \
        return pack(flags);                                                                                            \
    }
#endif

DEFINE_MASK(int8, int8_t, _mm512_set1_epi8, IN_INTEGERS(epi8))
DEFINE_MASK(int16, int16_t, _mm512_set1_epi16, IN_INTEGERS(epi16))
DEFINE_MASK(int32, int32_t, _mm512_set1_epi32, IN_INTEGERS(epi32))
DEFINE_MASK(int64, int64_t, _mm512_set1_epi64, IN_INTEGERS(epi64))
DEFINE_MASK(uint8, uint8_t, _mm512_set1_epi8, IN_INTEGERS(epu8))
DEFINE_MASK(uint16, uint16_t, _mm512_set1_epi16, IN_INTEGERS(epu16))
DEFINE_MASK(uint32, uint32_t, _mm512_set1_epi32, IN_INTEGERS(epu32))
DEFINE_MASK(uint64, uint64_t, _mm512_set1_epi64, IN_INTEGERS(epu64))
DEFINE_MASK(float32, float, _mm512_set1_ps, IN_FLOATS(ps, __m512))
DEFINE_MASK(float64, double, _mm512_set1_pd, IN_FLOATS(pd, __m512d))
#endif

/* -- lengths ------------------------------------------------------------------------------------------------------ */

/* Which of 64 strings have a length, by their 65 offsets. */
static inline uint64_t length_mask_int32_t(const int32_t *offsets, int32_t length) {
#if defined(MASKS_BY_SIGN)
    VECTOR wanted = V(set1_epi32)(length);
    COLLECT_SIGNS(4, offsets, V(cmpeq_epi32)(V(sub_epi32)(load(at + 4), load(at)), wanted))
    return mask;
#elif defined(MASKS_512)
    uint64_t mask = 0;
    for (int done = 0; done < 64; done += 16) {
        __m512i lengths = _mm512_sub_epi32(_mm512_loadu_si512(offsets + done + 1), _mm512_loadu_si512(offsets + done));
        mask |= (uint64_t)_mm512_cmpeq_epi32_mask(lengths, _mm512_set1_epi32(length)) << done;
    }
    return mask;
#else
    uint8_t flags[64];
    for (int row = 0; row < 64; row++) {
        flags[row] = (uint32_t)offsets[row + 1] - (uint32_t)offsets[row] == (uint32_t)length;
    }
    return pack(flags);
#endif
}

static inline uint64_t length_mask_int64_t(const int64_t *offsets, int64_t length) {
#if defined(MASKS_BY_SIGN)
    VECTOR wanted = V(set1_epi64x)(length);
    COLLECT_SIGNS(8, offsets, same_8(V(sub_epi64)(load(at + 8), load(at)), wanted))
    return mask;
#elif defined(MASKS_512)
    uint64_t mask = 0;
    for (int done = 0; done < 64; done += 8) {
        __m512i lengths = _mm512_sub_epi64(_mm512_loadu_si512(offsets + done + 1), _mm512_loadu_si512(offsets + done));
        mask |= (uint64_t)_mm512_cmpeq_epi64_mask(lengths, _mm512_set1_epi64(length)) << done;
    }
    return mask;
#else
    uint8_t flags[64];
    for (int row = 0; row < 64; row++) {
        flags[row] = (uint64_t)offsets[row + 1] - (uint64_t)offsets[row] == (uint64_t)length;
    }
    return pack(flags);
#endif
}

/* -- string views ------------------------------------------------------------------------------------------------- */

/* What a view of 16 bytes has of a string: its words, and which of their bits count; equal strings have the same. */
typedef struct {
    uint64_t words[2], kept[2];
} view_pattern;

/* Every second bit of a word, from the first on, as its lower half. */
static inline uint64_t even_bits(uint64_t word) {
    word &= UINT64_C(0x5555555555555555);
    word = (word | word >> 1) & UINT64_C(0x3333333333333333);
    word = (word | word >> 2) & UINT64_C(0x0F0F0F0F0F0F0F0F);
    word = (word | word >> 4) & UINT64_C(0x00FF00FF00FF00FF);
    word = (word | word >> 8) & UINT64_C(0x0000FFFF0000FFFF);
    return (word | word >> 16) & UINT64_C(0x00000000FFFFFFFF);
}

static inline bool view_fits(const uint8_t *entry, const view_pattern *pattern) {
    uint64_t words[2];
    memcpy(words, entry, 16);
    return (((words[0] ^ pattern->words[0]) & pattern->kept[0]) | ((words[1] ^ pattern->words[1]) & pattern->kept[1])) == 0;
}

/* Which of 64 views fit. Halves of views are compared, and both must fit. */
static inline uint64_t view_mask(const uint8_t *entries, const view_pattern *pattern) {
#if defined(MASKS_BY_SIGN)
#if defined(__AVX2__)
    VECTOR words = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)pattern->words));
    VECTOR kept = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)pattern->kept));
#else
    VECTOR words = load(pattern->words), kept = load(pattern->kept);
#endif
    uint64_t fitting = 0;
    for (int done = 0; done < 64; done += 32) {
        COLLECT_SIGNS(8, entries + 16 * done, same_8((load(at) ^ words) & kept, kept ^ kept))
        fitting |= even_bits(mask & mask >> 1) << done;
    }
    return fitting;
#else
    uint64_t fitting = 0;
    for (int row = 0; row < 64; row++) {
        fitting |= (uint64_t)view_fits(entries + 16 * row, pattern) << row;
    }
    return fitting;
#endif
}

/* -- pairs of bytes ----------------------------------------------------------------------------------------------- */

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

/* Whether one of 64 bytes is not ASCII. */
static inline bool has_high_64(const uint8_t *at) {
#if defined(MASKS_512)
    return _mm512_movepi8_mask(_mm512_loadu_si512(at)) != 0;
#elif defined(MASKS_BY_SIGN)
    VECTOR any = load(at);
    for (size_t done = sizeof(VECTOR); done < 64; done += sizeof(VECTOR)) {
        any |= load(at + done);
    }
    return V(movemask_epi8)(any) != 0;
#else
    uint8_t any = 0;
    for (int i = 0; i < 64; i++) {
        any |= at[i];
    }
    return any >= 0x80;
#endif
}
