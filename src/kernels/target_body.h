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
#include "target_dictionary.h"

/* -- JSON texts --------------------------------------------------------------------------------------------------- */

#include "target_json.h"

#if !defined(FF_SCALAR_TARGET)
static inline bool has_backslash(const uint8_t *at, int64_t length) {
    uint8_t any = 0;
    int64_t i = 0;
    for (; i + 64 <= length && !any; i += 64) {
        for (int lane = 0; lane < 64; lane++) {
            any |= at[i + lane] == '\\';
        }
    }
    for (; i < length; i++) {
        any |= at[i] == '\\';
    }
    return any;
}

#define DEFINE_JSON_PREFILTER(NAME, OFFSET, SCAN)                                                                      \
    static uint64_t NAME(const ff_view *view, int64_t first, int num_rows, ff_bytes needle, const ff_anchors *anchors, \
                         uint64_t candidates) {                                                                        \
        const OFFSET *offsets = (const OFFSET *)view->values + view->offset + first;                                   \
        const uint8_t *data = view->data;                                                                              \
        if (data == NULL || !ascends_##OFFSET(offsets, num_rows)) {                                                    \
            return candidates; /* whoever reads them meets the fault */                                                \
        }                                                                                                              \
        const uint8_t *end = data + ((const OFFSET *)view->values)[view->offset + view->length];                       \
        int gave_up = 0;                                                                                               \
        bool high = false;                                                                                             \
        uint64_t found = SCAN(data, end, offsets, num_rows, needle, anchors, false, candidates, &gave_up, &high);      \
        if (gave_up < num_rows) {                                                                                      \
            found |= ~UINT64_C(0) << gave_up;                                                                          \
        }                                                                                                              \
        if (has_backslash(data + offsets[0], (int64_t)offsets[num_rows] - (int64_t)offsets[0])) {                      \
            for (uint64_t left = candidates & ~found; left != 0; left &= left - 1) {                                   \
                int row = ff_first_bit(left);                                                                          \
                bool has = has_backslash(data + offsets[row], (int64_t)offsets[row + 1] - (int64_t)offsets[row]);      \
                found |= (uint64_t)has << row;                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        return found & candidates;                                                                                     \
    }

DEFINE_JSON_PREFILTER(json_prefilter, int32_t, scan_strings)
DEFINE_JSON_PREFILTER(large_json_prefilter, int64_t, scan_large_strings)
#endif

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
            [FF_TYPE_UINT8] = uint8,
            [FF_TYPE_UINT16] = uint16,
            [FF_TYPE_UINT32] = uint32,
            [FF_TYPE_UINT64] = uint64,
            [FF_TYPE_FLOAT32] = float32,
            [FF_TYPE_FLOAT64] = float64,
        },
    .string_equals = string_equals,
    .large_string_equals = large_string_equals,
#if !defined(FF_SCALAR_TARGET) /* where a search byte by byte costs more than the parse it may spare */
    .json_prefilter = json_prefilter,
    .large_json_prefilter = large_json_prefilter,
#endif
    .json_scan = JSON_SCAN,
    .json_scan_trusted = JSON_SCAN_TRUSTED,
    .string_find = string_find,
    .large_string_find = large_string_find,
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
