/* Whether a JSON text is well-formed, on masks: part of target_json.h.
 *
 * Scalar meaning: ff_json_scan_value of src/json/scanner.c accepts the text. Here the grammar is arithmetic on masks:
 * which token may follow which, which bytes may follow which inside of a number. Only brackets, escapes and words (true,
 * 1e5) are looked at one by one. `errors` collects, and is looked at once, at the end. */
#if !defined(FF_JSON_MASKS)
#define JSON_CHECK NULL
#else
#define JSON_CHECK json_check

/* ---- What one block leaves to the next ---- */

/* Each member is 0 or 1: whether something that began before reaches the block's first byte. */
typedef struct {
    uint64_t wants_digit, minus, digit, zero, dot, fraction;
} number_state;

typedef struct {
    uint64_t lead2, lead3, lead4, e0, ed, f0, f4; /* whole masks of the block before */
} utf8_state;

/* The open brackets, and what they make of the bytes behind them: all bits or none. */
typedef struct {
    int depth;
    uint64_t in_object; /* the innermost is a brace */
    uint64_t over;      /* there is none any more */
    uint64_t is_object[FF_JSON_MAX_DEPTH / 64]; /* a bit for each of them */
} bracket_state;

/* The bytes shifted by one, with the carry of the block before. */
static inline uint64_t shift_in(uint64_t bits, uint64_t *carry) {
    uint64_t shifted = bits << 1 | *carry;
    *carry = bits >> 63;
    return shifted;
}

/* The first byte that is no space behind each of the tokens that end at `ends`: an addition runs through the spaces. */
static inline uint64_t next_token(uint64_t ends, uint64_t space, uint64_t *carry) {
    uint64_t first = ends << 1 | *carry, sum;
    bool overflow = __builtin_add_overflow(space, first & space, &sum);
    *carry = ends >> 63 | overflow;
    return (sum | first) & ~space;
}

/* ---- The parts of the grammar ---- */

/* The bytes behind a backslash; checks the escapes. */
static inline uint64_t escaped_bytes(uint64_t backslashes, const uint8_t *position, const uint8_t *end, uint64_t *carry,
                                     uint64_t *errors) {
    uint64_t escaped = *carry;
    uint64_t left = backslashes & ~escaped;
    *carry = 0;
    while (left != 0) {
        int bit = ff_first_bit(left);
        if (ff_json_scan_escape(position + bit, end) == NULL) {
            *errors = 1;
        }
        if (bit == 63) {
            *carry = 1;
            break;
        }
        escaped |= UINT64_C(2) << bit;
        left &= ~(UINT64_C(3) << bit);
    }
    return escaped;
}

/* Bytes that break UTF-8. */
static uint64_t utf8_errors(const block64 *block, utf8_state *before) {
    uint64_t ascii = below(block, 0x80), below_c0 = below(block, 0xC0), below_e0 = below(block, 0xE0);
    uint64_t continuation = below_c0 & ~ascii;
    utf8_state at = {.lead2 = below_e0 & ~below(block, 0xC2)};
    if (below_e0 == ~UINT64_C(0) && (before->lead3 | before->lead4) == 0) { /* characters of one or two bytes */
        uint64_t expected = at.lead2 << 1 | before->lead2 >> 63;
        *before = at;
        return (expected ^ continuation) | ~(ascii | continuation | at.lead2);
    }
    uint64_t below_a0 = below(block, 0xA0), below_90 = below(block, 0x90), below_f0 = below(block, 0xF0);
    at.lead3 = below_f0 & ~below_e0;
    at.lead4 = below(block, 0xF5) & ~below_f0;
    at.e0 = equal_to(block, 0xE0);
    at.ed = equal_to(block, 0xED);
    at.f0 = equal_to(block, 0xF0);
    at.f4 = equal_to(block, 0xF4);
#define BEHIND(MASK, DISTANCE) (at.MASK << (DISTANCE) | before->MASK >> (64 - (DISTANCE)))
    uint64_t expected = BEHIND(lead2, 1) | BEHIND(lead3, 1) | BEHIND(lead3, 2) | BEHIND(lead4, 1) | BEHIND(lead4, 2) |
                        BEHIND(lead4, 3);
    uint64_t errors = (expected ^ continuation) | ~(ascii | continuation | at.lead2 | at.lead3 | at.lead4);
    errors |= (BEHIND(e0, 1) & below_a0) | (BEHIND(ed, 1) & ~below_a0);  /* overlong; surrogates */
    errors |= (BEHIND(f0, 1) & below_90) | (BEHIND(f4, 1) & ~below_90); /* overlong; above U+10FFFF */
#undef BEHIND
    *before = at;
    return errors;
}

