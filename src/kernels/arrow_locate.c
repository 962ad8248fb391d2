/* The way from a column's row to a field's value: structs, maps, and the encodings around each. */
#include <string.h>

#include "fastfilter/arrow.h"

/* Goes from a (plain, not null) map to the value of its last entry with the key; false if there is none. */
static bool find_key(const ff_view **view, int64_t *index, ff_bytes wanted, ff_fault *fault) {
    int64_t start, stop;
    ff_elements_at(*view, *index, &start, &stop, fault);
    const ff_view *entries = ff_child(*view, 0);
    const ff_view *keys = ff_child(entries, 0);
    for (int64_t entry = stop - 1; entry >= start; entry--) {
        const ff_view *key_view = keys;
        int64_t key_index = entries->offset + entry;
        if (ff_decode(&key_view, &key_index, fault) != FF_AT_VALUE || !ff_type_is_string(key_view->type)) {
            continue;
        }
        uint8_t uuid[36];
        ff_bytes key = ff_string_at(key_view, key_index, uuid, fault);
        if (key.length == wanted.length && memcmp(key.data, wanted.data, (size_t)key.length) == 0) {
            *view = ff_child(entries, 1);
            *index = entries->offset + entry;
            return true;
        }
    }
    return false;
}

ff_presence ff_locate(const ff_source *source, const ff_view *column, int64_t row, const ff_view **view,
                      int64_t *index, ff_fault *fault) {
    *view = column;
    *index = row;
    ff_presence presence = ff_decode(view, index, fault);
    for (int32_t step = 0; step < source->num_steps; step++) {
        const ff_step *at = &source->steps[step];
        if (at->child >= 0) { /* a child of NULL is NULL, of MISSING is MISSING */
            if (presence != FF_AT_VALUE) {
                continue;
            }
            *index += (*view)->offset;
            *view = ff_child(*view, at->child);
        } else if (presence != FF_AT_VALUE || !find_key(view, index, at->key, fault)) {
            presence = FF_AT_MISSING;
            continue;
        }
        presence = ff_decode(view, index, fault);
    }
    return presence;
}

bool ff_source_bind(ff_source *source, ff_type *column, int32_t *num_slots) {
    ff_type *type = column;
    source->direct = true;
    for (int32_t step = 0; step < source->num_steps; step++) {
        ff_type_read(type, false, num_slots);
        ff_type *plain = ff_type_decoded(type);
        int32_t child = source->steps[step].child;
        source->direct = source->direct && plain == type && child >= 0;
        if (child >= 0) {
            if (plain->id != FF_TYPE_STRUCT || child >= plain->num_children) {
                return false;
            }
            type = plain->children[child];
        } else {
            if (plain->id != FF_TYPE_MAP || !ff_type_is_string(ff_type_decoded(plain->children[0]->children[0]))) {
                return false;
            }
            type = plain->children[0]->children[1];
        }
    }
    ff_type_read(type, false, num_slots);
    source->type = type;
    return true;
}
