# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
"""Records that are dicts, evaluated where they lie, one after the other.

A program comes as its steps (fastfilter.runtime.steps): tests, each with the step to go on with if it is true, and if
it is false.

Only values of the plain types are read here: None, bool, str, float, int of 64 bits, and lists and dicts of these. A
record that has anything else in a field of the program is *odd*, and is given to the Python implementation whole, which
knows more types and all errors; so is one on which anything goes wrong.

References are borrowed as long as no Python code can run: while keys are found by going through a dict, and in all
tests. Before anything else is called, :class:`Reading` is made to own what it has read.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.mem cimport PyMem_Calloc, PyMem_Free
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.string cimport memcmp

from generated.opcodes cimport *
from records cimport *

from fastfilter.runtime import steps as kinds_of_steps
from fastfilter.values import MISSING

__all__ = ["RecordProgram"]

cdef PyObject *ABSENT = <PyObject *>MISSING
cdef int MATCHES = kinds_of_steps.MATCHES
cdef int DIFFERS = kinds_of_steps.DIFFERS

cdef enum:
    NO = 0
    YES = 1
    ODD = 2  # for the Python implementation
    ASK = 3  # of a test: for its Python function
    FAILED = -1  # an exception is set

cdef double MAX_EXACT = 2.0**53  # from here on doubles skip whole numbers

cdef enum:
    MAX_DEPTH = 64  # of a list or dict that is read here
    FEW_FIELDS = 16
    RELEARN = 64  # after so many searches a key's place is learned anew
    DISTRUST = 32  # from here on its place is not tried

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

cdef struct Pattern:  # a JSON value to be contained
    Kind kind
    PyObject *key  # under which it stands in its object
    PyObject *text
    int64_t integer
    uint64_t natural
    double number  # of those that are no whole number of 64 bits
    const Pattern *children
    Py_ssize_t num_children

ctypedef int (*Check)(const Test *test, const Value *value) noexcept

cdef struct Test:  # it owns nothing: RecordProgram.kept does
    Check check  # YES, NO or ASK
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
    const Pattern *pattern
    PyObject *slow  # the test as a Python function

cdef struct Key:
    PyObject *text
    PyObject *alias  # the same text as it is in the dicts, owned, so that most comparisons end with the first; or NULL
    Py_ssize_t place  # among the pairs of the last dict in which it was learned: records tend to be alike
    unsigned int num_searches
    unsigned int num_adoptions
    unsigned int distrust  # of the place: a miss adds 2, a hit takes 1

cdef struct Field:
    bint in_metadata
    int num_keys
    Key *keys

cdef struct Step:
    const Test *test
    int if_true  # the step to go on with, MATCHES or DIFFERS
    int if_false

cdef struct Reading:  # of one record
    bint owns  # the references below, and all that are found from now on
    bint has_containers  # some value is a list or dict
    PyObject *root
    Value *values
    int num_values


include "record_tests.pxi"


# -- records -----------------------------------------------------------------------------------------------------------

cdef void own(Reading *reading) noexcept:
    """From now on what was read outlives any Python code."""
    cdef int at
    if not reading.owns:
        reading.owns = True
        Py_XINCREF(reading.root)
        for at in range(reading.num_values):
            Py_XINCREF(reading.values[at].object)


cdef void disown(Reading *reading) noexcept:
    cdef int at
    Py_XDECREF(reading.root)
    for at in range(reading.num_values):
        Py_XDECREF(reading.values[at].object)


cdef bint is_other_object(PyObject *there, Key *key) noexcept:
    """Whether a key of a dict has the text of a key, but is another object."""
    if not FF_IS_TEXT(there) or not same_text(there, key.text):
        return False
    if key.num_adoptions % RELEARN == 0:
        Py_INCREF(there)
        Py_XDECREF(key.alias)
        key.alias = there
    key.num_adoptions += 1
    return True


cdef inline bint is_pair_at(PyObject *mapping, Key *key, Py_ssize_t *place, PyObject **found) noexcept:
    """Whether the pair at a place, or the next one behind it, has the key; goes on to the place behind it."""
    cdef PyObject *there
    if not PyDict_Next(mapping, place, &there, found):
        return False
    return likely(there == key.text or there == key.alias) or is_other_object(there, key)


cdef inline int look_up(PyObject *mapping, Key *key, Reading *reading, PyObject **found) noexcept:
    """The value of a key, owned if the reading owns; NULL if it is not there. YES or FAILED."""
    cdef Py_ssize_t place = key.place
    if likely(key.distrust < DISTRUST):
        if likely(is_pair_at(mapping, key, &place, found)):
            key.distrust -= key.distrust > 0
            if unlikely(reading.owns):
                Py_INCREF(found[0])
            return YES
        key.distrust += 2
    return search(mapping, key, reading, found)


cdef int search(PyObject *mapping, Key *key, Reading *reading, PyObject **found) noexcept:
    """The same by the dict's own means: a key of another type that is compared may run any code."""
    cdef int answer = YES
    own(reading)
    Py_INCREF(mapping)
    found[0] = PyDict_GetItemWithError(mapping, key.text if key.alias == NULL else key.alias)
    if found[0] != NULL:
        Py_INCREF(found[0])
        if key.num_searches % RELEARN == 0:
            learn_place(mapping, key)
        key.num_searches += 1
    elif PyErr_Occurred() != NULL:
        answer = FAILED
    Py_DECREF(mapping)
    return answer


