# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=True
"""The native virtual machine: a program bound to Arrow columns, run on bitmaps of morsels without the GIL."""

from cpython.buffer cimport PyBUF_SIMPLE, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytearray cimport (
    PyByteArray_AS_STRING, PyByteArray_Check, PyByteArray_FromStringAndSize, PyByteArray_GET_SIZE
)
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset

cdef extern from "Python.h":
    bint Py_IsInitialized() nogil

from generated.opcodes cimport *
from kernels cimport *

import os
import struct

import numpy
import pyarrow

from fastfilter.errors import DataError

__all__ = [
    "AttachedBatch", "BoundProgram", "adapts", "bits_to_array", "bits_to_indices", "count_bits", "target", "targets",
    "use_adaptive_order", "use_target",
]


def targets():
    """The names of the CPU targets that were compiled in and that this machine can run, the best first."""
    cdef int number = 0
    names = []
    while ff_target_at(number) != NULL:
        if ff_target_runs(ff_target_at(number)):
            names.append(ff_target_at(number).name.decode())
        number += 1
    return names


def target():
    """The name of the CPU target whose kernels programs are bound to."""
    return ff_target_in_use.name.decode()


def use_target(name):
    """Binds programs to the kernels of a target from now on; those that are bound already keep theirs.

    Raises:
        ValueError: there is no such target, or this machine cannot run it.
    """
    global ff_target_in_use
    cdef int number = 0
    while ff_target_at(number) != NULL:
        if ff_target_runs(ff_target_at(number)) and ff_target_at(number).name.decode() == name:
            ff_target_in_use = ff_target_at(number)
            return
        number += 1
    raise ValueError(f"there is no CPU target {name!r} that this machine can run; it can run {', '.join(targets())}")


try:
    use_target(os.environ.get("FASTFILTER_CPU") or targets()[0])
except ValueError as error:
    raise ImportError(f"FASTFILTER_CPU: {error}") from None


cdef bint _adapts = True


def adapts():
    """Whether programs that are bound from now on adapt the order of their tests to the data."""
    return _adapts


def use_adaptive_order(bint adaptive):
    """Switches the adaptive order of programs that are bound from now on; it never changes an answer."""
    global _adapts
    _adapts = adaptive


if os.environ.get("FASTFILTER_ADAPTIVE", "1") not in ("0", "1"):
    raise ImportError(f"FASTFILTER_ADAPTIVE is {os.environ['FASTFILTER_ADAPTIVE']!r}; it must be 0 or 1")
use_adaptive_order(os.environ.get("FASTFILTER_ADAPTIVE", "1") == "1")

cdef object _BOOL = pyarrow.bool_()
cdef object _import_array = pyarrow.Array._import_from_c
cdef object _empty = numpy.empty
cdef object _INT64 = numpy.dtype(numpy.int64)


include "native_bits.pxi"


cdef struct Instruction:
    int opcode
    int destination
    int source
    int argument
    const ff_test *test  # of a test instruction
    Tally *tally  # where its rows are counted; mostly NULL


cdef struct Tally:
    int64_t asked
    int64_t passed


# Tests that may stand in each other's place: TEST d s, JUMP_IF_NONE d t, TEST d d, JUMP_IF_NONE d t, ..., all of one
# opcode and none of JSON text, where one path may cost twice another, so of about one cost. Whatever their order, d is
# then the rows that pass all, and if it is empty all go to t.
cdef struct Chain:
    int32_t first  # instruction; the others are every second one behind it
    int32_t length


# A thread counts in as many morsels as the longest chain has tests, each being the first one in one of them, sorts, and
# does so again after as many morsels as this, should the data have changed. Batches of few morsels are not worth it.
cdef int64_t _ADAPTATION_PERIOD = 128
cdef int64_t _MORSELS_TO_ADAPT = 16


