/* Arrow values as JSON text: what the tests of texts and of containment compare on typed columns. */
#include <string.h>

#include "fastfilter/arrow.h"
#include "fastfilter/text.h"
#include "fastfilter/utf8.h"

static bool append_text(ff_buffer *out, const char *text) {
    return ff_buffer_append(out, text, (int64_t)strlen(text));
}

static bool append_quoted(ff_buffer *out, ff_bytes text) {
    static const char digits[] = "0123456789abcdef";
    bool good = append_text(out, "\"");
    int64_t copied = 0;
    for (int64_t at = 0; at < text.length && good; at++) {
        uint8_t byte = text.data[at];
        uint32_t code_point;
        int length = byte < 0x80 ? 1 : ff_utf8_decode(text.data + at, text.data + text.length, &code_point);
        if (byte >= 0x80 && length > 0 && !ff_is_surrogate(code_point)) {
            at += length - 1;
            continue;
        }
        if (byte >= 0x20 && byte < 0x80 && byte != '"' && byte != '\\') {
            continue;
        }
        /* A byte that is no UTF-8 becomes a lone surrogate, as Python's "surrogateescape" has it. */
        bool stray = byte >= 0x80;
        char escape[] = {'\\', 'u', stray ? 'd' : '0', stray ? 'c' : '0', digits[byte >> 4], digits[byte & 15]};
        good = ff_buffer_append(out, text.data + copied, at - copied) && ff_buffer_append(out, escape, 6);
        copied = at + 1;
    }
    return good && ff_buffer_append(out, text.data + copied, text.length - copied) && append_text(out, "\"");
}

/* Two's complement of `num_words` 32-bit words, least first, as digits, most significant first; their number. `words`
 * is used up. 256 bits take at most 78 digits. */
static int to_digits(uint32_t *words, int num_words, bool *negative, char *digits) {
    *negative = words[num_words - 1] >> 31;
    if (*negative) {
        uint64_t carry = 1;
        for (int word = 0; word < num_words; word++) {
            carry += (uint32_t)~words[word];
            words[word] = (uint32_t)carry;
            carry >>= 32;
        }
    }
    char reversed[80];
    int num_digits = 0;
    while (num_words > 0) {
        uint64_t remainder = 0;
        for (int word = num_words - 1; word >= 0; word--) {
            remainder = remainder << 32 | words[word];
            words[word] = (uint32_t)(remainder / 10);
            remainder %= 10;
        }
        reversed[num_digits++] = (char)('0' + remainder);
        while (num_words > 0 && words[num_words - 1] == 0) {
            num_words--;
        }
    }
    for (int digit = 0; digit < num_digits; digit++) {
        digits[digit] = reversed[num_digits - 1 - digit];
    }
    return num_digits;
}

/* The value's shortest spelling: no trailing zeros behind the point, no exponent. */
static bool append_decimal(ff_buffer *out, const uint8_t *value, int num_bytes, int32_t scale) {
    uint32_t words[8] = {0};
    for (int byte = 0; byte < num_bytes; byte += 4) {
        memcpy(&words[byte / 4], value + byte, 4);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#error "decimals are read as little-endian words"
#endif
    }
    bool negative;
    char digits[80];
    int num_digits = to_digits(words, num_bytes / 4, &negative, digits);
    if (num_digits == 1 && digits[0] == '0') {
        return append_text(out, "0");
    }
    while (scale > 0 && digits[num_digits - 1] == '0') {
        num_digits--;
        scale--;
    }
    bool good = !negative || append_text(out, "-");
    int64_t num_whole = (int64_t)num_digits - scale; /* digits before the point */
    if (num_whole <= 0) {
        good = good && append_text(out, "0.");
        for (; num_whole < 0; num_whole++) {
            good = good && append_text(out, "0");
        }
        return good && ff_buffer_append(out, digits, num_digits);
    }
    int64_t num_known = num_whole < num_digits ? num_whole : num_digits;
    good = good && ff_buffer_append(out, digits, num_known);
    for (int64_t zero = num_digits; zero < num_whole; zero++) {
        good = good && append_text(out, "0");
    }
    if (num_known < num_digits) {
        good = good && append_text(out, ".") && ff_buffer_append(out, digits + num_known, num_digits - num_known);
    }
    return good;
}

static bool append_instant(ff_buffer *out, int64_t value, int64_t units_per_second) {
    int64_t seconds = value / units_per_second, rest = value % units_per_second;
    if (rest < 0) {
        rest += units_per_second;
        seconds--;
    }
    return ff_append_timestamp(out, seconds, (int32_t)(rest * (1000000000 / units_per_second)));
}

