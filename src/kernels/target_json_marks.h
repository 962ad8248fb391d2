/* Where the members of a JSON object are, on masks: part of target_json.h. The text is taken for well-formed. */
#if !defined(FF_JSON_MASKS)
#define JSON_MARKS NULL
#else
#define JSON_MARKS json_marks

/* The bytes behind a backslash. *carry: whether the block's first byte is one. */
static inline uint64_t behind_backslashes(uint64_t backslashes, uint64_t *carry) {
    uint64_t escaped = *carry;
    *carry = 0;
    for (uint64_t left = backslashes & ~escaped; left != 0;) {
        uint64_t here = left & (0 - left);
        *carry = here >> 63;
        escaped |= here << 1;
        left &= ~(here | here << 1);
    }
    return escaped;
}

/* Whether one of the strings with an escape at `escapes` ends in the block and is a key, told by the colon behind it.
 * *carry: whether there was an escape in the string that reaches the block's first byte. */
static bool ends_escaped_key(uint64_t escapes, uint64_t string_ends, const uint8_t *position, const uint8_t *end,
                             uint64_t *carry) {
    uint64_t left = escapes | *carry;
    *carry = 0;
    while (left != 0) {
        uint64_t behind = string_ends & (0 - (left & (0 - left)));
        if (behind == 0) {
            *carry = 1;
            break;
        }
        const uint8_t *next = ff_json_skip_space(position + ff_first_bit(behind) + 1, end);
        if (next < end && *next == ':') {
            return true;
        }
        left &= 0 - ((behind & (0 - behind)) << 1);
    }
    return false;
}

static ff_json_scan_status json_marks(ff_bytes text, const uint8_t *readable, uint64_t *ends, uint64_t *key_starts,
                                      uint64_t *key_ends, bool *escapes) {
    const uint8_t *end = text.data + text.length;
    uint64_t any_backslash = 0, in_string = 0, escaped = 0, escape_before = 0;
    int depth = 0; /* at the block's first byte */
    /* One block more than needed if the last is full: the masks have a bit behind the text. */
    for (int64_t at = 0; at <= text.length; at += 64) {
        const uint8_t *position = text.data + at;
        block64 block = block_at(position, end, readable), folded_block = block_or(&block, 0x20);
        uint64_t backslashes = equal_to(&block, '\\'), quotes = equal_to(&block, '"');
        any_backslash |= backslashes;
        if (__builtin_expect((backslashes | escaped) != 0, 0)) {
            quotes &= ~behind_backslashes(backslashes, &escaped);
        }
        uint64_t strings = find_strings(quotes, &in_string);
        uint64_t string_starts = quotes & strings, string_ends = quotes & ~strings;
        if (__builtin_expect((backslashes | escape_before) != 0, 0) &&
            ends_escaped_key(backslashes & strings, string_ends, position, end, &escape_before)) {
            return FF_JSON_SCAN_ESCAPED_KEY;
        }
        uint64_t open = equal_to(&folded_block, '{') & ~strings, close = equal_to(&folded_block, '}') & ~strings;
        uint64_t at_top = 0 - (uint64_t)(depth == 1), top_ends = 0;
        for (uint64_t left = open | close; left != 0; left &= left - 1) {
            uint64_t here = left & (0 - left), behind = 0 - (here << 1);
            bool opens = (open & here) != 0;
            depth += opens ? 1 : -1;
            if (depth < 0 || depth > FF_JSON_MAX_DEPTH) {
                return FF_JSON_SCAN_MALFORMED;
            }
            at_top = depth == 1 ? at_top | behind : at_top & ~behind;
            top_ends |= depth == 1 && !opens ? here : 0;
        }
        *ends++ = (string_ends & at_top) | top_ends;
        *key_starts++ = string_starts & at_top;
        *key_ends++ = string_ends & at_top;
    }
    *escapes = any_backslash != 0;
    return depth != 0 || in_string != 0 ? FF_JSON_SCAN_MALFORMED : FF_JSON_SCAN_OK;
}
#endif
