/* Numbers against closed intervals, 64 at once. Included by target_body.h. */

/* So many intervals are compared one after the other; of more, a table decides on most numbers. */
#if defined(MASKS_512)
#define MOST_COMPARED 8
#else
#define MOST_COMPARED 4
#endif

/* A double bound as the nearest float that is not outside it. */
static inline float float_at_least(double bound) {
    float nearest = (float)bound;
    return (double)nearest < bound ? __builtin_nextafterf(nearest, __builtin_inff()) : nearest;
}

static inline float float_at_most(double bound) {
    float nearest = (float)bound;
    return (double)nearest > bound ? __builtin_nextafterf(nearest, -__builtin_inff()) : nearest;
}

/* Processors prefetch a stream up to the end of its page only. */
static inline void prefetch_values(const void *values, size_t width) {
    for (size_t line = 0; line < width; line++) {
        __builtin_prefetch((const char *)values + 2048 + 64 * line);
    }
}

#define CAST_BOUND(TYPE, bound) ((TYPE)(bound))
#define FLOAT_LOWER(TYPE, bound) float_at_least(bound)
#define FLOAT_UPPER(TYPE, bound) float_at_most(bound)

/* TYPE is what the column stores; VALUE what a single value is compared as, in the intervals FIELD, which lie in the
 * range of TYPE. NAME_few compares 64 values with few prepared ranges; NAME_flags and NAME_many look into the table.
 * Where there are few candidates a bound is looked for. */
