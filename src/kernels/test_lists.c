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

/* Of 64 lists so many elements together are compared at once. */
#define MOST_ELEMENTS 4096
/* Of 64 lists, so few candidates are looked at one by one. */
#define FEW 16

/* The bounds of up to 64 lists, one behind the other in their child. False if they are not so, or too long together. */
static bool bounds_of(const ff_view *view, int64_t first, int64_t num_rows, int64_t *starts) {
    bool descends = false;
    for (int64_t row = 0; row <= num_rows; row++) {
        starts[row] = view->type->id == FF_TYPE_LIST ? ((const int32_t *)view->values)[view->offset + first + row]
                                                     : ((const int64_t *)view->values)[view->offset + first + row];
        descends |= row > 0 && starts[row] < starts[row - 1];
    }
    return !descends && starts[0] >= 0 && starts[num_rows] <= ff_child(view, 0)->length &&
           starts[num_rows] - starts[0] <= MOST_ELEMENTS;
}

/* The lists that have a bit between their bounds. `bits` begins with the first list's, and eight bytes more can be read. */
static uint64_t lists_with_bits(const uint64_t *bits, const int64_t *starts, int64_t num_rows) {
    uint64_t found = 0;
    for (int64_t row = 0; row < num_rows; row++) {
        int64_t start = starts[row] - starts[0], stop = starts[row + 1] - starts[0];
        int64_t word = start >> 6, shift = start & 63, length = stop - start;
        uint64_t here = bits[word] >> shift | bits[word + 1] << 1 << (63 - shift);
        bool any = length < 64 ? (here & ((UINT64_C(1) << length) - 1)) != 0 : here != 0;
        for (start += 64; length >= 64 && !any && start < stop; start += 64) {
            any = ff_load_bits((const uint8_t *)bits, start, stop - start < 64 ? stop - start : 64) != 0;
        }
        found |= (uint64_t)any << row;
    }
    return found;
}

void ff_any_element_dense(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                          const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    const ff_view *child = ff_child(view, 0);
    uint64_t present[MOST_ELEMENTS / 64], passing[MOST_ELEMENTS / 64 + 2];
    int64_t starts[65];
    for (int64_t word = 0; word < ff_num_words(num_rows); word++) {
        uint64_t left = candidates[word], found = 0;
        int64_t rows_here = num_rows - 64 * word < 64 ? num_rows - 64 * word : 64;
        if (test->element_dense == NULL || __builtin_popcountll(left) <= FEW ||
            !bounds_of(view, first + 64 * word, rows_here, starts)) {
            for (; left != 0; left &= left - 1) {
                int row = ff_first_bit(left);
                found |= (uint64_t)ff_any_element(test, view, first + 64 * word + row, run) << row;
            }
            destination[word] = found;
            continue;
        }
        int64_t num_elements = starts[rows_here] - starts[0], num_words = ff_num_words(num_elements);
        for (int64_t at = 0; at < num_words; at++) {
            int64_t num_bits = num_elements - 64 * at < 64 ? num_elements - 64 * at : 64;
            present[at] = child->validity == NULL
                              ? ~UINT64_C(0) >> (64 - num_bits)
                              : ff_load_bits(child->validity, child->offset + starts[0] + 64 * at, num_bits);
        }
        /* Kernels are quickest on whole words; elements of later lists are no candidates. */
        int64_t num_asked = child->length - starts[0] < 64 * num_words ? child->length - starts[0] : 64 * num_words;
        test->element_dense(test, child, starts[0], num_asked, present, passing, run);
        for (int64_t at = 0; test->constant.has_null && at < num_words; at++) {
            int64_t num_bits = num_elements - 64 * at < 64 ? num_elements - 64 * at : 64;
            passing[at] |= ~present[at] & ~UINT64_C(0) >> (64 - num_bits);
        }
        passing[num_words] = passing[num_words + 1] = 0;
        destination[word] = left & lists_with_bits(passing, starts, rows_here);
    }
}
