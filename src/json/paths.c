/* The tree of a filter's paths, and the pass over a text that looks all of them up. */
#include "fastfilter/target.h"
#include "scanner.h"
#include "value.h"

#include <stdlib.h>

typedef struct {
    uint8_t *key; /* between quotes */
    int64_t length;
    uint64_t head; /* the first eight bytes, or all of them, as memcpy puts them into a zero */
    int slot;      /* or -1: only a step of longer paths */
    int first_child;
    int next_sibling;
} path_node;

/* Keys of this length or more are not looked for in masks. */
#define LONG_KEY 63

typedef struct {
    int slot;
    int same_as;
} slot_alias;

struct ff_json_paths {
    path_node *nodes; /* the first is the root, the whole text */
    int num_nodes;
    slot_alias *aliases; /* slots of a path that has a slot already */
    int num_aliases;
    int num_slots;
    bool trusted;
    /* Of the target in use when the paths were made. */
    ff_json_check *check; /* NULL: it has none */
    ff_json_marks *marks; /* NULL: it has none, or some key is too long for it */
};

ff_json_paths *ff_json_paths_new(bool trusted) {
    ff_json_paths *paths = calloc(1, sizeof *paths);
    if (paths == NULL) {
        return NULL;
    }
    paths->nodes = malloc(sizeof *paths->nodes);
    if (paths->nodes == NULL) {
        free(paths);
        return NULL;
    }
    paths->nodes[0] = (path_node){NULL, 0, 0, -1, -1, -1};
    paths->trusted = trusted;
    paths->check = ff_target_in_use->json_check;
    paths->marks = ff_target_in_use->json_marks;
    paths->num_nodes = 1;
    return paths;
}

void ff_json_paths_free(ff_json_paths *paths) {
    if (paths == NULL) {
        return;
    }
    for (int i = 0; i < paths->num_nodes; i++) {
        if (paths->nodes[i].key != NULL) {
            free(paths->nodes[i].key - 1);
        }
    }
    free(paths->nodes);
    free(paths->aliases);
    free(paths);
}

int ff_json_paths_num_slots(const ff_json_paths *paths) {
    return paths->num_slots;
}

bool ff_json_paths_trusted(const ff_json_paths *paths) {
    return paths->trusted;
}

ff_json_check *ff_json_paths_check(const ff_json_paths *paths) {
    return paths->check;
}

/* Whether a string token is all that the key in quotes can be in a well-formed text without a backslash: no string, so
 * no text, holds it otherwise; and its first quote is no closing one, since nothing that may follow one follows. */
static bool can_be_searched_for(const path_node *node) {
    for (int64_t i = 0; i < node->length; i++) {
        if (node->key[i] < 0x20 || node->key[i] == '"' || node->key[i] == '\\') {
            return false;
        }
    }
    return node->length > 0 && memchr(" ,:}]", node->key[0], 5) == NULL;
}

ff_bytes ff_json_paths_key(const ff_json_paths *paths, int slot) {
    for (int i = 0; i < paths->num_aliases; i++) {
        if (paths->aliases[i].slot == slot) {
            slot = paths->aliases[i].same_as;
        }
    }
    for (int child = paths->nodes[0].first_child; child >= 0; child = paths->nodes[child].next_sibling) {
        const path_node *node = &paths->nodes[child];
        if (node->slot == slot && can_be_searched_for(node)) {
            return (ff_bytes){node->key - 1, node->length + 2};
        }
    }
    return (ff_bytes){NULL, 0};
}

/* The node of a key below `parent`, or -1. */
static int find_child(const ff_json_paths *paths, int parent, ff_bytes key) {
    int child = paths->nodes[parent].first_child;
    for (; child >= 0; child = paths->nodes[child].next_sibling) {
        ff_bytes candidate = {paths->nodes[child].key, paths->nodes[child].length};
        if (ff_bytes_equal(candidate, key)) {
            break;
        }
    }
    return child;
}

static int add_child(ff_json_paths *paths, int parent, ff_bytes key) {
    path_node *nodes = realloc(paths->nodes, (size_t)(paths->num_nodes + 1) * sizeof *nodes);
    if (nodes == NULL) {
        return -1;
    }
    paths->nodes = nodes;
    uint8_t *quoted = malloc((size_t)key.length + 2);
    if (quoted == NULL) {
        return -1;
    }
    uint8_t *copy = quoted + 1;
    quoted[0] = copy[key.length] = '"';
    if (key.length > 0) {
        memcpy(copy, key.data, (size_t)key.length);
    }
    int child = paths->num_nodes++;
    uint64_t head = 0;
    memcpy(&head, copy, (size_t)(key.length < 8 ? key.length : 8));
    nodes[child] = (path_node){copy, key.length, head, -1, -1, nodes[parent].first_child};
    nodes[parent].first_child = child;
    if (key.length >= LONG_KEY) {
        paths->marks = NULL;
    }
    return child;
}

