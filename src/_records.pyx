# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records that are dicts, evaluated where they lie: a program run on one after the other, on registers of one bit.

Only values of the plain types are read here: None, bool, str, float, int of 64 bits, and lists and dicts of these. A
record that has anything else in a field of the program is *odd*, and is given to the Python implementation whole, which
knows more types and all errors; so is one on which anything goes wrong.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp, memset

from generated.opcodes cimport *
from records cimport *

import struct

from fastfilter.values import MISSING

__all__ = ["RecordProgram"]

cdef PyObject *ABSENT = <PyObject *>MISSING

cdef enum:
    NO = 0
    YES = 1
    ODD = 2  # for the Python implementation
    FAILED = -1  # an exception is set

cdef enum:
    MAX_DEPTH = 64  # of a list or dict that is read here
    MAX_REGISTERS = 256
    FEW_REGISTERS = 16
    FEW_FIELDS = 16
    RELEARN = 32  # after so many misses a key's place is learned anew

cdef enum Kind:
    IS_MISSING
    IS_NULL
    IS_FALSE
    IS_TRUE
    IS_INTEGER
    IS_NATURAL  # an int beyond int64
    IS_DOUBLE
    IS_TEXT
    IS_ARRAY
    IS_OBJECT

cdef struct Value:
    Kind kind
    PyObject *object  # what it was read from; NULL: MISSING
    int64_t integer
    uint64_t natural
    double number

cdef struct Int64s:
    int64_t lower
    int64_t upper

cdef struct Uint64s:
    uint64_t lower
    uint64_t upper

cdef struct Doubles:
    double lower
    double upper

cdef struct Instants:
    int64_t lower_seconds
    int64_t lower_nanoseconds
    int64_t upper_seconds
    int64_t upper_nanoseconds

cdef struct Test:  # it owns nothing: RecordProgram.kept does
    int opcode
    int elements
    int field
    bint null
    bint false
    bint true
    bint below
    bint at
    bint above
    bint container  # some string is an array's or object's text
    Py_ssize_t num_strings
    PyObject *strings  # a frozenset of str
    PyObject *text  # the only string, the text to search for, or the bound; NULL: none
    Py_ssize_t num_int64s
    Py_ssize_t num_uint64s
    Py_ssize_t num_doubles
    Py_ssize_t num_instants
    const Int64s *int64s
    const Uint64s *uint64s
    const Doubles *doubles
    const Instants *instants
    PyObject *slow  # the test as a Python function

cdef struct Key:
    PyObject *text
    Py_ssize_t place  # among the pairs of the last dict in which it was looked for: records tend to be alike
    unsigned int num_misses

cdef struct Field:
    bint in_metadata
    int num_keys
    Key *keys

cdef struct Instruction:
    int opcode
    int destination
    int source
    int argument
    const Test *test  # of a test instruction


# -- values ------------------------------------------------------------------------------------------------------------

cdef int read(PyObject *object, Value *value) noexcept:
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
            if read(item, &value) == ODD or (value.kind >= IS_ARRAY and not is_plain(item, depth + 1)):
                return False
    else:
        while PyDict_Next(object, &place, &key, &item):
            if not FF_IS_TEXT(key) or read(item, &value) == ODD:
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


# -- tests: YES, NO or FAILED ------------------------------------------------------------------------------------------

cdef int ask(const Test *test, const Value *value) noexcept:
    """What the Python function says of a value."""
    cdef PyObject *answer = PyObject_CallOneArg(test.slow, value.object if value.object != NULL else ABSENT)
    cdef int truth
    if answer == NULL:
        return FAILED
    truth = PyObject_IsTrue(answer)
    Py_DECREF(answer)
    return truth


cdef bint in_intervals(const Test *test, const Value *value) noexcept:
    """Whether a number lies in some interval: they ascend, so the last one that starts at it or below decides."""
    cdef Py_ssize_t low = 0, high, middle
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
    return value.kind == IS_DOUBLE and in_doubles(test, value.number)


