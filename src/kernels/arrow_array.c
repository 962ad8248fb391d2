/* ArrowArray → ff_view, and reading plain values from views.
 *
 * The interface carries no buffer sizes, so what can be checked is structure: counts, null pointers, lengths of children
 * (here, once), and offsets, indices and view positions (when they are read). */
#include <string.h>

#include "fastfilter/arrow.h"

/* How many buffers an array of a type has at least; validity comes first, where there is one. */
static int64_t num_buffers(ff_type_id id) {
    switch (id) {
    case FF_TYPE_NULL:
    case FF_TYPE_RUN_END_ENCODED: return 0;
    case FF_TYPE_STRUCT:
    case FF_TYPE_FIXED_SIZE_LIST: return 1;
    case FF_TYPE_STRING:
    case FF_TYPE_LARGE_STRING:
    case FF_TYPE_STRING_VIEW:
    case FF_TYPE_LIST_VIEW:
    case FF_TYPE_LARGE_LIST_VIEW: return 3;
    default: return 2;
    }
}

static const char *fill_children(const ff_type *type, const struct ArrowSchema *schema, const struct ArrowArray *array,
                                 ff_view *views) {
    int64_t end = array->offset + array->length;
    for (int32_t child = 0; child < type->num_children; child++) {
        if (array->children[child] == NULL) {
            return "a child array is missing";
        }
        int64_t child_length = array->children[child]->length;
        if (type->id == FF_TYPE_STRUCT && child_length < end) {
            return "a struct's child is shorter than the struct";
        }
        if (type->id == FF_TYPE_FIXED_SIZE_LIST && type->list_size > 0 && child_length / type->list_size < end) {
            return "a fixed-size list's child is too short";
        }
        const char *fault = ff_views_fill(type->children[child], schema->children[child], array->children[child], views);
        if (fault != NULL) {
            return fault;
        }
    }
    if (type->id == FF_TYPE_RUN_END_ENCODED && array->children[1]->length < array->children[0]->length) {
        return "a run-end encoded array has fewer values than runs";
    }
    return NULL;
}

const char *ff_views_fill(const ff_type *type, const struct ArrowSchema *schema, const struct ArrowArray *array,
                          ff_view *views) {
    if (type->slot < 0) {
        return NULL;
    }
    if (array->release == NULL) {
        return "the array was released";
    }
    ff_view *view = &views[type->slot];
    *view = (ff_view){.type = type, .views = views, .length = array->length, .offset = array->offset};
    if (type->id == FF_TYPE_UNSUPPORTED) {
        return NULL;
    }
    if (!ff_type_is_of(type, schema)) {
        return "its type is not the one the filter was bound to";
    }
    if (array->length < 0 || array->offset < 0 || array->length > INT64_MAX - array->offset) {
        return "its length or offset is negative";
    }
    int64_t expected = num_buffers(type->id);
    if (array->n_buffers < expected || (expected > 0 && array->buffers == NULL)) {
        return "buffers are missing";
    }
    if (expected > 0 && array->null_count != 0) {
        view->validity = array->buffers[0];
    }
    if (expected > 1) {
        view->values = array->buffers[1];
        if (view->values == NULL && array->length > 0) {
            return "a buffer of values or offsets is missing";
        }
    }
    if (type->id == FF_TYPE_STRING_VIEW) {
        view->blocks = array->buffers + 2;
        view->num_blocks = array->n_buffers - 3;
    } else if (expected > 2) {
        view->data = array->buffers[2];
        if (view->data == NULL && array->length > 0 && !ff_type_is_string(type)) {
            return "a list view's sizes are missing";
        }
    }
    if (type->id == FF_TYPE_DICTIONARY) {
        if (array->dictionary == NULL) {
            return "its dictionary is missing";
        }
        return ff_views_fill(type->children[0], schema->dictionary, array->dictionary, views);
    }
    if (array->n_children != type->num_children) {
        return "it has another number of children than its type";
    }
    return fill_children(type, schema, array, views);
}

void ff_fault_memory(ff_fault *fault) {
    if (fault->status == FF_OK) {
        fault->status = FF_NO_MEMORY;
    }
}

void ff_fault_data(ff_fault *fault, const char *message) {
    if (fault->status == FF_OK) {
        fault->status = FF_BROKEN_DATA;
        fault->message = message;
    }
}

int64_t ff_dictionary_entry(const ff_view *view, int64_t index, ff_fault *fault) {
    int64_t at = view->offset + index;
    uint64_t entry;
    switch (view->type->index_id) { /* a negative index becomes a huge entry number */
    case FF_TYPE_INT8: entry = (uint64_t)(int64_t)((const int8_t *)view->values)[at]; break;
    case FF_TYPE_INT16: entry = (uint64_t)(int64_t)((const int16_t *)view->values)[at]; break;
    case FF_TYPE_INT32: entry = (uint64_t)(int64_t)((const int32_t *)view->values)[at]; break;
    case FF_TYPE_INT64: entry = (uint64_t)((const int64_t *)view->values)[at]; break;
    case FF_TYPE_UINT8: entry = ((const uint8_t *)view->values)[at]; break;
    case FF_TYPE_UINT16: entry = ((const uint16_t *)view->values)[at]; break;
    case FF_TYPE_UINT32: entry = ((const uint32_t *)view->values)[at]; break;
    default: entry = ((const uint64_t *)view->values)[at]; break;
    }
    if (entry >= (uint64_t)ff_child(view, 0)->length) {
        ff_fault_data(fault, "a dictionary index is out of range");
        return -1;
    }
    return (int64_t)entry;
}