cdef void learn_place(PyObject *mapping, Key *key) noexcept:
    cdef Py_ssize_t place = 0
    cdef PyObject *found
    for _ in range(PyDict_Size(mapping)):
        if is_pair_at(mapping, key, &place, &found):
            key.place = place - 1
            key.distrust = min(key.distrust, <unsigned int>(DISTRUST / 2))
            return


cdef int follow(PyObject *parent, const Field *field, Reading *reading, PyObject **found) noexcept:
    """The value at a path, owned if the reading owns; NULL if some parent is no dict. YES, ODD or FAILED."""
    cdef Value read_parent
    cdef bint owned = False  # the parent, by this function
    cdef int at, answer = YES
    for at in range(field.num_keys):
        found[0] = NULL
        if PyDict_CheckExact(parent):
            answer = look_up(parent, &field.keys[at], reading, found)
        else:
            answer = read(parent, &read_parent)
        if owned:
            Py_DECREF(parent)
        if answer != YES or found[0] == NULL:
            return answer
        owned = reading.owns
        parent = found[0]
    return answer


cdef inline bint are_plain(const Reading *reading) noexcept:
    """Whether the lists and dicts read are plain; any code that has run since may have changed them."""
    return likely(not reading.has_containers) or containers_are_plain(reading)


cdef bint containers_are_plain(const Reading *reading) noexcept:
    cdef int at
    for at in range(reading.num_values):
        if reading.values[at].kind >= IS_ARRAY and not is_plain(reading.values[at].object, 1):
            return False
    return True


