/* The tests: one bound condition each, on one field, for the rows of a morsel. A row set is a bitmap of the morsel, bit
 * i % 64 of word i / 64, with no bit set behind the morsel's last row. */
#ifndef FASTFILTER_TESTS_H
#define FASTFILTER_TESTS_H

#include <string.h>

#include "fastfilter/arrow.h"
#include "fastfilter/json.h"
#include "generated/opcodes.h"

/* Closed intervals in ascending order, none empty, in the numbers a column stores (fastfilter/runtime/vm/lowering.py). */
typedef struct {
    int64_t lower, upper;
} ff_int64_interval;

typedef struct {
    uint64_t lower, upper;
} ff_uint64_interval;

typedef struct {
    double lower, upper;
} ff_double_interval;

typedef struct {
    uint64_t lower[4], upper[4]; /* 256 bits in two's complement, least significant first */
} ff_wide_interval;

typedef struct {
    int64_t lower_seconds, lower_nanoseconds, upper_seconds, upper_nanoseconds;
} ff_instant_interval;

/* Many intervals of numbers. Of integers that lie near together each has a flag of its own. Else numbers from the first
 * interval's upper end to the last one's lower end fall into buckets, which ascend with them whatever is rounded, and the
 * bucket mostly decides; the two intervals beyond, which may reach far, are compared. */
#define FF_MOST_FLAGS 16384
#define FF_NUM_BUCKETS 4096
#define FF_OUTER_BUCKET (FF_NUM_BUCKETS - 1) /* of the numbers before and behind; its verdict is FF_BUCKET_OUTSIDE */
enum {
    FF_BUCKET_OUTSIDE, /* meets no interval */
    FF_BUCKET_INSIDE,  /* lies in one */
    FF_BUCKET_AT_BOUND, /* meets one, its entry, but may hold other numbers */
    FF_BUCKET_CROWDED, /* meets several */
};
typedef struct {
    uint8_t *flags; /* 1 for each integer from `first` on that is in an interval, and a 0; NULL: there are none */
    uint64_t first, num_flags;
    int shift;           /* of integers: the bucket is (number - first) >> shift */
    double base, scale;  /* of doubles: (number - base) * scale */
    uint16_t *entries; /* numbers of intervals by bucket; NULL: there is no table */
    uint8_t *verdicts; /* FF_BUCKET_… by bucket; behind the entries */
} ff_interval_table;

/* A set of strings, by hash: the first and the last eight bytes and the length tell strings of up to 16 bytes apart. */
typedef struct {
    uint64_t head, tail;
    int64_t length; /* -1: the place is free */
    const uint8_t *data;
} ff_string_place;

typedef struct {
    uint64_t lengths;  /* bit n: some string has n bytes; bit 63: or more */
    uint64_t *hashes;  /* a bit for each hash that some string has; behind the places */
    uint64_t last_hash; /* they are a power of two, less one */
    uint64_t multiplier;
    int shift;
    uint64_t last_place; /* places are a power of two, less one */
    ff_string_place *places; /* NULL: there is no such set */
} ff_string_set;

/* Builds the set; it points to the strings' bytes. False if there is no memory. A set whose strings were chosen to
 * collide is not built: `places` stays NULL, and the strings are to be looked up by binary search. */
bool ff_string_set_new(ff_string_set *set, const ff_bytes *strings, int32_t num_strings);
void ff_string_set_free(ff_string_set *set);

/* The two rarest bytes of a needle, as English text and JSON go, and where they stand in it. */
typedef struct {
    int64_t first, second;
    uint8_t first_byte, second_byte;
    uint8_t first_fold, second_fold; /* 0x20 where the byte is a letter and case is ignored */
    bool high;                       /* some byte of the needle is not ASCII */
} ff_anchors;

/* The anchors of a needle that is not empty; of the empty one, zeroes. */
ff_anchors ff_anchors_of(ff_bytes needle, bool ignore_case);

