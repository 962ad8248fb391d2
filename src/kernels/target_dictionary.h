/* Entry numbers of a dictionary against the verdicts on its entries, 64 at once. Included by target_body.h.
 *
 * A slot that is null may hold any number, so only candidates' numbers must be in range. */

#define DEFINE_MAP(NAME, TYPE, MOST)                                                                                   \
    static bool map_##NAME(const void *entries, int64_t num_rows, int64_t num_entries, const ff_verdicts *verdicts,    \
                           const uint64_t *candidates, uint64_t *destination) {                                        \
        const TYPE *numbers = entries;                                                                                 \
        bool compared = verdicts->num_runs >= 0 && num_entries > 0;                                                    \
        TYPE last = (TYPE)(num_entries == 0 ? 0 : num_entries - 1 > (int64_t)(MOST) ? (int64_t)(MOST) : num_entries - 1);\
        NAME##_range all = NAME##_range_of(0, last), runs[FF_MOST_RUNS];                                               \
        for (int32_t at = 0; compared && at < verdicts->num_runs; at++) {                                              \
            int64_t upper = verdicts->runs[at].upper, lower = verdicts->runs[at].lower;                                \
            compared = lower <= (int64_t)(MOST);                                                                       \
            runs[at] = NAME##_range_of((TYPE)lower, upper > (int64_t)(MOST) ? (TYPE)(MOST) : (TYPE)upper);             \
        }                                                                                                              \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, numbers += 64) {                                 \
            uint64_t left = candidates[word], found = 0;                                                               \
            bool together = num_rows - 64 * word >= 64 && num_entries > 0 && __builtin_popcountll(left) > FEW;         \
            uint64_t inside = together ? NAME##_mask(numbers, all) : 0;                                                \
            if (together && (left & ~inside)) {                                                                        \
                return false;                                                                                          \
            }                                                                                                          \
            if (together && compared) {                                                                                \
                for (int32_t at = 0; at < verdicts->num_runs; at++) {                                                  \
                    found |= NAME##_mask(numbers, runs[at]);                                                           \
                }                                                                                                      \
                found &= left;                                                                                         \
            } else if (inside == ~UINT64_C(0)) {                                                                       \
                uint8_t flags[64];                                                                                     \
                for (int row = 0; row < 64; row++) {                                                                   \
                    flags[row] = verdicts->flags[(uint64_t)numbers[row]];                                              \
                }                                                                                                      \
                found = pack(flags) & left;                                                                            \
            } else {                                                                                                   \
                for (; left != 0; left &= left - 1) {                                                                  \
                    int row = ff_first_bit(left);                                                                      \
                    uint64_t number = (uint64_t)numbers[row];                                                          \
                    if (number >= (uint64_t)num_entries) {                                                             \
                        return false;                                                                                  \
                    }                                                                                                  \
                    found |= (uint64_t)verdicts->flags[number] << row;                                                 \
                }                                                                                                      \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
        return true;                                                                                                   \
    }

DEFINE_MAP(int8, int8_t, INT8_MAX)
DEFINE_MAP(int16, int16_t, INT16_MAX)
DEFINE_MAP(int32, int32_t, INT32_MAX)
DEFINE_MAP(int64, int64_t, INT64_MAX)
DEFINE_MAP(uint8, uint8_t, UINT8_MAX)
DEFINE_MAP(uint16, uint16_t, UINT16_MAX)
DEFINE_MAP(uint32, uint32_t, UINT32_MAX)
DEFINE_MAP(uint64, uint64_t, INT64_MAX)
