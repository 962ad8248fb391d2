"""What the tests of a program say of plain Python values; a part of _records.pyx, which declares the types."""

# -- values ------------------------------------------------------------------------------------------------------------

cdef inline int read(PyObject *object, Value *value) noexcept:
    """Reads a value of a plain type; lists and dicts are not looked into. YES, or ODD."""
    cdef int overflow = 0
    value.object = object
    if FF_IS_TEXT(object):
        value.kind = IS_TEXT
    elif PyFloat_CheckExact(object):
        value.kind = IS_DOUBLE
        value.number = PyFloat_AS_DOUBLE(object)
    elif PyLong_CheckExact(object):
        value.kind = IS_INTEGER
        value.integer = PyLong_AsLongLongAndOverflow(object, &overflow)
        if overflow > 0:
            value.kind = IS_NATURAL
            value.natural = PyLong_AsUnsignedLongLong(object)
            if value.natural == <uint64_t>-1 and PyErr_Occurred() != NULL:
                PyErr_Clear()
                return ODD
        elif overflow < 0:
            return ODD
    elif object == Py_None:
        value.kind = IS_NULL
    elif object == Py_True:
        value.kind = IS_TRUE
    elif object == Py_False:
        value.kind = IS_FALSE
    elif PyList_CheckExact(object):
        value.kind = IS_ARRAY
    elif PyDict_CheckExact(object):
        value.kind = IS_OBJECT
    elif object == ABSENT:
        value.kind = IS_MISSING
    else:
        value.kind = IS_OBJECT
        return ODD
    return YES


cdef bint is_plain(PyObject *object, int depth) noexcept:
    """Whether all that is in a list or dict is of a plain type. Runs no Python code, so nothing changes meanwhile."""
    cdef Value value
    cdef PyObject *key
    cdef PyObject *item
    cdef Py_ssize_t place = 0
    if depth > MAX_DEPTH:
        return False
    if PyList_CheckExact(object):
        for place in range(PyList_GET_SIZE(object)):
            item = PyList_GET_ITEM(object, place)
            if read(item, &value) == ODD or value.kind == IS_MISSING:
                return False
            if value.kind >= IS_ARRAY and not is_plain(item, depth + 1):
                return False
    else:
        while PyDict_Next(object, &place, &key, &item):
            if not FF_IS_TEXT(key) or read(item, &value) == ODD or value.kind == IS_MISSING:
                return False
            if value.kind >= IS_ARRAY and not is_plain(item, depth + 1):
                return False
    return True


cdef inline bint is_finite(double number) noexcept:
    return number - number == 0


cdef inline ff_bytes bytes_of(PyObject *text) noexcept:
    """The characters of a text that has one byte for each."""
    cdef ff_bytes characters
    characters.data = <const uint8_t *>PyUnicode_DATA(text)
    characters.length = PyUnicode_GET_LENGTH(text)
    return characters


cdef inline bint same_text(PyObject *left, PyObject *right) noexcept:
    cdef Py_ssize_t length
    cdef int width
    if left == right:
        return True
    length, width = PyUnicode_GET_LENGTH(left), PyUnicode_KIND(left)
    if length != PyUnicode_GET_LENGTH(right) or width != PyUnicode_KIND(right):
        return False
    return ff_same_bytes(PyUnicode_DATA(left), PyUnicode_DATA(right), length * width)


# -- tests: YES, NO or ASK; none runs Python code ----------------------------------------------------------------------

cdef int in_intervals(const Test *test, const Value *value) noexcept:
    """Whether a number lies in some interval: they ascend, so the last one that starts at it or below decides."""
    cdef Py_ssize_t low = 0, high, middle
    if value.kind == IS_DOUBLE:
        return in_doubles(test, value.number)
    if value.kind == IS_INTEGER:
        high = test.num_int64s
        while low < high:
            middle = (low + high) >> 1
            if test.int64s[middle].lower <= value.integer:
                low = middle + 1
            else:
                high = middle
        return low > 0 and value.integer <= test.int64s[low - 1].upper
    if value.kind == IS_NATURAL:
        high = test.num_uint64s
        while low < high:
            middle = (low + high) >> 1
            if test.uint64s[middle].lower <= value.natural:
                low = middle + 1
            else:
                high = middle
        return low > 0 and value.natural <= test.uint64s[low - 1].upper
    return NO


cdef bint in_doubles(const Test *test, double number) noexcept:
    cdef Py_ssize_t low = 0, high = test.num_doubles, middle
    if high == 1:
        return test.doubles[0].lower <= number and number <= test.doubles[0].upper
    while low < high:
        middle = (low + high) >> 1
        if test.doubles[middle].lower <= number:
            low = middle + 1
        else:
            high = middle
    return low > 0 and number <= test.doubles[low - 1].upper


