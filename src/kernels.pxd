"""What the Cython VM uses of the C sources; the headers under src/include say what each thing does."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t


cdef extern from "fastfilter/arrow.h" nogil:
    struct ArrowSchema:
        const char *metadata
        int64_t n_children
        ArrowSchema **children
        ArrowSchema *dictionary

    struct ArrowArray:
        int64_t length
        int64_t n_buffers
        const void **buffers
        ArrowArray **children
        void (*release)(ArrowArray *) noexcept nogil
        void *private_data

    ctypedef struct ff_bytes:
        const uint8_t *data
        int64_t length

    ctypedef struct ff_type:
        pass

    ctypedef struct ff_view:
        pass

    ctypedef enum ff_status:
        FF_OK
        FF_NO_MEMORY
        FF_BROKEN_DATA
        FF_BAD_JSON

    ctypedef struct ff_fault:
        ff_status status
        const char *message
        int64_t row
        int32_t column
        int32_t json_status

    ctypedef struct ff_step:
        int32_t child
        ff_bytes key

    ctypedef struct ff_source:
        int32_t column
        int32_t num_steps
        const ff_step *steps
        ff_type *type
        bint direct

    ff_type *ff_type_new(const ArrowSchema *schema)
    void ff_type_free(ff_type *type)
    ff_type *ff_type_decoded(ff_type *type)
    void ff_type_read(ff_type *type, bint whole, int32_t *num_slots)
    const char *ff_views_fill(const ff_type *type, const ArrowSchema *schema, const ArrowArray *array, ff_view *views)
    bint ff_source_bind(ff_source *source, ff_type *column, int32_t *num_slots)


cdef extern from "fastfilter/json.h" nogil:
    enum:
        FF_JSON_NOT_OBJECT

    ctypedef struct ff_json_paths:
        pass

    ctypedef struct ff_json_pattern:
        pass

    ff_json_paths *ff_json_paths_new(bint trusted)
    bint ff_json_paths_add(ff_json_paths *paths, const ff_bytes *keys, int num_keys, int slot)
    void ff_json_paths_free(ff_json_paths *paths)
    ff_json_pattern *ff_json_pattern_new(ff_bytes json)


cdef extern from "fastfilter/target.h" nogil:
    ctypedef struct ff_target:
        const char *name

    const ff_target *ff_target_in_use
    const ff_target *ff_target_at(int number)
    bint ff_target_runs(const ff_target *target)


cdef extern from "fastfilter/tests.h" nogil:
    ctypedef struct ff_int64_interval:
        pass

    ctypedef struct ff_uint64_interval:
        pass

    ctypedef struct ff_double_interval:
        pass

    ctypedef struct ff_wide_interval:
        pass

    ctypedef struct ff_instant_interval:
        pass

    ctypedef struct ff_constant:
        bint has_null
        bint has_false
        bint has_true
        int32_t num_int64s
        int32_t num_uint64s
        int32_t num_doubles
        int32_t num_wides
        int32_t num_instants
        int32_t num_strings
        const ff_int64_interval *int64s
        const ff_uint64_interval *uint64s
        const ff_double_interval *doubles
        const ff_wide_interval *wides
        const ff_instant_interval *instants
        const ff_bytes *strings
        ff_bytes text
        bint below
        bint at
        bint above
        bint has_container
        ff_json_pattern *pattern
        ff_bytes needle

    ctypedef struct ff_group:
        ff_source source
        ff_json_paths *paths
        int32_t num_slots
        int32_t root_slot

    ctypedef struct ff_validity:
        pass

    ctypedef struct ff_place:
        pass

    ctypedef struct ff_batch:
        int64_t num_rows
        const ff_view **columns
        ff_place *places

    ctypedef struct ff_run:
        ff_fault fault

    ctypedef struct ff_test

    ctypedef void ff_kernel(const ff_test *test, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                            const uint64_t *source, uint64_t *destination, ff_run *run) noexcept nogil

    ctypedef struct ff_test:
        int32_t opcode
        int32_t elements
        int32_t number
        int32_t source_number
        const ff_source *source
        int32_t group
        int32_t slot
        ff_constant constant
        ff_kernel *kernel

    bint ff_group_bind(ff_group *group, ff_type *column, int32_t *num_slots)
    bint ff_test_reads_whole(const ff_test *test, const ff_type *type)
    int64_t ff_count_bits(const uint8_t *bits, int64_t num_bytes)
    void ff_bits_to_indices(const uint8_t *bits, int64_t num_bytes, int64_t first, int64_t *indices)
    bint ff_test_prepare(ff_test *test)
    void ff_test_free(ff_test *test)
    bint ff_test_bind(ff_test *test)
    void ff_place_find(ff_place *place, const ff_source *source, const ff_view *column, ff_validity *validities)
    bint ff_run_start(ff_run *run, const ff_group *groups, int32_t num_groups, int32_t num_tests, int64_t num_rows,
                      int64_t morsel_rows)
    void ff_run_free(ff_run *run, int32_t num_groups, int32_t num_tests)
    void ff_run_next_morsel(ff_run *run, int32_t num_groups)
    void ff_tests_conjoin(ff_test *tests, int32_t num_tests, ff_group *groups)
    void ff_groups_check(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows, ff_run *run)
    void ff_groups_check_last(int32_t num_groups, const ff_batch *batch, int64_t first_row, int64_t num_rows,
                              uint64_t *rows, ff_run *run)
    bint ff_any_bit(const uint64_t *rows, int64_t num_words)
    void ff_store_bits(uint8_t *destination, int64_t offset, const uint64_t *source, int64_t num_bits)
    int64_t ff_num_words(int64_t num_rows)
