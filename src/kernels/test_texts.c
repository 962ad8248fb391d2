/* Strings, and the texts of other values, against strings. */
#include <string.h>

#include "fastfilter/tests.h"
#include "fastfilter/text.h"

bool ff_equal_bytes(ff_bytes left, ff_bytes right) {
    return left.length == right.length && memcmp(left.data, right.data, (size_t)left.length) == 0;
}

bool ff_in_strings(const ff_constant *constant, ff_bytes text) {
    int32_t low = 0, high = constant->num_strings;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        ff_bytes at = constant->strings[middle];
        int order = at.length != text.length ? (at.length < text.length ? -1 : 1)
                                             : memcmp(at.data, text.data, (size_t)text.length);
        if (order == 0) {
            return true;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return false;
}

bool ff_in_instants(const ff_constant *constant, ff_bytes text) {
    int64_t seconds;
    int32_t nanoseconds;
    if (constant->num_instants == 0 || !ff_parse_timestamp(text, &seconds, &nanoseconds)) {
        return false;
    }
    for (int32_t at = 0; at < constant->num_instants; at++) {
        const ff_instant_interval *interval = &constant->instants[at];
        bool from = seconds > interval->lower_seconds ||
                    (seconds == interval->lower_seconds && nanoseconds >= interval->lower_nanoseconds);
        bool to = seconds < interval->upper_seconds ||
                  (seconds == interval->upper_seconds && nanoseconds <= interval->upper_nanoseconds);
        if (from && to) {
            return true;
        }
    }
    return false;
}

bool ff_within_bound(const ff_constant *constant, ff_bytes text) {
    int order = ff_compare_utf16(text, constant->text);
    return order < 0 ? constant->below : order == 0 ? constant->at : constant->above;
}

ff_bytes ff_lowered(ff_bytes text, ff_run *run) {
    run->other.length = 0;
    if (!ff_lower(text, &run->other)) {
        ff_fault_memory(&run->fault);
        ff_bytes none = {NULL, 0};
        return none;
    }
    return ff_buffer_bytes(&run->other);
}

static ff_bytes string_at(const ff_view *view, int64_t index, ff_run *run) {
    return ff_string_at(view, index, run->uuid, &run->fault);
}

bool ff_equals_bool(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    (void)run;
    return ff_bit(view->values, view->offset + index) ? test->constant.has_true : test->constant.has_false;
}

void ff_equals_bool_dense(const ff_test *test, const ff_view *view, int64_t first, int64_t num_rows,
                          const uint64_t *candidates, uint64_t *destination, ff_run *run) {
    (void)run;
    const ff_constant *constant = &test->constant;
    size_t size = 8 * (size_t)ff_num_words(num_rows);
    if (!constant->has_true && !constant->has_false) {
        memset(destination, 0, size);
        return;
    }
    memmove(destination, candidates, size);
    if (!constant->has_true || !constant->has_false) {
        ff_keep_bits(destination, view->values, view->offset + first, num_rows, constant->has_true);
    }
}

bool ff_equals_string(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    ff_bytes text = string_at(view, index, run);
    return ff_in_strings(&test->constant, text) || ff_in_instants(&test->constant, text);
}

bool ff_string_instant(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_in_instants(&test->constant, string_at(view, index, run));
}

bool ff_string_bound(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_within_bound(&test->constant, string_at(view, index, run));
}

bool ff_string_contains(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_find(string_at(view, index, run), test->constant.text);
}

bool ff_string_contains_ignore_case(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_find(ff_lowered(string_at(view, index, run), run), test->constant.text);
}

bool ff_string_equals_ignore_case(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    return ff_equal_bytes(ff_lowered(string_at(view, index, run), run), test->constant.text);
}

bool ff_text_equals(const ff_test *test, const ff_view *view, int64_t index, ff_run *run) {
    if (ff_type_is_string(view->type)) {
        return ff_in_strings(&test->constant, string_at(view, index, run));
    }
    run->text.length = 0;
    return ff_render_text(view, index, &run->text, &run->fault) &&
           ff_in_strings(&test->constant, ff_buffer_bytes(&run->text));
}
