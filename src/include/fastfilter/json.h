/* JSON texts (RFC 8259, UTF-8): one pass over a text validates all of it and finds the values of all paths of a filter.
 *
 * Well-formed means: exactly one JSON value with optional white space around it; strict UTF-8 (no overlong forms, no
 * encoded surrogates, nothing above U+10FFFF); no control character below U+0020 inside a string; no byte-order mark;
 * nesting of at most FF_JSON_MAX_DEPTH arrays and objects. A lone surrogate written as an escape is accepted. The Python
 * back end accepts and rejects exactly the same bytes. */
#ifndef FASTFILTER_JSON_H
#define FASTFILTER_JSON_H

#include "fastfilter/bytes.h"

#define FF_JSON_MAX_DEPTH 1024

/* fastfilter.values.Kind */
enum { FF_MISSING, FF_NULL, FF_BOOL, FF_NUMBER, FF_STRING, FF_TIMESTAMP, FF_ARRAY, FF_OBJECT };

/* A value found in a text. `text` is its raw spelling inside the text: `true`, `-1.50`, the bytes between the quotes of
 * a string, or an array or object with its brackets. */
typedef struct {
    uint8_t kind;
    bool escaped; /* STRING: there is a backslash in it */
    ff_bytes text;
} ff_json_value;

/* Paths of literal keys, as a tree; immutable once built, shared by threads. Slots count from 0. An empty path is the
 * whole text's value. Two paths may share a slot's prefix, and one path may be the prefix of another. `trusted`: the
 * texts are known to be well-formed and are not validated; of those that are not, any answer may come, but an answer. */
typedef struct ff_json_paths ff_json_paths;
ff_json_paths *ff_json_paths_new(bool trusted);
bool ff_json_paths_add(ff_json_paths *paths, const ff_bytes *keys, int num_keys, int slot); /* false: no memory */
int ff_json_paths_num_slots(const ff_json_paths *paths);
void ff_json_paths_free(ff_json_paths *paths);

typedef enum {
    FF_JSON_OK,
    FF_JSON_MALFORMED,  /* or nested too deeply */
    FF_JSON_NOT_OBJECT, /* well-formed, but a path with keys was to be looked up and the text is no object */
    FF_JSON_NO_MEMORY
} ff_json_status;

/* Validates one text (unless `paths` are trusted) and writes every slot of `paths` to `out`. A key that stands twice in an object
 * counts with its last value, at every level (so an earlier value's slots below it are forgotten). Keys compare
 * unescaped. A path that leads into a value that is no object is MISSING. Unless the result is OK every slot is MISSING
 * (under NOT_OBJECT a slot with the empty path still gets the value). Bytes behind the text, before `readable`, may be
 * read, but never matter. `scratch` is working space. */
ff_json_status ff_json_extract(const ff_json_paths *paths, ff_bytes text, const uint8_t *readable, ff_json_value *out,
                               ff_buffer *scratch);

/* The same as if the paths were trusted, so that only texts whose answer matters need be validated. *checked: the text
 * has been validated all the same. */
ff_json_status ff_json_extract_trusting(const ff_json_paths *paths, ff_bytes text, const uint8_t *readable,
                                        ff_json_value *out, ff_buffer *scratch, bool *checked);

bool ff_json_paths_trusted(const ff_json_paths *paths);

/* In quotes, the only key of a slot's path if it can be searched for: wherever these bytes stand in a well-formed text
 * without a backslash, they are a string. Else empty: the path has no key, or several, or an odd one. */
ff_bytes ff_json_paths_key(const ff_json_paths *paths, int slot);

typedef enum { FF_JSON_SCAN_OK, FF_JSON_SCAN_MALFORMED, FF_JSON_SCAN_ESCAPED_KEY } ff_json_scan_status;

