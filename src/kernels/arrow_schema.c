/* ArrowSchema → ff_type: the format strings of the C data interface. */
#include <stdlib.h>
#include <string.h>

#include "fastfilter/arrow.h"

/* The value of a key in a schema's metadata (int32 count, then length-prefixed keys and values, native byte order). */
static ff_bytes metadata_value(const char *metadata, const char *wanted) {
    ff_bytes none = {NULL, 0};
    if (metadata == NULL) {
        return none;
    }
    int32_t num_pairs;
    memcpy(&num_pairs, metadata, 4);
    metadata += 4;
    for (int32_t pair = 0; pair < num_pairs; pair++) {
        int32_t key_length, value_length;
        memcpy(&key_length, metadata, 4);
        const char *key = metadata + 4;
        memcpy(&value_length, key + key_length, 4);
        const char *value = key + key_length + 4;
        if (key_length == (int32_t)strlen(wanted) && memcmp(key, wanted, (size_t)key_length) == 0) {
            ff_bytes found = {(const uint8_t *)value, value_length};
            return found;
        }
        metadata = value + value_length;
    }
    return none;
}

static bool is_extension(const struct ArrowSchema *schema, const char *name) {
    ff_bytes value = metadata_value(schema->metadata, "ARROW:extension:name");
    return value.length == (int64_t)strlen(name) && memcmp(value.data, name, strlen(name)) == 0;
}

static ff_type_id primitive_id(char format) {
    switch (format) {
    case 'n': return FF_TYPE_NULL;
    case 'b': return FF_TYPE_BOOL;
    case 'c': return FF_TYPE_INT8;
    case 'C': return FF_TYPE_UINT8;
    case 's': return FF_TYPE_INT16;
    case 'S': return FF_TYPE_UINT16;
    case 'i': return FF_TYPE_INT32;
    case 'I': return FF_TYPE_UINT32;
    case 'l': return FF_TYPE_INT64;
    case 'L': return FF_TYPE_UINT64;
    case 'e': return FF_TYPE_FLOAT16;
    case 'f': return FF_TYPE_FLOAT32;
    case 'g': return FF_TYPE_FLOAT64;
    case 'u': return FF_TYPE_STRING;
    case 'U': return FF_TYPE_LARGE_STRING;
    default: return FF_TYPE_UNSUPPORTED;
    }
}

/* "d:precision,scale" or "d:precision,scale,bits" */
static ff_type_id decimal_id(const char *format, int32_t *scale) {
    char *end;
    strtol(format + 2, &end, 10);
    if (*end != ',') {
        return FF_TYPE_UNSUPPORTED;
    }
    *scale = (int32_t)strtol(end + 1, &end, 10);
    switch (*end == ',' ? strtol(end + 1, NULL, 10) : 128) {
    case 32: return FF_TYPE_DECIMAL32;
    case 64: return FF_TYPE_DECIMAL64;
    case 128: return FF_TYPE_DECIMAL128;
    case 256: return FF_TYPE_DECIMAL256;
    default: return FF_TYPE_UNSUPPORTED;
    }
}

static int64_t units_per_second(char unit) {
    return unit == 's' ? 1 : unit == 'm' ? 1000 : unit == 'u' ? 1000000 : 1000000000;
}

