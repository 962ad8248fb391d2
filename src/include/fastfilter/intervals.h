/* Looking a value up in a constant's intervals. */
#ifndef FASTFILTER_INTERVALS_H
#define FASTFILTER_INTERVALS_H

#include "fastfilter/tests.h"

/* Whether some interval holds the value: intervals ascend, so the last one that starts at or below it decides. */
#define FF_DEFINE_IN(FIELD, TYPE)                                                                                      \
    static inline bool in_##FIELD(const ff_constant *constant, TYPE value) {                                           \
        if (constant->num_##FIELD == 1) { /* without a branch on the value */                                          \
            return (value >= constant->FIELD[0].lower) & (value <= constant->FIELD[0].upper);                          \
        }                                                                                                              \
        int32_t low = 0, high = constant->num_##FIELD;                                                                 \
        while (low < high) {                                                                                           \
            int32_t middle = low + (high - low) / 2;                                                                   \
            if (constant->FIELD[middle].lower <= value) {                                                              \
                low = middle + 1;                                                                                      \
            } else {                                                                                                   \
                high = middle;                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        return low > 0 && value <= constant->FIELD[low - 1].upper;                                                     \
    }

FF_DEFINE_IN(int64s, int64_t)
FF_DEFINE_IN(uint64s, uint64_t)
FF_DEFINE_IN(doubles, double)

#undef FF_DEFINE_IN

/* Positions of numbers in an ff_interval_table: doubles that ascend with them. */
static inline double ff_int64s_position(int64_t value) {
    return (double)value;
}

static inline double ff_uint64s_position(uint64_t value) {
    return (double)(int64_t)(value ^ UINT64_C(1) << 63); /* signed conversions are single instructions */
}

static inline double ff_doubles_position(double value) {
    return value;
}

/* NaN is in the first bucket. */
static inline int32_t ff_bucket(const ff_interval_table *table, double position) {
    double bucket = (position - table->base) * table->scale;
    bucket = bucket > 0 ? bucket : 0;
    bucket = bucket < FF_NUM_BUCKETS - 1 ? bucket : FF_NUM_BUCKETS - 1;
    return (int32_t)bucket;
}

#endif