static int64_t run_end(const ff_view *ends, int64_t run) {
    int64_t at = ends->offset + run;
    switch (ends->type->id) {
    case FF_TYPE_INT16: return ((const int16_t *)ends->values)[at];
    case FF_TYPE_INT32: return ((const int32_t *)ends->values)[at];
    default: return ((const int64_t *)ends->values)[at];
    }
}

bool ff_find_run(const ff_view *view, int64_t index, int64_t *run, int64_t *start, int64_t *stop, ff_fault *fault) {
    const ff_view *ends = ff_child(view, 0);
    int64_t position = view->offset + index, low = 0, high = ends->length;
    while (low < high) { /* the first run that ends behind the position */
        int64_t middle = low + (high - low) / 2;
        if (run_end(ends, middle) > position) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    if (low == ends->length) {
        ff_fault_data(fault, "a run-end encoded array is longer than its runs");
        return false;
    }
    *run = low;
    *start = (low == 0 ? 0 : run_end(ends, low - 1)) - view->offset;
    *stop = run_end(ends, low) - view->offset;
    return true;
}

ff_presence ff_decode(const ff_view **view, int64_t *index, ff_fault *fault) {
    for (;;) {
        const ff_view *at = *view;
        if (at->type->id == FF_TYPE_RUN_END_ENCODED) {
            int64_t start, stop;
            if (!ff_find_run(at, *index, index, &start, &stop, fault)) {
                return FF_AT_NULL;
            }
            *view = ff_child(at, 1);
            continue;
        }
        if (at->type->id == FF_TYPE_NULL || !ff_is_valid(at, *index)) {
            return FF_AT_NULL;
        }
        if (at->type->id != FF_TYPE_DICTIONARY) {
            return FF_AT_VALUE;
        }
        *index = ff_dictionary_entry(at, *index, fault);
        *view = ff_child(at, 0);
        if (*index < 0) {
            return FF_AT_NULL;
        }
    }
}

static ff_bytes uuid_at(const uint8_t *value, uint8_t *out) {
    static const char digits[] = "0123456789abcdef";
    int64_t length = 0;
    for (int byte = 0; byte < 16; byte++) {
        if (byte == 4 || byte == 6 || byte == 8 || byte == 10) {
            out[length++] = '-';
        }
        out[length++] = (uint8_t)digits[value[byte] >> 4];
        out[length++] = (uint8_t)digits[value[byte] & 15];
    }
    ff_bytes bytes = {out, length};
    return bytes;
}

ff_bytes ff_string_at(const ff_view *view, int64_t index, uint8_t *uuid, ff_fault *fault) {
    int64_t at = view->offset + index, start, stop;
    if (view->type->id == FF_TYPE_STRING) {
        start = ((const int32_t *)view->values)[at];
        stop = ((const int32_t *)view->values)[at + 1];
    } else if (view->type->id == FF_TYPE_LARGE_STRING) {
        start = ((const int64_t *)view->values)[at];
        stop = ((const int64_t *)view->values)[at + 1];
    } else if (view->type->id == FF_TYPE_STRING_VIEW) {
        return ff_string_view_at(view, at, fault);
    } else {
        return uuid_at((const uint8_t *)view->values + 16 * at, uuid);
    }
    if (start < 0 || stop < start || (view->data == NULL && stop > start)) {
        ff_fault_data(fault, "the offsets of a string do not ascend");
        stop = start = 0;
    }
    ff_bytes bytes = {view->data == NULL ? (const uint8_t *)"" : (const uint8_t *)view->data + start, stop - start};
    return bytes;
}

void ff_elements_at(const ff_view *view, int64_t index, int64_t *start, int64_t *stop, ff_fault *fault) {
    int64_t at = view->offset + index, size;
    switch (view->type->id) {
    case FF_TYPE_LARGE_LIST:
        *start = ((const int64_t *)view->values)[at];
        *stop = ((const int64_t *)view->values)[at + 1];
        break;
    case FF_TYPE_LIST_VIEW:
        *start = ((const int32_t *)view->values)[at];
        size = ((const int32_t *)view->data)[at];
        *stop = size < 0 ? -1 : *start + size;
        break;
    case FF_TYPE_LARGE_LIST_VIEW:
        *start = ((const int64_t *)view->values)[at];
        size = ((const int64_t *)view->data)[at];
        *stop = size < 0 || *start < 0 || size > INT64_MAX - *start ? -1 : *start + size;
        break;
    case FF_TYPE_FIXED_SIZE_LIST:
        *start = at * view->type->list_size;
        *stop = *start + view->type->list_size;
        break;
    default: /* LIST, MAP */
        *start = ((const int32_t *)view->values)[at];
        *stop = ((const int32_t *)view->values)[at + 1];
        break;
    }
    if (*start < 0 || *stop < *start || *stop > ff_child(view, 0)->length) {
        ff_fault_data(fault, "the offsets of a list do not ascend, or lead outside its child");
        *start = *stop = 0;
    }
}

double ff_half_to_double(uint16_t half) {
    int exponent = (half >> 10) & 31;
    int fraction = half & 1023;
    uint64_t sign = (uint64_t)(half >> 15) << 63, bits;
    if (exponent == 31) {
        bits = sign | UINT64_C(0x7FF0000000000000) | (uint64_t)fraction << 42;
    } else if (exponent == 0) {
        double value = fraction * 0x1p-24; /* subnormal: exact */
        memcpy(&bits, &value, 8);
        bits |= sign;
    } else {
        bits = sign | (uint64_t)(exponent - 15 + 1023) << 52 | (uint64_t)fraction << 42;
    }
    double value;
    memcpy(&value, &bits, 8);
    return value;
}