static bool starts_with(const char *text, const char *prefix) {
    return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Sets what the format says; `num_children` is how many children such a type has, -1 for any number. */
static void read_format(ff_type *type, const struct ArrowSchema *schema, int64_t *num_children) {
    const char *format = schema->format == NULL ? "" : schema->format;
    *num_children = 0;
    if (format[0] != '\0' && format[1] == '\0') {
        type->id = primitive_id(format[0]);
    } else if (starts_with(format, "d:")) {
        type->id = decimal_id(format, &type->scale);
    } else if (starts_with(format, "ts") && format[2] != '\0' && strchr("smun", format[2]) && format[3] == ':') {
        type->id = FF_TYPE_TIMESTAMP;
        type->units_per_second = units_per_second(format[2]);
    } else if (strcmp(format, "tdD") == 0) {
        type->id = FF_TYPE_DATE32;
    } else if (strcmp(format, "tdm") == 0) {
        type->id = FF_TYPE_DATE64;
    } else if (strcmp(format, "vu") == 0) {
        type->id = FF_TYPE_STRING_VIEW;
    } else if (strcmp(format, "w:16") == 0 && is_extension(schema, "arrow.uuid")) {
        type->id = FF_TYPE_UUID;
    } else if (format[0] == '+') {
        *num_children = 1;
        if (strcmp(format, "+l") == 0) {
            type->id = FF_TYPE_LIST;
        } else if (strcmp(format, "+L") == 0) {
            type->id = FF_TYPE_LARGE_LIST;
        } else if (strcmp(format, "+vl") == 0) {
            type->id = FF_TYPE_LIST_VIEW;
        } else if (strcmp(format, "+vL") == 0) {
            type->id = FF_TYPE_LARGE_LIST_VIEW;
        } else if (starts_with(format, "+w:")) {
            type->id = FF_TYPE_FIXED_SIZE_LIST;
            type->list_size = strtoll(format + 3, NULL, 10);
        } else if (strcmp(format, "+m") == 0) {
            type->id = FF_TYPE_MAP;
        } else if (strcmp(format, "+s") == 0) {
            type->id = FF_TYPE_STRUCT;
            *num_children = -1;
        } else if (strcmp(format, "+r") == 0) {
            type->id = FF_TYPE_RUN_END_ENCODED;
            *num_children = 2;
        }
    }
}

static bool is_index(ff_type_id id) {
    return id >= FF_TYPE_INT8 && id <= FF_TYPE_UINT64;
}

/* A type that does not hang together is unsupported: what is read of a supported one may be relied on. */
static void check(ff_type *type) {
    bool good = true;
    if (type->id == FF_TYPE_DICTIONARY) {
        good = is_index(type->index_id);
    } else if (type->id == FF_TYPE_RUN_END_ENCODED) {
        ff_type_id ends = type->children[0]->id;
        good = ends == FF_TYPE_INT16 || ends == FF_TYPE_INT32 || ends == FF_TYPE_INT64;
    } else if (type->id == FF_TYPE_MAP) {
        good = type->children[0]->id == FF_TYPE_STRUCT && type->children[0]->num_children == 2;
    } else if (type->id == FF_TYPE_FIXED_SIZE_LIST) {
        good = type->list_size >= 0;
    }
    if (!good) {
        type->id = FF_TYPE_UNSUPPORTED;
    }
}

static ff_type *new_type(const struct ArrowSchema *schema, int depth) {
    ff_type *type = calloc(1, sizeof(ff_type));
    if (type == NULL) {
        return NULL;
    }
    type->slot = -1;
    const char *name = schema->name == NULL ? "" : schema->name;
    type->name = malloc(strlen(name) + 1);
    if (type->name == NULL) {
        ff_type_free(type);
        return NULL;
    }
    strcpy(type->name, name);
    int64_t num_children;
    read_format(type, schema, &num_children);
    struct ArrowSchema **children = schema->children;
    if (schema->dictionary != NULL) {
        type->index_id = type->id;
        type->id = FF_TYPE_DICTIONARY;
        children = (struct ArrowSchema **)&schema->dictionary;
        num_children = 1;
    } else if (num_children < 0) {
        num_children = schema->n_children;
    } else if (num_children != schema->n_children) {
        type->id = FF_TYPE_UNSUPPORTED;
    }
    if (depth >= FF_TYPE_MAX_DEPTH || num_children > INT32_MAX) {
        type->id = FF_TYPE_UNSUPPORTED;
    }
    if (type->id == FF_TYPE_UNSUPPORTED || num_children <= 0) {
        return type;
    }
    type->children = calloc((size_t)num_children, sizeof(ff_type *));
    if (type->children == NULL) {
        ff_type_free(type);
        return NULL;
    }
    for (int64_t child = 0; child < num_children; child++) {
        type->children[child] = new_type(children[child], depth + 1);
        if (type->children[child] == NULL) {
            ff_type_free(type);
            return NULL;
        }
        type->num_children++;
    }
    check(type);
    return type;
}

ff_type *ff_type_new(const struct ArrowSchema *schema) {
    return new_type(schema, 0);
}

bool ff_type_is_of(const ff_type *type, const struct ArrowSchema *schema) {
    ff_type other = {.id = FF_TYPE_UNSUPPORTED};
    int64_t num_children;
    read_format(&other, schema, &num_children);
    if ((schema->dictionary != NULL) != (type->id == FF_TYPE_DICTIONARY)) {
        return false;
    }
    if (schema->dictionary != NULL) {
        return other.id == type->index_id;
    }
    return other.id == type->id && other.scale == type->scale && other.list_size == type->list_size &&
           other.units_per_second == type->units_per_second && schema->n_children == type->num_children;
}

void ff_type_free(ff_type *type) {
    if (type == NULL) {
        return;
    }
    for (int32_t child = 0; child < type->num_children; child++) {
        ff_type_free(type->children[child]);
    }
    free(type->children);
    free(type->name);
    free(type);
}

ff_type *ff_type_decoded(ff_type *type) {
    for (;;) {
        if (type->id == FF_TYPE_DICTIONARY) {
            type = type->children[0];
        } else if (type->id == FF_TYPE_RUN_END_ENCODED) {
            type = type->children[1];
        } else {
            return type;
        }
    }
}

bool ff_type_is_list(const ff_type *type) {
    return type->id >= FF_TYPE_LIST && type->id <= FF_TYPE_FIXED_SIZE_LIST;
}

bool ff_type_is_string(const ff_type *type) {
    return type->id >= FF_TYPE_STRING && type->id <= FF_TYPE_UUID;
}

void ff_type_read(ff_type *type, bool whole, int32_t *num_slots) {
    if (type->slot < 0) {
        type->slot = (*num_slots)++;
    }
    bool encoding = type->id == FF_TYPE_DICTIONARY || type->id == FF_TYPE_RUN_END_ENCODED;
    if (encoding || whole || type->id == FF_TYPE_MAP) {
        for (int32_t child = 0; child < type->num_children; child++) {
            ff_type_read(type->children[child], whole, num_slots);
        }
    }
    if (type->id == FF_TYPE_MAP) { /* its keys and values are found through the struct of its entries */
        ff_type_read(type->children[0]->children[0], whole, num_slots);
        ff_type_read(type->children[0]->children[1], whole, num_slots);
    }
}