#define DEFINE_NUMBERS(NAME, TYPE, VALUE, FIELD, LOWER, UPPER)                                                         \
    static inline uint64_t NAME##_few(const TYPE *values, const NAME##_range *ranges, int32_t num_ranges) {            \
        uint64_t found = NAME##_mask(values, ranges[0]);                                                               \
        for (int32_t at = 1; at < num_ranges; at++) {                                                                  \
            found |= NAME##_mask(values, ranges[at]);                                                                  \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static uint64_t NAME##_flags(const TYPE *values, const ff_interval_table *table) {                                 \
        uint8_t inside[64];                                                                                            \
        for (int row = 0; row < 64; row++) {                                                                           \
            uint64_t at = (uint64_t)(VALUE)values[row] - table->first;                                                 \
            inside[row] = table->flags[at < table->num_flags ? at : table->num_flags];                                 \
        }                                                                                                              \
        return pack(inside);                                                                                           \
    }                                                                                                                  \
                                                                                                                       \
    static uint64_t NAME##_many(const TYPE *values, const ff_constant *constant, const NAME##_range *outer,            \
                                uint64_t candidates) {                                                                 \
        const ff_interval_table *table = &constant->table;                                                             \
        int32_t buckets[64];                                                                                           \
        uint8_t verdicts[64], inside[64], unsure[64];                                                                  \
        for (int row = 0; row < 64; row++) {                                                                           \
            buckets[row] = ff_##FIELD##_bucket(table, (VALUE)values[row]);                                             \
        }                                                                                                              \
        for (int row = 0; row < 64; row++) {                                                                           \
            verdicts[row] = table->verdicts[buckets[row]];                                                             \
        }                                                                                                              \
        for (int row = 0; row < 64; row++) {                                                                           \
            inside[row] = verdicts[row] == FF_BUCKET_INSIDE;                                                           \
            unsure[row] = verdicts[row] >= FF_BUCKET_AT_BOUND;                                                         \
        }                                                                                                              \
        uint64_t found = pack(inside) | NAME##_mask(values, outer[0]) | NAME##_mask(values, outer[1]);                 \
        for (uint64_t left = pack(unsure) & candidates; left != 0; left &= left - 1) {                                 \
            int row = ff_first_bit(left), entry = table->entries[buckets[row]];                                        \
            VALUE value = (VALUE)values[row];                                                                          \
            bool here = (value >= constant->FIELD[entry].lower) & (value <= constant->FIELD[entry].upper);             \
            if (verdicts[row] == FF_BUCKET_CROWDED) {                                                                  \
                here = in_##FIELD(constant, value);                                                                    \
            }                                                                                                          \
            found |= (uint64_t)here << row;                                                                            \
        }                                                                                                              \
        return found;                                                                                                  \
    }                                                                                                                  \
                                                                                                                       \
    static void NAME(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,                        \
                     const uint64_t *candidates, uint64_t *destination, ff_run *run) {                                 \
        (void)run;                                                                                                     \
        const ff_constant *constant = &test->constant;                                                                 \
        const TYPE *values = (const TYPE *)view->values + view->offset + first;                                        \
        int32_t num_ranges = constant->num_##FIELD;                                                                    \
        bool flagged = constant->table.flags != NULL, tabled = flagged || constant->table.entries != NULL;             \
        bool compared = num_ranges > 0 && num_ranges <= MOST_COMPARED;                                                 \
        int few = compared ? (int)sizeof(TYPE) * FEW / 8 : tabled ? 4 * FEW : 64;                                      \
        NAME##_range ranges[MOST_COMPARED];                                                                            \
        for (int32_t at = 0; compared ? at < num_ranges : tabled && at < 2; at++) { /* all, or the first and the last */\
            int32_t from = compared || at == 0 ? at : num_ranges - 1;                                                  \
            ranges[at] = NAME##_range_of(LOWER(TYPE, constant->FIELD[from].lower),                                     \
                                         UPPER(TYPE, constant->FIELD[from].upper));                                    \
        }                                                                                                              \
        for (int64_t word = 0; word < ff_num_words(num_rows); word++, values += 64) {                                  \
            uint64_t left = candidates[word], found = 0;                                                               \
            if (num_rows - 64 * word >= 64 && __builtin_popcountll(left) > few) {                                      \
                prefetch_values(values, sizeof(TYPE));                                                                 \
                found = left & (num_ranges == 1 ? NAME##_mask(values, ranges[0])                                       \
                                : compared      ? NAME##_few(values, ranges, num_ranges)                               \
                                : flagged       ? NAME##_flags(values, &constant->table)                               \
                                                : NAME##_many(values, constant, ranges, left));                        \
            } else {                                                                                                   \
                for (; left != 0; left &= left - 1) {                                                                  \
                    int row = ff_first_bit(left);                                                                      \
                    found |= (uint64_t)in_##FIELD(constant, (VALUE)values[row]) << row;                                \
                }                                                                                                      \
            }                                                                                                          \
            destination[word] = found;                                                                                 \
        }                                                                                                              \
    }