/* Bytes, not none, to search for in JSON texts. */
typedef struct {
    ff_bytes bytes;
    ff_anchors anchors;
    uint64_t head, head_mask; /* the first eight bytes, or all, as they lie in memory; which of them there are */
    uint64_t tail;            /* the last eight, if there are as many */
} ff_json_needle;

ff_json_needle ff_json_needle_of(ff_bytes bytes);

/* What a test compares with. Immutable; whoever bound the test owns what it points to. */
typedef struct {
    bool has_null, has_false, has_true;
    int32_t num_int64s, num_uint64s, num_doubles, num_wides, num_instants, num_strings;
    const ff_int64_interval *int64s;
    const ff_uint64_interval *uint64s;
    const ff_double_interval *doubles;
    ff_interval_table table; /* of many int64s, uint64s or doubles, where only one of them is filled */
    const ff_wide_interval *wides;
    const ff_instant_interval *instants; /* for strings that spell one */
    const ff_bytes *strings;             /* by length, then by bytes */
    ff_string_set set;                   /* of several strings */
    ff_anchors anchors;                  /* of `text`, where it is searched for */
    ff_bytes text;                       /* to search for (lower-cased if case is ignored), or a bound */
    bool below, at, above;               /* which side of the bound a string may lie on */
    bool has_container;                  /* some string may be the text of an array or object */
    ff_json_pattern *pattern;
    ff_bytes needle; /* of a JSON value: bytes that are in every text without a backslash on whose value the test is true;
                        empty if none are known */
} ff_constant;

/* The JSON texts of one column, and the paths in them that tests read. */
typedef struct {
    ff_source source; /* the way to the text */
    ff_json_paths *paths;
    int32_t num_slots;
    int32_t root_slot; /* the slot of the whole text's value, or -1 */
    bool checked_last; /* a row of which all the group's tests are false never matches, and tests that are true do not
                          keep one from matching: only texts of rows that match need be validated */
} ff_group;

/* Finds the types on the way to the text. False if it leads to something that is no text. */
bool ff_group_bind(ff_group *group, ff_type *column, int32_t *num_slots);

typedef struct ff_test ff_test;
typedef struct ff_batch ff_batch;
typedef struct ff_run ff_run;

/* Whether a plain value that is there and not null passes the test. */
typedef bool ff_matches(const ff_test *test, const ff_view *view, int64_t index, ff_run *run);

/* The same for values `first` to `first + num_rows` of a plain array where `candidates` (none of them null) has a bit.
 * `destination` may be `candidates`. */
typedef void ff_dense(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                      const uint64_t *candidates, uint64_t *destination, ff_run *run);

/* Sets `destination` to the rows of `source` that pass; it may be `source`. Row 0 of the morsel is `first_row`. */
typedef void ff_kernel(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                       const uint64_t *source, uint64_t *destination, ff_run *run);

/* The candidates in which the needle occurs or a backslash. */
typedef uint64_t ff_json_holding(const ff_json_rows *rows, const ff_json_needle *needle, uint64_t candidates);

/* Finds the last member of each candidate's own object whose key is the needle (see ff_json_paths_key): the rows that
 * have one, and their `values`. *other_way: the candidates of which that cannot be said. */
typedef uint64_t ff_json_member(const ff_json_rows *rows, const ff_json_needle *key, uint64_t candidates,
                                ff_json_value *values, uint64_t *other_way);

struct ff_test {
    int32_t opcode;   /* FF_OP_… */
    int32_t elements; /* FF_ELEMENTS_… */
    int32_t number;   /* among the program's tests */
    int32_t source_number;
    const ff_source *source; /* the way to the value, or to the JSON text it is in */
    int32_t group, slot;     /* of a JSON value; group -1: an Arrow value */
    ff_constant constant;
    /* Set by ff_test_bind: */
    bool on_null;        /* the answer where the value is NULL */
    ff_matches *matches; /* on a value of the source's type */
    ff_dense *dense;     /* may be NULL */
    ff_matches *element; /* on an element of a list, where `matches` asks for each */
    ff_dense *element_dense; /* may be NULL */
    ff_kernel *kernel;
    ff_json_holding *holding; /* may be NULL, and is if the constant has no needle */
    ff_json_member *member;   /* may be NULL */
    ff_json_needle needle;    /* of the constant's needle, if it has one */
    const ff_test *also;      /* of a group's first test: a later one whose needle is searched for before this one is
                                 asked, as a row matches just if both are true; the next is that one's `also` */
    bool searched_before;     /* it is an earlier test's `also` */
};

