/* Texts: order, case, timestamps, and the decimal spelling of numbers. Strings are UTF-8 (or WTF-8: a lone surrogate,
 * which JSON's escapes can spell, is encoded in three bytes as if it were a character). */
#ifndef FASTFILTER_TEXT_H
#define FASTFILTER_TEXT_H

#include "fastfilter/bytes.h"

/* Below, at or above zero as `left` comes before, with or after `right` in UTF-16 code-unit order (JavaScript's). */
int ff_compare_utf16(ff_bytes left, ff_bytes right);

/* Appends `text` lower-cased to `out` (not cleared): Python's str.lower of the interpreter the extension was built for,
 * final sigma and U+0130 included. Bytes that are not UTF-8 are copied unchanged. False if there is no memory. */
bool ff_lower(ff_bytes text, ff_buffer *out);

/* Whether `needle` occurs in `text`; the empty needle always does. */
bool ff_find(ff_bytes text, ff_bytes needle);

/* The same for one short text, whose characters are single bytes of any encoding: 1 or 0, or -1 if the needle is made to
 * defeat the search. With `ignore_case` the ASCII letters of `text` count as lower case, and `needle` must be so. */
int ff_find_quickly(ff_bytes text, ff_bytes needle, bool ignore_case);

/* Reads a full ISO 8601 timestamp by the grammar of fastfilter.values.parse_timestamp: seconds since the epoch and
 * nanoseconds (0 to 999,999,999) past them. False if `text` is not one. */
bool ff_parse_timestamp(ff_bytes text, int64_t *seconds, int32_t *nanoseconds);

/* The nearest double of a decimal number `-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?`, which `text` must be. Infinite if it
 * overflows. Exact whatever the length, whatever the locale. */
double ff_parse_double(ff_bytes text);

/* Whether `text` matches ^-?[0-9]+(\.[0-9]+)?$ (Anansi's guard before it reads a text as a number). */
bool ff_is_plain_number(ff_bytes text);

/* Append the shortest decimal that gives the value back in its own width, without exponent and without a trailing ".0"
 * (1e20 → 100000000000000000000, -0.0 → 0); "NaN", "Infinity" and "-Infinity" otherwise. False if there is no memory.
 * ff_append_half takes the value of an IEEE half already widened to double. */
bool ff_append_double(ff_buffer *out, double value);
bool ff_append_float(ff_buffer *out, float value);
bool ff_append_half(ff_buffer *out, double value);
bool ff_append_int64(ff_buffer *out, int64_t value);
bool ff_append_uint64(ff_buffer *out, uint64_t value);

/* Appends an instant as JavaScript's toISOString spells it, with three, six or nine digits of fraction as it needs:
 * 2026-07-01T00:00:00.000Z. Years outside 0 to 9999 get a sign and at least six digits. `nanoseconds` is 0 to 999,999,999. */
bool ff_append_timestamp(ff_buffer *out, int64_t seconds, int32_t nanoseconds);

#endif
