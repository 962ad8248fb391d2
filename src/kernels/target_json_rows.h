/* Searches in the JSON texts of many rows at once, for bytes that stand in few of them or only once in each: part of
 * target_json.h.
 *
 * Two rare bytes of the needle are compared at 64 positions at once, over all the rows' bytes, and the row of a hit is
 * found afterwards. A backslash may spell what is searched for in another way, so rows that hold one are told apart. */

static inline bool has_backslash(const uint8_t *at, const uint8_t *end) {
    uint8_t any = 0;
    for (; end - at >= 64 && !any; at += 64) {
        for (int lane = 0; lane < 64; lane++) {
            any |= at[lane] == '\\';
        }
    }
    for (; at < end; at++) {
        any |= *at == '\\';
    }
    return any;
}

/* Of 64 bytes. */
static inline uint64_t backslashes_at(const uint8_t *at) {
#if defined(FF_JSON_MASKS)
    block64 block = load_block(at);
    return equal_to(&block, '\\');
#else
    return has_backslash(at, at + 64);
#endif
}

static inline bool is_needle(const ff_json_needle *needle, const uint8_t *at, const uint8_t *readable) {
    int64_t length = needle->bytes.length;
    uint64_t head, tail;
    if (length < 8 && readable - at >= 8) {
        memcpy(&head, at, 8);
        return ((head ^ needle->head) & needle->head_mask) == 0;
    }
    if (length < 8) {
        return memcmp(at, needle->bytes.data, (size_t)length) == 0;
    }
    memcpy(&head, at, 8);
    memcpy(&tail, at + length - 8, 8);
    return head == needle->head && tail == needle->tail &&
           (length <= 16 || memcmp(at + 8, needle->bytes.data + 8, (size_t)length - 16) == 0);
}

#if defined(FF_JSON_MASKS)
/* How many brackets open, less those that close, from a place outside of strings on. */
static inline int64_t nesting(const uint8_t *from, const uint8_t *to, const uint8_t *readable) {
    uint64_t in_string = 0;
    int64_t opened = 0;
    for (; from < to; from += 64) {
        block64 block = block_at(from, to, readable), folded_block = block_or(&block, 0x20);
        uint64_t outside = ~find_strings(equal_to(&block, '"'), &in_string);
        uint64_t open = equal_to(&folded_block, '{') & outside, close = equal_to(&folded_block, '}') & outside;
        opened += __builtin_popcountll(open) - __builtin_popcountll(close);
    }
    return opened;
}

/* Behind the bracket that closes the one at `start`; NULL if there is none. */
static const uint8_t *container_end(const uint8_t *start, const uint8_t *end, const uint8_t *readable) {
    uint64_t in_string = 0;
    int64_t depth = 0;
    for (const uint8_t *at = start; at < end; at += 64) {
        block64 block = block_at(at, end, readable), folded_block = block_or(&block, 0x20);
        uint64_t outside = ~find_strings(equal_to(&block, '"'), &in_string);
        uint64_t open = equal_to(&folded_block, '{') & outside, close = equal_to(&folded_block, '}') & outside;
        if (__builtin_popcountll(close) < depth) {
            depth += __builtin_popcountll(open) - __builtin_popcountll(close);
            continue;
        }
        for (uint64_t left = open | close; left != 0; left &= left - 1) {
            depth += open & left & (0 - left) ? 1 : -1;
            if (depth <= 0) {
                return at + ff_first_bit(left) + 1;
            }
        }
    }
    return NULL;
}

/* Behind a number or a word. */
static inline const uint8_t *scalar_end(const uint8_t *at, const uint8_t *end, const uint8_t *readable) {
    while (at < end && readable - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)at);
        __m128i bracket = _mm_cmpeq_epi8(_mm_or_si128(bytes, _mm_set1_epi8(0x20)), _mm_set1_epi8('}'));
        __m128i comma = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(','));
        __m128i space = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(' ')), bytes);
        int stops = _mm_movemask_epi8(_mm_or_si128(_mm_or_si128(bracket, comma), space));
        if (stops != 0) {
            at += __builtin_ctz((unsigned)stops);
            return at < end ? at : end;
        }
        at += 16;
    }
    while (at < end && ff_json_is_scalar_byte(*at)) {
        at++;
    }
    return at < end ? at : end;
}

/* Reads the value that begins at the first byte that is no space. There is no backslash in it. */
static inline bool read_plain_value(const uint8_t *start, const uint8_t *end, const uint8_t *readable,
                                    ff_json_value *value) {
    start = ff_json_skip_space(start, end);
    if (start == end) {
        return false;
    }
    value->kind = ff_json_kind(*start);
    value->escaped = false;
    const uint8_t *stop;
    if (value->kind >= FF_ARRAY) {
        stop = container_end(start, end, readable);
    } else if (value->kind == FF_STRING) {
        start++;
        stop = memchr(start, '"', (size_t)(end - start));
    } else {
        stop = scalar_end(start + 1, end, readable);
    }
    value->text.data = start;
    value->text.length = stop - start;
    return stop != NULL;
}

