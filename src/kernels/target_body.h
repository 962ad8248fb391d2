/* The hot kernels of one CPU target; each thin file target_*.c opens its target, names it, and includes this.
 *
 * Scalar meaning of every kernel: `destination` gets the candidates on whose value the test's `matches` is true. They are
 * written on fixed runs of 64 rows or bytes; what is spelled in intrinsics is in target_masks.h. */
#include "fastfilter/intervals.h"
#include "fastfilter/text.h"
#include "target_masks.h"

/* Of 64 rows, so few candidates are looked at one by one: about what comparing 64 values of 8 bytes costs. */
#if defined(MASKS_512)
#define FEW 1
#elif defined(MASKS_BY_SIGN)
#define FEW 2
#else
#define FEW 10
#endif

#include "target_numbers.h"

#include "target_strings.h"
#include "target_find.h"
#include "target_views.h"
#include "target_order.h"
#include "target_dictionary.h"

/* -- JSON texts --------------------------------------------------------------------------------------------------- */

#include "target_json.h"

const ff_target FF_TARGET_TABLE = {
    .name = FF_TARGET_NAME,
    .numbers =
        {
            [FF_TYPE_INT8] = int8,
            [FF_TYPE_INT16] = int16,
            [FF_TYPE_INT32] = int32,
            [FF_TYPE_DATE32] = int32,
            [FF_TYPE_DECIMAL32] = int32,
            [FF_TYPE_INT64] = int64,
            [FF_TYPE_DATE64] = int64,
            [FF_TYPE_TIMESTAMP] = int64,
            [FF_TYPE_DECIMAL64] = int64,
            [FF_TYPE_DECIMAL128] = decimal128,
            [FF_TYPE_UINT8] = uint8,
            [FF_TYPE_UINT16] = uint16,
            [FF_TYPE_UINT32] = uint32,
            [FF_TYPE_UINT64] = uint64,
            [FF_TYPE_FLOAT16] = float16,
            [FF_TYPE_FLOAT32] = float32,
            [FF_TYPE_FLOAT64] = float64,
        },
    .string_equals = string_equals,
    .large_string_equals = large_string_equals,
    .string_view_equals = string_view_equals,
    .json_holding = JSON_HOLDING,
    .json_check = JSON_CHECK,
    .json_marks = JSON_MARKS,
    .json_member = JSON_MEMBER,
    .string_find = string_find,
    .large_string_find = large_string_find,
    .string_view_find = string_view_find,
    .string_bound = string_bound,
    .large_string_bound = large_string_bound,
    .string_view_bound = string_view_bound,
    .map_entries =
        {
            [FF_TYPE_INT8] = map_int8,
            [FF_TYPE_INT16] = map_int16,
            [FF_TYPE_INT32] = map_int32,
            [FF_TYPE_INT64] = map_int64,
            [FF_TYPE_UINT8] = map_uint8,
            [FF_TYPE_UINT16] = map_uint16,
            [FF_TYPE_UINT32] = map_uint32,
            [FF_TYPE_UINT64] = map_uint64,
        },
};
