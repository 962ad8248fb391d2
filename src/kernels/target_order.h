/* Strings against a bound in UTF-16 order, by their first eight bytes, 64 at once. Included by target_body.h. */

/* Eight bytes as they lie in memory, as a number that orders as they do. */
static inline uint64_t big_endian(uint64_t bytes) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    return __builtin_bswap64(bytes);
#else
    return bytes;
#endif
}

/* The first `length` of eight bytes in big-endian order. */
static inline uint64_t first_bytes(int64_t length) {
    static const uint64_t kept[9] = {0,
                                     UINT64_C(0xFF) << 56,
                                     UINT64_C(0xFFFF) << 48,
                                     UINT64_C(0xFFFFFF) << 40,
                                     UINT64_C(0xFFFFFFFF) << 32,
                                     UINT64_C(0xFFFFFFFFFF) << 24,
                                     UINT64_C(0xFFFFFFFFFFFF) << 16,
                                     UINT64_C(0xFFFFFFFFFFFFFF) << 8,
                                     ~UINT64_C(0)};
    return kept[length < 0 ? 0 : length < 8 ? length : 8];
}

/* Which of 64 heads come before or after a bound's. */
typedef struct {
    bool some_below, some_above;
    uint64_range below, above;
} head_bound;

static inline head_bound head_bound_of(uint64_t bound) {
    head_bound heads = {.some_below = bound > 0, .some_above = bound < ~UINT64_C(0)};
    heads.below = uint64_range_of(0, heads.some_below ? bound - 1 : 0);
    heads.above = uint64_range_of(heads.some_above ? bound + 1 : bound, ~UINT64_C(0));
    return heads;
}

/* Whether strings whose first eight bytes differ from the bound's come before or after it as those do: byte order is UTF-16
 * order unless both of the bytes that differ begin a character of U+D000 or more (see ff_compare_utf16). */
static inline bool orders_by_bytes(ff_bytes bound) {
    for (int64_t at = 0; at < bound.length && at < 8; at++) {
        if (bound.data[at] >= 0xED) {
            return false;
        }
    }
    return true;
}

/* The candidates on the bound's sides that pass, by the masks of those below and above it; the others are compared whole. */
static inline uint64_t decide_bound(const ff_test *test, const ff_view *view, int64_t first, uint64_t candidates,
                                    uint64_t below, uint64_t above, ff_run *run) {
    const ff_constant *constant = &test->constant;
    uint64_t found = candidates & ((constant->below ? below : 0) | (constant->above ? above : 0));
    for (uint64_t left = candidates & ~(below | above); left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        found |= (uint64_t)ff_within_bound(constant, ff_string_at(view, first + row, run->uuid, &run->fault)) << row;
    }
    return found;
}

#define DEFINE_STRING_BOUND(NAME, OFFSET)                                                                              \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        const OFFSET *offsets = (const OFFSET *)view->values + view->offset + first;                                   \
        const uint8_t *data = view->data;                                                                              \
        int64_t num_bytes = ((const OFFSET *)view->values)[view->offset + view->length];                               \
        ff_bytes text = test->constant.text;                                                                           \
        uint64_t bound = big_endian(load_up_to_8(text.data, text.length, text.data + text.length));                    \
        head_bound sides = head_bound_of(bound);                                                                       \
        bool by_bytes = orders_by_bytes(text);                                                                         \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, offsets += 64) {                                 \
            uint64_t below = 0, above = 0;                                                                             \
            if (by_bytes && num_rows - 64 * word >= 64 && __builtin_popcountll(candidates[word]) > FEW &&              \
                ascends_64_##OFFSET(offsets, num_bytes - 8)) {                                                         \
                prefetch_values(offsets, sizeof(OFFSET));                                                              \
                prefetch_texts(data + offsets[64], (int64_t)(offsets[64] - offsets[0]));                               \
                uint64_t heads[64];                                                                                    \
                for (int row = 0; row < 64; row++) {                                                                   \
                    uint64_t head;                                                                                     \
                    memcpy(&head, data + offsets[row], 8);                                                             \
                    heads[row] = big_endian(head) & first_bytes((int64_t)offsets[row + 1] - (int64_t)offsets[row]);    \
                }                                                                                                      \
                below = sides.some_below ? uint64_mask(heads, sides.below) : 0;                                        \
                above = sides.some_above ? uint64_mask(heads, sides.above) : 0;                                        \
            }                                                                                                          \
            destination[word] = decide_bound(test, view, first + 64 * word, candidates[word], below, above, run);      \
        }                                                                                                              \
    }

DEFINE_STRING_BOUND(string_bound, int32_t)
DEFINE_STRING_BOUND(large_string_bound, int64_t)

/* Of a longer string its view holds four bytes. */
static void string_view_bound(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                              const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const uint8_t *entries = (const uint8_t *)view->values + VIEW_SIZE * (view->offset + first);
    ff_bytes text = test->constant.text;
    uint64_t bound = big_endian(load_up_to_8(text.data, text.length, text.data + text.length));
    bool by_bytes = orders_by_bytes(text);
    for (int64_t word = 0; word < ff_num_words(num_rows); word++, entries += 64 * VIEW_SIZE) {
        uint64_t below = 0, above = 0;
        if (by_bytes && num_rows - 64 * word >= 64 && __builtin_popcountll(candidates[word]) > FEW) {
            prefetch_values(entries, VIEW_SIZE);
            for (int row = 0; row < 64; row++) {
                const uint8_t *entry = entries + VIEW_SIZE * row;
                int32_t length = view_length(entry);
                uint64_t head, held = length > VIEW_INLINE ? first_bytes(VIEW_PREFIX) : length < 0 ? 0 : ~UINT64_C(0);
                memcpy(&head, entry + 4, 8);
                head = big_endian(head) & first_bytes(length) & held;
                below |= (uint64_t)(head < (bound & held)) << row;
                above |= (uint64_t)(head > (bound & held)) << row;
            }
            for (uint64_t left = candidates[word] & ~(below | above); left != 0; left &= left - 1) {
                int row = ff_first_bit(left);
                if (view_length(entries + VIEW_SIZE * row) > VIEW_INLINE) { /* the rest of the eight bytes */
                    uint64_t head = 0;
                    ff_bytes own = ff_string_view_at(view, view->offset + first + 64 * word + row, &run->fault);
                    memcpy(&head, own.data, own.length > VIEW_INLINE ? 8 : 0);
                    head = big_endian(head);
                    below |= (uint64_t)(head < bound) << row;
                    above |= (uint64_t)(head > bound) << row;
                }
            }
        }
        destination[word] = decide_bound(test, view, first + 64 * word, candidates[word], below, above, run);
    }
}