cdef bint in_doubles(const Test *test, double number) noexcept:
    cdef Py_ssize_t low = 0, high = test.num_doubles, middle
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
    if test.num_instants == 0 or not PyUnicode_IS_ASCII(text):
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
        return answer if answer != NO else in_instants(test, value.object)
    if value.kind == IS_TRUE:
        return test.true
    if value.kind == IS_FALSE:
        return test.false
    return in_intervals(test, value)


cdef int some_element_equals(const Test *test, PyObject *array) noexcept:
    cdef Value element
    cdef Py_ssize_t at
    cdef int answer
    for at in range(PyList_GET_SIZE(array)):
        read(PyList_GET_ITEM(array, at), &element)
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
        return ask(test, value)
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
        return answer if answer >= 0 else ask(test, value)
    if value.kind == IS_ARRAY:
        for at in range(PyList_GET_SIZE(value.object)):
            element = PyList_GET_ITEM(value.object, at)
            if not FF_IS_TEXT(element):
                continue
            if not PyUnicode_IS_ASCII(element):
                return ask(test, value)
            if PyUnicode_IS_ASCII(test.text) and PyUnicode_GET_LENGTH(element) == PyUnicode_GET_LENGTH(test.text):
                answer = ff_find_quickly(bytes_of(element), bytes_of(test.text), True)
                if answer != NO:
                    return YES if answer == YES else ask(test, value)
    return NO


cdef int text_equals(const Test *test, const Value *value) noexcept:
    if value.kind == IS_TEXT:
        return in_strings(test, value.object)
    if value.kind == IS_DOUBLE and not is_finite(value.number):
        return ask(test, value)
    if value.kind >= IS_ARRAY:
        return ask(test, value) if test.container else NO
    return equals(test, value)


cdef int text_in_intervals(const Test *test, const Value *value) noexcept:
    if value.kind == IS_INTEGER:
        return in_doubles(test, <double>value.integer)
    if value.kind == IS_NATURAL:
        return in_doubles(test, <double>value.natural)
    if value.kind == IS_TEXT and PyUnicode_IS_ASCII(value.object) and ff_is_plain_number(bytes_of(value.object)):
        return in_doubles(test, ff_parse_double(bytes_of(value.object)))
    return value.kind == IS_DOUBLE and in_doubles(test, value.number)


cdef int json_contains(const Test *test, const Value *value) noexcept:
    """A constant that is a string is looked for here; but a number that is none counts as a string too."""
    cdef Value element
    cdef Py_ssize_t at
    if value.kind == IS_MISSING:
        return NO
    if test.text == NULL:
        return ask(test, value)
    if value.kind == IS_TEXT:
        return same_text(value.object, test.text)
    if value.kind == IS_DOUBLE and not is_finite(value.number):
        return ask(test, value)
    if value.kind == IS_ARRAY:
        for at in range(PyList_GET_SIZE(value.object)):
            read(PyList_GET_ITEM(value.object, at), &element)
            if element.kind == IS_TEXT and same_text(element.object, test.text):
                return YES
            if element.kind == IS_DOUBLE and not is_finite(element.number):
                return ask(test, value)
    return NO


cdef int is_true(const Test *test, const Value *value) noexcept:
    cdef int opcode = test.opcode
    if opcode == FF_OP_EXISTS:
        return value.kind > IS_NULL
    elif opcode == FF_OP_IS_NULL:
        return value.kind == IS_NULL
    elif opcode == FF_OP_EQUALS_ANY:
        if value.kind == IS_ARRAY:
            return some_element_equals(test, value.object) if test.elements != FF_ELEMENTS_NEVER else NO
        return equals(test, value) if test.elements != FF_ELEMENTS_ONLY else NO
    elif opcode == FF_OP_NUMBER_RANGE:
        return in_intervals(test, value)
    elif opcode == FF_OP_STRING_RANGE:
        return in_order(test, value)
    elif opcode == FF_OP_TIMESTAMP_RANGE:
        return value.kind == IS_TEXT and in_instants(test, value.object)
    elif opcode == FF_OP_CONTAINS:
        return contains(test, value)
    elif opcode == FF_OP_CONTAINS_IGNORE_CASE:
        return contains_ignore_case(test, value)
    elif opcode == FF_OP_TEXT_EQUALS_ANY:
        return text_equals(test, value)
    elif opcode == FF_OP_TEXT_NUMBER_RANGE:
        return text_in_intervals(test, value)
    elif opcode == FF_OP_JSON_CONTAINS:
        return json_contains(test, value)
    return ask(test, value)