cdef class _Arena:
    """Zeroed memory that is freed together."""

    cdef list blocks

    def __cinit__(self):
        self.blocks = []

    def __dealloc__(self):
        for block in self.blocks:
            free(<void *><size_t>block)

    cdef void *take(self, size_t size) except NULL:
        cdef void *block = calloc(size + 1, 1)
        if block == NULL:
            raise MemoryError
        self.blocks.append(<size_t>block)
        return block

    cdef ff_bytes copy(self, bytes data):
        """The bytes of an object that may go away."""
        cdef ff_bytes copied
        copied.length = PyBytes_GET_SIZE(data)
        copied.data = <const uint8_t *>self.take(copied.length)
        memcpy(<void *>copied.data, PyBytes_AS_STRING(data), copied.length)
        return copied


cdef class BoundProgram:
    """A program with the types of its columns. Immutable, shared by threads.

    The stub _native.pyi describes the arguments; the constants of tests are fastfilter.runtime.vm.lowering's.

    Raises:
        ValueError: the parts do not fit together.
        MemoryError: there is no memory.
    """

    cdef _Arena arena
    cdef object schema
    cdef tuple columns
    cdef tuple names  # of the columns
    cdef tuple type_schemas  # the capsules of their types
    cdef bint has_metadata  # in those: equal types of a user's class may be laid out differently
    cdef list selected  # the columns, where a batch has many more, so that it is narrowed to them; or None
    cdef ff_type **types
    cdef int32_t *num_views  # by column
    cdef int32_t num_columns
    cdef ff_source *sources
    cdef int32_t num_sources
    cdef int32_t num_validities  # room for those of all sources
    cdef ff_group *groups
    cdef int32_t num_groups
    cdef ff_test *tests
    cdef int32_t num_tests
    cdef Instruction *instructions
    cdef int32_t num_instructions
    cdef Chain *chains
    cdef int32_t num_chains
    cdef int32_t longest_chain
    cdef int32_t num_registers
    cdef bint strict

    def __cinit__(self, bytes words not None, int num_registers, schema not None, tuple columns not None,
                  tuple sources not None, tuple groups not None, tuple tests not None,
                  bint strict_json, bint trusted_json):
        self.arena = _Arena()
        self.schema = schema
        self.columns = columns
        self.names = tuple([schema.field(column).name for column in columns])
        self.num_registers = num_registers
        self.strict = strict_json
        if len(schema) > len(columns) + _FEW_COLUMNS:
            self.selected = list(columns)
        self.bind_columns()
        self.bind_sources(sources)
        self.bind_groups(groups, trusted_json)
        self.bind_tests(words, tests)
        self.bind_words(words)

    def __dealloc__(self):
        cdef int32_t at
        for at in range(self.num_tests):
            ff_test_free(&self.tests[at])
        for at in range(self.num_groups):
            ff_json_paths_free(self.groups[at].paths)
        for at in range(self.num_columns):
            ff_type_free(self.types[at])

    cdef int bind_columns(self) except -1:
        cdef const ArrowSchema *type_schema
        self.type_schemas = type_schemas_of(self.schema, self.columns)
        self.types = <ff_type **>self.arena.take(len(self.columns) * sizeof(ff_type *))
        self.num_views = <int32_t *>self.arena.take(len(self.columns) * sizeof(int32_t))
        for capsule in self.type_schemas:
            type_schema = <const ArrowSchema *>PyCapsule_GetPointer(capsule, "arrow_schema")
            self.has_metadata = self.has_metadata or has_metadata(type_schema)
            self.types[self.num_columns] = ff_type_new(type_schema)
            if self.types[self.num_columns] == NULL:
                raise MemoryError
            self.num_columns += 1
        return 0

    cdef tuple types_in(self, schema):
        """The capsules of the columns' types in batches of a schema."""
        if schema is self.schema or (not self.has_metadata and schema.equals(self.schema)):
            return self.type_schemas
        if len(schema) != len(self.schema):
            raise DataError(f"the batch has {len(schema)} columns, but the filter was bound to {len(self.schema)}")
        return type_schemas_of(schema, self.columns)

    cdef int read_source(self, ff_source *source, int column, tuple steps) except -1:
        cdef ff_step *own = <ff_step *>self.arena.take(len(steps) * sizeof(ff_step))
        if column >= self.num_columns:
            raise ValueError("a source names no column")
        source.column = column
        source.steps = own
        for step in steps:
            if isinstance(step, bytes):
                own[source.num_steps].child = -1
                own[source.num_steps].key = self.arena.copy(step)
            else:
                own[source.num_steps].child = step
            source.num_steps += 1
        return 0

    cdef int bind_sources(self, tuple sources) except -1:
        cdef ff_source *source
        self.sources = <ff_source *>self.arena.take(len(sources) * sizeof(ff_source))
        for column, steps in sources:
            source = &self.sources[self.num_sources]
            self.read_source(source, column, steps)
            if column >= 0 and not ff_source_bind(source, self.types[column], &self.num_views[column]):
                raise ValueError(f"the way of a field does not fit the type of column {self.names[column]!r}")
            self.num_sources += 1
            self.num_validities += source.num_steps + 1
        return 0

    cdef int bind_groups(self, tuple groups, bint trusted_json) except -1:
        cdef ff_group *group
        cdef ff_bytes *keys
        cdef int num_keys
        self.groups = <ff_group *>self.arena.take(len(groups) * sizeof(ff_group))
        for column, steps, paths in groups:
            group = &self.groups[self.num_groups]
            group.root_slot = -1
            self.num_groups += 1
            self.read_source(&group.source, column, steps)
            if not ff_group_bind(group, self.types[column], &self.num_views[column]):
                raise ValueError(f"column {self.names[column]!r} holds no JSON text where the field is")
            group.paths = ff_json_paths_new(trusted_json)
            if group.paths == NULL:
                raise MemoryError
            for path in paths:
                keys = <ff_bytes *>self.arena.take(len(path) * sizeof(ff_bytes))
                num_keys = 0
                for key in path:
                    keys[num_keys] = self.arena.copy(key)
                    num_keys += 1
                if num_keys == 0:
                    group.root_slot = group.num_slots
                if not ff_json_paths_add(group.paths, keys, num_keys, group.num_slots):
                    raise MemoryError
                group.num_slots += 1
        return 0

    cdef int bind_tests(self, bytes words, tuple tests) except -1:
        cdef ff_test *test
        self.tests = <ff_test *>self.arena.take(len(tests) * sizeof(ff_test))
        tested = [word for word in struct.iter_unpack("<BBBBHH", words) if word[0] >= FF_OP_EXISTS]
        for (opcode, _, _, elements, _, _), (source, group, slot, constant) in zip(tested, tests, strict=True):
            test = &self.tests[self.num_tests]
            test.opcode = opcode
            test.elements = elements
            test.number = self.num_tests
            self.num_tests += 1
            test.source_number = source
            test.group = group
            test.slot = slot
            if group >= 0:
                if group >= self.num_groups or not 0 <= slot < self.groups[group].num_slots:
                    raise ValueError("a test names no JSON path")
                test.source = &self.groups[group].source
            elif 0 <= source < self.num_sources:
                test.source = &self.sources[source]
            else:
                raise ValueError("a test names no source")
            self.read_constant(&test.constant, constant)
            if not ff_test_prepare(test):
                raise MemoryError
            if opcode == FF_OP_JSON_CONTAINS and test.constant.pattern == NULL:
                raise ValueError("a test of containment has no JSON value")
            if group < 0 <= test.source.column and ff_test_reads_whole(test, ff_type_decoded(test.source.type)):
                ff_type_read(test.source.type, True, &self.num_views[test.source.column])
            if not ff_test_bind(test):
                raise ValueError(f"column {self.names[test.source.column]!r} has a type that no condition can read")
        return 0

    cdef int read_constant(self, ff_constant *own, object constant) except -1:
        cdef ff_bytes *strings
        cdef ff_bytes part
        own.has_null = constant.null
        own.has_false = constant.false
        own.has_true = constant.true
        part = self.arena.copy(constant.int64s)
        own.int64s = <const ff_int64_interval *>part.data
        own.num_int64s = <int32_t>(part.length // <int64_t>sizeof(ff_int64_interval))
        part = self.arena.copy(constant.uint64s)
        own.uint64s = <const ff_uint64_interval *>part.data
        own.num_uint64s = <int32_t>(part.length // <int64_t>sizeof(ff_uint64_interval))
        part = self.arena.copy(constant.doubles)
        own.doubles = <const ff_double_interval *>part.data
        own.num_doubles = <int32_t>(part.length // <int64_t>sizeof(ff_double_interval))
        part = self.arena.copy(constant.wides)
        own.wides = <const ff_wide_interval *>part.data
        own.num_wides = <int32_t>(part.length // <int64_t>sizeof(ff_wide_interval))
        part = self.arena.copy(constant.instants)
        own.instants = <const ff_instant_interval *>part.data
        own.num_instants = <int32_t>(part.length // <int64_t>sizeof(ff_instant_interval))
        strings = <ff_bytes *>self.arena.take(len(constant.strings) * sizeof(ff_bytes))
        own.strings = strings
        for string in constant.strings:
            strings[own.num_strings] = self.arena.copy(string)
            own.num_strings += 1
            own.has_container = own.has_container or string[:1] in (b"[", b"{")
        own.text = self.arena.copy(constant.text)
        own.needle = self.arena.copy(constant.needle)
        own.below, own.at, own.above = constant.sides
        if constant.json is not None:
            own.pattern = ff_json_pattern_new(self.arena.copy(constant.json))
            if own.pattern == NULL:
                raise MemoryError
        return 0

    cdef int bind_words(self, bytes words) except -1:
        """Reads the words, and refuses those that would leave the registers or the program."""
        cdef int32_t number = 0, test = 0
        cdef int32_t num_words = <int32_t>(len(words) // 8)
        cdef Instruction *own
        self.instructions = <Instruction *>self.arena.take(num_words * sizeof(Instruction))
        for opcode, destination, source, _, _, argument in struct.iter_unpack("<BBBBHH", words):
            own = &self.instructions[number]
            own.opcode, own.destination, own.source, own.argument = opcode, destination, source, argument
            if destination >= self.num_registers or source >= self.num_registers:
                raise ValueError(f"instruction {number} names a register beyond {self.num_registers}")
            if opcode == FF_OP_JUMP_IF_NONE and not number < argument < num_words:
                raise ValueError(f"instruction {number} jumps out of the program or back")
            if opcode >= FF_OP_EXISTS:
                own.test = &self.tests[test]
                test += 1
            number += 1
        if num_words == 0 or self.instructions[num_words - 1].opcode != FF_OP_RETURN:
            raise ValueError("the program does not end with RETURN")
        if self.is_conjunction(num_words):
            ff_tests_conjoin(self.tests, self.num_tests, self.groups)
        self.num_instructions = num_words
        if _adapts:
            self.find_chains()
        return 0

    cdef bint is_conjunction(self, int32_t num_words) noexcept:
        """Whether a row matches just if all tests are true of it: each narrows the rows that the one before left."""
        cdef int32_t number
        cdef Instruction *own
        cdef int own_register = 0
        for number in range(num_words):
            own = &self.instructions[number]
            if own.source != own_register:
                return False
            if own.opcode == FF_OP_JUMP_IF_NONE:
                if own_register == 0 or own.argument != num_words - 1:
                    return False
            elif own.opcode >= FF_OP_EXISTS:
                if own.destination == 0 or own_register not in (0, own.destination):
                    return False
                own_register = own.destination
            elif own.opcode != FF_OP_RETURN or number != num_words - 1:
                return False
        return True

    cdef int find_chains(self) except -1:
        cdef int32_t first = 0, last
        self.chains = <Chain *>self.arena.take(self.num_instructions * sizeof(Chain))
        while first < self.num_instructions:
            last = self.end_of_chain(first)
            if last > first:
                self.chains[self.num_chains].first = first
                self.chains[self.num_chains].length = (last - first) // 2 + 1
                self.longest_chain = max(self.longest_chain, self.chains[self.num_chains].length)
                self.num_chains += 1
            first = last + 1
        return 0

    cdef int32_t end_of_chain(self, int32_t first) noexcept:
        """The last test of a chain that begins at an instruction; the instruction itself if it begins none."""
        cdef const Instruction *one = &self.instructions[first]
        cdef const Instruction *jump = one + 1  # there is one: a program ends with RETURN
        cdef const Instruction *other
        cdef int32_t last = first, at
        if one.test == NULL or one.test.group >= 0 or not jumps_if_none(jump, one.destination):
            return first
        while True:
            other = &self.instructions[last + 2]  # behind a jump there is an instruction
            if (other.test == NULL or other.opcode != one.opcode or other.test.group >= 0
                    or other.source != one.destination or other.destination != one.destination):
                break
            last += 2
            other += 1
            if not jumps_if_none(other, one.destination) or other.argument != jump.argument:
                break
        # An empty register must go to the same place from the last test as from the others, ...
        other = &self.instructions[last + 1]
        if last + 1 != jump.argument and not (
                jumps_if_none(other, one.destination) and other.argument == jump.argument):
            return first
        for at in range(self.num_instructions):  # ... and nothing may enter behind the first.
            if (self.instructions[at].opcode == FF_OP_JUMP_IF_NONE
                    and first < self.instructions[at].argument <= last):
                return first
        return last

    def attach(self, batch not None):
        """The program with a pyarrow RecordBatch, of which only the columns that it reads are looked at.

        Raises:
            DataError: a column is broken, or is not of the type the program was bound to.
        """
        return attach(self, batch)

    def evaluate(self, batch not None, int64_t morsel_rows):
        """The bits of the matching rows of a pyarrow RecordBatch, least bit first, all evaluated on this thread.

        Raises:
            DataError, MemoryError: as attach() and AttachedBatch.run().
        """
        cdef AttachedBatch attached = attach(self, batch)
        cdef int64_t num_rows = attached.batch.num_rows
        cdef bytearray out = PyByteArray_FromStringAndSize(NULL, (num_rows + 7) >> 3)
        cdef uint8_t *bits = <uint8_t *>PyByteArray_AS_STRING(out)
        cdef Evaluation evaluation
        memset(bits, 0, PyByteArray_GET_SIZE(out))
        if num_rows == 0:
            return out
        attached.start(&evaluation, morsel_rows)
        with nogil:
            run_morsels(self, &attached.batch, 0, num_rows, bits, &evaluation)
        attached.finish(&evaluation)
        return out


# So many columns that are not read are exported in the time of leaving them out.
cdef int _FEW_COLUMNS = 2


cdef tuple type_schemas_of(schema, tuple columns):
    return tuple([schema.field(column).type.__arrow_c_schema__() for column in columns])


cdef bint has_metadata(const ArrowSchema *schema) noexcept:
    """Whether some type in a type has metadata, as extension types have."""
    cdef int64_t child
    if schema.metadata != NULL or (schema.dictionary != NULL and has_metadata(schema.dictionary)):
        return True
    for child in range(schema.n_children):
        if has_metadata(schema.children[child]):
            return True
    return False


cdef struct Evaluation:  # what one thread needs for running a program on a batch
    ff_run run
    uint64_t *registers
    int64_t morsel_rows
    Instruction *instructions  # its own where the order adapts, else NULL
    Tally *tallies  # by the test's number
    int64_t num_morsels  # so far


cdef class AttachedBatch:
    """A bound program and the columns of one batch. Immutable, shared by threads; made by BoundProgram.attach()."""

    cdef BoundProgram program
    cdef void *memory
    cdef ArrowArray exported  # it owns what the views point to
    cdef ff_batch batch

    cdef int fill(self, BoundProgram program, batch) except -1:
        cdef int32_t at
        cdef size_t num_views = 0
        cdef ff_view *views
        cdef ff_validity *validities
        cdef const ArrowArray *array
        cdef const ArrowSchema *schema
        cdef const char *fault
        cdef tuple types = program.types_in(batch.schema)
        self.program = program
        for at in range(program.num_columns):
            num_views += program.num_views[at]
        self.memory = calloc(1, num_views * sizeof(ff_view) + program.num_sources * sizeof(ff_place)
                             + program.num_validities * sizeof(ff_validity)
                             + program.num_columns * sizeof(ff_view *) + 1)
        if self.memory == NULL:
            raise MemoryError
        views = <ff_view *>self.memory
        self.batch.places = <ff_place *>(views + num_views)
        validities = <ff_validity *>(self.batch.places + program.num_sources)
        self.batch.columns = <const ff_view **>(validities + program.num_validities)
        if program.selected is not None:
            batch = batch.select(program.selected)
        batch._export_to_c(<size_t>&self.exported)
        self.batch.num_rows = self.exported.length
        for at in range(program.num_columns):
            array = self.exported.children[at if program.selected is not None else <int>program.columns[at]]
            schema = <const ArrowSchema *>PyCapsule_GetPointer(types[at], "arrow_schema")
            fault = ff_views_fill(program.types[at], schema, array, views)
            if fault == NULL and array.length != self.batch.num_rows:
                fault = "it has another number of rows than the batch"
            if fault != NULL:
                raise DataError(f"column {program.names[at]!r} cannot be read: {fault.decode()}")
            self.batch.columns[at] = views
            views += program.num_views[at]
        for at in range(program.num_sources):
            if program.sources[at].column >= 0 and program.sources[at].direct:
                ff_place_find(&self.batch.places[at], &program.sources[at],
                              self.batch.columns[program.sources[at].column], validities)
            validities += program.sources[at].num_steps + 1
        return 0

    def __dealloc__(self):
        if self.exported.release != NULL:
            self.exported.release(&self.exported)
        free(self.memory)

    def run(self, ranges not None, out not None, int64_t morsel_rows):
        """Evaluates ranges of rows and sets the bits of the matching ones in ``out``, least bit first.

        Args:
            ranges: pairs of a first row and the row after the last; where several threads share ``out``, the first rows
                are multiples of 8.
            out: a bytearray with a bit for each row of the batch, zeroed.
            morsel_rows: how many rows are evaluated together; it never changes an answer.

        Raises:
            DataError: under strict JSON the first row of a range whose text cannot be read; or a column is broken.
            MemoryError: there is no memory.
        """
        cdef Py_buffer buffer
        cdef Evaluation evaluation
        cdef int64_t start, stop
        if not PyByteArray_Check(out):
            raise TypeError(f"out must be a bytearray, not {type(out).__name__}")
        self.start(&evaluation, morsel_rows)
        try:
            PyObject_GetBuffer(out, &buffer, PyBUF_WRITABLE)
            try:
                for start, stop in ranges:
                    if not 0 <= start <= stop <= self.batch.num_rows:
                        raise ValueError(f"rows {start} to {stop} are not in a batch of {self.batch.num_rows}")
                    if 8 * buffer.len < stop:
                        raise ValueError(f"out has {buffer.len} bytes, too few for row {stop - 1}")
                    with nogil:
                        run_morsels(self.program, &self.batch, start, stop, <uint8_t *>buffer.buf, &evaluation)
                    if evaluation.run.fault.status != FF_OK:
                        break
            finally:
                PyBuffer_Release(&buffer)
        except BaseException:
            self.finish(&evaluation)
            raise
        self.finish(&evaluation)

    cdef int start(self, Evaluation *evaluation, int64_t morsel_rows) except -1:
        """What finish() frees."""
        cdef BoundProgram program = self.program
        if morsel_rows < 1:
            raise ValueError(f"morsel_rows must be at least 1, not {morsel_rows}")
        morsel_rows = min(morsel_rows, max(self.batch.num_rows, 1))
        evaluation.morsel_rows = morsel_rows
        evaluation.instructions = NULL
        evaluation.registers = <uint64_t *>malloc(8 * ff_num_words(morsel_rows) * program.num_registers)
        if (not ff_run_start(&evaluation.run, program.groups, program.num_groups, program.num_tests,
                             self.batch.num_rows, morsel_rows) or evaluation.registers == NULL):
            evaluation.run.fault.status = FF_NO_MEMORY
            self.finish(evaluation)
        evaluation.num_morsels = 0
        if program.num_chains > 0 and self.batch.num_rows >= _MORSELS_TO_ADAPT * morsel_rows:
            evaluation.instructions = <Instruction *>malloc(
                program.num_instructions * sizeof(Instruction) + program.num_tests * sizeof(Tally))
            if evaluation.instructions != NULL:  # else the order stays as it is
                memcpy(evaluation.instructions, program.instructions, program.num_instructions * sizeof(Instruction))
                evaluation.tallies = <Tally *>(evaluation.instructions + program.num_instructions)
        return 0

    cdef int finish(self, Evaluation *evaluation) except -1:
        """Raises the fault that was met, if any."""
        ff_run_free(&evaluation.run, self.program.num_groups, self.program.num_tests)
        free(evaluation.registers)
        free(evaluation.instructions)
        if evaluation.run.fault.status != FF_OK:
            raise self.error(&evaluation.run.fault)
        return 0

    cdef object error(self, const ff_fault *fault):
        if fault.status == FF_NO_MEMORY:
            return MemoryError()
        name = self.program.names[fault.column]
        if fault.status == FF_BROKEN_DATA:
            return DataError(f"column {name!r} cannot be read: {fault.message.decode()}")
        what = ("is JSON, but not an object" if fault.json_status == FF_JSON_NOT_OBJECT
                else "is not well-formed JSON, or nests too deeply")
        return DataError(f"the text in column {name!r} {what}", fault.row)


cdef AttachedBatch attach(BoundProgram program, batch):
    cdef AttachedBatch attached = AttachedBatch.__new__(AttachedBatch)
    attached.fill(program, batch)
    return attached


cdef bint jumps_if_none(const Instruction *instruction, int register) noexcept:
    return instruction.opcode == FF_OP_JUMP_IF_NONE and instruction.source == register


cdef void adapt(BoundProgram program, Evaluation *evaluation) noexcept nogil:
    """Sets the order of a morsel's tests: while it counts, each test of a chain is the first in turn."""
    cdef int64_t turn = evaluation.num_morsels % _ADAPTATION_PERIOD
    cdef int32_t number, place
    cdef const Chain *chain
    cdef Instruction *first
    cdef const ff_test *moved
    evaluation.num_morsels += 1
    if turn > program.longest_chain:
        return
    if turn == 0:
        memset(evaluation.tallies, 0, program.num_tests * sizeof(Tally))
    for number in range(program.num_chains):
        chain = &program.chains[number]
        first = evaluation.instructions + chain.first
        if turn == program.longest_chain:
            first.tally = NULL
            sort_chain(first, chain.length, evaluation.tallies)
            continue
        if turn > 0:
            moved = first.test
            for place in range(chain.length - 1):
                first[2 * place].test = first[2 * place + 2].test
            first[2 * chain.length - 2].test = moved
        first.tally = &evaluation.tallies[first.test.number]


cdef void sort_chain(Instruction *first, int32_t length, const Tally *tallies) noexcept nogil:
    """The tests that let the fewest rows through come first."""
    cdef int32_t place, at
    cdef const ff_test *test
    for place in range(1, length):
        test = first[2 * place].test
        at = place
        while at > 0 and passes_less(&tallies[test.number], &tallies[first[2 * at - 2].test.number]):
            first[2 * at].test = first[2 * at - 2].test
            at -= 1
        first[2 * at].test = test


cdef bint passes_less(const Tally *one, const Tally *other) noexcept nogil:
    return (<double>one.passed / <double>max(one.asked, 1)) < (<double>other.passed / <double>max(other.asked, 1))


cdef void run_morsels(BoundProgram program, const ff_batch *batch, int64_t start, int64_t stop, uint8_t *out,
                      Evaluation *evaluation) noexcept nogil:
    cdef ff_run *run = &evaluation.run
    cdef const Instruction *instructions = program.instructions
    cdef int64_t morsel_rows = evaluation.morsel_rows
    cdef int64_t first = start
    cdef int64_t num_rows
    cdef uint64_t *answer
    if evaluation.instructions != NULL:
        instructions = evaluation.instructions
    while first < stop:
        num_rows = min(morsel_rows, stop - first)
        ff_run_next_morsel(run, program.num_groups)
        if program.strict:
            ff_groups_check(program.num_groups, batch, first, num_rows, run)
            if run.fault.status != FF_OK:
                return
        if evaluation.instructions != NULL:
            adapt(program, evaluation)
        answer = run_words(instructions, batch, first, num_rows, evaluation.registers, ff_num_words(morsel_rows), run)
        if run.fault.status == FF_OK:
            ff_groups_check_last(program.num_groups, batch, first, num_rows, answer, run)
        if run.fault.status != FF_OK:
            return
        ff_store_bits(out, first, answer, num_rows)
        first += num_rows


cdef uint64_t *run_words(const Instruction *instructions, const ff_batch *batch, int64_t first, int64_t num_rows,
                         uint64_t *registers, int64_t stride, ff_run *run) noexcept nogil:
    """Runs the program on one morsel: the rows that match. Register r begins at word ``r * stride``."""
    cdef int64_t num_words = ff_num_words(num_rows)
    cdef int64_t at
    cdef const Instruction *instruction = instructions
    cdef uint64_t *destination
    cdef uint64_t *source
    cdef int opcode
    memset(registers, 0xFF, 8 * num_words)
    if num_rows & 63:
        registers[num_words - 1] = ((<uint64_t>1) << (num_rows & 63)) - 1
    while True:
        opcode = instruction.opcode
        destination = registers + instruction.destination * stride
        source = registers + instruction.source * stride
        if opcode == FF_OP_RETURN:
            return source
        elif opcode == FF_OP_MOVE:
            memmove(destination, source, 8 * num_words)
        elif opcode == FF_OP_CLEAR:
            memset(destination, 0, 8 * num_words)
        elif opcode == FF_OP_OR:
            for at in range(num_words):
                destination[at] |= source[at]
        elif opcode == FF_OP_AND_NOT:
            for at in range(num_words):
                destination[at] &= ~source[at]
        elif opcode == FF_OP_JUMP_IF_NONE:
            if not ff_any_bit(source, num_words):
                instruction = instructions + instruction.argument
                continue
        else:
            if instruction.tally != NULL:
                instruction.tally.asked += ff_count_bits(<const uint8_t *>source, 8 * num_words)
            instruction.test.kernel(instruction.test, batch, first, num_rows, source, destination, run)
            if instruction.tally != NULL:
                instruction.tally.passed += ff_count_bits(<const uint8_t *>destination, 8 * num_words)
            if run.fault.status != FF_OK:
                if run.fault.status == FF_BROKEN_DATA:
                    run.fault.column = instruction.test.source.column
                return source
        instruction += 1
