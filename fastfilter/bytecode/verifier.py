"""The verifier: whether a program may be run at all.

Both virtual machines trust a verified program: they check no operand, no index and no constant again. One pass over
the constants and one over the instructions, without recursion, so the time is linear in the program's size whatever it
holds.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text, constant_type
from fastfilter.bytecode.opcodes import OPCODES, Argument, Opcode
from fastfilter.bytecode.program import WORD, FieldUse, Program, Role
from fastfilter.errors import ProgramError
from fastfilter.values import INT64_MIN, UINT64_MAX, Elements, ScalarSet, StringBound, canonical_number

__all__ = [
    "INSTANT_MAX", "INSTANT_MIN", "MAX_ITEMS", "MAX_JSON_DEPTH", "MAX_LENGTH", "MAX_PATH", "MAX_REGISTERS",
    "VerificationError", "verify",
]  # fmt: skip

MAX_REGISTERS: Final = 256
MAX_ITEMS: Final = 65_535
"""How many instructions, how many constants and how many fields a program may have."""
MAX_LENGTH: Final = 2**28
"""How many characters a string, and how many members a constant may have."""
MAX_PATH: Final = 1_024
"""How many keys a metadata path may have: as deep as JSON text may nest."""
MAX_JSON_DEPTH: Final = 1_024
INSTANT_MIN: Final = -(2**127)
INSTANT_MAX: Final = 2**127 - 1

_MODES: Final = frozenset(int(elements) for elements in Elements)
_STRING_OPERATORS: Final = frozenset(("gt", "gte", "lt", "lte"))
# What the bounds of an Intervals constant can be read as; TIMESTAMP_RANGE asks for instants, other tests for numbers.
_NUMBERS: Final = 1
_INSTANTS: Final = 2
_JSON_TOKEN: Final = re.compile(
    r"""[\[\]{},:]|true|false|null
    |-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?
    |"(?:[^"\\\x00-\x1f\ud800-\udfff]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"
    """,
    re.VERBOSE,
)
_JSON_VALUE: Final = '["{v'


class VerificationError(ProgramError):
    """A program the verifier refuses.

    Attributes:
        section: what is at fault: ``"program"`` as a whole, a ``"field"``, a ``"constant"`` or an ``"instruction"``.
        index: number of that field, constant or instruction; 0 for the program.
        reason: the fault in words.
    """

    def __init__(self, section: str, index: int, reason: str) -> None:
        super().__init__(section, index, reason)
        self.section = section
        self.index = index
        self.reason = reason

    def __str__(self) -> str:
        return self.reason if self.section == "program" else f"{self.section} {self.index}: {self.reason}"


class _Fault(Exception):
    """The reason for which the part under inspection is refused."""


def verify(program: Program) -> None:
    """Accepts a program that both virtual machines may run, and refuses every other.

    Raises:
        ProgramError: the program is not well-formed; the message names the instruction, constant or field, and why.

    Example:
        >>> from fastfilter.bytecode.opcodes import Opcode
        >>> from fastfilter.bytecode.program import Instruction
        >>> verify(Program((Instruction(Opcode.RETURN),), (), (), 1))
        >>> verify(Program((Instruction(Opcode.RETURN, source=2),), (), (), 2))
        Traceback (most recent call last):
        ...
        fastfilter.bytecode.verifier.VerificationError: instruction 0: there is no register 2
    """
    section, index = "program", 0
    try:
        _check_sizes(program)
        section = "field"
        known: set[object] = set()
        for index, use in enumerate(program.fields):  # noqa: B007  # the handler below reads index
            _check_field(use)
            if use.field in known:
                raise _Fault("the program already has this field")
            known.add(use.field)
        section = "constant"
        domains = []
        for index, constant in enumerate(program.constants):  # noqa: B007
            domains.append(_check_constant(constant))
        section, index = "program", 0
        _check_words(program)
    except _Fault as fault:
        raise VerificationError(section, index, str(fault)) from None
    _check_instructions(program, domains)


def _check_sizes(program: Program) -> None:
    parts = {"instructions": program.instructions, "constants": program.constants, "fields": program.fields}
    for name, items in parts.items():
        if type(items) is not tuple:
            raise _Fault(f"{name} are no tuple")
        if len(items) > MAX_ITEMS:
            raise _Fault(f"{len(items)} {name}, more than {MAX_ITEMS}")
    if not program.instructions:
        raise _Fault("there is no instruction")
    if type(program.num_registers) is not int or not 1 <= program.num_registers <= MAX_REGISTERS:
        raise _Fault(f"the number of registers is {program.num_registers!r}, not 1 to {MAX_REGISTERS}")


def _check_words(program: Program) -> None:
    """Every operand is an integer that fits its slot of the instruction word."""
    try:
        _ = program.words
    except (struct.error, TypeError):
        for index, instruction in enumerate(program.instructions):
            try:
                WORD.pack(*instruction)
            except (struct.error, TypeError) as error:
                raise VerificationError("instruction", index, f"does not fit an instruction word: {error}") from None
        raise


def _check_instructions(program: Program, domains: list[int]) -> None:
    """Checks the instructions; ``domains`` says of each constant what its bounds can be read as.

    Jumps lead forward only, so when an instruction is reached every jump to it has been seen: ``written`` is the set of
    registers (a bit each) that every way to the instruction has written.
    """
    num_registers, num_fields, num_constants = program.num_registers, len(program.fields), len(program.constants)
    last = len(program.instructions) - 1
    written = 1
    written_at_jumps: dict[int, int] = {}
    for index, (opcode, destination, source, mode, field, argument) in enumerate(program.instructions):
        if index in written_at_jumps:
            written &= written_at_jumps.pop(index)
        try:
            spec = OPCODES.get(opcode)
            if spec is None:
                raise _Fault(f"unknown opcode {int(opcode)}")
            if (opcode == Opcode.RETURN) != (index == last):
                raise _Fault("RETURN before the end" if index != last else "the last instruction is not RETURN")
            if spec.reads_source:
                if source >= num_registers:
                    raise _Fault(f"there is no register {source}")
                if not written >> source & 1:
                    raise _Fault(f"reads register {source}, which some way here has not written")
            elif source:
                raise _Fault(f"{spec.name} has no source, so the slot must be 0, not {source}")
            if spec.writes:
                if destination == 0:
                    raise _Fault("writes register 0")
                if destination >= num_registers:
                    raise _Fault(f"there is no register {destination}")
                if spec.reads_destination and not written >> destination & 1:
                    raise _Fault(f"reads register {destination}, which some way here has not written")
                written |= 1 << destination
            elif destination:
                raise _Fault(f"{spec.name} has no destination, so the slot must be 0, not {destination}")
            if spec.elements:
                if mode not in _MODES:
                    raise _Fault(f"mode {mode} is no Elements")
            elif mode:
                raise _Fault(f"{spec.name} has no mode, so the slot must be 0, not {mode}")
            if spec.field:
                if field >= num_fields:
                    raise _Fault(f"there is no field {field}")
            elif field:
                raise _Fault(f"{spec.name} has no field, so the slot must be 0, not {field}")
            if spec.argument is Argument.CONSTANT:
                if argument >= num_constants:
                    raise _Fault(f"there is no constant {argument}")
                found = constant_type(program.constants[argument])
                if found is not spec.constant:
                    raise _Fault(f"constant {argument} is {found.name}, not {spec.constant and spec.constant.name}")
                if opcode == Opcode.TIMESTAMP_RANGE:
                    if not domains[argument] & _INSTANTS:
                        raise _Fault(f"constant {argument} has bounds that are no instants")
                elif not domains[argument] & _NUMBERS:
                    raise _Fault(f"constant {argument} has bounds that are no numbers of 64 bits")
            elif spec.argument is Argument.TARGET:
                if not index < argument <= last:
                    raise _Fault(f"jumps to {argument}, which is no later instruction")
                written_at_jumps[argument] = written_at_jumps.get(argument, -1) & written
            elif argument:
                raise _Fault(f"{spec.name} has no argument, so the slot must be 0, not {argument}")
        except _Fault as fault:
            raise VerificationError("instruction", index, str(fault)) from None


def _check_field(use: FieldUse) -> None:
    role, path = use.field
    if type(role) is not Role:
        raise _Fault(f"its role is {role!r}")
    if type(path) is not tuple or not path:
        raise _Fault("its path is empty")
    if role is Role.COLUMN and len(path) != 1:
        raise _Fault(f"a column has one name, not {len(path)}")
    if len(path) > MAX_PATH:
        raise _Fault(f"its path has {len(path)} keys, more than {MAX_PATH}")
    for key in path:
        _check_string(key)
    if use.not_timestamp is not None:
        _check_string(use.not_timestamp)


def _check_constant(constant: Constant) -> int:
    """Checks one constant, and says what its bounds can be read as (both, where it has none)."""
    if isinstance(constant, Intervals):
        return _check_intervals(constant)
    if isinstance(constant, ScalarSet):
        _check_scalars(constant)
    elif isinstance(constant, Strings):
        _check_strings(constant.values)
    elif isinstance(constant, StringBound):
        if constant.operator not in _STRING_OPERATORS:
            raise _Fault(f"its operator is {constant.operator!r}")
        _check_string(constant.value)
    elif isinstance(constant, Text):
        _check_string(constant.value)
    elif isinstance(constant, Json):
        _check_string(constant.text)
        _check_json(constant.text)
    else:
        raise _Fault(f"{type(constant).__name__} is no type of constant")
    return _NUMBERS | _INSTANTS


def _check_scalars(scalars: ScalarSet) -> None:
    if {type(scalars.null), type(scalars.false), type(scalars.true)} != {bool}:
        raise _Fault("null, false and true are no booleans")
    _check_size(scalars.numbers)
    for number in scalars.numbers:
        if not _is_number(number):
            raise _Fault(f"{number!r} is no canonical number")
    _check_ascending(scalars.numbers)
    _check_strings(scalars.strings)
    _check_size(scalars.instants)
    for instant in scalars.instants:
        if not _is_instant(instant):
            raise _Fault(f"{instant!r} is no instant")
    _check_ascending(scalars.instants)


def _check_intervals(intervals: Intervals) -> int:
    _check_size(intervals.values)
    domains = _NUMBERS | _INSTANTS
    for lower, lower_closed, upper, upper_closed in intervals.values:
        for bound, closed in ((lower, lower_closed), (upper, upper_closed)):
            if type(closed) is not bool or (closed and bound is None):
                raise _Fault(f"a bound {bound!r} cannot be closed {closed!r}")
            if bound is not None:
                domain = (_NUMBERS if _is_number(bound) else 0) | (_INSTANTS if _is_instant(bound) else 0)
                if not domain:
                    raise _Fault(f"a bound {bound!r} is no canonical number")
                domains &= domain
        if lower is None or upper is None:
            continue
        if lower > upper or (lower == upper and not (lower_closed and upper_closed)):
            raise _Fault(f"the interval from {lower!r} to {upper!r} is empty")
    for left, right in pairwise(intervals.values):
        if left.upper is None or right.lower is None or left.upper > right.lower:
            raise _Fault("its intervals are not in ascending order")
        if left.upper == right.lower and (left.upper_closed or right.lower_closed):
            raise _Fault(f"two of its intervals touch at {right.lower!r}")
    return domains


def _is_number(number: object) -> bool:
    """Whether it is a finite number in its one form."""
    if type(number) is int:
        return INT64_MIN <= number <= UINT64_MAX
    return type(number) is float and math.isfinite(number) and type(canonical_number(number)) is float


def _is_instant(instant: object) -> bool:
    return type(instant) is int and INSTANT_MIN <= instant <= INSTANT_MAX


def _check_size(values: Sequence[object]) -> None:
    if type(values) is not tuple:
        raise _Fault(f"its members are a {type(values).__name__}, no tuple")
    if len(values) > MAX_LENGTH:
        raise _Fault(f"it has {len(values)} members, more than {MAX_LENGTH}")


def _check_ascending(values: Sequence[int | float] | Sequence[str]) -> None:
    for left, right in pairwise(values):
        if not left < right:  # type: ignore[operator]  # both are numbers, or both strings
            raise _Fault(f"{right!r} stands behind {left!r}: not sorted, or twice")


def _check_strings(strings: tuple[str, ...]) -> None:
    _check_size(strings)
    for string in strings:
        _check_string(string)
    _check_ascending(strings)


def _check_string(string: str) -> None:
    if type(string) is not str:
        raise _Fault(f"a {type(string).__name__} stands where a string must")
    if len(string) > MAX_LENGTH:
        raise _Fault(f"a string has {len(string)} characters, more than {MAX_LENGTH}")


def _check_json(text: str) -> None:
    """The text is one JSON value without white space, and encodes as UTF-8: lone surrogates are spelled as escapes."""
    containers: list[str] = []
    allowed = _JSON_VALUE  # first characters of what may come next; "v" stands for numbers, true, false and null
    is_key = False  # whether a string that comes next is a key
    position = 0
    while allowed:
        token = _JSON_TOKEN.match(text, position)
        symbol = text[position] if token and text[position] in '"[]{},:' else "v"
        if token is None or symbol not in allowed:
            raise _Fault(f"its text is no compact JSON (at character {position})")
        position = token.end()
        if symbol in "[{":
            containers.append(symbol)
            if len(containers) > MAX_JSON_DEPTH:
                raise _Fault(f"its JSON nests deeper than {MAX_JSON_DEPTH}")
            is_key = symbol == "{"
            allowed = '"}' if is_key else _JSON_VALUE + "]"
        elif symbol == ",":
            is_key = containers[-1] == "{"
            allowed = '"' if is_key else _JSON_VALUE
        elif symbol == ":":
            allowed = _JSON_VALUE
        elif symbol == '"' and is_key:
            is_key = False
            allowed = ":"
        else:  # a value has ended
            is_key = False
            if symbol in "]}":
                containers.pop()
            allowed = "" if not containers else ",}" if containers[-1] == "{" else ",]"
    if position != len(text):
        raise _Fault(f"its text is no compact JSON (at character {position})")
