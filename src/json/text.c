/* A value as PostgreSQL's JSONB prints it. */
#include "scanner.h"
#include "value.h"

/* Where the text goes and how much more of it may be written. */
typedef struct {
    ff_buffer *out;
    int64_t room;
    ff_text_status status;
} text_writer;

static bool has_room(text_writer *writer, int64_t length) {
    if (length > writer->room) {
        writer->status = FF_TEXT_TOO_LONG;
        return false;
    }
    if (!ff_buffer_reserve(writer->out, length)) {
        writer->status = FF_TEXT_NO_MEMORY;
        return false;
    }
    writer->room -= length;
    return true;
}

static bool write_bytes(text_writer *writer, const void *bytes, int64_t length) {
    return has_room(writer, length) && ff_buffer_append(writer->out, bytes, length);
}

static bool write_zeros(text_writer *writer, int64_t count) {
    if (count <= 0) {
        return true;
    }
    if (!has_room(writer, count)) {
        return false;
    }
    memset(writer->out->data + writer->out->length, '0', (size_t)count);
    writer->out->length += count;
    return true;
}

/* ---- Numbers: the digits as they are spelled, with the point moved by the exponent ---- */

static bool is_digit(uint8_t byte) {
    return (uint8_t)(byte - '0') <= 9;
}

/* The digits numbered `from` to `to` of a whole part and a fraction written one behind the other. */
static bool write_digits(text_writer *writer, ff_bytes whole, ff_bytes fraction, int64_t from, int64_t to) {
    if (from < whole.length) {
        int64_t end = to < whole.length ? to : whole.length;
        if (end > from && !write_bytes(writer, whole.data + from, end - from)) {
            return false;
        }
        from = whole.length;
    }
    return to <= from || write_bytes(writer, fraction.data + (from - whole.length), to - from);
}

static bool write_number(text_writer *writer, ff_bytes text) {
    const uint8_t *position = text.data, *end = text.data + text.length;
    bool negative = *position == '-', zero = true;
    position += negative;
    ff_bytes whole = {position, 0}, fraction = {position, 0};
    for (; position < end && is_digit(*position); position++) {
        zero &= *position == '0';
    }
    whole.length = position - whole.data;
    if (position < end && *position == '.') {
        fraction.data = ++position;
        for (; position < end && is_digit(*position); position++) {
            zero &= *position == '0';
        }
        fraction.length = position - fraction.data;
    }
    int64_t exponent = 0;
    if (position < end) {
        position++; /* the letter */
        bool minus = position < end && *position == '-';
        position += minus || (position < end && *position == '+');
        for (; position < end && is_digit(*position); position++) {
            if (exponent < INT64_MAX / 16) {
                exponent = exponent * 10 + (*position - '0');
            }
        }
        exponent = minus ? -exponent : exponent;
    }
    /* All digits, of which the first `point` (maybe less than none, maybe more than there are) are before the point. */
    int64_t num_digits = whole.length + fraction.length, point = whole.length + exponent;
    int64_t first = 0;
    while (first < num_digits &&
           (first < whole.length ? whole.data[first] : fraction.data[first - whole.length]) == '0') {
        first++;
    }
    if (negative && !zero && !write_bytes(writer, "-", 1)) {
        return false;
    }
    if (zero || point <= first) {
        if (!write_bytes(writer, "0", 1)) {
            return false;
        }
    } else {
        int64_t given = point < num_digits ? point : num_digits;
        if (!write_digits(writer, whole, fraction, first, given) || !write_zeros(writer, point - given)) {
            return false;
        }
    }
    if (point >= num_digits) {
        return true;
    }
    int64_t from = point > 0 ? point : 0;
    return write_bytes(writer, ".", 1) && write_zeros(writer, -point) &&
           write_digits(writer, whole, fraction, from, num_digits);
}

/* ---- Strings in arrays and objects ---- */

/* The escape of a byte as PostgreSQL spells it; returns its length, 0 if the byte needs none. */
static int escape_of(uint8_t byte, char *escape) {
    memcpy(escape, "\\u00", 4);
    switch (byte) {
    case '\b': escape[1] = 'b'; return 2;
    case '\f': escape[1] = 'f'; return 2;
    case '\n': escape[1] = 'n'; return 2;
    case '\r': escape[1] = 'r'; return 2;
    case '\t': escape[1] = 't'; return 2;
    case '"':
    case '\\': escape[1] = (char)byte; return 2;
    default: break;
    }
    if (byte >= 0x20) {
        return 0;
    }
    escape[4] = (char)('0' + (byte >> 4));
    escape[5] = "0123456789abcdef"[byte & 15];
    return 6;
}