/* Prepares what is looked for in a constant: its set of strings, its anchors. False if there is no memory. */
bool ff_test_prepare(ff_test *test);
void ff_test_free(ff_test *test);
/* Chooses the kernel by the source's type, once. False if values of the type cannot be read. */
bool ff_test_bind(ff_test *test);
/* Whether a test on a type reads more than the value's own place: elements, children, keys. */
bool ff_test_reads_whole(const ff_test *test, const ff_type *type);

/* The validity bits that decide on a row's presence: bit `offset + row` of `bits`. */
typedef struct {
    const uint8_t *bits;
    int64_t offset;
} ff_validity;

/* The array that a direct source leads to: row r is its index `base + r`. */
typedef struct {
    const ff_view *view;
    int64_t base;
    const ff_validity *validities;
    int32_t num_validities;
    bool all_null;
} ff_place;

struct ff_batch {
    int64_t num_rows;
    const ff_view **columns; /* by number of the program's column */
    ff_place *places;        /* by number of the source; only those of direct sources are set */
};

/* Finds the place of a direct source. `validities` has room for one more than the source has steps. */
void ff_place_find(ff_place *place, const ff_source *source, const ff_view *column, ff_validity *validities);

/* How much a search for a needle has spared, and when to try it again; counted in words of rows, so that a run does the
 * same whenever it is repeated. */
typedef struct {
    int32_t pause, next_pause;
    uint32_t asked, left; /* texts lately: those searched, and those that were not spared */
} ff_needle_run;

/* Builds the table of a constant whose numbers are compared in one form. False if there is no memory. */
bool ff_interval_table_new(ff_constant *constant);
void ff_interval_table_free(ff_interval_table *table);

/* What one call of run owns: nothing in it is shared. */
typedef struct {
    uint64_t *extracted;   /* the morsel's rows whose slots are in `values` */
    uint64_t *checked;     /* those whose texts have been validated */
    uint64_t *malformed;   /* of them, those whose text is not well-formed */
    ff_json_value *values; /* num_slots for each row of the morsel */
} ff_group_run;

/* A test's verdicts on the entries of its dictionary. */
#define FF_MOST_RUNS 4
typedef struct {
    uint8_t *flags;   /* one an entry; NULL until asked */
    int32_t num_runs; /* of entries that pass; -1: more than FF_MOST_RUNS */
    ff_int64_interval runs[FF_MOST_RUNS];
} ff_verdicts;

struct ff_run {
    ff_fault fault;
    int64_t num_rows;    /* of all morsels together */
    int64_t morsel_rows; /* room in row sets and groups */
    uint64_t *candidates;
    uint64_t *nulls;
    ff_needle_run *needles; /* by test */
    ff_verdicts *verdicts; /* by test */
    const ff_group *groups;
    ff_group_run *group_runs;
    ff_buffer text, other, keys;
    uint8_t uuid[36];
};

/* Room for a run of a program; false if there is no memory. ff_run_free is to be called in any case. */
bool ff_run_start(ff_run *run, const ff_group *groups, int32_t num_groups, int32_t num_tests, int64_t num_rows,
                  int64_t morsel_rows);
void ff_run_free(ff_run *run, int32_t num_groups, int32_t num_tests);
/* Forgets the JSON values of the morsel before. */
void ff_run_next_morsel(ff_run *run, int32_t num_groups);

/* Prepares the tests of a program of which a row matches just if all are true. */
void ff_tests_conjoin(ff_test *tests, int32_t num_tests, ff_group *groups);

/* Validates the texts of all groups for all rows of a morsel; a fault FF_BAD_JSON with the first row whose text cannot be
 * read. */
void ff_groups_check(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows, ff_run *run);

