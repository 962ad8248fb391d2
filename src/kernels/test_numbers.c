/* Numbers and instants of every width against closed intervals, one at a time. */
#include "fastfilter/intervals.h"
#include "fastfilter/text.h"

bool ff_in_doubles(const ff_constant *constant, double value) {
    return in_doubles(constant, value);
}

bool ff_in_numbers(const ff_constant *constant, ff_number number) {
    return number.type == FF_INT64    ? in_int64s(constant, number.as.int64)
           : number.type == FF_UINT64 ? in_uint64s(constant, number.as.uint64)
                                      : in_doubles(constant, number.as.float64);
}

/* Below, at or above zero as `left` is less than, equal to or greater than `right`. */
static int compare_wide(const uint64_t *left, const uint64_t *right, int num_limbs) {
    if (left[num_limbs - 1] != right[num_limbs - 1]) {
        return (int64_t)left[num_limbs - 1] < (int64_t)right[num_limbs - 1] ? -1 : 1;
    }
    for (int limb = num_limbs - 2; limb >= 0; limb--) {
        if (left[limb] != right[limb]) {
            return left[limb] < right[limb] ? -1 : 1;
        }
    }
    return 0;
}

static bool in_wides(const ff_constant *constant, const uint64_t *value, int num_limbs) {
    int32_t low = 0, high = constant->num_wides;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (compare_wide(constant->wides[middle].lower, value, num_limbs) <= 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 && compare_wide(value, constant->wides[low - 1].upper, num_limbs) <= 0;
}

static bool decimal128_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    (void)run;
    return in_wides(&test->constant, (const uint64_t *)view->values + 2 * (view->offset + index), 2);
}

static bool decimal256_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    (void)run;
    return in_wides(&test->constant, (const uint64_t *)view->values + 4 * (view->offset + index), 4);
}

/* TYPE is what the column stores, VALUE what it is compared as, in the intervals FIELD. */
#define DEFINE_NUMBERS(NAME, TYPE, VALUE, FIELD, LOAD)                                                                 \
    static bool NAME##_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {                 \
        (void)run;                                                                                                     \
        return in_##FIELD(&test->constant, (VALUE)LOAD(((const TYPE *)view->values)[view->offset + index]));           \
    }

#define PLAIN(value) (value)
DEFINE_NUMBERS(int8, int8_t, int64_t, int64s, PLAIN)
DEFINE_NUMBERS(int16, int16_t, int64_t, int64s, PLAIN)
DEFINE_NUMBERS(int32, int32_t, int64_t, int64s, PLAIN)
DEFINE_NUMBERS(int64, int64_t, int64_t, int64s, PLAIN)
DEFINE_NUMBERS(uint8, uint8_t, uint64_t, uint64s, PLAIN)
DEFINE_NUMBERS(uint16, uint16_t, uint64_t, uint64s, PLAIN)
DEFINE_NUMBERS(uint32, uint32_t, uint64_t, uint64s, PLAIN)
DEFINE_NUMBERS(uint64, uint64_t, uint64_t, uint64s, PLAIN)
DEFINE_NUMBERS(float16, uint16_t, double, doubles, ff_half_to_double)
DEFINE_NUMBERS(float32, float, double, doubles, PLAIN)
DEFINE_NUMBERS(float64, double, double, doubles, PLAIN)

ff_matches *ff_number_matches(ff_type_id id) {
    switch (id) {
    case FF_TYPE_INT8: return int8_matches;
    case FF_TYPE_INT16: return int16_matches;
    case FF_TYPE_INT32:
    case FF_TYPE_DATE32:
    case FF_TYPE_DECIMAL32: return int32_matches;
    case FF_TYPE_INT64:
    case FF_TYPE_DATE64:
    case FF_TYPE_TIMESTAMP:
    case FF_TYPE_DECIMAL64: return int64_matches;
    case FF_TYPE_UINT8: return uint8_matches;
    case FF_TYPE_UINT16: return uint16_matches;
    case FF_TYPE_UINT32: return uint32_matches;
    case FF_TYPE_UINT64: return uint64_matches;
    case FF_TYPE_FLOAT16: return float16_matches;
    case FF_TYPE_FLOAT32: return float32_matches;
    case FF_TYPE_FLOAT64: return float64_matches;
    case FF_TYPE_DECIMAL128: return decimal128_matches;
    case FF_TYPE_DECIMAL256: return decimal256_matches;
    default: return NULL;
    }
}

/* A number's text read as a double. Of an integer or a double that is the value rounded to a double; of narrower floats
 * and of decimals it is not, so those are spelled out. */
#define DEFINE_TEXT_NUMBER(NAME, TYPE)                                                                                 \
    static bool NAME##_text_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {            \
        (void)run;                                                                                                     \
        return in_doubles(&test->constant, (double)((const TYPE *)view->values)[view->offset + index]);                \
    }

DEFINE_TEXT_NUMBER(int8, int8_t)
DEFINE_TEXT_NUMBER(int16, int16_t)
DEFINE_TEXT_NUMBER(int32, int32_t)
DEFINE_TEXT_NUMBER(int64, int64_t)
DEFINE_TEXT_NUMBER(uint8, uint8_t)
DEFINE_TEXT_NUMBER(uint16, uint16_t)
DEFINE_TEXT_NUMBER(uint32, uint32_t)
DEFINE_TEXT_NUMBER(uint64, uint64_t)

static bool spelled_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    ff_bytes text;
    if (ff_type_is_string(view->type)) {
        text = ff_string_at(view, index, run->uuid, &run->fault);
    } else {
        run->text.length = 0;
        if (!ff_render_text(view, index, &run->text, &run->fault)) {
            return false;
        }
        text = ff_buffer_bytes(&run->text);
    }
    return ff_is_plain_number(text) && in_doubles(&test->constant, ff_parse_double(text));
}

ff_matches *ff_text_number_matches(ff_type_id id) {
    switch (id) {
    case FF_TYPE_INT8: return int8_text_matches;
    case FF_TYPE_INT16: return int16_text_matches;
    case FF_TYPE_INT32: return int32_text_matches;
    case FF_TYPE_INT64: return int64_text_matches;
    case FF_TYPE_UINT8: return uint8_text_matches;
    case FF_TYPE_UINT16: return uint16_text_matches;
    case FF_TYPE_UINT32: return uint32_text_matches;
    case FF_TYPE_UINT64: return uint64_text_matches;
    case FF_TYPE_FLOAT64: return float64_matches;
    case FF_TYPE_FLOAT16:
    case FF_TYPE_FLOAT32:
    case FF_TYPE_DECIMAL32:
    case FF_TYPE_DECIMAL64:
    case FF_TYPE_DECIMAL128:
    case FF_TYPE_DECIMAL256:
    case FF_TYPE_STRING:
    case FF_TYPE_LARGE_STRING:
    case FF_TYPE_STRING_VIEW:
    case FF_TYPE_UUID: return spelled_matches;
    default: return NULL;
    }
}
