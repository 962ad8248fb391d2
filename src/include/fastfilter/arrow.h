/* Arrow arrays through the C data interface: a schema read once into a tree of types, an array into a tree of views.
 *
 * Nothing here owns Arrow memory: a view points into an ArrowArray, which whoever attached it keeps alive. */
#ifndef FASTFILTER_ARROW_H
#define FASTFILTER_ARROW_H

#include <string.h>

#include "fastfilter/bytes.h"

#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE

struct ArrowSchema {
    const char *format;
    const char *name;
    const char *metadata;
    int64_t flags;
    int64_t n_children;
    struct ArrowSchema **children;
    struct ArrowSchema *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
};

struct ArrowArray {
    int64_t length;
    int64_t null_count;
    int64_t offset;
    int64_t n_buffers;
    int64_t n_children;
    const void **buffers;
    struct ArrowArray **children;
    struct ArrowArray *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
};

#endif

typedef enum {
    FF_TYPE_UNSUPPORTED, /* an error only if a filter reads it */
    FF_TYPE_NULL,
    FF_TYPE_BOOL,
    FF_TYPE_INT8,
    FF_TYPE_INT16,
    FF_TYPE_INT32,
    FF_TYPE_INT64,
    FF_TYPE_UINT8,
    FF_TYPE_UINT16,
    FF_TYPE_UINT32,
    FF_TYPE_UINT64,
    FF_TYPE_FLOAT16,
    FF_TYPE_FLOAT32,
    FF_TYPE_FLOAT64,
    FF_TYPE_DECIMAL32,
    FF_TYPE_DECIMAL64,
    FF_TYPE_DECIMAL128,
    FF_TYPE_DECIMAL256,
    FF_TYPE_TIMESTAMP,
    FF_TYPE_DATE32,
    FF_TYPE_DATE64,
    FF_TYPE_STRING,
    FF_TYPE_LARGE_STRING,
    FF_TYPE_STRING_VIEW,
    FF_TYPE_UUID,
    FF_TYPE_LIST,
    FF_TYPE_LARGE_LIST,
    FF_TYPE_LIST_VIEW,
    FF_TYPE_LARGE_LIST_VIEW,
    FF_TYPE_FIXED_SIZE_LIST,
    FF_TYPE_STRUCT,
    FF_TYPE_MAP,
    FF_TYPE_DICTIONARY,     /* child 0: the values */
    FF_TYPE_RUN_END_ENCODED, /* child 0: the run ends, child 1: the values */
    FF_NUM_TYPES
} ff_type_id;

/* Types nest at most this deep; what lies deeper is unsupported. */
#define FF_TYPE_MAX_DEPTH 128

typedef struct ff_type ff_type;
struct ff_type {
    ff_type_id id;
    ff_type_id index_id;      /* DICTIONARY: the type of its indices */
    int32_t scale;            /* DECIMAL: digits after the point, may be negative */
    int64_t list_size;        /* FIXED_SIZE_LIST */
    int64_t units_per_second; /* TIMESTAMP */
    int32_t slot;             /* place of its view among a column's views, or -1 if no test reads it */
    int32_t num_children;
    ff_type **children;
    char *name; /* of the field, for messages and OBJECT keys */
};

/* The tree of a schema; NULL if there is no memory. Of extension types only arrow.uuid is told from its storage. */
ff_type *ff_type_new(const struct ArrowSchema *schema);
void ff_type_free(ff_type *type);
/* Whether a schema is of this type, children aside. */
bool ff_type_is_of(const ff_type *type, const struct ArrowSchema *schema);

/* The type without dictionary and run-end encoding. */
ff_type *ff_type_decoded(ff_type *type);
bool ff_type_is_list(const ff_type *type);
bool ff_type_is_string(const ff_type *type); /* FF_TYPE_UUID too: its values are STRINGs */

/* Marks a type as read, with the encodings around it, and (`whole`) everything in it: gives views their slots. */
void ff_type_read(ff_type *type, bool whole, int32_t *num_slots);

/* An array, or a part of one. Index i below is the i-th value behind `offset`: a parent's offset is part of the index
 * that it passes to its child. */
typedef struct ff_view ff_view;
struct ff_view {
    const ff_type *type;
    const ff_view *views; /* all views of the column, by slot */
    int64_t length;
    int64_t offset;
    const uint8_t *validity; /* NULL: nothing is null (except in a NULL array) */
    const void *values;      /* values, indices, offsets, or string views */
    const void *data;        /* a string's bytes, or a list view's sizes */
    const void *const *blocks; /* STRING_VIEW: the buffers its long strings lie in */
    int64_t num_blocks;
};

