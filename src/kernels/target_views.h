/* Strings in views: equality with one or several others, and occurrence of a text. Included by target_body.h.
 *
 * A view is 16 bytes: the length, and all of a string of up to 12 bytes, or the first four of a longer one and its place. */

enum { VIEW_SIZE = 16, VIEW_INLINE = 12, VIEW_PREFIX = 4 };

static inline view_pattern view_pattern_of(ff_bytes string) {
    uint8_t bytes[VIEW_SIZE] = {0}, kept[VIEW_SIZE] = {0};
    int32_t length = (int32_t)string.length;
    size_t count = (size_t)(length <= VIEW_INLINE ? length : VIEW_PREFIX);
    memcpy(bytes, &length, 4);
    memcpy(bytes + 4, string.data, count);
    memset(kept, 0xFF, 4 + count);
    view_pattern pattern;
    memcpy(pattern.words, bytes, VIEW_SIZE);
    memcpy(pattern.kept, kept, VIEW_SIZE);
    return pattern;
}

static inline int32_t view_length(const uint8_t *entry) {
    int32_t length;
    memcpy(&length, entry, 4);
    return length;
}

/* Of 64 views those whose lengths some string of the set has (negative ones too). */
static inline uint64_t view_length_mask(const uint8_t *entries, uint64_t lengths) {
    uint64_t mask = 0;
    for (int row = 0; row < 64; row++) {
        uint32_t length = (uint32_t)view_length(entries + VIEW_SIZE * row);
        mask |= (lengths >> (length < 63 ? length : 63) & 1) << row;
    }
    return mask;
}

static void string_view_equals(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                               const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const ff_constant *constant = &test->constant;
    const uint8_t *entries = (const uint8_t *)view->values + VIEW_SIZE * (view->offset + first);
    bool one = constant->num_strings == 1;
    ff_bytes string = one ? constant->strings[0] : (ff_bytes){0};
    if (string.length > INT32_MAX) { /* longer than any view's */
        memset(destination, 0, 8 * (size_t)ff_num_words(num_rows));
        return;
    }
    view_pattern pattern = one ? view_pattern_of(string) : (view_pattern){0};
    for (int64_t word = 0; word < ff_num_words(num_rows); word++, entries += 64 * VIEW_SIZE) {
        uint64_t left = candidates[word], found = 0;
        bool many = num_rows - 64 * word >= 64 && __builtin_popcountll(left) > FEW;
        if (many) {
            prefetch_values(entries, VIEW_SIZE);
        }
        if (many && one) {
            left &= view_mask(entries, &pattern);
            if (string.length <= VIEW_INLINE) {
                found = left;
                left = 0;
            }
        } else if (many) {
            left &= view_length_mask(entries, constant->set.lengths | UINT64_C(1) << 63);
        }
        for (; left != 0; left &= left - 1) {
            int row = ff_first_bit(left);
            if (one && !view_fits(entries + VIEW_SIZE * row, &pattern)) {
                continue;
            }
            ff_bytes text = ff_string_view_at(view, view->offset + first + 64 * word + row, &run->fault);
            bool equal = one ? memcmp(text.data, string.data, (size_t)text.length) == 0
                             : ff_string_set_has(&constant->set, text.data, text.length,
                                                 load_up_to_8(text.data, text.length, text.data + text.length));
            found |= (uint64_t)equal << row;
        }
        destination[word] = found;
    }
}

/* Texts of at most so many bytes are copied to lie side by side and are searched together. */
enum { MOST_GATHERED = 8192 };

/* Searched texts: `count` candidates, by their rows in the word. */
typedef struct {
    int count;
    uint8_t rows[64];
    int64_t offsets[65];
    const uint8_t *data, *end;
    uint8_t room[MOST_GATHERED + 128];
} gathered_texts;

/* Takes the texts of the next of 64 candidates; those that are left. Texts that lie side by side stay where they are. */
static inline uint64_t gather_texts(gathered_texts *texts, const ff_view *view, int64_t first, uint64_t left, ff_run *run) {
    bool in_place = true;
    int64_t used = 0;
    texts->count = 0;
    texts->offsets[0] = 0;
    for (; left != 0; left &= left - 1) {
        int row = ff_first_bit(left);
        ff_bytes text = ff_string_view_at(view, view->offset + first + row, &run->fault);
        if (used == 0 && in_place) {
            texts->data = text.data;
        } else if (!in_place || text.data != texts->data + used) {
            if (used + text.length > MOST_GATHERED) {
                break;
            }
            if (in_place) {
                memcpy(texts->room, texts->data, (size_t)used);
                in_place = false;
            }
            memcpy(texts->room + used, text.data, (size_t)(text.length <= VIEW_INLINE ? VIEW_INLINE : text.length));
        }
        used += text.length;
        texts->rows[texts->count++] = (uint8_t)row;
        texts->offsets[texts->count] = used;
    }
    if (in_place && used > 1024) { /* nothing behind them may be read, which makes the last bytes slow */
        texts->end = texts->data + used;
        return left;
    }
    if (in_place) {
        memcpy(texts->room, texts->data, (size_t)used);
    }
    memset(texts->room + used, 0, 64);
    texts->data = texts->room;
    texts->end = texts->room + used + 64;
    return left;
}

static void string_view_find(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                             const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const ff_anchors *anchors = &test->constant.anchors;
    ff_bytes needle = test->constant.text;
    bool ignore_case = test->opcode == FF_OP_CONTAINS_IGNORE_CASE;
    gathered_texts texts;
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t left = candidates[word], found = 0;
        while (left != 0) {
            left = gather_texts(&texts, view, first + 64 * word, left, run);
            uint64_t all = ~UINT64_C(0) >> (64 - texts.count), answer = 0;
            bool high = false;
            int gave_up = 0;
            if (!ignore_case || !anchors->high) {
                answer = scan_large_strings(texts.data, texts.end, texts.offsets, texts.count, needle, anchors, ignore_case,
                                            all, &gave_up, &high);
                if (ignore_case && high && has_odd_letter(texts.data, texts.offsets[texts.count])) {
                    answer = 0;
                    gave_up = 0;
                }
            } else if (!has_high_byte(texts.data, texts.offsets[texts.count])) {
                gave_up = texts.count; /* a needle that is not ASCII, in texts that are */
            }
            for (int at = 0; at < texts.count; at++) {
                int row = texts.rows[at];
                bool holds = at < gave_up ? answer >> at & 1 : test->matches(test, view, first + 64 * word + row, run);
                found |= (uint64_t)holds << row;
            }
        }
        destination[word] = found;
    }
}
