/* Equality of strings with one or several others, 64 at once. Included by target_body.h. */

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

/* The texts behind some that are this long together. */
static inline void prefetch_texts(const uint8_t *at, int64_t num_bytes) {
    for (int64_t line = 0; line < num_bytes && line < 2048; line += 64) {
        __builtin_prefetch(at + 1024 + line);
    }
}

/* So many strings are compared one after the other; of more, their hashes. */
#define MOST_EQUALLED 4

/* A string to compare with, and its first eight bytes: those that it has, and which they are. */
typedef struct {
    ff_bytes string;
    uint64_t head, kept;
} string_pattern;

static inline string_pattern string_pattern_of(ff_bytes string) {
    return (string_pattern){string, load_up_to_8(string.data, string.length, string.data + string.length),
                            string.length < 8 ? (UINT64_C(1) << (8 * string.length)) - 1 : ~UINT64_C(0)};
}

/* Where eight bytes loaded at once are the first eight. */
#define HEADS_TOGETHER (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)

/* ascends_64: whether 65 offsets ascend from 0 or more to `most` or less.
 * equal_mask: of 64 candidates behind which eight bytes can be read, those that equal a string.
 * hash_mask: of 64 strings behind which eight bytes can be read, those with a length and a hash that some string of the
 * set has: all that are in it, and few others. No branch depends on a string.
 * NAME: the kernel. Of one string its length comes first, of several their hashes. */
#define DEFINE_STRING_EQUALS(NAME, OFFSET)                                                                             \
    static inline bool ascends_64_##OFFSET(const OFFSET *offsets, int64_t most) {                                      \
        OFFSET bad = 0;                                                                                                \
        for (int row = 0; row < 64; row++) {                                                                           \
            bad |= offsets[row + 1] < offsets[row];                                                                    \
        }                                                                                                              \
        return !bad && offsets[0] >= 0 && (int64_t)offsets[64] <= most;                                                \
    }                                                                                                                  \
                                                                                                                       \
    static inline uint64_t equal_mask_##OFFSET(const string_pattern *pattern, const uint8_t *data,                     \
                                               const OFFSET *offsets, uint64_t candidates) {                           \
        uint64_t found = 0;                                                                                            \
        int64_t length = pattern->string.length;                                                                       \
        for (uint64_t left = candidates & length_mask_##OFFSET(offsets, (OFFSET)length); left != 0; left &= left - 1) {\
            int row = ff_first_bit(left);                                                                              \
            uint64_t start;                                                                                            \
            memcpy(&start, data + offsets[row], 8);                                                                    \
            found |= (uint64_t)(((start ^ pattern->head) & pattern->kept) == 0) << row;                                \
        }                                                                                                              \
        for (uint64_t longer = length > 8 ? found : 0; longer != 0; longer &= longer - 1) {                            \
            int row = ff_first_bit(longer);                                                                            \
            bool equal = memcmp(data + offsets[row] + 8, pattern->string.data + 8, (size_t)length - 8) == 0;           \
            found &= ~((uint64_t)!equal << row);                                                                       \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static uint64_t hash_mask_##OFFSET(const ff_string_set *set, const uint8_t *data, const OFFSET *offsets) {         \
        static const uint64_t kept[9] = {                                                                              \
            0, 0xFF, 0xFFFF, 0xFFFFFF, 0xFFFFFFFF, 0xFFFFFFFFFF, 0xFFFFFFFFFFFF, 0xFFFFFFFFFFFFFF, ~UINT64_C(0)};      \
        uint64_t mask = 0;                                                                                             \
        for (int row = 0; row < 64; row++) {                                                                           \
            int64_t length = (int64_t)offsets[row + 1] - (int64_t)offsets[row];                                        \
            int64_t first = length < 8 ? length : 8;                                                                   \
            const uint8_t *at = data + offsets[row];                                                                   \
            uint64_t head, tail;                                                                                       \
            memcpy(&head, at, 8);                                                                                      \
            memcpy(&tail, at + length - first, 8);                                                                     \
            tail &= length > 8 ? ~UINT64_C(0) : 0;                                                                     \
            uint64_t hash = ff_string_hash(set, head & kept[first], tail, length), bit = (hash >> 16) & set->last_hash;\
            uint64_t known = set->lengths >> (length < 63 ? length : 63) & set->hashes[bit >> 6] >> (bit & 63) & 1;    \
            mask |= known << row;                                                                                      \
        }                                                                                                              \
        return mask;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        const ff_constant *constant = &test->constant;                                                                 \
        const OFFSET *offsets = (const OFFSET *)view->values + view->offset + first;                                   \
        const uint8_t *data = view->data;                                                                              \
        int64_t num_bytes = ((const OFFSET *)view->values)[view->offset + view->length];                               \
        const uint8_t *end = data + num_bytes;                                                                         \
        int32_t num_few = constant->num_strings <= MOST_EQUALLED ? constant->num_strings : 0;                          \
        string_pattern patterns[MOST_EQUALLED];                                                                        \
        for (int32_t at = 0; at < num_few; at++) {                                                                     \
            patterns[at] = string_pattern_of(constant->strings[at]);                                                   \
        }                                                                                                              \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, offsets += 64) {                                 \
            uint64_t left = candidates[word], found = 0;                                                               \
            bool whole = HEADS_TOGETHER && num_rows - 64 * word >= 64 && ascends_64_##OFFSET(offsets, num_bytes - 8);  \
            if (whole && __builtin_popcountll(left) > (num_few > 0 ? num_few * FEW : 16)) {                            \
                prefetch_values(offsets, sizeof(OFFSET));                                                              \
                prefetch_texts(data + offsets[64], (int64_t)(offsets[64] - offsets[0]));                               \
                if (num_few > 0) {                                                                                     \
                    for (int32_t at = 0; at < num_few; at++) {                                                         \
                        found |= equal_mask_##OFFSET(&patterns[at], data, offsets, left);                              \
                    }                                                                                                  \
                    left = 0;                                                                                          \
                } else {                                                                                               \
                    left &= hash_mask_##OFFSET(&constant->set, data, offsets);                                         \
                }                                                                                                      \
            }                                                                                                          \
            for (; left != 0; left &= left - 1) {                                                                      \
                int row = ff_first_bit(left);                                                                          \
                int64_t start = (int64_t)offsets[row], length = (int64_t)offsets[row + 1] - start;                     \
                if (start < 0 || length < 0) {                                                                         \
                    ff_fault_data(&run->fault, "the offsets of a string do not ascend");                               \
                    return;                                                                                            \
                }                                                                                                      \
                bool equal = num_few == 1 ? length == patterns[0].string.length &&                                     \
                                                equals_one(data + start, end, patterns[0].string, patterns[0].head)    \
                                          : ff_string_set_has(&constant->set, data + start, length,                    \
                                                              load_up_to_8(data + start, length, end));                \
                found |= (uint64_t)equal << row;                                                                       \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
    }

DEFINE_STRING_EQUALS(string_equals, int32_t)
DEFINE_STRING_EQUALS(large_string_equals, int64_t)