bool ff_json_paths_add(ff_json_paths *paths, const ff_bytes *keys, int num_keys, int slot) {
    int node = 0;
    for (int i = 0; i < num_keys; i++) {
        int child = find_child(paths, node, keys[i]);
        node = child >= 0 ? child : add_child(paths, node, keys[i]);
        if (node < 0) {
            return false;
        }
    }
    if (paths->nodes[node].slot < 0) {
        paths->nodes[node].slot = slot;
    } else {
        slot_alias *aliases = realloc(paths->aliases, (size_t)(paths->num_aliases + 1) * sizeof *aliases);
        if (aliases == NULL) {
            return false;
        }
        paths->aliases = aliases;
        aliases[paths->num_aliases++] = (slot_alias){slot, paths->nodes[node].slot};
    }
    if (slot >= paths->num_slots) {
        paths->num_slots = slot + 1;
    }
    return true;
}

/* ---- Extraction ---- */

typedef struct {
    const ff_json_paths *paths;
    const uint8_t *end;
    ff_json_value *out;
    ff_buffer *scratch;
} extraction;

static const ff_json_value missing = {FF_MISSING, false, {NULL, 0}};

/* Forgets what was found for a path and all paths below it. */
static void forget(const extraction *state, int node) {
    const path_node *nodes = state->paths->nodes;
    if (nodes[node].slot >= 0) {
        state->out[nodes[node].slot] = missing;
    }
    for (int child = nodes[node].first_child; child >= 0; child = nodes[child].next_sibling) {
        forget(state, child);
    }
}

static const uint8_t *extract_value(const extraction *state, int node, const uint8_t *position, int depth);

/* From behind the opening brace to behind the closing one; `depth` counts this object. */
static const uint8_t *extract_members(const extraction *state, int node, const uint8_t *position, int depth) {
    const uint8_t *end = state->end;
    position = ff_json_skip_space(position, end);
    if (position < end && *position == '}') {
        return position + 1;
    }
    for (;;) {
        if (position == end || *position != '"') {
            return NULL;
        }
        ff_json_value key = {FF_STRING, false, {position + 1, 0}};
        position = ff_json_scan_string(position + 1, end, &key.escaped);
        if (position == NULL) {
            return NULL;
        }
        key.text.length = position - 1 - key.text.data;
        position = ff_json_skip_space(position, end);
        if (position == end || *position != ':') {
            return NULL;
        }
        position = ff_json_skip_space(position + 1, end);
        ff_bytes name = ff_json_string(&key, state->scratch);
        if (name.data == NULL) {
            return NULL;
        }
        int child = find_child(state->paths, node, name);
        if (child >= 0) {
            forget(state, child);
            position = extract_value(state, child, position, depth);
        } else {
            position = ff_json_scan_value(position, end, depth);
        }
        if (position == NULL) {
            return NULL;
        }
        position = ff_json_skip_space(position, end);
        if (position == end || (*position != ',' && *position != '}')) {
            return NULL;
        }
        if (*position++ == '}') {
            return position;
        }
        position = ff_json_skip_space(position, end);
    }
}

/* Recursion is bounded by the length of the paths and by FF_JSON_MAX_DEPTH. */
static const uint8_t *extract_value(const extraction *state, int node, const uint8_t *position, int depth) {
    if (position == state->end) {
        return NULL;
    }
    const path_node *path = &state->paths->nodes[node];
    ff_json_value value = {ff_json_kind(*position), false, {position, 0}};
    if (value.kind == FF_STRING) {
        value.text.data++;
        position = ff_json_scan_string(position + 1, state->end, &value.escaped);
    } else if (value.kind == FF_OBJECT && path->first_child >= 0) {
        position = depth < FF_JSON_MAX_DEPTH ? extract_members(state, node, position + 1, depth + 1) : NULL;
    } else {
        position = ff_json_scan_value(position, state->end, depth);
    }
    if (position != NULL && path->slot >= 0) {
        value.text.length = position - value.text.data - (value.kind == FF_STRING);
        state->out[path->slot] = value;
    }
    return position;
}