static bool write_quoted(text_writer *writer, const ff_json_tape *tape, int64_t index) {
    const ff_json_node *node = ff_json_tape_node(tape, index);
    const int64_t length = node->extent;
    if (!write_bytes(writer, "\"", 1)) {
        return false;
    }
    if (!node->decoded) { /* then nothing in it wants an escape */
        return write_bytes(writer, tape->text.data + node->start, length) && write_bytes(writer, "\"", 1);
    }
    /* The content lies in the buffer that is written to, and moves with it: it is found by its distance. */
    const int64_t content = tape->strings_start + (int64_t)node->start;
    for (int64_t i = 0; i < length;) {
        char escape[6];
        int escape_length = 0;
        int64_t plain_end = i;
        while (plain_end < length && escape_length == 0) {
            escape_length = escape_of(writer->out->data[content + plain_end], escape);
            plain_end += escape_length == 0;
        }
        if (!has_room(writer, plain_end - i)) {
            return false;
        }
        memcpy(writer->out->data + writer->out->length, writer->out->data + content + i, (size_t)(plain_end - i));
        writer->out->length += plain_end - i;
        if (escape_length != 0 && !write_bytes(writer, escape, escape_length)) {
            return false;
        }
        i = plain_end + (escape_length != 0);
    }
    return write_bytes(writer, "\"", 1);
}

/* ---- Arrays and objects ---- */

/* Recursion is bounded by FF_JSON_MAX_DEPTH. */
static bool write_node(text_writer *writer, const ff_json_tape *tape, int64_t index) {
    const ff_json_node *node = ff_json_tape_node(tape, index);
    bool first = true;
    switch (node->kind) {
    case FF_STRING: return write_quoted(writer, tape, index);
    case FF_NUMBER: return write_number(writer, ff_json_tape_bytes(tape, node));
    case FF_ARRAY: {
        const int64_t end = node->extent;
        for (int64_t element = index + 1; element < end; element = ff_json_tape_skip(tape, element)) {
            if (!write_bytes(writer, first ? "[" : ", ", first ? 1 : 2) || !write_node(writer, tape, element)) {
                return false;
            }
            first = false;
        }
        return (!first || write_bytes(writer, "[", 1)) && write_bytes(writer, "]", 1);
    }
    case FF_OBJECT:
        for (int64_t key = node->next_key; key >= 0; key = ff_json_tape_node(tape, key)->next_key) {
            if (!write_bytes(writer, first ? "{" : ", ", first ? 1 : 2) || !write_quoted(writer, tape, key) ||
                !write_bytes(writer, ": ", 2) || !write_node(writer, tape, key + 1)) {
                return false;
            }
            first = false;
        }
        return (!first || write_bytes(writer, "{", 1)) && write_bytes(writer, "}", 1);
    default: {
        ff_bytes word = ff_json_tape_bytes(tape, node);
        return write_bytes(writer, word.data, word.length);
    }
    }
}

ff_text_status ff_json_text(const ff_json_value *value, int64_t limit, ff_buffer *out) {
    const int64_t start = out->length;
    text_writer writer = {out, limit, FF_TEXT_OK};
    int64_t text_start = start;
    switch (value->kind) {
    case FF_NUMBER: write_number(&writer, value->text); break;
    case FF_STRING:
        if (!value->escaped) {
            write_bytes(&writer, value->text.data, value->text.length);
        } else if (!ff_buffer_reserve(out, value->text.length)) {
            writer.status = FF_TEXT_NO_MEMORY;
        } else {
            const uint8_t *end = value->text.data + value->text.length;
            int64_t length = ff_json_unescape(value->text.data, end, out->data + start) - (out->data + start);
            out->length = start + length;
            writer.status = length > limit ? FF_TEXT_TOO_LONG : FF_TEXT_OK;
        }
        break;
    case FF_ARRAY:
    case FF_OBJECT: {
        /* The tape is made in `out` itself, the text behind it, and then moved to where it belongs. */
        ff_json_tape tape;
        ff_json_status status = ff_json_tape_record(&tape, value->text, out);
        if (status != FF_JSON_OK) { /* malformed: in a text wrongly trusted, which has no JSONB text */
            writer.status = status == FF_JSON_MALFORMED ? FF_TEXT_TOO_LONG : FF_TEXT_NO_MEMORY;
            break;
        }
        ff_json_tape_order(&tape);
        text_start = out->length;
        write_node(&writer, &tape, 0);
        break;
    }
    default: write_bytes(&writer, value->text.data, value->text.length);
    }
    if (writer.status != FF_TEXT_OK) {
        out->length = start;
    } else if (text_start != start) {
        memmove(out->data + start, out->data + text_start, (size_t)(out->length - text_start));
        out->length -= text_start - start;
    }
    return writer.status;
}