# -- records -----------------------------------------------------------------------------------------------------------

cdef inline bint is_pair_at(PyObject *mapping, const Key *key, Py_ssize_t *place, PyObject **found) noexcept:
    """Whether the pair at a place, or the next one behind it, has the key; goes on to the place behind it."""
    cdef PyObject *there
    return (PyDict_Next(mapping, place, &there, found)
            and (there == key.text or (FF_IS_TEXT(there) and FF_IS_TEXT(key.text) and same_text(there, key.text))))


cdef inline int look_up(PyObject *mapping, Key *key, PyObject **found) noexcept:
    """The value of a key, owned: a key of another type that is compared may run any code. NULL if it is not there."""
    cdef Py_ssize_t place = key.place
    if is_pair_at(mapping, key, &place, found):
        Py_INCREF(found[0])
        return YES
    found[0] = PyDict_GetItemWithError(mapping, key.text)
    if found[0] == NULL:
        return FAILED if PyErr_Occurred() != NULL else YES
    Py_INCREF(found[0])
    if key.num_misses % RELEARN == 0:
        learn_place(mapping, key)
    key.num_misses += 1
    return YES


cdef void learn_place(PyObject *mapping, Key *key) noexcept:
    cdef Py_ssize_t place = 0
    cdef PyObject *found
    for _ in range(PyDict_Size(mapping)):
        if is_pair_at(mapping, key, &place, &found):
            key.place = place - 1
            return


cdef int follow(PyObject *root, const Field *field, PyObject **found) noexcept:
    """The value at a path, owned; NULL if some parent is no dict."""
    cdef PyObject *parent
    cdef Value read_parent
    cdef int at, answer = YES
    Py_INCREF(root)
    found[0] = root
    for at in range(field.num_keys):
        parent = found[0]
        found[0] = NULL
        if PyDict_CheckExact(parent):
            answer = look_up(parent, &field.keys[at], found)
        else:
            answer = read(parent, &read_parent)
        Py_DECREF(parent)
        if answer != YES or found[0] == NULL:
            return answer
    return answer