DEFINE_NUMBERS(int8, int8_t, int64_t, int64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(int16, int16_t, int64_t, int64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(int32, int32_t, int64_t, int64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(int64, int64_t, int64_t, int64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(uint8, uint8_t, uint64_t, uint64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(uint16, uint16_t, uint64_t, uint64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(uint32, uint32_t, uint64_t, uint64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(uint64, uint64_t, uint64_t, uint64s, CAST_BOUND, CAST_BOUND)
DEFINE_NUMBERS(float32, float, double, doubles, FLOAT_LOWER, FLOAT_UPPER)
DEFINE_NUMBERS(float64, double, double, doubles, CAST_BOUND, CAST_BOUND)

/* A half as a float: the exponent moves, and where there is none the fraction is a number of its own. */
static inline float float_of_half(uint16_t half) {
    uint32_t magnitude = half & 0x7FFF, sign = (uint32_t)(half & 0x8000) << 16, bits, small_bits;
    float small = (float)(int32_t)magnitude * 0x1p-24f, number;
    bits = (magnitude << 13) + 0x38000000 + (magnitude >= 0x7C00 ? 0x38000000 : 0); /* infinity and NaN stay so */
    memcpy(&small_bits, &small, 4);
    bits = (magnitude < 0x400 ? small_bits : bits) | sign;
    memcpy(&number, &bits, 4);
    return number;
}

/* Halves, widened some words of rows at a time. */
static void float16(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows, const uint64_t *candidates,
                    uint64_t *destination, ff_run *run) {
    enum { WIDENED = 512 };
    float numbers[WIDENED];
    const uint16_t *halves = (const uint16_t *)view->values + view->offset + first;
    ff_view widened = *view;
    widened.values = numbers;
    widened.offset = 0;
    for (int64_t done = 0; done < num_rows; done += WIDENED) {
        int64_t count = num_rows - done < WIDENED ? num_rows - done : WIDENED;
        for (int64_t row = 0; row < count; row++) {
            numbers[row] = float_of_half(halves[done + row]);
        }
        float32(test, &widened, 0, count, candidates + done / 64, destination + done / 64, run);
    }
}

/* A closed range of numbers of two words, by their upper words: between those of the bounds, or the same as one of them,
 * and then by the lower words. */
typedef struct {
    bool has_between, one_upper; /* one_upper: of both bounds */
    int64_range between, lower_upper, upper_upper;
    uint64_range lower_lower, upper_lower;
} decimal128_range;

static inline decimal128_range decimal128_range_of(const ff_wide_interval *interval) {
    int64_t lower = (int64_t)interval->lower[1], upper = (int64_t)interval->upper[1];
    decimal128_range range = {.one_upper = lower == upper, .has_between = lower < upper && lower + 1 < upper};
    range.between = int64_range_of(range.has_between ? lower + 1 : 0, range.has_between ? upper - 1 : 0);
    range.lower_upper = int64_range_of(lower, lower);
    range.upper_upper = int64_range_of(upper, upper);
    range.lower_lower = uint64_range_of(interval->lower[0], range.one_upper ? interval->upper[0] : ~UINT64_C(0));
    range.upper_lower = uint64_range_of(0, interval->upper[0]);
    return range;
}

static inline uint64_t decimal128_mask(const uint64_t *lowers, const int64_t *uppers, const decimal128_range *range) {
    uint64_t found = range->has_between ? int64_mask(uppers, range->between) : 0;
    uint64_t at_bound = int64_mask(uppers, range->lower_upper);
    found |= at_bound ? at_bound & uint64_mask(lowers, range->lower_lower) : 0;
    at_bound = range->one_upper ? 0 : int64_mask(uppers, range->upper_upper);
    return found | (at_bound ? at_bound & uint64_mask(lowers, range->upper_lower) : 0);
}

static void decimal128(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                       const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const ff_constant *constant = &test->constant;
    const uint64_t *values = (const uint64_t *)view->values + 2 * (view->offset + first);
    ff_matches *matches = ff_number_matches(FF_TYPE_DECIMAL128);
    decimal128_range ranges[MOST_COMPARED];
    for (int32_t at = 0; at < constant->num_wides && at < MOST_COMPARED; at++) {
        ranges[at] = decimal128_range_of(&constant->wides[at]);
    }
    for (int64_t word = 0; word < ff_num_words(num_rows); word++, values += 128) {
        uint64_t left = candidates[word], found = 0;
        if (constant->num_wides <= MOST_COMPARED && num_rows - 64 * word >= 64 && __builtin_popcountll(left) > FEW) {
            uint64_t lowers[64];
            int64_t uppers[64];
            prefetch_values(values, 16);
            for (int row = 0; row < 64; row++) {
                lowers[row] = values[2 * row];
                uppers[row] = (int64_t)values[2 * row + 1];
            }
            for (int32_t at = 0; at < constant->num_wides; at++) {
                found |= decimal128_mask(lowers, uppers, &ranges[at]);
            }
            found &= left;
        } else {
            for (; left != 0; left &= left - 1) {
                int row = ff_first_bit(left);
                found |= (uint64_t)matches(test, view, first + 64 * word + row, run) << row;
            }
        }
        destination[word] = found;
    }
}
