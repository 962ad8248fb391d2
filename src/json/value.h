#ifndef FASTFILTER_JSON_VALUE_H
#define FASTFILTER_JSON_VALUE_H

#include "fastfilter/json.h"

#include <string.h>

/* Unescapes the content of a well-formed string to `out`, which has room for as many bytes; returns the end. */
uint8_t *ff_json_unescape(const uint8_t *position, const uint8_t *end, uint8_t *out);

/* By exact value; an infinite number equals none. */
bool ff_number_equal(ff_number left, ff_number right);

static inline bool ff_bytes_equal(ff_bytes left, ff_bytes right) {
    return left.length == right.length && (left.length == 0 || memcmp(left.data, right.data, (size_t)left.length) == 0);
}

#endif