@cython.final
@cython.no_gc_clear
cdef class RecordProgram:
    """A program that runs on records. Immutable; threads that hold the interpreter's lock share it.

    Args:
        first: the number of the step with which the program begins, MATCHES or DIFFERS.
        steps: for each step the number of its test and of the steps it leads to, which are later ones or the answer.
        metadata: the key of a record under which its metadata are.
        fields: for each field whether it lies in the metadata, and its keys from there or from the record.
        tests: as fastfilter.runtime.records describes them.
        evaluate: what evaluates odd records: ``evaluate(records, rows)`` gives a list of bools, or raises.

    Raises:
        ValueError: the parts do not fit together.
    """

    cdef tuple kept
    cdef object odd
    cdef Key *keys
    cdef Py_ssize_t num_keys
    cdef Key *metadata
    cdef Field *fields
    cdef int num_fields
    cdef bint reads_metadata
    cdef Test *tests
    cdef list patterns  # memory of Pattern, a block for each test that has one
    cdef Step *steps
    cdef int first

    def __cinit__(self, int first, tuple steps not None, metadata, tuple fields not None, tuple tests not None,
                  evaluate):
        self.kept = (metadata, fields, tests)
        self.odd = evaluate
        self.patterns = []
        self.fields = <Field *>take(len(fields), sizeof(Field))
        self.tests = <Test *>take(len(tests), sizeof(Test))
        self.keys = <Key *>take(1 + sum([len(keys) for _, keys in fields]), sizeof(Key))
        self.metadata = self.keys
        self.metadata.text = <PyObject *>metadata
        self.num_keys = 1
        for in_metadata, keys in fields:
            if len(keys) == 0 or (len(keys) != 1 and not in_metadata):
                raise ValueError("a field of a record has one key, one in the metadata at least one")
            self.reads_metadata |= <bint>in_metadata
            self.fields[self.num_fields].in_metadata = in_metadata
            self.fields[self.num_fields].num_keys = len(keys)
            self.fields[self.num_fields].keys = self.keys + self.num_keys
            self.num_fields += 1
            for key in keys:
                self.keys[self.num_keys].text = <PyObject *>key
                self.num_keys += 1
        if {type(metadata), *[type(key) for _, keys in fields for key in keys]} != {str}:
            raise TypeError("a key is no plain str")
        for number, (opcode, elements, field, strings, text, json, lowered, slow) in enumerate(tests):
            self.bind_test(&self.tests[<Py_ssize_t>number], opcode, elements, field, strings, text, json, lowered, slow)
        self.first = first
        self.bind_steps(steps, len(tests))

    def __dealloc__(self):
        for at in range(self.num_keys):
            Py_XDECREF(self.keys[at].alias)
        PyMem_Free(self.keys)
        PyMem_Free(self.fields)
        PyMem_Free(self.tests)
        PyMem_Free(self.steps)

    cdef int bind_test(self, Test *own, int opcode, int elements, int field, frozenset strings, str text, tuple json,
                       lowered, slow) except -1:
        """All parts are kept by the caller."""
        cdef bytes part
        if not 0 <= field < self.num_fields:
            raise ValueError(f"a test names field {field} of {self.num_fields}")
        own.check = check_of(opcode, elements)
        own.elements, own.field = elements, field
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
        own.uint64s = <const Uint64s *>PyBytes_AS_STRING(part)
        own.num_uint64s = PyBytes_GET_SIZE(part) // sizeof(Uint64s)
        part = lowered.doubles
        own.doubles = <const Doubles *>PyBytes_AS_STRING(part)
        own.num_doubles = PyBytes_GET_SIZE(part) // sizeof(Doubles)
        part = lowered.instants
        own.instants = <const Instants *>PyBytes_AS_STRING(part)
        own.num_instants = PyBytes_GET_SIZE(part) // sizeof(Instants)
        searches = opcode in (FF_OP_STRING_RANGE, FF_OP_CONTAINS, FF_OP_CONTAINS_IGNORE_CASE)
        if own.check == NULL:
            raise ValueError(f"there is no test {opcode}")
        if text is None and (searches or len(strings) == 1):
            raise ValueError("a test has no text")
        if (opcode == FF_OP_JSON_CONTAINS) != (len(json) == 1):
            raise ValueError("a test has no JSON value, or one too many")
        if json:
            block = patterns_of(json[0])
            self.patterns.append(block)
            own.pattern = <const Pattern *>PyBytes_AS_STRING(block)
        return 0

    cdef int bind_steps(self, tuple steps, int num_tests) except -1:
        """Refuses steps that would leave the tests or the steps, or run in a circle."""
        cdef int number, test, if_true, if_false, num_steps = <int>len(steps)
        if self.first not in (MATCHES, DIFFERS) and not 0 <= self.first < num_steps:
            raise ValueError(f"there is no step {self.first}")
        self.steps = <Step *>take(num_steps, sizeof(Step))
        for number in range(num_steps):
            test, if_true, if_false = steps[number]
            if not 0 <= test < num_tests:
                raise ValueError(f"step {number} is test {test} of {num_tests}")
            for way in (if_true, if_false):
                if way not in (MATCHES, DIFFERS) and not number < way < num_steps:
                    raise ValueError(f"step {number} leads back or to none: {way}")
            self.steps[number].test = &self.tests[test]
            self.steps[number].if_true, self.steps[number].if_false = if_true, if_false
        return 0

    def matches(self, record):
        """Whether a record matches; raises what ``evaluate`` does."""
        cdef int answer = self.judge(<PyObject *>record)
        return self.odd([record], (0,))[0] if answer == ODD else answer == YES

    def select(self, records):
        """Those of the records that match, in order; raises what ``evaluate`` does."""
        cdef list given = records if type(records) is list else list(records)
        cdef list selected = []
        cdef list rows = []  # of odd records, and their places among the selected
        cdef list places = []
        cdef Py_ssize_t row = 0
        cdef int answer
        while row < PyList_GET_SIZE(<PyObject *>given):
            record = given[row]
            answer = self.judge(<PyObject *>record)
            if answer != NO:
                if answer == ODD:
                    rows.append(row)
                    places.append(len(selected))
                selected.append(record)
            row += 1
        if rows:
            answers = self.odd([selected[place] for place in places], rows)
            refused = {place for place, match in zip(places, answers, strict=True) if not match}
            return [record for place, record in enumerate(selected) if place not in refused]
        return selected

    cdef inline int judge(self, PyObject *record) except -1:
        """YES, NO or ODD, of a record that the caller owns.

        An error makes a record odd, so that it is raised in its turn, as Python raises it.
        """
        cdef Value few[FEW_FIELDS]
        cdef Reading reading
        cdef int answer
        if unlikely(not PyDict_CheckExact(record)):
            return ODD
        reading.owns = reading.has_containers = False
        reading.root = NULL
        reading.num_values = 0
        reading.values = few
        if unlikely(self.num_fields > FEW_FIELDS):
            reading.values = <Value *>take(self.num_fields, sizeof(Value))
        answer = self.read_fields(record, &reading)
        if likely(answer == YES):
            answer = self.run(&reading)
        if unlikely(answer == FAILED) and PyErr_ExceptionMatches(PyExc_Exception):
            PyErr_Clear()
            answer = ODD
        if unlikely(reading.owns):
            disown(&reading)
        if unlikely(self.num_fields > FEW_FIELDS):
            PyMem_Free(reading.values)
        return answer

    cdef inline int read_fields(self, PyObject *record, Reading *reading) noexcept:
        """All fields, since an unreadable value is an error whatever the other conditions: YES, ODD or FAILED."""
        cdef PyObject *found
        cdef PyObject *parent
        cdef const Field *field = self.fields
        cdef Value *value = reading.values
        cdef const Value *end = value + self.num_fields
        cdef int answer
        if self.reads_metadata:
            if unlikely(look_up(record, self.metadata, reading, &found) == FAILED):
                return FAILED
            if unlikely(found == NULL):
                found = Py_None
                if reading.owns:
                    Py_INCREF(Py_None)
            reading.root = found
            if unlikely(not PyDict_CheckExact(found)) and found != Py_None:
                return ODD
        while value < end:
            parent = reading.root if field.in_metadata else record
            if likely(field.num_keys == 1 and parent != Py_None):
                answer = look_up(parent, field.keys, reading, &found)
            else:
                answer = follow(parent, field, reading, &found)
            value.kind = IS_MISSING
            value.object = found
            reading.num_values += 1
            if likely(answer == YES and found != NULL):
                answer = read(found, value)
                reading.has_containers |= value.kind >= IS_ARRAY
            if unlikely(answer != YES):
                return answer
            field += 1
            value += 1
        return YES if are_plain(reading) else ODD

    cdef inline int run(self, Reading *reading) noexcept:
        cdef int number = self.first, answer
        cdef const Step *step
        while number >= 0:
            step = &self.steps[number]
            answer = step.test.check(step.test, &reading.values[step.test.field])
            if unlikely(answer == ASK):
                own(reading)
                answer = ask(step.test, &reading.values[step.test.field])
                if answer == FAILED:
                    return FAILED
                if not are_plain(reading):
                    return ODD
            number = step.if_true if answer else step.if_false
        return YES if number == MATCHES else NO