/* Takes the rows from those that match whose text is malformed and has not been validated before. */
void ff_groups_check_last(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                          uint64_t *rows, ff_run *run);

/* Kernels and their parts, by file. */
ff_matches *ff_number_matches(ff_type_id id); /* on intervals: numbers and instants; NULL for other types */
ff_matches *ff_text_number_matches(ff_type_id id); /* NULL for types whose text is never a number */
ff_matches ff_equals_bool, ff_equals_string, ff_string_instant, ff_string_bound, ff_string_contains;
ff_matches ff_string_contains_ignore_case, ff_string_equals_ignore_case, ff_text_equals, ff_json_text_equals;
ff_matches ff_json_contains_typed;
ff_matches ff_any_element;
ff_dense ff_any_element_dense, ff_equals_bool_dense;
ff_kernel ff_kernel_json;

bool ff_in_doubles(const ff_constant *constant, double value);
bool ff_in_numbers(const ff_constant *constant, ff_number number);
bool ff_in_instants(const ff_constant *constant, ff_bytes text);
bool ff_in_strings(const ff_constant *constant, ff_bytes text);
bool ff_within_bound(const ff_constant *constant, ff_bytes text);
/* Lower-cases into run->other; NULL data (and a fault) if there is no memory. */
ff_bytes ff_lowered(ff_bytes text, ff_run *run);
bool ff_equal_bytes(ff_bytes left, ff_bytes right);

/* The first bit of a word that is not zero. */
static inline int ff_first_bit(uint64_t word) {
    return __builtin_ctzll(word);
}

static inline uint64_t ff_string_hash(const ff_string_set *set, uint64_t head, uint64_t tail, int64_t length) {
    uint64_t mixed = (head ^ (tail << 32 | tail >> 32) ^ (uint64_t)length) * set->multiplier;
    return (mixed ^ mixed >> 29) * set->multiplier;
}

/* Whether a string is in a set; `head` is its first eight bytes, or all of them. */
static inline bool ff_string_set_has(const ff_string_set *set, const uint8_t *data, int64_t length, uint64_t head) {
    if (!(set->lengths >> (length < 63 ? length : 63) & 1)) {
        return false;
    }
    uint64_t tail = 0;
    if (length > 8) {
        memcpy(&tail, data + length - 8, 8);
    }
    uint64_t hash = ff_string_hash(set, head, tail, length), bit = (hash >> 16) & set->last_hash;
    if (!(set->hashes[bit >> 6] >> (bit & 63) & 1)) { /* true of nearly all strings that are not in the set */
        return false;
    }
    for (uint64_t place = hash >> set->shift;; place = (place + 1) & set->last_place) {
        const ff_string_place *at = &set->places[place];
        if (at->length < 0) {
            return false;
        }
        if (at->head == head && at->tail == tail && at->length == length &&
            (length <= 16 || memcmp(at->data + 8, data + 8, (size_t)length - 16) == 0)) {
            return true;
        }
    }
}

static inline int64_t ff_num_words(int64_t num_rows) {
    return (num_rows + 63) >> 6;
}

/* `num_bits` (1 to 64) bits from `offset` on; reads no byte that holds none of them. */
uint64_t ff_load_bits(const uint8_t *bits, int64_t offset, int64_t num_bits);
/* Keeps of the rows those whose bit, from bit `offset` on, is set, or those whose bit is not. */
void ff_keep_bits(uint64_t *rows, const uint8_t *bits, int64_t offset, int64_t num_rows, bool set);
/* Sets in `destination`, from bit `offset` on, the bits that are set in `source`; touches no other bit. */
void ff_store_bits(uint8_t *destination, int64_t offset, const uint64_t *source, int64_t num_bits);
int64_t ff_count_bits(const uint8_t *bits, int64_t num_bytes);
/* Writes the numbers of the set bits of whole bytes, counted from `first`. */
void ff_bits_to_indices(const uint8_t *bits, int64_t num_bytes, int64_t first, int64_t *indices);
bool ff_any_bit(const uint64_t *rows, int64_t num_words);

#endif
