#include "value.h"

#include "fastfilter/text.h"
#include "fastfilter/utf8.h"
#include "scanner.h"

#include <math.h>

/* ---- Strings ---- */

static uint32_t read_hex(const uint8_t *digits) {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        uint32_t digit = digits[i];
        value = value << 4 | (digit <= '9' ? digit - '0' : (digit | 0x20) - 'a' + 10);
    }
    return value;
}

uint8_t *ff_json_unescape(const uint8_t *position, const uint8_t *end, uint8_t *out) {
    while (position < end) {
        const uint8_t *backslash = memchr(position, '\\', (size_t)(end - position));
        size_t plain = (size_t)((backslash != NULL ? backslash : end) - position);
        memcpy(out, position, plain);
        out += plain;
        if (backslash == NULL) {
            break;
        }
        position = backslash + 2;
        switch (backslash[1]) {
        case 'b': *out++ = '\b'; continue;
        case 'f': *out++ = '\f'; continue;
        case 'n': *out++ = '\n'; continue;
        case 'r': *out++ = '\r'; continue;
        case 't': *out++ = '\t'; continue;
        case 'u': break;
        default: *out++ = backslash[1]; continue;
        }
        uint32_t unit = read_hex(position);
        position += 4;
        if (unit >= 0xD800 && unit <= 0xDBFF && end - position >= 6 && position[0] == '\\' && position[1] == 'u') {
            uint32_t low = read_hex(position + 2);
            if (low >= 0xDC00 && low <= 0xDFFF) {
                unit = 0x10000 + ((unit - 0xD800) << 10) + (low - 0xDC00);
                position += 6;
            }
        }
        out += ff_utf8_encode(unit, out);
    }
    return out;
}

ff_bytes ff_json_string(const ff_json_value *value, ff_buffer *scratch) {
    if (!value->escaped) {
        return value->text;
    }
    scratch->length = 0;
    if (!ff_buffer_reserve(scratch, value->text.length)) {
        return (ff_bytes){NULL, 0};
    }
    const uint8_t *end = value->text.data + value->text.length;
    scratch->length = ff_json_unescape(value->text.data, end, scratch->data) - scratch->data;
    return ff_buffer_bytes(scratch);
}

/* ---- Numbers ---- */

ff_number ff_json_number(ff_bytes text) {
    bool negative = text.data[0] == '-';
    uint64_t magnitude = 0;
    bool fits = true;
    for (int64_t i = negative; i < text.length && fits; i++) {
        uint8_t digit = (uint8_t)(text.data[i] - '0');
        /* Also false at a point or exponent */
        fits = digit <= 9 && magnitude <= (UINT64_MAX - digit) / 10;
        magnitude = magnitude * 10 + digit;
    }
    const uint64_t limit = (uint64_t)INT64_MAX + negative;
    ff_number number;
    if (fits && magnitude <= limit) {
        number.type = FF_INT64;
        number.as.int64 = negative && magnitude != 0 ? -(int64_t)(magnitude - 1) - 1 : (int64_t)magnitude;
    } else if (fits && !negative) {
        number.type = FF_UINT64;
        number.as.uint64 = magnitude;
    } else {
        number.type = FF_DOUBLE;
        number.as.float64 = ff_parse_double(text);
    }
    return number;
}

/* The integer a double is, as FF_INT64 or FF_UINT64 if it is one of these. */
static ff_number integer_of(ff_number number) {
    if (number.type == FF_DOUBLE && floor(number.as.float64) == number.as.float64) {
        double value = number.as.float64;
        if (value >= -0x1p63 && value < 0x1p63) {
            number.type = FF_INT64;
            number.as.int64 = (int64_t)value;
        } else if (value >= 0x1p63 && value < 0x1p64) {
            number.type = FF_UINT64;
            number.as.uint64 = (uint64_t)value;
        }
    }
    return number;
}

bool ff_number_equal(ff_number left, ff_number right) {
    left = integer_of(left);
    right = integer_of(right);
    if (left.type != right.type) {
        return false; /* FF_UINT64 is only used above INT64_MAX */
    }
    switch (left.type) {
    case FF_INT64: return left.as.int64 == right.as.int64;
    case FF_UINT64: return left.as.uint64 == right.as.uint64;
    default: return left.as.float64 == right.as.float64 && isfinite(left.as.float64);
    }
}

/* ---- Arrays ---- */

bool ff_json_next_element(const ff_json_value *array, int64_t *position, ff_json_value *element) {
    const uint8_t *end = array->text.data + array->text.length;
    /* Behind the opening bracket, or at the comma or closing bracket behind the last element. */
    const uint8_t *start = ff_json_skip_space(array->text.data + (*position == 0 ? 1 : *position), end);
    if (start < end && *position != 0 && *start == ',') {
        start = ff_json_skip_space(start + 1, end);
    }
    if (start >= end || *start == ']') {
        return false;
    }
    element->kind = ff_json_kind(*start);
    element->escaped = false;
    const uint8_t *behind = element->kind == FF_STRING ? ff_json_scan_string(start + 1, end, &element->escaped)
                                                       : ff_json_scan_value(start, end, 0);
    if (behind == NULL) {
        return false;
    }
    int64_t quote = element->kind == FF_STRING;
    element->text.data = start + quote;
    element->text.length = behind - start - 2 * quote;
    *position = behind - array->text.data;
    return true;
}
