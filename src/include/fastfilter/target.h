/* CPU targets: the hot kernels, written once in kernels/target_body.h and compiled once for each target. One table is
 * chosen when the extension is loaded, and every binding takes its kernels from it. */
#ifndef FASTFILTER_TARGET_H
#define FASTFILTER_TARGET_H

#include "fastfilter/tests.h"

/* Sets `destination` to the candidates whose entry number passes. False, with the destination unspecified, if a
 * candidate's number is not below `num_entries`. */
typedef bool ff_map_entries(const void *entries, int64_t num_rows, int64_t num_entries, const ff_verdicts *verdicts,
                            const uint64_t *candidates, uint64_t *destination);

typedef struct {
    const char *name;
    ff_dense *numbers[FF_NUM_TYPES];             /* intervals, by type; NULL: no such kernel */
    ff_dense *string_equals, *large_string_equals, *string_view_equals; /* equality with one or several strings */
    ff_dense *string_find, *large_string_find, *string_view_find; /* occurrence of the constant's text, or of any case of it */
    ff_dense *string_bound, *large_string_bound, *string_view_bound; /* order against the constant's text */
    ff_map_entries *map_entries[FF_NUM_TYPES];     /* by type of the entry numbers */
    ff_json_holding *json_holding; /* NULL: it would cost more than it spares */
    /* NULL, all three or none: scanner.c is quicker. */
    ff_json_check *json_check;
    ff_json_marks *json_marks;
    ff_json_member *json_member;
} ff_target;

/* The table in use. Never NULL once the extension is loaded. */
extern const ff_target *ff_target_in_use;

/* The targets compiled in, the best first; NULL behind the last. */
const ff_target *ff_target_at(int number);
/* Whether this machine can run it. */
bool ff_target_runs(const ff_target *target);

#endif
