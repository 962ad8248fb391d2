# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False, freethreading_compatible=True
"""The native virtual machine: a program bound to Arrow columns, run on bitmaps of morsels without the GIL."""

from cpython.bytearray cimport PyByteArray_Check
from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memmove, memset

from generated.opcodes cimport *
from kernels cimport *

import os
import struct

from fastfilter.errors import DataError

__all__ = ["AttachedBatch", "BoundProgram", "count_bits", "target", "targets", "use_target", "write_indices"]


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


def count_bits(const uint8_t[::1] bits not None):
    """How many bits are set."""
    cdef int64_t total
    with nogil:
        total = ff_count_bits(&bits[0], bits.shape[0]) if bits.shape[0] else 0
    return total


def write_indices(const uint8_t[::1] bits not None, int64_t first, int64_t[::1] out not None):
    """Writes the numbers of the set bits, ascending, counted from ``first``.

    Raises:
        ValueError: ``out`` has no room for all of them.
    """
    if bits.shape[0] == 0:
        return
    if ff_count_bits(&bits[0], bits.shape[0]) > out.shape[0]:
        raise ValueError("there is no room for all indices")
    if out.shape[0]:
        with nogil:
            ff_bits_to_indices(&bits[0], bits.shape[0], first, &out[0])


cdef struct Instruction:
    int opcode
    int destination
    int source
    int argument
    const ff_test *test  # of a test instruction


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

    Args:
        words: the program's machine words.
        num_registers: how many registers they use.
        column_names: of the columns that the program reads, for messages.
        column_schemas: their ``arrow_schema`` capsules.
        sources: for each Arrow field its column (a place in ``column_names``, or -1) and its steps: a struct child's
            index, or a map key in UTF-8.
        groups: for each JSON column its column and steps, and the paths read from it, each a tuple of keys.
        tests: for each test instruction, in order: its source (-1 for a JSON value), its group and the path's place in
            that (-1 for an Arrow value), and its constant as fastfilter.runtime.vm.lowering makes it.
        strict_json: whether every JSON text is checked.
        trusted_json: whether JSON texts are taken for well-formed and not validated.

    Raises:
        ValueError: the parts do not fit together.
        MemoryError: there is no memory.
    """

    cdef _Arena arena
    cdef tuple names
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
    cdef int32_t num_registers
    cdef bint strict

    def __cinit__(self, bytes words not None, int num_registers, tuple column_names not None,
                  tuple column_schemas not None, tuple sources not None, tuple groups not None, tuple tests not None,
                  bint strict_json, bint trusted_json):
        self.arena = _Arena()
        self.names = column_names
        self.num_registers = num_registers
        self.strict = strict_json
        self.bind_columns(column_schemas)
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

    cdef int bind_columns(self, tuple schemas) except -1:
        self.types = <ff_type **>self.arena.take(len(schemas) * sizeof(ff_type *))
        self.num_views = <int32_t *>self.arena.take(len(schemas) * sizeof(int32_t))
        for schema in schemas:
            self.types[self.num_columns] = ff_type_new(
                <const ArrowSchema *>PyCapsule_GetPointer(schema, "arrow_schema"))
            if self.types[self.num_columns] == NULL:
                raise MemoryError
            self.num_columns += 1
        return 0

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
            for number in range(self.num_tests):
                if self.tests[number].group >= 0:
                    self.groups[self.tests[number].group].checked_last = True
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

    def attach(self, tuple arrays not None, int64_t num_rows):
        """The program with a batch's columns.

        Args:
            arrays: for each column its ``arrow_schema`` and ``arrow_array`` capsules, kept as long as the result.
            num_rows: of the batch.

        Raises:
            DataError: an array is broken, or is not of the type the program was bound to.
        """
        return AttachedBatch(self, arrays, num_rows)


cdef class AttachedBatch:
    """A bound program and the columns of one batch. Immutable, shared by threads."""

    cdef BoundProgram program
    cdef tuple arrays  # the capsules own what the views point to
    cdef void *memory
    cdef ff_batch batch

    def __cinit__(self, BoundProgram program not None, tuple arrays not None, int64_t num_rows):
        cdef int32_t at
        cdef size_t num_views = 0
        cdef ff_view *views
        cdef ff_validity *validities
        cdef const ArrowArray *array
        cdef const ArrowSchema *schema
        cdef const char *fault
        self.program = program
        self.arrays = arrays
        if len(arrays) != program.num_columns:
            raise ValueError(f"{program.num_columns} columns are needed, not {len(arrays)}")
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
        self.batch.num_rows = num_rows
        for at in range(program.num_columns):
            schema = <const ArrowSchema *>PyCapsule_GetPointer(arrays[at][0], "arrow_schema")
            array = <const ArrowArray *>PyCapsule_GetPointer(arrays[at][1], "arrow_array")
            fault = ff_views_fill(program.types[at], schema, array, views)
            if fault == NULL and array.length != num_rows:
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

    def __dealloc__(self):
        free(self.memory)

    def run(self, int64_t start, int64_t stop, out not None, int64_t morsel_rows):
        """Evaluates rows ``start`` to ``stop`` and sets the bits of the matching ones in ``out``, least bit first.

        Args:
            start: first row; a multiple of 8 where several threads share ``out``.
            stop: row after the last.
            out: a bytearray with a bit for each row of the batch, zeroed.
            morsel_rows: how many rows are evaluated together; it never changes an answer.

        Raises:
            DataError: under strict JSON the first row whose text cannot be read; or a column is broken.
            MemoryError: there is no memory.
        """
        cdef BoundProgram program = self.program
        cdef Py_buffer buffer
        cdef ff_run run
        cdef uint64_t *registers = NULL
        cdef int64_t num_words
        if not 0 <= start <= stop <= self.batch.num_rows:
            raise ValueError(f"rows {start} to {stop} are not in a batch of {self.batch.num_rows}")
        if morsel_rows < 1:
            raise ValueError(f"morsel_rows must be at least 1, not {morsel_rows}")
        if not PyByteArray_Check(out):
            raise TypeError(f"out must be a bytearray, not {type(out).__name__}")
        if start == stop:
            return
        morsel_rows = min(morsel_rows, stop - start)
        num_words = ff_num_words(morsel_rows)
        PyObject_GetBuffer(out, &buffer, PyBUF_WRITABLE)
        try:
            if 8 * buffer.len < stop:
                raise ValueError(f"out has {buffer.len} bytes, too few for row {stop - 1}")
            with nogil:
                registers = <uint64_t *>malloc(8 * num_words * program.num_registers)
                if (ff_run_start(&run, program.groups, program.num_groups, program.num_tests, stop - start, morsel_rows)
                        and registers != NULL):
                    run_morsels(program, &self.batch, start, stop, <uint8_t *>buffer.buf, morsel_rows, registers, &run)
                else:
                    run.fault.status = FF_NO_MEMORY
                ff_run_free(&run, program.num_groups, program.num_tests)
                free(registers)
        finally:
            PyBuffer_Release(&buffer)
        if run.fault.status != FF_OK:
            raise self.error(&run.fault)

    cdef object error(self, const ff_fault *fault):
        if fault.status == FF_NO_MEMORY:
            return MemoryError()
        name = self.program.names[fault.column]
        if fault.status == FF_BROKEN_DATA:
            return DataError(f"column {name!r} cannot be read: {fault.message.decode()}")
        what = ("is JSON, but not an object" if fault.json_status == FF_JSON_NOT_OBJECT
                else "is not well-formed JSON, or nests too deeply")
        return DataError(f"the text in column {name!r} {what}", fault.row)


cdef void run_morsels(BoundProgram program, const ff_batch *batch, int64_t start, int64_t stop, uint8_t *out,
                      int64_t morsel_rows, uint64_t *registers, ff_run *run) noexcept nogil:
    cdef int64_t first = start
    cdef int64_t num_rows
    cdef uint64_t *answer
    while first < stop:
        num_rows = min(morsel_rows, stop - first)
        ff_run_next_morsel(run, program.num_groups)
        if program.strict:
            ff_groups_check(program.num_groups, batch, first, num_rows, run)
            if run.fault.status != FF_OK:
                return
        answer = run_words(program.instructions, batch, first, num_rows, registers, ff_num_words(morsel_rows), run)
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
            instruction.test.kernel(instruction.test, batch, first, num_rows, source, destination, run)
            if run.fault.status != FF_OK:
                if run.fault.status == FF_BROKEN_DATA:
                    run.fault.column = instruction.test.source.column
                return source
        instruction += 1