/* A key that stands in a text more often is looked for in another way: each time costs a look at half the text. */
#define MANY_KEYS 4

/* Whether the string before `behind`, which begins at `hit`, is a key of the text's own object, not of one in it. */
static inline bool is_top_key(const uint8_t *start, const uint8_t *hit, const uint8_t *behind, const uint8_t *end,
                              const uint8_t *readable) {
    return hit - start < end - behind ? nesting(start, hit, readable) == 1 : nesting(behind, end, readable) == -1;
}
#endif

/* With `values` (a constant NULL, or not): finds the members whose key is the needle; the rows that have one, except
 * *other_way, the candidates that are to be looked at in another way. Without: the candidates in which the needle occurs,
 * or a backslash. */
__attribute__((always_inline)) static inline uint64_t
search_rows(const ff_json_rows *rows, const ff_json_needle *needle, uint64_t candidates, ff_json_value *values,
            uint64_t *other_way) {
    const uint8_t *data = rows->data, *readable = rows->readable;
    const int64_t *bounds = rows->bounds;
    const ff_anchors *anchors = &needle->anchors;
    const int64_t start = bounds[0], stop = bounds[rows->num_rows], length = needle->bytes.length;
    const int64_t far = anchors->first > anchors->second ? anchors->first : anchors->second;
    int64_t at = start, wasted = 0; /* bytes compared in vain: bounded by a multiple of the bytes passed over */
    uint64_t found = 0, undecided = 0, backslashes = 0;
    int row = 0;                       /* of the last hit */
    int __attribute__((unused)) num_keys = 0; /* how often the needle is a key in it */
    for (; at + length <= stop; at += 64) {
        uint64_t mask = 0;
        if (readable - data >= at + far + 64) {
            mask = pair_mask(data + at + anchors->first, 0, anchors->first_byte, data + at + anchors->second, 0,
                             anchors->second_byte);
            backslashes |= backslashes_at(data + at);
        } else {
            for (int i = 0; i < 64 && at + i + length <= stop; i++) {
                mask |= (uint64_t)(data[at + i + anchors->first] == anchors->first_byte) << i;
            }
            backslashes |= has_backslash(data + at, data + (stop - at < 64 ? stop : at + 64));
        }
        while (mask != 0) {
            const int64_t hit = at + ff_first_bit(mask);
            if (hit + length > stop) {
                break;
            }
            while (bounds[row + 1] <= hit) {
                row++;
                num_keys = 0;
            }
            const int64_t behind = hit + length, row_stop = bounds[row + 1];
            const uint64_t own = UINT64_C(1) << row;
            int64_t next = row_stop;
            if (!(candidates & own)) {
                /* the rest of the row is passed over */
            } else if (behind > row_stop) {
                next = hit + 1;
            } else if (!is_needle(needle, data + hit, readable)) {
                next = hit + 1;
                wasted += length;
                if (wasted > 4096 + 8 * (hit - start)) {
                    undecided |= candidates & (0 - own);
                    candidates &= own - 1;
                }
            } else if (values == NULL) {
                found |= own;
            }
#if defined(FF_JSON_MASKS)
            else { /* a string, of which the text knows whether it is a key */
                const uint8_t *end = data + row_stop, *colon = ff_json_skip_space(data + behind, end);
                if (colon == end || *colon != ':') {
                    next = behind; /* a value */
                } else if (++num_keys > MANY_KEYS) {
                    undecided |= own;
                } else {
                    next = behind;
                    if (is_top_key(data + bounds[row], data + hit, data + behind, end, readable)) {
                        bool read = read_plain_value(colon + 1, end, readable, &values[row]);
                        found = read ? found | own : found & ~own;
                    }
                }
            }
#endif
            if (next - at >= 64) {
                at = next - 64;
                break;
            }
            mask &= ~UINT64_C(0) << (next - at);
        }
    }
    if (at < stop) {
        backslashes |= has_backslash(data + at, data + stop);
    }
    uint64_t asked = candidates & ~(values == NULL ? undecided | found : undecided);
    for (uint64_t left = backslashes != 0 ? asked : 0; left != 0; left &= left - 1) {
        int other = ff_first_bit(left);
        undecided |= (uint64_t)has_backslash(data + bounds[other], data + bounds[other + 1]) << other;
    }
    if (values == NULL) {
        return found | undecided;
    }
    *other_way = undecided;
    return found & ~undecided;
}

#if defined(FF_SCALAR_TARGET) /* where a search byte by byte costs more than the parse it may spare */
#define JSON_HOLDING NULL
#else
#define JSON_HOLDING json_holding
static uint64_t json_holding(const ff_json_rows *rows, const ff_json_needle *needle, uint64_t candidates) {
    return search_rows(rows, needle, candidates, NULL, NULL);
}
#endif

#if !defined(FF_JSON_MASKS)
#define JSON_MEMBER NULL
#else
#define JSON_MEMBER json_member
static uint64_t json_member(const ff_json_rows *rows, const ff_json_needle *key, uint64_t candidates,
                            ff_json_value *values, uint64_t *other_way) {
    return search_rows(rows, key, candidates, values, other_way);
}
#endif