/* Checks, one by one, the scalars in which the bytes `odd` lie: words, and numbers with an exponent. */
static uint64_t word_errors(uint64_t odd, const uint8_t *position, ff_bytes text, const uint8_t **words_end) {
    const uint8_t *end = text.data + text.length;
    for (; odd != 0; odd &= odd - 1) {
        const uint8_t *start = position + ff_first_bit(odd);
        if (start < *words_end) {
            continue;
        }
        while (start > text.data && ff_json_is_scalar_byte(start[-1])) {
            start--;
        }
        *words_end = ff_json_scan_scalar(start, end);
        if (*words_end == NULL || (*words_end < end && ff_json_is_scalar_byte(**words_end))) {
            *words_end = end;
            return 1;
        }
    }
    return 0;
}

/* The rules of numbers without an exponent: a minus only in front; a digit behind minus and point, and in front of a
 * point; no digit behind a leading zero; one point. They hold for numbers with an exponent as well. */
static inline uint64_t number_errors(const block64 *block, uint64_t scalars, uint64_t starts, number_state *before,
                                     uint64_t *odd) {
    block64 values = block_minus(block, '0');
    uint64_t digits = below(&values, 10) & scalars, dots = equal_to(block, '.') & scalars;
    uint64_t zeros = equal_to(block, '0'), minuses = equal_to(block, '-') & starts;
    *odd = scalars & ~(digits | dots | minuses);
    uint64_t errors = shift_in(minuses | dots, &before->wants_digit) & ~digits;
    errors |= dots & ~shift_in(digits, &before->digit);
    uint64_t leading_zeros = (starts | shift_in(minuses, &before->minus)) & zeros;
    errors |= shift_in(leading_zeros, &before->zero) & digits;
    uint64_t fractions = (shift_in(dots, &before->dot) & digits) | before->fraction, behind_fractions;
    before->fraction = __builtin_add_overflow(digits, fractions, &behind_fractions);
    return errors | (behind_fractions & dots);
}

/* What the brackets of a block say: the opening braces; and for every byte what bracket_state says. */
typedef struct {
    uint64_t curly, in_object, over;
} bracket_masks;

/* Follows the brackets of a block; false if they do not match or nest too deeply. */
static inline bool follow_brackets(uint64_t open, uint64_t close, const uint8_t *position, bracket_state *state,
                                   bracket_masks *masks) {
    for (uint64_t left = open | close; left != 0;) {
        uint64_t here = left & (0 - left);
        const uint8_t *at = position + ff_first_bit(left);
        bool in_object = (*at & 0x20) != 0;
        left &= left - 1;
        if (here & open) {
            masks->curly |= in_object ? here : 0;
            if (state->depth == FF_JSON_MAX_DEPTH) {
                return false;
            }
            uint64_t next = left & (0 - left);
            if ((next & close) && state->depth > 0) { /* a container without any in it */
                uint64_t inside = (next - here) << 1;
                if (position[ff_first_bit(next)] != *at + 2) {
                    return false;
                }
                masks->in_object = in_object ? masks->in_object | inside : masks->in_object & ~inside;
                left &= left - 1;
                continue;
            }
            uint64_t *word = &state->is_object[state->depth / 64], own = UINT64_C(1) << state->depth % 64;
            *word = in_object ? *word | own : *word & ~own;
            state->depth++;
        } else {
            int depth = --state->depth;
            if (depth < 0 || in_object != (state->is_object[depth / 64] >> depth % 64 & 1)) {
                return false;
            }
            in_object = depth > 0 && (state->is_object[(depth - 1) / 64] >> (depth - 1) % 64 & 1);
        }
        state->in_object = 0 - (uint64_t)in_object;
        state->over = 0 - (uint64_t)(state->depth == 0);
        uint64_t behind = 0 - (here << 1);
        masks->in_object = in_object ? masks->in_object | behind : masks->in_object & ~behind;
        masks->over = state->depth == 0 ? masks->over | behind : masks->over & ~behind;
    }
    return true;
}

/* Whether one of the bytes `closing` does not stand right behind an opening bracket, white space aside. */
static bool closes_too_early(uint64_t closing, const uint8_t *position) {
    for (; closing != 0; closing &= closing - 1) {
        const uint8_t *before = position + ff_first_bit(closing) - 1; /* the text begins with a brace */
        while (*before == ' ' || *before == '\t' || *before == '\n' || *before == '\r') {
            before--;
        }
        if (*before != '{' && *before != '[') {
            return true;
        }
    }
    return false;
}