/* Marks the members of the object that is a text, which is taken for well-formed. The masks have a bit for each byte,
 * and one more: `key_starts` and `key_ends` the quotes around the keys, and around values that are strings; `ends`
 * where strings, arrays and objects among the values end. `escapes`: a backslash is in the text. ESCAPED_KEY: there is
 * one in some key, and the text is to be looked at in another way. */
typedef ff_json_scan_status ff_json_marks(ff_bytes text, const uint8_t *readable, uint64_t *ends, uint64_t *key_starts,
                                          uint64_t *key_ends, bool *escapes);

/* Up to 64 texts, one behind the other: text r goes from bounds[r] to bounds[r + 1] of `data`. Bytes before `readable`
 * may be read. */
typedef struct {
    const uint8_t *data, *readable;
    const int64_t *bounds;
    int num_rows;
} ff_json_rows;

/* The candidates whose text is well-formed. */
typedef uint64_t ff_json_check(const ff_json_rows *rows, uint64_t candidates);

/* How texts are validated that ff_json_extract_trusting does not; NULL if it validates all. */
ff_json_check *ff_json_paths_check(const ff_json_paths *paths);

/* The content of a STRING: its raw text if it holds no escape, else unescaped into `scratch` (cleared first). Surrogate
 * pairs are joined; a lone surrogate becomes three bytes (WTF-8). A NULL `data` means there is no memory. */
ff_bytes ff_json_string(const ff_json_value *value, ff_buffer *scratch);

/* A number by value: an integer (no point, no exponent) that fits int64 or else uint64, else the nearest double, which
 * is infinite if the number overflows. */
typedef enum { FF_INT64, FF_UINT64, FF_DOUBLE } ff_number_type;
typedef struct {
    ff_number_type type;
    union {
        int64_t int64;
        uint64_t uint64;
        double float64;
    } as;
} ff_number;
ff_number ff_json_number(ff_bytes text); /* of bytes that are no number: some number */

/* Walks the elements of an ARRAY in `array->text` (known to be well-formed). `position` starts at 0; false at the end. */
bool ff_json_next_element(const ff_json_value *array, int64_t *position, ff_json_value *element);

/* Appends the JSONB text (PostgreSQL 15's `->>`) of a value that is neither MISSING nor NULL: a string's content, a
 * number in plain digits (1e3 → 1000, 1.50 → 1.50, -0 → 0, -0.0 → 0.0), `true`/`false`, an array or object as JSONB prints
 * it: `[1, 2]`, `{"a": 1}`, keys by length then bytes, the last of a repeated key, strings escaped as PostgreSQL does.
 *
 * A text longer than `limit` bytes is not written out (a number such as 1e999999999 would be): the result is then
 * FF_TEXT_TOO_LONG and `out` is as before. The memory behind its length serves as working space: for an array or object
 * some 24 bytes for each value and key in it. */
typedef enum { FF_TEXT_OK, FF_TEXT_TOO_LONG, FF_TEXT_NO_MEMORY } ff_text_status;
ff_text_status ff_json_text(const ff_json_value *value, int64_t limit, ff_buffer *out);

/* The constant of a containment test, prepared once from well-formed JSON text; immutable, shared by threads. */
typedef struct ff_json_pattern ff_json_pattern;
ff_json_pattern *ff_json_pattern_new(ff_bytes json); /* NULL: malformed, or no memory */
void ff_json_pattern_free(ff_json_pattern *pattern);

/* Whether `value` (not MISSING) JSONB-contains the pattern, PostgreSQL's `@>`: equal scalars (numbers by ff_json_number's
 * exact value; an overflowing number equals nothing); every pair of a pattern object contained under the same key of an
 * object; every element of a pattern array contained in some element of an array (a scalar in an equal scalar, a
 * container in a container of its kind); and, at the top only, an array contains a scalar that equals an element.
 * 1, 0, or -1 if there is no memory. Time is bounded by the product of the two sizes; nesting is bounded by the scan. */
int ff_json_contains(const ff_json_pattern *pattern, const ff_json_value *value, ff_buffer *scratch);

#endif
