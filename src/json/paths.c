/* The tree of a filter's paths, and the pass over a text that looks all of them up. */
#include "scanner.h"
#include "value.h"

#include <stdlib.h>

typedef struct {
    uint8_t *key;
    int64_t key_length;
    int slot; /* or -1: only a step of longer paths */
    int first_child;
    int next_sibling;
} path_node;

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
};

ff_json_paths *ff_json_paths_new(void) {
    ff_json_paths *paths = calloc(1, sizeof *paths);
    if (paths == NULL) {
        return NULL;
    }
    paths->nodes = malloc(sizeof *paths->nodes);
    if (paths->nodes == NULL) {
        free(paths);
        return NULL;
    }
    paths->nodes[0] = (path_node){NULL, 0, -1, -1, -1};
    paths->num_nodes = 1;
    return paths;
}

void ff_json_paths_free(ff_json_paths *paths) {
    if (paths == NULL) {
        return;
    }
    for (int i = 0; i < paths->num_nodes; i++) {
        free(paths->nodes[i].key);
    }
    free(paths->nodes);
    free(paths->aliases);
    free(paths);
}

int ff_json_paths_num_slots(const ff_json_paths *paths) {
    return paths->num_slots;
}

/* The node of a key below `parent`, or -1. */
static int find_child(const ff_json_paths *paths, int parent, ff_bytes key) {
    int child = paths->nodes[parent].first_child;
    for (; child >= 0; child = paths->nodes[child].next_sibling) {
        ff_bytes candidate = {paths->nodes[child].key, paths->nodes[child].key_length};
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
    uint8_t *copy = malloc((size_t)key.length + 1);
    if (copy == NULL) {
        return -1;
    }
    if (key.length > 0) {
        memcpy(copy, key.data, (size_t)key.length);
    }
    int child = paths->num_nodes++;
    nodes[child] = (path_node){copy, key.length, -1, -1, nodes[parent].first_child};
    nodes[parent].first_child = child;
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

ff_json_status ff_json_extract(const ff_json_paths *paths, ff_bytes text, ff_json_value *out, ff_buffer *scratch) {
    for (int slot = 0; slot < paths->num_slots; slot++) {
        out[slot] = missing;
    }
    const uint8_t *end = text.data + text.length;
    extraction state = {paths, end, out, scratch};
    const uint8_t *start = ff_json_skip_space(text.data, end);
    const uint8_t *position = extract_value(&state, 0, start, 0);
    if (position == NULL || ff_json_skip_space(position, end) != end) {
        for (int slot = 0; slot < paths->num_slots; slot++) {
            out[slot] = missing;
        }
        return scratch->failed ? FF_JSON_NO_MEMORY : FF_JSON_MALFORMED;
    }
    for (int i = 0; i < paths->num_aliases; i++) {
        out[paths->aliases[i].slot] = out[paths->aliases[i].same_as];
    }
    return paths->nodes[0].first_child >= 0 && *start != '{' ? FF_JSON_NOT_OBJECT : FF_JSON_OK;
}
