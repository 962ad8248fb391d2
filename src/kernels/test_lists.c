/* Lists of which some element passes: one at a time, and 64 lists together. */
#include "fastfilter/tests.h"

bool ff_any_element(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    int64_t start, stop;
    ff_elements_at(view, index, &start, &stop, &run->fault);
    for (int64_t element = start; element < stop; element++) {
        const ff_view *at = ff_child(view, 0);
        int64_t at_index = element;
        bool equal = ff_decode(&at, &at_index, &run->fault) == FF_AT_VALUE ? test->element(test, at, at_index, run)
                                                                          : test->constant.has_null;
        if (equal) {
            return true;
        }
    }
    return false;
}

/* Whether some bit from `start` to `stop` is set. */
static bool any_in_range(const uint64_t *bits, int64_t start, int64_t stop) {
    if (start >= stop) {
        return false;
    }
    int64_t word = start >> 6, last = (stop - 1) >> 6;
    uint64_t mask = ~UINT64_C(0) << (start & 63);
    for (; word < last; word++, mask = ~UINT64_C(0)) {
        if (bits[word] & mask) {
            return true;
        }
    }
    return (bits[last] & mask & (~UINT64_C(0) >> (63 - ((stop - 1) & 63)))) != 0;
}

/* Of 64 lists so many elements together are compared at once. */
#define MOST_ELEMENTS 4096
/* Of 64 lists, so few candidates are looked at one by one. */
#define FEW 16

void ff_any_element_dense(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                          const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const ff_view *child = ff_child(view, 0);
    uint64_t present[MOST_ELEMENTS / 64], passing[MOST_ELEMENTS / 64];
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t left = candidates[word], found = 0;
        int64_t rows_here = num_rows - 64 * word < 64 ? num_rows - 64 * word : 64;
        int64_t starts[65];
        bool together = test->element_dense != NULL && __builtin_popcountll(left) > FEW;
        for (int64_t row = 0; together && row < rows_here; row++) {
            ff_elements_at(view, first + 64 * word + row, &starts[row], &starts[row + 1], &run->fault);
        }
        if (run->fault.status != FF_OK) { /* perhaps of a list that is no candidate; those are asked for below */
            run->fault.status = FF_OK;
            together = false;
        }
        int64_t num_elements = together ? starts[rows_here] - starts[0] : 0;
        if (!together || num_elements > MOST_ELEMENTS) {
            for (; left != 0; left &= left - 1) {
                int row = ff_first_bit(left);
                found |= (uint64_t)ff_any_element(test, view, first + 64 * word + row, run) << row;
            }
            destination[word] = found;
            continue;
        }
        for (int64_t at = 0; at < ff_num_words(num_elements); at++) {
            int64_t num_bits = num_elements - 64 * at < 64 ? num_elements - 64 * at : 64;
            present[at] = child->validity == NULL
                              ? ~UINT64_C(0) >> (64 - num_bits)
                              : ff_load_bits(child->validity, child->offset + starts[0] + 64 * at, num_bits);
        }
        test->element_dense(test, child, starts[0], num_elements, present, passing, run);
        if (test->constant.has_null) {
            for (int64_t at = 0; at < ff_num_words(num_elements); at++) {
                int64_t num_bits = num_elements - 64 * at < 64 ? num_elements - 64 * at : 64;
                passing[at] |= ~present[at] & ~UINT64_C(0) >> (64 - num_bits);
            }
        }
        for (; left != 0; left &= left - 1) {
            int row = ff_first_bit(left);
            found |= (uint64_t)any_in_range(passing, starts[row] - starts[0], starts[row + 1] - starts[0]) << row;
        }
        destination[word] = found;
    }
}