cdef int ask(const Test *test, const Value *value) noexcept:
    """What the Python function says of a value: YES, NO or FAILED."""
    cdef PyObject *answer = PyObject_CallOneArg(test.slow, value.object if value.object != NULL else ABSENT)
    cdef int truth
    if answer == NULL:
        return FAILED
    truth = PyObject_IsTrue(answer)
    Py_DECREF(answer)
    return truth


cdef bytes patterns_of(value):
    """Memory with a JSON value as patterns; children stand side by side behind their parent. It keeps no object."""
    cdef list values = [(None, value)]  # with their keys
    cdef list parents = []  # where the children of each begin, and how many there are
    cdef Pattern *patterns
    cdef Pattern *pattern
    cdef Value scalar
    cdef Py_ssize_t at
    for _, item in values:  # which grows meanwhile
        first = len(values)
        if isinstance(item, dict):
            values.extend(item.items())
        elif isinstance(item, list):
            values.extend([(None, child) for child in item])
        parents.append((first, len(values) - first))
    block = bytes(len(values) * sizeof(Pattern))
    patterns = <Pattern *>PyBytes_AS_STRING(block)
    for at in range(len(values)):
        key, item = values[at]
        pattern = &patterns[at]
        pattern.key = <PyObject *>key
        first, pattern.num_children = parents[at]
        pattern.children = patterns + <Py_ssize_t>first
        if isinstance(item, float) and item.is_integer() and -(1 << 63) <= item < 1 << 64:
            item = int(item)
        elif isinstance(item, float):
            item = float(item)
        if read(<PyObject *>item, &scalar) == ODD or scalar.kind == IS_MISSING:
            raise ValueError(f"{item!r} is no JSON value")
        pattern.kind = scalar.kind
        if scalar.kind == IS_TEXT:
            pattern.text = scalar.object
        elif scalar.kind == IS_INTEGER:
            pattern.integer = scalar.integer
        elif scalar.kind == IS_NATURAL:
            pattern.natural = scalar.natural
        elif scalar.kind == IS_DOUBLE:
            pattern.number = scalar.number
    return block


cdef void *take(size_t count, size_t size) except NULL:
    cdef void *memory = PyMem_Calloc(count + 1, size)
    if memory == NULL:
        raise MemoryError
    return memory
