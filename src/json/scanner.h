/* The grammar: each function reads one thing at `position`, validates it, and returns where it ends, or NULL if it is
 * not well-formed. */
#ifndef FASTFILTER_JSON_SCANNER_H
#define FASTFILTER_JSON_SCANNER_H

#include "fastfilter/json.h"
#include "tape.h"

static inline const uint8_t *ff_json_skip_space(const uint8_t *position, const uint8_t *end) {
    while (position < end && (*position == ' ' || *position == '\n' || *position == '\t' || *position == '\r')) {
        position++;
    }
    return position;
}

/* Whether a byte outside of strings belongs to a number or a word, or else to nothing that is well-formed. */
static inline bool ff_json_is_scalar_byte(uint8_t byte) {
    switch (byte) {
    case ' ':
    case '\t':
    case '\n':
    case '\r':
    case '{':
    case '}':
    case '[':
    case ']':
    case ':':
    case ',':
    case '"': return false;
    default: return true;
    }
}

/* The kind of the value that begins with this byte, if it is a value. */
static inline uint8_t ff_json_kind(uint8_t first) {
    switch (first) {
    case '{': return FF_OBJECT;
    case '[': return FF_ARRAY;
    case '"': return FF_STRING;
    case 't':
    case 'f': return FF_BOOL;
    case 'n': return FF_NULL;
    default: return FF_NUMBER;
    }
}

/* From behind the opening quote to behind the closing one. `escaped`: there is a backslash in between. */
const uint8_t *ff_json_scan_string(const uint8_t *position, const uint8_t *end, bool *escaped);

/* From the backslash to behind the escape. */
const uint8_t *ff_json_scan_escape(const uint8_t *position, const uint8_t *end);

/* A number, true, false or null. */
const uint8_t *ff_json_scan_scalar(const uint8_t *position, const uint8_t *end);

/* A value of any kind without the space around it; `depth` is the number of arrays and objects it lies in. */
const uint8_t *ff_json_scan_value(const uint8_t *position, const uint8_t *end, int depth);

/* One value and nothing but white space behind it. */
static inline bool ff_json_scan_text(const uint8_t *position, const uint8_t *end) {
    position = ff_json_scan_value(position, end, 0);
    return position != NULL && ff_json_skip_space(position, end) == end;
}

/* As ff_json_scan_value, and appends the value's nodes to the tape. NULL also if there is no memory (tape->nodes->failed). */
const uint8_t *ff_json_record_value(const uint8_t *position, const uint8_t *end, ff_json_tape *tape);

#endif