cdef bint in_instants(const Test *test, PyObject *text) noexcept:
    """Whether a text is the timestamp of an instant in one of the intervals."""
    cdef int64_t seconds
    cdef int32_t nanoseconds
    cdef Py_ssize_t at
    cdef const Instants *interval
    if not PyUnicode_IS_ASCII(text):
        return False
    if not ff_parse_timestamp(bytes_of(text), &seconds, &nanoseconds):
        return False
    for at in range(test.num_instants):
        interval = &test.instants[at]
        if (seconds > interval.lower_seconds
                or (seconds == interval.lower_seconds and nanoseconds >= interval.lower_nanoseconds)):
            if (seconds < interval.upper_seconds
                    or (seconds == interval.upper_seconds and nanoseconds <= interval.upper_nanoseconds)):
                return True
    return False


cdef inline int in_strings(const Test *test, PyObject *text) noexcept:
    if test.num_strings == 1:
        return same_text(text, test.text)
    return PySet_Contains(test.strings, text) if test.num_strings > 0 else NO


cdef int equals(const Test *test, const Value *value) noexcept:
    cdef int answer
    if value.kind == IS_TEXT:
        answer = in_strings(test, value.object)
        return answer if answer != NO or test.num_instants == 0 else in_instants(test, value.object)
    if value.kind == IS_TRUE:
        return test.true
    if value.kind == IS_FALSE:
        return test.false
    return in_intervals(test, value)


cdef int equals_or_holds(const Test *test, const Value *value) noexcept:
    """Under the elements modes ALSO and ONLY."""
    cdef Value element
    cdef Py_ssize_t at
    cdef int answer
    if value.kind != IS_ARRAY:
        return equals(test, value) if test.elements == FF_ELEMENTS_ALSO else NO
    for at in range(PyList_GET_SIZE(value.object)):
        read(PyList_GET_ITEM(value.object, at), &element)
        answer = test.null if element.kind == IS_NULL else equals(test, &element)
        if answer != NO:
            return answer
    return NO


cdef int in_order(const Test *test, const Value *value) noexcept:
    """Single bytes are code units of UTF-16 too; wider characters are left to Python."""
    cdef ff_bytes text, bound
    cdef int order
    if value.kind != IS_TEXT:
        return NO
    if PyUnicode_KIND(value.object) != 1 or PyUnicode_KIND(test.text) != 1:
        return ASK
    text, bound = bytes_of(value.object), bytes_of(test.text)
    order = memcmp(text.data, bound.data, min(text.length, bound.length))
    if order == 0:
        order = (text.length > bound.length) - (text.length < bound.length)
    return test.below if order < 0 else test.above if order > 0 else test.at


cdef int contains(const Test *test, const Value *value) noexcept:
    cdef PyObject *element
    cdef Py_ssize_t at
    cdef int answer
    if value.kind == IS_TEXT:
        if PyUnicode_KIND(value.object) == 1:
            if PyUnicode_KIND(test.text) != 1:
                return NO
            answer = ff_find_quickly(bytes_of(value.object), bytes_of(test.text), False)
            if answer >= 0:
                return answer
        return PyUnicode_Contains(value.object, test.text)
    if value.kind == IS_ARRAY:
        for at in range(PyList_GET_SIZE(value.object)):
            element = PyList_GET_ITEM(value.object, at)
            if FF_IS_TEXT(element) and same_text(element, test.text):
                return YES
    return NO


cdef int contains_ignore_case(const Test *test, const Value *value) noexcept:
    """The lower case of ASCII is ASCII; other texts are left to Python."""
    cdef PyObject *element
    cdef Py_ssize_t at
    cdef int answer
    if value.kind == IS_TEXT:
        answer = FAILED
        if PyUnicode_IS_ASCII(value.object):
            if not PyUnicode_IS_ASCII(test.text):
                return NO
            answer = ff_find_quickly(bytes_of(value.object), bytes_of(test.text), True)
        return answer if answer >= 0 else ASK
    if value.kind == IS_ARRAY:
        for at in range(PyList_GET_SIZE(value.object)):
            element = PyList_GET_ITEM(value.object, at)
            if not FF_IS_TEXT(element):
                continue
            if not PyUnicode_IS_ASCII(element):
                return ASK
            if PyUnicode_IS_ASCII(test.text) and PyUnicode_GET_LENGTH(element) == PyUnicode_GET_LENGTH(test.text):
                answer = ff_find_quickly(bytes_of(element), bytes_of(test.text), True)
                if answer != NO:
                    return YES if answer == YES else ASK
    return NO