static bool check_object(ff_bytes text, const uint8_t *readable) {
    const uint8_t *end = text.data + text.length;
    uint64_t errors = 0;
    /* What reaches a block's first byte: all bits or none, or bit 0. */
    uint64_t in_string = 0, escaped = 0, in_key = 0, scalar = 0;
    uint64_t behind_key = 0, behind_key_separator = 0, behind_separator = 1;
    number_state number = {0};
    utf8_state utf8 = {0};
    uint64_t in_character = 0; /* some lead byte in the block before */
    const uint8_t *words_end = NULL; /* up to here words have been checked */
    bracket_state brackets; /* the first opens the text, which is known */
    brackets.depth = 1;
    brackets.in_object = ~UINT64_C(0);
    brackets.over = 0;
    brackets.is_object[0] = 1;
    uint64_t first_brace = 1;
    /* One block more than needed if the last is full, for what has to follow at the end. */
    for (int64_t at = 0; at <= text.length; at += 64) {
        const uint8_t *position = text.data + at;
        block64 block = block_at(position, end, readable);

        /* Strings */
        uint64_t backslashes = equal_to(&block, '\\'), quotes = equal_to(&block, '"');
        /* Control characters, and the bytes that are not ASCII. */
        uint64_t unusual = below_signed(&block, ' ');
        if ((quotes | backslashes | escaped) == 0 && in_string != 0) { /* a long string: nothing else reaches here */
            if (__builtin_expect((unusual | in_character) != 0, 0)) {
                errors |= below(&block, ' ');
                errors |= utf8_errors(&block, &utf8);
                in_character = utf8.lead2 | utf8.lead3 | utf8.lead4;
            }
            continue;
        }
        if (__builtin_expect((backslashes | escaped) != 0, 0)) {
            quotes &= ~escaped_bytes(backslashes, position, end, &escaped, &errors);
        }
        uint64_t strings = find_strings(quotes, &in_string);
        uint64_t string_starts = quotes & strings, string_ends = quotes & ~strings;
        uint64_t outside = ~(strings | quotes);

        /* Brackets */
        block64 folded_block = block_or(&block, 0x20);
        uint64_t open = equal_to(&folded_block, '{') & outside, close = equal_to(&folded_block, '}') & outside;
        bracket_masks masks = {first_brace, brackets.in_object, brackets.over};
        uint64_t inner = open & ~first_brace;
        if ((inner | close) != 0 && !follow_brackets(inner, close, position, &brackets, &masks)) {
            return false;
        }
        first_brace = 0;

        /* Other tokens */
        uint64_t commas = equal_to(&block, ',') & outside, colons = equal_to(&block, ':') & outside;
        uint64_t space = equal_to(&block, ' ') & outside;
        if (__builtin_expect((unusual | in_character) != 0, 0)) {
            errors |= below(&block, ' ') & strings;
            space |= (equal_to(&block, '\t') | equal_to(&block, '\n') | equal_to(&block, '\r')) & outside;
            errors |= utf8_errors(&block, &utf8);
            in_character = utf8.lead2 | utf8.lead3 | utf8.lead4;
        }
        uint64_t scalars = outside & ~(commas | colons | open | close | space);
        uint64_t scalar_before = scalar, behind_scalars = shift_in(scalars, &scalar);
        uint64_t scalar_starts = scalars & ~behind_scalars;
        /* A key stands behind a brace or, in an object, a comma; any other value behind a colon, a bracket or, in
         * an array, a comma. A colon stands behind a key, and behind each. */
        uint64_t key_separators = masks.curly | (commas & masks.in_object);
        uint64_t other_separators = (commas | colons | open) & ~key_separators;
        uint64_t keys_here = next_token(key_separators, space, &behind_key_separator);
        uint64_t values_here = next_token(other_separators, space, &behind_separator);
        uint64_t keys = string_starts & keys_here;
        /* An addition runs from a key's opening quote to its closing one, and leaves other strings as they are. */
        uint64_t run_through;
        in_key = __builtin_add_overflow(strings, keys | in_key, &run_through);
        errors |= masks.over & ~space;
        errors |= (keys_here | values_here) & (commas | colons);
        errors |= (string_starts | scalar_starts | open) & ~(keys_here | values_here);
        errors |= keys_here & ~(string_starts | close);
        errors |= next_token(string_ends & run_through, space, &behind_key) ^ colons;
        uint64_t closing = (keys_here | values_here) & close;
        if (__builtin_expect(closing != 0, 0)) {
            errors |= closes_too_early(closing, position);
        }
        /* A scalar that reaches a block's end leaves something in the state, nothing else does. */
        if ((scalars | scalar_before) != 0) {
            uint64_t odd;
            errors |= number_errors(&block, scalars, scalar_starts, &number, &odd);
            if (odd != 0) {
                errors |= word_errors(odd, position, text, &words_end);
            }
        }
    }
    return errors == 0 && brackets.over != 0 && in_string == 0;
}

static uint64_t json_check(const ff_json_rows *rows, uint64_t candidates) {
    uint64_t good = 0;
    for (; candidates != 0; candidates &= candidates - 1) {
        int row = ff_first_bit(candidates);
        const uint8_t *end = rows->data + rows->bounds[row + 1];
        const uint8_t *start = ff_json_skip_space(rows->data + rows->bounds[row], end);
        bool passes = start < end && *start == '{' ? check_object((ff_bytes){start, end - start}, rows->readable)
                                                   : ff_json_scan_text(start, end);
        good |= (uint64_t)passes << row;
    }
    return good;
}
#endif