/* Fills `views` (one for each slot of the type tree) from an array. NULL, or what is wrong with the array. */
const char *ff_views_fill(const ff_type *type, const struct ArrowSchema *schema, const struct ArrowArray *array,
                          ff_view *views);

static inline const ff_view *ff_child(const ff_view *view, int32_t child) {
    return view->views + view->type->children[child]->slot;
}

static inline bool ff_bit(const uint8_t *bits, int64_t index) {
    return (bits[index >> 3] >> (index & 7)) & 1;
}

static inline bool ff_is_valid(const ff_view *view, int64_t index) {
    return view->validity == NULL || ff_bit(view->validity, view->offset + index);
}

/* What went wrong in a run, the first fault only. */
typedef enum { FF_OK, FF_NO_MEMORY, FF_BROKEN_DATA, FF_BAD_JSON } ff_status;

typedef struct {
    ff_status status;
    const char *message; /* FF_BROKEN_DATA */
    int64_t row;         /* FF_BAD_JSON */
    int32_t column;      /* FF_BAD_JSON, FF_BROKEN_DATA: number of the program's column */
    int32_t json_status; /* FF_BAD_JSON: an ff_json_status */
} ff_fault;

void ff_fault_memory(ff_fault *fault);
void ff_fault_data(ff_fault *fault, const char *message);

/* The bytes of the string view at a place of the array's buffer; none (and a fault) if it points outside. */
static inline ff_bytes ff_string_view_at(const ff_view *view, int64_t at, ff_fault *fault) {
    const uint8_t *entry = (const uint8_t *)view->values + 16 * at;
    int32_t length, block, offset;
    memcpy(&length, entry, 4);
    ff_bytes bytes = {entry + 4, length};
    if (length > 12) {
        memcpy(&block, entry + 8, 4);
        memcpy(&offset, entry + 12, 4);
        if (block < 0 || block >= view->num_blocks || offset < 0 || view->blocks[block] == NULL) {
            ff_fault_data(fault, "a string view points outside its buffers");
            bytes.length = 0;
            return bytes;
        }
        bytes.data = (const uint8_t *)view->blocks[block] + offset;
    } else if (length < 0) {
        ff_fault_data(fault, "a string view has a negative length");
        bytes.length = 0;
    }
    return bytes;
}

typedef enum { FF_AT_MISSING, FF_AT_NULL, FF_AT_VALUE } ff_presence;

/* Goes through dictionaries and runs to the plain value, in place. */
ff_presence ff_decode(const ff_view **view, int64_t *index, ff_fault *fault);

/* The bounds of a run: `index` lies in [*start, *stop) of run `*run`. False if there is none. */
bool ff_find_run(const ff_view *view, int64_t index, int64_t *run, int64_t *start, int64_t *stop, ff_fault *fault);

/* A dictionary's entry number at a (not null) index; -1, and a fault, if it has no such entry. */
int64_t ff_dictionary_entry(const ff_view *view, int64_t index, ff_fault *fault);

/* The bytes of a (plain, not null) string. A UUID is spelled into `uuid`, which has room for 36 bytes. */
ff_bytes ff_string_at(const ff_view *view, int64_t index, uint8_t *uuid, ff_fault *fault);

/* The elements of a (plain, not null) list or map: child 0 from *start to *stop, as indices of that child. */
void ff_elements_at(const ff_view *view, int64_t index, int64_t *start, int64_t *stop, ff_fault *fault);

/* IEEE half to double. */
double ff_half_to_double(uint16_t half);

/* The way from a column to a field's value. */
typedef struct {
    int32_t child; /* a struct's child, or -1: a map's key */
    ff_bytes key;
} ff_step;

typedef struct {
    int32_t column; /* number of the program's column; -1: MISSING on every row */
    int32_t num_steps;
    const ff_step *steps;
    /* Set by ff_source_bind: */
    ff_type *type; /* at the end of the steps, encodings included */
    bool direct;   /* only structs on the way, none of them encoded: rows are places in the final array */
} ff_source;

/* Finds the types on the way from a column to the value, and marks them as read. False if the steps do not fit them. */
bool ff_source_bind(ff_source *source, ff_type *column, int32_t *num_slots);

/* Where the value of a row is. The view and index are of a plain value if it is FF_AT_VALUE. */
ff_presence ff_locate(const ff_source *source, const ff_view *column, int64_t row, const ff_view **view,
                      int64_t *index, ff_fault *fault);

/* Appends a value as JSON text (numbers by their shortest decimal; instants, NaN and infinities as strings). The value
 * may be null or encoded. False (and a fault) if it cannot be done. */
bool ff_render(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault);

/* Appends a plain scalar's text: as in JSON, without quotes. */
bool ff_render_text(const ff_view *view, int64_t index, ff_buffer *out, ff_fault *fault);

#endif
