/* JSON texts on one CPU target, part of target_body.h: 64 bytes at a time become bit masks, one for each class of byte.
 *
 * Bytes are read up to the next multiple of 64 from a text's start only if they lie before `readable`; they are
 * replaced by spaces, and so cannot change an answer. */
#include "json/scanner.h"

/* ---- 64 bytes as a vector, and the masks of a comparison ---- */

/* Without vector instructions, or where their use is not spelled out here, scanner.c itself is quicker: a text of 215
 * bytes takes it 134 ns, and took masks put together from loops that compilers vectorise 173. */
#if !defined(FF_SCALAR_TARGET) && defined(__SSE2__)
#define FF_JSON_MASKS
#endif

#if defined(FF_JSON_MASKS)
/* From 64 - n on: n times 0xFF, and zeros. */
static const uint8_t start_masks[128] = {
#define EIGHT 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF
    EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT, EIGHT,
#undef EIGHT
};
#endif

#if !defined(FF_JSON_MASKS)
#elif defined(__AVX512BW__)
typedef __m512i block64;
static inline block64 load_block(const uint8_t *at) {
    return _mm512_loadu_si512(at);
}
static inline uint64_t equal_to(const block64 *block, uint8_t byte) {
    return _mm512_cmpeq_epi8_mask(*block, _mm512_set1_epi8((char)byte));
}
static inline uint64_t below(const block64 *block, uint8_t byte) {
    return _mm512_cmplt_epu8_mask(*block, _mm512_set1_epi8((char)byte));
}
static inline uint64_t below_signed(const block64 *block, int8_t byte) {
    return _mm512_cmplt_epi8_mask(*block, _mm512_set1_epi8(byte));
}
/* The block with every byte or-ed with, or lowered by, a byte. */
static inline block64 block_or(const block64 *block, uint8_t byte) {
    return _mm512_or_si512(*block, _mm512_set1_epi8((char)byte));
}
static inline block64 block_minus(const block64 *block, uint8_t byte) {
    return _mm512_sub_epi8(*block, _mm512_set1_epi8((char)byte));
}
/* The block's first bytes, and spaces behind them. */
static inline block64 block_start(const block64 *block, int64_t length) {
    return _mm512_mask_mov_epi8(_mm512_set1_epi8(' '), (UINT64_C(1) << length) - 1, *block);
}
#elif defined(__AVX2__)
typedef struct {
    __m256i half[2];
} block64;
static inline block64 load_block(const uint8_t *at) {
    return (block64){{_mm256_loadu_si256((const __m256i *)at), _mm256_loadu_si256((const __m256i *)(at + 32))}};
}
static inline uint64_t join_halves(__m256i low, __m256i high) {
    return (uint32_t)_mm256_movemask_epi8(low) | (uint64_t)(uint32_t)_mm256_movemask_epi8(high) << 32;
}
static inline uint64_t equal_to(const block64 *block, uint8_t byte) {
    __m256i all = _mm256_set1_epi8((char)byte);
    return join_halves(_mm256_cmpeq_epi8(block->half[0], all), _mm256_cmpeq_epi8(block->half[1], all));
}
static inline uint64_t below(const block64 *block, uint8_t byte) {
    __m256i all = _mm256_set1_epi8((char)(byte - 1));
    return join_halves(_mm256_cmpeq_epi8(_mm256_min_epu8(block->half[0], all), block->half[0]),
                       _mm256_cmpeq_epi8(_mm256_min_epu8(block->half[1], all), block->half[1]));
}
static inline uint64_t below_signed(const block64 *block, int8_t byte) {
    __m256i all = _mm256_set1_epi8(byte);
    return join_halves(_mm256_cmpgt_epi8(all, block->half[0]), _mm256_cmpgt_epi8(all, block->half[1]));
}
static inline block64 block_or(const block64 *block, uint8_t byte) {
    __m256i all = _mm256_set1_epi8((char)byte);
    return (block64){{_mm256_or_si256(block->half[0], all), _mm256_or_si256(block->half[1], all)}};
}
static inline block64 block_minus(const block64 *block, uint8_t byte) {
    __m256i all = _mm256_set1_epi8((char)byte);
    return (block64){{_mm256_sub_epi8(block->half[0], all), _mm256_sub_epi8(block->half[1], all)}};
}
static inline block64 block_start(const block64 *block, int64_t length) {
    block64 kept = load_block(start_masks + 64 - length);
    __m256i spaces = _mm256_set1_epi8(' ');
    return (block64){{_mm256_blendv_epi8(spaces, block->half[0], kept.half[0]),
                      _mm256_blendv_epi8(spaces, block->half[1], kept.half[1])}};
}
#else
typedef struct {
    __m128i part[4];
} block64;
static inline block64 load_block(const uint8_t *at) {
    block64 block;
    for (int part = 0; part < 4; part++) {
        block.part[part] = _mm_loadu_si128((const __m128i *)(at + 16 * part));
    }
    return block;
}
static inline uint64_t equal_to(const block64 *block, uint8_t byte) {
    uint64_t mask = 0;
    for (int part = 0; part < 4; part++) {
        __m128i equal = _mm_cmpeq_epi8(block->part[part], _mm_set1_epi8((char)byte));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(equal) << (16 * part);
    }
    return mask;
}
static inline uint64_t below(const block64 *block, uint8_t byte) {
    uint64_t mask = 0;
    for (int part = 0; part < 4; part++) {
        __m128i least = _mm_min_epu8(block->part[part], _mm_set1_epi8((char)(byte - 1)));
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_cmpeq_epi8(least, block->part[part])) << (16 * part);
    }
    return mask;
}
static inline uint64_t below_signed(const block64 *block, int8_t byte) {
    uint64_t mask = 0;
    for (int part = 0; part < 4; part++) {
        __m128i less = _mm_cmpgt_epi8(_mm_set1_epi8(byte), block->part[part]);
        mask |= (uint64_t)(uint32_t)_mm_movemask_epi8(less) << (16 * part);
    }
    return mask;
}
static inline block64 block_or(const block64 *block, uint8_t byte) {
    block64 result;
    for (int part = 0; part < 4; part++) {
        result.part[part] = _mm_or_si128(block->part[part], _mm_set1_epi8((char)byte));
    }
    return result;
}
static inline block64 block_minus(const block64 *block, uint8_t byte) {
    block64 result;
    for (int part = 0; part < 4; part++) {
        result.part[part] = _mm_sub_epi8(block->part[part], _mm_set1_epi8((char)byte));
    }
    return result;
}
static inline block64 block_start(const block64 *block, int64_t length) {
    block64 kept = load_block(start_masks + 64 - length), result;
    for (int part = 0; part < 4; part++) {
        result.part[part] = _mm_or_si128(_mm_and_si128(block->part[part], kept.part[part]),
                                         _mm_andnot_si128(kept.part[part], _mm_set1_epi8(' ')));
    }
    return result;
}
#endif