@cython.final
@cython.no_gc_clear
cdef class RecordProgram:
    """A program that runs on records. Immutable; threads that hold the interpreter's lock share it.

    Args:
        words: the program's machine words.
        num_registers: how many registers they use.
        metadata: the key of a record under which its metadata are.
        fields: for each field whether it lies in the metadata, and its keys from there or from the record.
        tests: for each test instruction, in order: its strings, its text (None: none), its constant as
            fastfilter.runtime.vm.lowering makes it of JSON values, and the test as a function.
        evaluate: what evaluates odd records: ``evaluate(records, rows)`` gives a list of bools, or raises.

    Raises:
        ValueError: the parts do not fit together.
    """

    cdef tuple kept
    cdef object odd
    cdef Key *keys
    cdef Key *metadata
    cdef Field *fields
    cdef int num_fields
    cdef bint reads_metadata
    cdef Test *tests
    cdef Instruction *instructions
    cdef int num_registers

    def __cinit__(self, bytes words not None, int num_registers, metadata, tuple fields not None, tuple tests not None,
                  evaluate):
        cdef size_t num_keys = 1
        if not 0 < num_registers <= MAX_REGISTERS:
            raise ValueError(f"there are no {num_registers} registers")
        self.kept = (metadata, fields, tests)
        self.odd = evaluate
        self.num_registers = num_registers
        self.fields = <Field *>take(len(fields), sizeof(Field))
        self.tests = <Test *>take(len(tests), sizeof(Test))
        self.instructions = <Instruction *>take(len(words) // 8, sizeof(Instruction))
        self.keys = <Key *>take(1 + sum([len(keys) for _, keys in fields]), sizeof(Key))
        self.metadata = self.keys
        self.metadata.text = <PyObject *>metadata
        for in_metadata, keys in fields:
            if not in_metadata and len(keys) != 1:
                raise ValueError("a field of a record has one key")
            self.reads_metadata |= <bint>in_metadata
            self.fields[self.num_fields].in_metadata = in_metadata
            self.fields[self.num_fields].num_keys = len(keys)
            self.fields[self.num_fields].keys = self.keys + num_keys
            self.num_fields += 1
            for key in keys:
                self.keys[num_keys].text = <PyObject *>key
                num_keys += 1
        self.bind_words(words, tests)

    def __dealloc__(self):
        PyMem_Free(self.keys)
        PyMem_Free(self.fields)
        PyMem_Free(self.tests)
        PyMem_Free(self.instructions)

    cdef int bind_words(self, bytes words, tuple tests) except -1:
        """Reads the words, and refuses those that would leave the registers, the fields or the program."""
        cdef Instruction *own
        cdef int number = 0, num_tests = 0, num_words = <int>(len(words) // 8)
        for opcode, destination, source, mode, field, argument in struct.iter_unpack("<BBBBHH", words):
            own = &self.instructions[number]
            own.opcode, own.destination, own.source, own.argument = opcode, destination, source, argument
            if destination >= self.num_registers or source >= self.num_registers:
                raise ValueError(f"instruction {number} names a register beyond {self.num_registers}")
            if opcode == FF_OP_JUMP_IF_NONE and not number < argument < num_words:
                raise ValueError(f"instruction {number} jumps out of the program or back")
            if opcode >= FF_OP_EXISTS:
                if field >= self.num_fields or num_tests >= len(tests):
                    raise ValueError(f"instruction {number} names a field beyond {self.num_fields}, or has no test")
                strings, text, lowered, slow = tests[num_tests]
                bind_test(&self.tests[num_tests], opcode, mode, field, strings, text, lowered, slow)
                own.test = &self.tests[num_tests]
                num_tests += 1
            number += 1
        if num_words == 0 or self.instructions[num_words - 1].opcode != FF_OP_RETURN:
            raise ValueError("the program does not end with RETURN")
        return 0

    def matches(self, record):
        """Whether a record matches; raises what ``evaluate`` does."""
        cdef int answer = self.judge(<PyObject *>record)
        return self.odd([record], (0,))[0] if answer == ODD else answer == YES

    def select(self, records):
        """Those of the records that match, in order; raises what ``evaluate`` does."""
        cdef list given = list(records)
        cdef list selected = []
        cdef list odd_rows = []
        cdef Py_ssize_t row, num_records = len(given)
        cdef uint8_t *verdicts = <uint8_t *>take(num_records, 1)
        try:
            for row in range(num_records):
                verdicts[row] = self.judge(PyList_GET_ITEM(<PyObject *>given, row))
                if verdicts[row] == ODD:
                    odd_rows.append(row)
            if odd_rows:
                answers = self.odd([given[row] for row in odd_rows], odd_rows)
                for row, answer in zip(odd_rows, answers, strict=True):
                    verdicts[row] = bool(answer)
            for row in range(num_records):
                if verdicts[row] == YES:
                    selected.append(given[row])
        finally:
            PyMem_Free(verdicts)
        return selected

    cdef int judge(self, PyObject *record) except -1:
        """YES, NO or ODD. An error makes a record odd, so that it is raised in its turn, as Python raises it."""
        cdef Value few[FEW_FIELDS]
        cdef Value *values = few
        cdef int num_read = 0, answer
        if not PyDict_CheckExact(record):
            return ODD
        if self.num_fields > FEW_FIELDS:
            values = <Value *>take(self.num_fields, sizeof(Value))
        answer = self.read_fields(record, values, &num_read)
        if answer == YES:
            answer = self.run(values)
        if answer == FAILED and PyErr_ExceptionMatches(PyExc_Exception):
            PyErr_Clear()
            answer = ODD
        while num_read > 0:
            num_read -= 1
            Py_XDECREF(values[num_read].object)
        if values != few:
            PyMem_Free(values)
        return answer

    cdef int read_fields(self, PyObject *record, Value *values, int *num_read) noexcept:
        """All fields, since an unreadable value is an error whatever the other conditions: YES, ODD or FAILED."""
        cdef PyObject *root = NULL
        cdef PyObject *found
        cdef Field *field
        cdef int at, answer = YES
        if self.reads_metadata:
            if look_up(record, self.metadata, &root) == FAILED:
                return FAILED
            if root == NULL:
                root = Py_None
                Py_INCREF(root)
            elif root != Py_None and not PyDict_CheckExact(root):
                Py_DECREF(root)
                return ODD
        for at in range(self.num_fields):
            field = &self.fields[at]
            if field.in_metadata:
                answer = follow(root, field, &found)
            else:
                answer = look_up(record, field.keys, &found)
            values[at].kind = IS_MISSING
            values[at].object = found
            num_read[0] += 1
            if answer == YES and found != NULL:
                answer = read(found, &values[at])
                if answer == YES and values[at].kind >= IS_ARRAY and not is_plain(found, 1):
                    answer = ODD
            if answer != YES:
                break
        Py_XDECREF(root)
        return answer

    cdef int run(self, const Value *values) noexcept:
        cdef uint8_t registers[MAX_REGISTERS]
        cdef const Instruction *instruction = self.instructions
        cdef int opcode, answer
        memset(registers, 0, FEW_REGISTERS)  # of a size that is known, so no call is made
        if self.num_registers > FEW_REGISTERS:
            memset(registers, 0, self.num_registers)
        registers[0] = 1
        while True:
            opcode = instruction.opcode
            if opcode >= FF_OP_EXISTS:
                answer = registers[instruction.source]
                if answer:
                    answer = is_true(instruction.test, &values[instruction.test.field])
                    if answer == FAILED:
                        return FAILED
                registers[instruction.destination] = answer
            elif opcode == FF_OP_JUMP_IF_NONE:
                if not registers[instruction.source]:
                    instruction = self.instructions + instruction.argument
                    continue
            elif opcode == FF_OP_RETURN:
                return registers[instruction.source]
            elif opcode == FF_OP_MOVE:
                registers[instruction.destination] = registers[instruction.source]
            elif opcode == FF_OP_CLEAR:
                registers[instruction.destination] = 0
            elif opcode == FF_OP_OR:
                registers[instruction.destination] |= registers[instruction.source]
            elif opcode == FF_OP_AND_NOT:
                registers[instruction.destination] &= not registers[instruction.source]
            instruction += 1


cdef void *take(size_t count, size_t size) except NULL:
    cdef void *memory = PyMem_Calloc(count + 1, size)
    if memory == NULL:
        raise MemoryError
    return memory


cdef int bind_test(Test *own, int opcode, int elements, int field, frozenset strings, str text, lowered,
                   slow) except -1:
    """All parts are kept by the caller."""
    cdef bytes part
    own.opcode, own.elements, own.field = opcode, elements, field
    own.null, own.false, own.true = lowered.null, lowered.false, lowered.true
    own.below, own.at, own.above = lowered.sides
    own.container = any([string[:1] in ("[", "{") for string in strings])
    own.num_strings = len(strings)
    own.strings = <PyObject *>strings
    own.text = <PyObject *>text if text is not None else NULL
    own.slow = <PyObject *>slow
    part = lowered.int64s
    own.int64s, own.num_int64s = <const Int64s *>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part) // sizeof(Int64s)
    part = lowered.uint64s
    own.uint64s, own.num_uint64s = <const Uint64s *>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part) // sizeof(Uint64s)
    part = lowered.doubles
    own.doubles, own.num_doubles = <const Doubles *>PyBytes_AS_STRING(part), PyBytes_GET_SIZE(part) // sizeof(Doubles)
    part = lowered.instants
    own.instants = <const Instants *>PyBytes_AS_STRING(part)
    own.num_instants = PyBytes_GET_SIZE(part) // sizeof(Instants)
    searches = opcode in (FF_OP_STRING_RANGE, FF_OP_CONTAINS, FF_OP_CONTAINS_IGNORE_CASE)
    if text is None and (searches or len(strings) == 1):
        raise ValueError("a test has no text")
    return 0
