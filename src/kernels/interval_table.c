/* Many intervals: a table that decides on most numbers at once. */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fastfilter/intervals.h"

/* So few are compared one after the other by every target. */
#define FEWEST 5
#define MOST 65535

/* Room for the buckets; entries stay NULL where there is no memory. */
static bool make_buckets(ff_interval_table *table) {
    table->entries = calloc(FF_NUM_BUCKETS, sizeof(uint16_t) + 1);
    table->verdicts = (uint8_t *)(table->entries + FF_NUM_BUCKETS);
    return table->entries != NULL;
}

/* Enters interval number `at`, whose ends have these buckets. Numbers in a bucket between those of both ends lie between
 * the ends, since buckets ascend with numbers. */
static void enter(ff_interval_table *table, int32_t at, int32_t first, int32_t last) {
    for (int32_t bucket = first; bucket <= last; bucket++) {
        bool met = table->verdicts[bucket] != FF_BUCKET_OUTSIDE, between = bucket > first && bucket < last;
        table->entries[bucket] = (uint16_t)at;
        table->verdicts[bucket] = met ? FF_BUCKET_CROWDED : between ? FF_BUCKET_INSIDE : FF_BUCKET_AT_BOUND;
    }
}

/* How numbers from `first` to `last` fall into the buckets; false if they cannot. */
static bool scale_int64s(ff_interval_table *table, int64_t first, int64_t last) {
    table->first = (uint64_t)first;
    for (table->shift = 0; ((uint64_t)last - table->first) >> table->shift >= FF_OUTER_BUCKET;) {
        table->shift++;
    }
    return true;
}

static bool scale_uint64s(ff_interval_table *table, uint64_t first, uint64_t last) {
    return scale_int64s(table, (int64_t)first, (int64_t)last);
}

static bool scale_doubles(ff_interval_table *table, double first, double last) {
    table->base = first;
    table->scale = (FF_OUTER_BUCKET - 1) / (last - first);
    /* A difference might be rounded in two ways. */
    return FLT_EVAL_METHOD == 0 && isfinite(table->scale) && table->scale > 0;
}

/* Integers in intervals from `first` to `last`, as words of 64 bits; false if they lie too far apart. */
static bool near_together(ff_interval_table *table, uint64_t first, uint64_t last) {
    if (last - first >= FF_MOST_FLAGS) {
        return false;
    }
    table->first = first;
    table->num_flags = last - first + 1;
    table->flags = calloc(table->num_flags + 1, 1);
    return true;
}

#define BUILD_FLAGS(FIELD)                                                                                             \
    if (constant->num_##FIELD >= FEWEST &&                                                                             \
        near_together(table, (uint64_t)constant->FIELD[0].lower,                                                       \
                      (uint64_t)constant->FIELD[constant->num_##FIELD - 1].upper)) {                                   \
        for (int32_t at = 0; table->flags != NULL && at < constant->num_##FIELD; at++) {                               \
            uint64_t lower = (uint64_t)constant->FIELD[at].lower, upper = (uint64_t)constant->FIELD[at].upper;         \
            memset(table->flags + (lower - table->first), 1, upper - lower + 1);                                       \
        }                                                                                                              \
        return table->flags != NULL;                                                                                   \
    }

/* The first and the last interval are entered with the end that the buckets reach. */
#define BUILD(FIELD)                                                                                                   \
    if (constant->num_##FIELD >= FEWEST && constant->num_##FIELD <= MOST) {                                            \
        int32_t last = constant->num_##FIELD - 1;                                                                      \
        if (!scale_##FIELD(table, constant->FIELD[0].upper, constant->FIELD[last].lower)) {                            \
            return true;                                                                                               \
        }                                                                                                              \
        for (int32_t at = 0; at <= last && (at > 0 || make_buckets(table)); at++) {                                    \
            enter(table, at, ff_##FIELD##_bucket(table, at == 0 ? constant->FIELD[0].upper : constant->FIELD[at].lower),  \
                  ff_##FIELD##_bucket(table, at == last ? constant->FIELD[last].lower : constant->FIELD[at].upper));   \
        }                                                                                                              \
        return table->entries != NULL;                                                                                 \
    }

bool ff_interval_table_new(ff_constant *constant) {
    ff_interval_table *table = &constant->table;
    BUILD_FLAGS(int64s)
    BUILD_FLAGS(uint64s)
    BUILD(int64s)
    BUILD(uint64s)
    BUILD(doubles)
    return true;
}

void ff_interval_table_free(ff_interval_table *table) {
    free(table->flags);
    free(table->entries);
    table->flags = NULL;
    table->entries = NULL;
}