#if defined(FF_JSON_MASKS)

/* Bit i of the result: whether an odd number of the bits 0 to i is set. */
static inline uint64_t parity_up_to(uint64_t bits) {
#if defined(__PCLMUL__)
    return (uint64_t)_mm_cvtsi128_si64(_mm_clmulepi64_si128(_mm_set_epi64x(0, (long long)bits), _mm_set1_epi8(-1), 0));
#else
    for (int distance = 1; distance < 64; distance *= 2) {
        bits ^= bits << distance;
    }
    return bits;
#endif
}

static inline block64 block_at(const uint8_t *position, const uint8_t *end, const uint8_t *readable) {
    if (end - position >= 64) {
        return load_block(position);
    }
    if (readable - position >= 64) {
        block64 block = load_block(position);
        return block_start(&block, end - position);
    }
    uint8_t copy[64];
    memset(copy, ' ', 64);
    memcpy(copy, position, (size_t)(end - position));
    return load_block(copy);
}

/* From each opening quote to before its closing one. *in_string: all bits or none, whether a string reaches the block's
 * first byte, and then the next block's. */
static inline uint64_t find_strings(uint64_t quotes, uint64_t *in_string) {
    uint64_t strings = parity_up_to(quotes) ^ *in_string;
    *in_string = (uint64_t)((int64_t)strings >> 63);
    return strings;
}
#endif

#include "target_json_check.h"
#include "target_json_marks.h"
#include "target_json_rows.h"
