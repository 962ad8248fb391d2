#include "scanner.h"

#include "fastfilter/utf8.h"

#include <string.h>

static bool is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') <= 9;
}

static bool is_hex_digit(uint8_t byte) {
    return is_digit(byte) || (uint8_t)((byte | 0x20) - 'a') <= 5;
}

/* Whether one of eight bytes is a quote, a backslash, a control character or not ASCII. */
static bool holds_special(uint64_t bytes) {
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    uint64_t quote = bytes ^ ones * '"', backslash = bytes ^ ones * '\\';
    /* With no top bit set, x - n borrows in the lowest byte below n, and so sets its top bit. */
    return ((bytes | (bytes - ones * 0x20) | (quote - ones) | (backslash - ones)) & tops) != 0;
}

const uint8_t *ff_json_scan_escape(const uint8_t *position, const uint8_t *end) {
    if (end - position < 2) {
        return NULL;
    }
    switch (position[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': return position + 2;
    case 'u': break;
    default: return NULL;
    }
    if (end - position < 6) {
        return NULL;
    }
    for (int i = 2; i < 6; i++) {
        if (!is_hex_digit(position[i])) {
            return NULL;
        }
    }
    return position + 6;
}

const uint8_t *ff_json_scan_string(const uint8_t *position, const uint8_t *end, bool *escaped) {
    *escaped = false;
    for (;;) {
        for (uint64_t bytes; end - position >= 8; position += 8) {
            memcpy(&bytes, position, 8);
            if (holds_special(bytes)) {
                break;
            }
        }
        while (position < end && *position >= 0x20 && *position < 0x80 && *position != '"' && *position != '\\') {
            position++;
        }
        if (position == end || *position < 0x20) {
            return NULL;
        }
        if (*position == '"') {
            return position + 1;
        }
        if (*position == '\\') {
            *escaped = true;
            position = ff_json_scan_escape(position, end);
            if (position == NULL) {
                return NULL;
            }
        }
        while (position < end && *position >= 0x80) {
            uint32_t code_point = 0;
            int length = ff_utf8_decode(position, end, &code_point);
            if (length == 0 || ff_is_surrogate(code_point)) {
                return NULL;
            }
            position += length;
        }
    }
}

static const uint8_t *scan_digits(const uint8_t *position, const uint8_t *end) {
    if (position == end || !is_digit(*position)) {
        return NULL;
    }
    do {
        position++;
    } while (position < end && is_digit(*position));
    return position;
}

static const uint8_t *scan_number(const uint8_t *position, const uint8_t *end) {
    if (*position == '-') {
        position++;
    }
    if (position < end && *position == '0') {
        position++;
    } else {
        position = scan_digits(position, end);
        if (position == NULL) {
            return NULL;
        }
    }
    if (position < end && *position == '.') {
        position = scan_digits(position + 1, end);
        if (position == NULL) {
            return NULL;
        }
    }
    if (position < end && (*position == 'e' || *position == 'E')) {
        position++;
        if (position < end && (*position == '+' || *position == '-')) {
            position++;
        }
        position = scan_digits(position, end);
    }
    return position;
}

const uint8_t *ff_json_scan_scalar(const uint8_t *position, const uint8_t *end) {
    const char *word;
    switch (*position) {
    case 't': word = "true"; break;
    case 'f': word = "false"; break;
    case 'n': word = "null"; break;
    default: return scan_number(position, end);
    }
    int64_t length = (int64_t)strlen(word);
    return end - position >= length && memcmp(position, word, (size_t)length) == 0 ? position + length : NULL;
}

/* One body for both uses; where `tape` is the constant NULL the compiler leaves the recording out. */
static inline const uint8_t *scan(const uint8_t *position, const uint8_t *end, int depth, ff_json_tape *tape) {
    /* From FIRST_ELEMENT on, a closing bracket may stand there as well. */
    enum { VALUE, KEY, FIRST_ELEMENT, FIRST_KEY, AFTER_VALUE } expected = VALUE;
    uint64_t is_object[FF_JSON_MAX_DEPTH / 64]; /* a bit for every open array or object; those outside do not count */
    const int outer_depth = depth;
    for (;;) {
        if (expected == AFTER_VALUE && depth == outer_depth) {
            return position;
        }
        position = ff_json_skip_space(position, end);
        if (position == end) {
            return NULL;
        }
        bool in_object = depth > outer_depth && (is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1) != 0;
        uint8_t byte = *position;
        if (expected >= FIRST_ELEMENT && byte == (in_object ? '}' : ']')) {
            if (tape != NULL) {
                ff_json_tape_close(tape);
            }
            depth--;
            position++;
            expected = AFTER_VALUE;
            continue;
        }
        if (expected == AFTER_VALUE) {
            if (byte != ',') {
                return NULL;
            }
            position++;
            expected = in_object ? KEY : VALUE;
            continue;
        }
        if (byte == '"') {
            const uint8_t *start = position + 1;
            bool escaped;
            position = ff_json_scan_string(start, end, &escaped);
            if (position == NULL || (tape != NULL && !ff_json_tape_push_string(tape, start, position - 1, escaped))) {
                return NULL;
            }
            if (expected == KEY || expected == FIRST_KEY) {
                position = ff_json_skip_space(position, end);
                if (position == end || *position != ':') {
                    return NULL;
                }
                position++;
                expected = VALUE;
            } else {
                expected = AFTER_VALUE;
            }
            continue;
        }
        if (expected == KEY || expected == FIRST_KEY) {
            return NULL;
        }
        if (byte == '{' || byte == '[') {
            if (depth == FF_JSON_MAX_DEPTH || (tape != NULL && !ff_json_tape_open(tape, ff_json_kind(byte)))) {
                return NULL;
            }
            uint64_t bit = (uint64_t)1 << depth % 64;
            if (depth == outer_depth || depth % 64 == 0) {
                is_object[depth / 64] = 0;
            }
            is_object[depth / 64] = byte == '{' ? is_object[depth / 64] | bit : is_object[depth / 64] & ~bit;
            depth++;
            position++;
            expected = byte == '{' ? FIRST_KEY : FIRST_ELEMENT;
            continue;
        }
        const uint8_t *start = position;
        position = ff_json_scan_scalar(start, end);
        if (position == NULL ||
            (tape != NULL && !ff_json_tape_push_scalar(tape, ff_json_kind(byte), start, position))) {
            return NULL;
        }
        expected = AFTER_VALUE;
    }
}

const uint8_t *ff_json_scan_value(const uint8_t *position, const uint8_t *end, int depth) {
    return scan(position, end, depth, NULL);
}

const uint8_t *ff_json_record_value(const uint8_t *position, const uint8_t *end, ff_json_tape *tape) {
    return scan(position, end, 0, tape);
}
