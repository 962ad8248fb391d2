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

/* The bucket of a number in an ff_interval_table, without a branch. */
static inline int32_t ff_uint64s_bucket(const ff_interval_table *table, uint64_t value) {
    uint64_t bucket = (value - table->first) >> table->shift;
    return (int32_t)(bucket < FF_OUTER_BUCKET ? bucket : FF_OUTER_BUCKET);
}

static inline int32_t ff_int64s_bucket(const ff_interval_table *table, int64_t value) {
    return ff_uint64s_bucket(table, (uint64_t)value);
}

static inline int32_t ff_doubles_bucket(const ff_interval_table *table, double value) {
    double bucket = (value - table->base) * table->scale;
    return (int32_t)((bucket >= 0) & (bucket < FF_OUTER_BUCKET) ? bucket : FF_OUTER_BUCKET);
}

#endif
