/* Many intervals: a table that decides on most numbers at once. */
#include <float.h>
#include <math.h>
#include <stdlib.h>

#include "fastfilter/intervals.h"

/* So few are compared one after the other by every target. */
#define FEWEST 5
#define MOST 65535

/* Enters interval number `at`, whose ends have these positions. Numbers in a bucket between those of both ends lie between
 * the ends, since buckets ascend with numbers. */
static void enter(ff_interval_table *table, int32_t at, double lower, double upper) {
    int32_t first = ff_bucket(table, lower), last = ff_bucket(table, upper);
    for (int32_t bucket = first; bucket <= last; bucket++) {
        bool met = table->verdicts[bucket] != FF_BUCKET_OUTSIDE, between = bucket > first && bucket < last;
        table->entries[bucket] = (uint16_t)at;
        table->verdicts[bucket] = met ? FF_BUCKET_CROWDED : between ? FF_BUCKET_INSIDE : FF_BUCKET_AT_BOUND;
    }
}

/* Buckets lie between the first interval's upper end and the last one's lower end; what is beyond is in the outer two. */
static bool start(ff_interval_table *table, double first, double last) {
    table->base = first;
    table->scale = (FF_NUM_BUCKETS - 2) / (last - first);
    if (!isfinite(table->scale) || table->scale <= 0) {
        return true;
    }
    table->entries = calloc(FF_NUM_BUCKETS, sizeof(uint16_t) + 1);
    table->verdicts = (uint8_t *)(table->entries + FF_NUM_BUCKETS);
    return table->entries != NULL;
}

#define BUILD(FIELD)                                                                                                   \
    if (constant->num_##FIELD >= FEWEST && constant->num_##FIELD <= MOST) {                                            \
        int32_t last = constant->num_##FIELD - 1;                                                                      \
        if (!start(table, ff_##FIELD##_position(constant->FIELD[0].upper),                                             \
                   ff_##FIELD##_position(constant->FIELD[last].lower))) {                                              \
            return false;                                                                                              \
        }                                                                                                              \
        for (int32_t at = 0; table->entries != NULL && at <= last; at++) {                                             \
            enter(table, at, ff_##FIELD##_position(constant->FIELD[at].lower),                                         \
                  ff_##FIELD##_position(constant->FIELD[at].upper));                                              \
        }                                                                                                              \
        return true;                                                                                                   \
    }

bool ff_interval_table_new(ff_constant *constant) {
    ff_interval_table *table = &constant->table;
    if (FLT_EVAL_METHOD != 0) { /* a position might be rounded in two ways */
        return true;
    }
    BUILD(int64s)
    BUILD(uint64s)
    BUILD(doubles)
    return true;
}

void ff_interval_table_free(ff_interval_table *table) {
    free(table->entries);
    table->entries = NULL;
}