bool ff_render_text(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault) {
    int64_t at = view->offset + index;
    const void *values = view->values;
    uint8_t uuid[36];
    bool good;
    switch (view->type->id) {
    case FF_TYPE_BOOL: good = append_text(out, ff_bit(values, at) ? "true" : "false"); break;
    case FF_TYPE_INT8: good = ff_append_int64(out, ((const int8_t *)values)[at]); break;
    case FF_TYPE_INT16: good = ff_append_int64(out, ((const int16_t *)values)[at]); break;
    case FF_TYPE_INT32: good = ff_append_int64(out, ((const int32_t *)values)[at]); break;
    case FF_TYPE_INT64: good = ff_append_int64(out, ((const int64_t *)values)[at]); break;
    case FF_TYPE_UINT8: good = ff_append_uint64(out, ((const uint8_t *)values)[at]); break;
    case FF_TYPE_UINT16: good = ff_append_uint64(out, ((const uint16_t *)values)[at]); break;
    case FF_TYPE_UINT32: good = ff_append_uint64(out, ((const uint32_t *)values)[at]); break;
    case FF_TYPE_UINT64: good = ff_append_uint64(out, ((const uint64_t *)values)[at]); break;
    case FF_TYPE_FLOAT16: good = ff_append_half(out, ff_half_to_double(((const uint16_t *)values)[at])); break;
    case FF_TYPE_FLOAT32: good = ff_append_float(out, ((const float *)values)[at]); break;
    case FF_TYPE_FLOAT64: good = ff_append_double(out, ((const double *)values)[at]); break;
    case FF_TYPE_DECIMAL32: good = append_decimal(out, (const uint8_t *)values + 4 * at, 4, view->type->scale); break;
    case FF_TYPE_DECIMAL64: good = append_decimal(out, (const uint8_t *)values + 8 * at, 8, view->type->scale); break;
    case FF_TYPE_DECIMAL128: good = append_decimal(out, (const uint8_t *)values + 16 * at, 16, view->type->scale); break;
    case FF_TYPE_DECIMAL256: good = append_decimal(out, (const uint8_t *)values + 32 * at, 32, view->type->scale); break;
    case FF_TYPE_TIMESTAMP: good = append_instant(out, ((const int64_t *)values)[at], view->type->units_per_second); break;
    case FF_TYPE_DATE32: good = ff_append_timestamp(out, (int64_t)((const int32_t *)values)[at] * 86400, 0); break;
    case FF_TYPE_DATE64: good = append_instant(out, ((const int64_t *)values)[at], 1000); break;
    case FF_TYPE_STRING:
    case FF_TYPE_LARGE_STRING:
    case FF_TYPE_STRING_VIEW:
    case FF_TYPE_UUID: {
        ff_bytes text = ff_string_at(view, index, uuid, fault);
        good = ff_buffer_append(out, text.data, text.length);
        break;
    }
    default: ff_fault_data(fault, "a value of a type that no condition can read"); return false;
    }
    if (!good) {
        ff_fault_memory(fault);
    }
    return good;
}

static bool render_elements(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault) {
    int64_t start, stop;
    ff_elements_at(view, index, &start, &stop, fault);
    bool good = append_text(out, "[");
    for (int64_t element = start; element < stop && good; element++) {
        good = (element == start || append_text(out, ",")) && ff_render(ff_child(view, 0), element, out, fault);
    }
    return good && append_text(out, "]");
}

static bool render_struct(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault) {
    bool good = append_text(out, "{");
    for (int32_t child = 0; child < view->type->num_children && good; child++) {
        const char *name = view->type->children[child]->name;
        ff_bytes key = {(const uint8_t *)name, (int64_t)strlen(name)};
        good = (child == 0 || append_text(out, ",")) && append_quoted(out, key) && append_text(out, ":") &&
               ff_render(ff_child(view, child), view->offset + index, out, fault);
    }
    return good && append_text(out, "}");
}

static bool render_map(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault) {
    int64_t start, stop;
    ff_elements_at(view, index, &start, &stop, fault);
    const ff_view *entries = ff_child(view, 0);
    bool good = append_text(out, "{");
    for (int64_t entry = start; entry < stop && good; entry++) {
        const ff_view *key_view = ff_child(entries, 0);
        int64_t key_index = entries->offset + entry;
        if (ff_decode(&key_view, &key_index, fault) != FF_AT_VALUE || !ff_type_is_string(key_view->type)) {
            ff_fault_data(fault, "a map's key is no string");
            return false;
        }
        uint8_t uuid[36];
        good = (entry == start || append_text(out, ",")) &&
               append_quoted(out, ff_string_at(key_view, key_index, uuid, fault)) && append_text(out, ":") &&
               ff_render(ff_child(entries, 1), entries->offset + entry, out, fault);
    }
    return good && append_text(out, "}");
}

bool ff_render(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault) {
    bool good;
    if (ff_decode(&view, &index, fault) != FF_AT_VALUE) {
        good = append_text(out, "null");
    } else if (ff_type_is_list(view->type)) {
        good = render_elements(view, index, out, fault);
    } else if (view->type->id == FF_TYPE_STRUCT) {
        good = render_struct(view, index, out, fault);
    } else if (view->type->id == FF_TYPE_MAP) {
        good = render_map(view, index, out, fault);
    } else if (ff_type_is_string(view->type)) {
        uint8_t uuid[36];
        good = append_quoted(out, ff_string_at(view, index, uuid, fault));
    } else {
        /* Instants are STRINGs in JSON, and so are NaN and the infinities: what is no number, true or false. */
        int64_t before = out->length;
        good = ff_render_text(view, index, out, fault);
        uint8_t first = good && out->length > before ? out->data[before + (out->data[before] == '-')] : '"';
        bool instant = view->type->id >= FF_TYPE_TIMESTAMP && view->type->id <= FF_TYPE_DATE64;
        if (good && (instant || first == 'N' || first == 'I')) {
            good = ff_buffer_reserve(out, 2);
            if (good) {
                memmove(out->data + before + 1, out->data + before, (size_t)(out->length - before));
                out->data[before] = '"';
                out->data[out->length + 1] = '"';
                out->length += 2;
            }
        }
    }
    if (!good) {
        ff_fault_memory(fault);
    }
    return good;
}