/* ---- Extraction with the target's marks, from a text that is taken for well-formed ---- */

/* Working space of a search. */
typedef struct {
    const ff_json_paths *paths;
    const uint8_t *readable;
    ff_json_value *values; /* by key; those of the objects being searched */
    uint64_t *masks;       /* for the marks: three of the text's length */
} search;

typedef struct {
    ff_bytes text;
    int64_t num_words;
    const uint64_t *ends, *key_starts, *key_ends;
    bool escapes;
} members;

/* Whether the string between two quotes is the key. */
static bool is_key(const path_node *key, const uint8_t *start, const uint8_t *readable) {
    uint64_t head = 0;
    if (readable - start >= 8) {
        memcpy(&head, start, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        head &= key->length >= 8 ? ~UINT64_C(0) : (UINT64_C(1) << 8 * key->length) - 1;
#else
        head &= key->length >= 8 ? ~UINT64_C(0) : ~(~UINT64_C(0) >> 8 * key->length);
#endif
    } else {
        memcpy(&head, start, (size_t)(key->length < 8 ? key->length : 8));
    }
    return head == key->head &&
           (key->length <= 8 || memcmp(start + 8, key->key + 8, (size_t)key->length - 8) == 0);
}

/* The value of a member, where its key's closing quote is at `quote`. False if there is none: a value that was taken
 * for a key, or (in a text that is not well-formed) anything. */
static bool value_behind(const members *object, int64_t quote, ff_json_value *value) {
    const uint8_t *end = object->text.data + object->text.length;
    const uint8_t *start = ff_json_skip_space(object->text.data + quote + 1, end);
    if (start == end || *start != ':') {
        return false;
    }
    start = ff_json_skip_space(start + 1, end);
    if (start == end) {
        return false;
    }
    value->kind = ff_json_kind(*start);
    value->escaped = false;
    const uint8_t *stop = start;
    if (value->kind != FF_STRING && value->kind < FF_ARRAY) {
        do {
            stop++;
        } while (stop < end && ff_json_is_scalar_byte(*stop));
    } else {
        int64_t at = start - object->text.data, word = at >> 6;
        uint64_t bits = object->ends[word] & (~UINT64_C(1) << (at & 63));
        while (bits == 0) {
            if (++word == object->num_words) {
                return false;
            }
            bits = object->ends[word];
        }
        stop = object->text.data + 64 * word + __builtin_ctzll(bits);
        if (value->kind != FF_STRING) {
            stop += stop < end;
        } else {
            start++;
            value->escaped = object->escapes && memchr(start, '\\', (size_t)(stop - start)) != NULL;
            if (value->escaped) { /* whoever unescapes it relies on its being well-formed */
                bool escaped;
                if (ff_json_scan_string(start, end, &escaped) != stop + 1) {
                    return false;
                }
            }
        }
    }
    value->text.data = start;
    value->text.length = stop - start;
    return true;
}

/* The last member with the key; MISSING if there is none. */
static void find_member(const search *state, const members *object, const path_node *key, ff_json_value *value) {
    int distance = (int)key->length + 1;
    for (int64_t word = object->num_words - 1; word >= 0; word--) {
        uint64_t starts = object->key_starts[word] << distance;
        if (word > 0) {
            starts |= object->key_starts[word - 1] >> (64 - distance);
        }
        for (uint64_t left = starts & object->key_ends[word]; left != 0;) {
            int bit = 63 - __builtin_clzll(left);
            int64_t quote = 64 * word + bit;
            if (is_key(key, object->text.data + quote - key->length, state->readable) &&
                value_behind(object, quote, value)) {
                return;
            }
            left ^= UINT64_C(1) << bit;
        }
    }
    *value = missing;
}

/* Finds what lies below a key whose value is the object `text`. */
static ff_json_scan_status search_object(const search *state, int node, ff_bytes text, ff_json_value *out) {
    const path_node *nodes = state->paths->nodes;
    members object = {.text = text, .num_words = text.length / 64 + 1, .ends = state->masks};
    uint64_t *key_starts = state->masks + object.num_words, *key_ends = key_starts + object.num_words;
    object.key_starts = key_starts;
    object.key_ends = key_ends;
    ff_json_scan_status status =
        state->paths->marks(text, state->readable, state->masks, key_starts, key_ends, &object.escapes);
    if (status != FF_JSON_SCAN_OK) {
        return status;
    }
    bool deeper = false;
    for (int child = nodes[node].first_child; child >= 0; child = nodes[child].next_sibling) {
        ff_json_value *value = nodes[child].slot >= 0 ? &out[nodes[child].slot] : &state->values[child];
        find_member(state, &object, &nodes[child], value);
        if (nodes[child].first_child >= 0) {
            state->values[child] = *value;
            deeper |= value->kind == FF_OBJECT;
        }
    }
    /* The masks are of no more use: what lies deeper may overwrite them. */
    for (int child = deeper ? nodes[node].first_child : -1; child >= 0; child = nodes[child].next_sibling) {
        if (nodes[child].first_child >= 0 && state->values[child].kind == FF_OBJECT) {
            status = search_object(state, child, state->values[child].text, out);
            if (status != FF_JSON_SCAN_OK) {
                return status;
            }
        }
    }
    return FF_JSON_SCAN_OK;
}

/* The values of all slots (which are MISSING before) of a text that begins with an opening brace. */
static ff_json_scan_status search_text(const ff_json_paths *paths, ff_bytes text, const uint8_t *readable,
                                       ff_json_value *out, ff_buffer *scratch) {
    int64_t size_of_values = paths->num_nodes * (int64_t)sizeof(ff_json_value);
    scratch->length = 0;
    if (!ff_buffer_reserve(scratch, size_of_values + 24 * (text.length / 64 + 1))) {
        return FF_JSON_SCAN_MALFORMED;
    }
    search state = {paths, readable, (ff_json_value *)(void *)scratch->data,
                    (uint64_t *)(void *)(scratch->data + size_of_values)};
    ff_json_scan_status status = search_object(&state, 0, text, out);
    if (status == FF_JSON_SCAN_OK && paths->nodes[0].slot >= 0) {
        while (ff_json_skip_space(text.data + text.length - 1, text.data + text.length) == text.data + text.length) {
            text.length--; /* down to the brace at the latest */
        }
        out[paths->nodes[0].slot] = (ff_json_value){FF_OBJECT, false, text};
    }
    return status;
}

static void forget_all(const ff_json_paths *paths, ff_json_value *out) {
    for (int slot = 0; slot < paths->num_slots; slot++) {
        out[slot] = missing;
    }
}

static void copy_aliases(const ff_json_paths *paths, ff_json_value *out) {
    for (int i = 0; i < paths->num_aliases; i++) {
        out[paths->aliases[i].slot] = out[paths->aliases[i].same_as];
    }
}

ff_json_status ff_json_extract_trusting(const ff_json_paths *paths, ff_bytes text, const uint8_t *readable,
                                        ff_json_value *out, ff_buffer *scratch, bool *checked) {
    *checked = false;
    forget_all(paths, out);
    const uint8_t *end = text.data + text.length;
    const uint8_t *start = ff_json_skip_space(text.data, end);
    const uint8_t *position = NULL;
    ff_json_scan_status status = FF_JSON_SCAN_ESCAPED_KEY;
    if (paths->marks != NULL && start < end && *start == '{') {
        status = search_text(paths, (ff_bytes){start, end - start}, readable, out, scratch);
        if (status == FF_JSON_SCAN_OK) {
            copy_aliases(paths, out);
            return FF_JSON_OK;
        }
    }
    if (status == FF_JSON_SCAN_ESCAPED_KEY) {
        extraction state = {paths, end, out, scratch};
        *checked = true;
        position = extract_value(&state, 0, start, 0);
    }
    if (position == NULL || ff_json_skip_space(position, end) != end) {
        forget_all(paths, out);
        return scratch->failed ? FF_JSON_NO_MEMORY : FF_JSON_MALFORMED;
    }
    copy_aliases(paths, out);
    return paths->nodes[0].first_child >= 0 && *start != '{' ? FF_JSON_NOT_OBJECT : FF_JSON_OK;
}

ff_json_status ff_json_extract(const ff_json_paths *paths, ff_bytes text, const uint8_t *readable, ff_json_value *out,
                               ff_buffer *scratch) {
    bool checked;
    ff_json_status status = ff_json_extract_trusting(paths, text, readable, out, scratch, &checked);
    if (status == FF_JSON_OK && !checked && !paths->trusted) {
        const int64_t bounds[2] = {0, text.length};
        const ff_json_rows row = {text.data, readable, bounds, 1};
        if (paths->check(&row, 1) == 0) {
            forget_all(paths, out);
            return FF_JSON_MALFORMED;
        }
    }
    return status;
}