cdef int text_equals(const Test *test, const Value *value) noexcept:
    if value.kind == IS_TEXT:
        return in_strings(test, value.object)
    if value.kind == IS_DOUBLE and not is_finite(value.number):
        return ASK
    if value.kind >= IS_ARRAY:
        return ASK if test.container else NO
    return equals(test, value)


cdef int text_in_intervals(const Test *test, const Value *value) noexcept:
    if value.kind == IS_INTEGER:
        return in_doubles(test, <double>value.integer)
    if value.kind == IS_NATURAL:
        return in_doubles(test, <double>value.natural)
    if value.kind == IS_TEXT and PyUnicode_IS_ASCII(value.object) and ff_is_plain_number(bytes_of(value.object)):
        return in_doubles(test, ff_parse_double(bytes_of(value.object)))
    return value.kind == IS_DOUBLE and in_doubles(test, value.number)


cdef int same_scalar(const Value *value, const Pattern *pattern) noexcept:
    """Whether a value equals a scalar of JSON. A number that is none counts as a string, a large double as its digits
    say; both are left to Python.
    """
    if value.kind == IS_DOUBLE:
        if pattern.kind == IS_TEXT:
            return NO if is_finite(value.number) else ASK
        if pattern.kind < IS_INTEGER or pattern.kind > IS_DOUBLE:
            return NO
        if not is_finite(value.number):
            return NO
        if not -MAX_EXACT < value.number < MAX_EXACT:
            return ASK
        if pattern.kind == IS_INTEGER:
            return value.number == <double>pattern.integer
        return pattern.kind == IS_DOUBLE and value.number == pattern.number
    if value.kind != pattern.kind:
        return NO
    if value.kind == IS_TEXT:
        return same_text(value.object, pattern.text)
    if value.kind == IS_INTEGER:
        return value.integer == pattern.integer
    return value.kind != IS_NATURAL or value.natural == pattern.natural


cdef int some_element_contains(PyObject *array, const Pattern *pattern) noexcept:
    cdef Value element
    cdef Py_ssize_t at
    cdef int answer, doubt = NO
    for at in range(PyList_GET_SIZE(array)):
        read(PyList_GET_ITEM(array, at), &element)
        answer = value_contains(&element, pattern)
        if answer == YES:
            return YES
        doubt |= answer
    return doubt


cdef int value_contains(const Value *value, const Pattern *pattern) noexcept:
    """As deep as both nest, and a value that is read here does not nest deep."""
    cdef Value member
    cdef PyObject *found
    cdef Py_ssize_t at
    cdef int answer, doubt = NO
    if pattern.kind < IS_ARRAY:
        return same_scalar(value, pattern)
    if value.kind != pattern.kind:
        return NO
    for at in range(pattern.num_children):
        if pattern.kind == IS_ARRAY:
            answer = some_element_contains(value.object, &pattern.children[at])
        else:  # all keys are plain strings, so no comparison runs code
            found = PyDict_GetItemWithError(value.object, pattern.children[at].key)
            if found == NULL:
                return NO
            read(found, &member)
            answer = value_contains(&member, &pattern.children[at])
        if answer == NO:
            return NO
        doubt |= answer
    return ASK if doubt == ASK else YES


cdef int json_contains(const Test *test, const Value *value) noexcept:
    if value.kind == IS_ARRAY and test.pattern.kind < IS_ARRAY:
        return some_element_contains(value.object, test.pattern)
    return value_contains(value, test.pattern)


cdef int exists(const Test *test, const Value *value) noexcept:
    return value.kind > IS_NULL


cdef int is_null(const Test *test, const Value *value) noexcept:
    return value.kind == IS_NULL


cdef int is_instant(const Test *test, const Value *value) noexcept:
    return value.kind == IS_TEXT and in_instants(test, value.object)


cdef Check check_of(int opcode, int elements) noexcept:
    """The test of an opcode; NULL if it is unknown here."""
    if opcode == FF_OP_EXISTS:
        return exists
    elif opcode == FF_OP_IS_NULL:
        return is_null
    elif opcode == FF_OP_EQUALS_ANY:
        return equals if elements == FF_ELEMENTS_NEVER else equals_or_holds
    elif opcode == FF_OP_NUMBER_RANGE:
        return in_intervals
    elif opcode == FF_OP_STRING_RANGE:
        return in_order
    elif opcode == FF_OP_TIMESTAMP_RANGE:
        return is_instant
    elif opcode == FF_OP_CONTAINS:
        return contains
    elif opcode == FF_OP_CONTAINS_IGNORE_CASE:
        return contains_ignore_case
    elif opcode == FF_OP_TEXT_EQUALS_ANY:
        return text_equals
    elif opcode == FF_OP_TEXT_NUMBER_RANGE:
        return text_in_intervals
    elif opcode == FF_OP_JSON_CONTAINS:
        return json_contains
    return NULL
