"""The disassembler: a program as a listing for people, which :func:`fastfilter.bytecode.assembler.assemble` reads back.

A listing is lines of text::

    registers 2
    field 0 = column "importance"
    field 1 = metadata "source" "system" not_timestamp "\\"crm\\""
    constant 0 = intervals [0.7, inf)

    0  NUMBER_RANGE  r1 r0 f0 c0  ; r1 = r0 where number_range(importance, >= 0.7)
    1  RETURN        r1           ; return r1

Strings are spelled as JSON strings in ASCII; several that follow one another without a space are one string (that is
how a high surrogate and a low one that stand side by side, and are not one character, are kept apart). A ``json``
constant is its own text, to the end of the line. In ``scalars`` a number with ``@`` before it is an instant. Operands
stand in the order of :attr:`OpcodeSpec.operands <fastfilter.bytecode.opcodes.OpcodeSpec.operands>`: registers
``r``, field ``f``, constant ``c`` or target ``i`` by number, elements by name. What follows ``;`` is a comment.
"""

from __future__ import annotations

import datetime
import json
import re
from collections.abc import Callable, Iterable
from typing import Final

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text, constant_type
from fastfilter.bytecode.opcodes import OPCODES, Argument, Opcode, OpcodeSpec
from fastfilter.bytecode.program import FieldUse, Instruction, Program
from fastfilter.values import Elements, Interval, ScalarSet, StringBound

__all__ = ["OPERAND_PREFIXES", "describe_constant", "disassemble", "operand_prefix"]

OPERAND_PREFIXES: Final = {"destination": "r", "source": "r", "field": "f", "mode": ""}
_ARGUMENT_PREFIXES: Final = {Argument.CONSTANT: "c", Argument.TARGET: "i"}
_BETWEEN_SURROGATES: Final = re.compile("(?<=[\ud800-\udbff])(?=[\udc00-\udfff])")
_MAX_WORDS: Final = 60
"""How many characters of a string, and _MAX_MEMBERS: how many members of a constant, a comment shows."""
_MAX_MEMBERS: Final = 6
_COMPARISONS: Final = {"gt": ">", "gte": ">=", "lt": "<", "lte": "<="}
_EPOCH: Final = datetime.datetime(1970, 1, 1)


def disassemble(program: Program) -> str:
    """The listing of a valid program. Equal programs have equal listings.

    Example:
        >>> print(disassemble(Program((Instruction(Opcode.RETURN),), (), (), 1)), end="")
        registers 1
        <BLANKLINE>
        0  RETURN  r0  ; return r0
    """
    lines = [f"registers {program.num_registers}"]
    lines += (f"field {number} = {_spell_field(use)}" for number, use in enumerate(program.fields))
    for number, constant in enumerate(program.constants):
        spelled = f"{constant_type(constant).name.lower()} {_spell_constant(constant)}"
        lines.append(f"constant {number} = {spelled.rstrip(' ')}")
    lines.append("")

    rows = [
        (str(number), instruction.opcode.name, _spell_operands(instruction), _comment(instruction, program))
        for number, instruction in enumerate(program.instructions)
    ]
    number_width, name_width, operands_width = (max(len(row[i]) for row in rows) for i in range(3))
    for number_text, name, operands, comment in rows:
        lines.append(f"{number_text:>{number_width}}  {name:<{name_width}}  {operands:<{operands_width}}  ; {comment}")
    return "\n".join(lines) + "\n"


def operand_prefix(spec: OpcodeSpec, slot: str) -> str:
    """What stands before an operand's number in a listing; empty for the mode, which stands by name."""
    return _ARGUMENT_PREFIXES[spec.argument] if slot == "argument" else OPERAND_PREFIXES[slot]


def _spell_operands(instruction: Instruction) -> str:
    spec = OPCODES[instruction.opcode]
    return " ".join(_spell_operand(instruction, spec, slot) for slot in spec.operands)


def _spell_operand(instruction: Instruction, spec: OpcodeSpec, slot: str) -> str:
    number: int = getattr(instruction, slot)
    return Elements(number).name if slot == "mode" else f"{operand_prefix(spec, slot)}{number}"


def _comment(instruction: Instruction, program: Program) -> str:
    """The opcode's synopsis, with what its operands stand for in the place of their names."""
    spec = OPCODES[instruction.opcode]
    words = {slot: _spell_operand(instruction, spec, slot) for slot in spec.operands}
    if spec.field:
        words["field"] = _shorten(program.fields[instruction.field].field.name)
    if spec.elements:
        words["elements"] = words["mode"]
    if spec.argument is Argument.TARGET:
        words["target"] = str(instruction.argument)
    elif spec.constant is not None:
        words[spec.constant.name.lower()] = describe_constant(
            program.constants[instruction.argument], instants=instruction.opcode is Opcode.TIMESTAMP_RANGE
        )
    return re.sub(r"\w+", lambda word: words.get(word[0], word[0]), spec.synopsis)


def _spell_field(use: FieldUse) -> str:
    parts = [use.field.role.name.lower(), *map(_spell_string, use.field.path)]
    if use.not_timestamp is not None:
        parts += ["not_timestamp", _spell_string(use.not_timestamp)]
    return " ".join(parts)


def _spell_string(string: str) -> str:
    return "".join(map(json.dumps, _BETWEEN_SURROGATES.split(string)))


def _spell_constant(constant: Constant) -> str:
    match constant:
        case ScalarSet(null=null, false=false, true=true, numbers=numbers, strings=strings, instants=instants):
            named = [name for name, is_in in (("null", null), ("false", false), ("true", true)) if is_in]
            spelled = [*map(_spell_string, strings), *(f"@{instant}" for instant in instants)]
            return " ".join([*named, *map(repr, numbers), *spelled])
        case Intervals(values=intervals):
            return " ".join(map(_spell_interval, intervals))
        case StringBound(operator=operator, value=string):
            return f"{operator} {_spell_string(string)}"
        case Text(value=string):
            return _spell_string(string)
        case Strings(values=strings):
            return " ".join(map(_spell_string, strings))
        case Json(text=text):
            return text


def _spell_interval(interval: Interval) -> str:
    lower = "-inf" if interval.lower is None else repr(interval.lower)
    upper = "inf" if interval.upper is None else repr(interval.upper)
    return f"{'[' if interval.lower_closed else '('}{lower}, {upper}{']' if interval.upper_closed else ')'}"


def describe_constant(constant: Constant, *, instants: bool = False) -> str:
    """A constant in words for people, shortened where it is long.

    Args:
        constant: the constant.
        instants: whether the bounds of an Intervals are nanoseconds since the epoch, and not numbers.

    Example:
        >>> describe_constant(Intervals((Interval(None, False, 3, False), Interval(5, True, 8, True))))
        '< 3 or >= 5 and <= 8'
    """
    match constant:
        case ScalarSet(null=null, false=false, true=true, numbers=numbers, strings=strings, instants=moments):
            words = [name for name, is_in in (("null", null), ("false", false), ("true", true)) if is_in]
            total = len(words) + len(numbers) + len(strings) + len(moments)
            words += map(repr, numbers[:_MAX_MEMBERS])
            words += map(_quote, strings[:_MAX_MEMBERS])
            words += map(_instant_words, moments[:_MAX_MEMBERS])
            return "{" + _join(", ", words, total) + "}"
        case Strings(values=strings):
            return "{" + _join(", ", map(_quote, strings[:_MAX_MEMBERS]), len(strings)) + "}"
        case Intervals(values=intervals):
            spell = _instant_words if instants else repr
            ranges = (_interval_words(interval, spell) for interval in intervals[:_MAX_MEMBERS])
            return _join(" or ", ranges, len(intervals)) or "nothing"
        case StringBound(operator=operator, value=string):
            return f"{_COMPARISONS[operator]} {_quote(string)}"
        case Text(value=string):
            return _quote(string)
        case Json(text=text):
            return _shorten(text)


def _join(separator: str, words: Iterable[str], total: int) -> str:
    """The first words, and how many of ``total`` are left out."""
    shown = list(words)[:_MAX_MEMBERS]
    rest = total - len(shown)
    return separator.join([*shown, f"{rest} more"] if rest else shown)


def _interval_words(interval: Interval, spell: Callable[[int | float], str]) -> str:
    lower, lower_closed, upper, upper_closed = interval
    if lower is not None and lower == upper:
        return f"= {spell(lower)}"
    sides = []
    if lower is not None:
        sides.append(f"{'>=' if lower_closed else '>'} {spell(lower)}")
    if upper is not None:
        sides.append(f"{'<=' if upper_closed else '<'} {spell(upper)}")
    return " and ".join(sides) or "anything"


def _instant_words(nanoseconds: float) -> str:
    """An instant as a timestamp, or as its number where it lies outside the calendar's years 1 to 9999."""
    seconds, fraction = divmod(int(nanoseconds), 1_000_000_000)
    try:
        text = (_EPOCH + datetime.timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        return f"@{nanoseconds}"
    return text + (f".{fraction:09}".rstrip("0") if fraction else "") + "Z"


def _quote(string: str) -> str:
    return f'"{_shorten(string)}"'


def _shorten(text: str) -> str:
    """At most some sixty characters of a text, those that are not printable as escapes."""
    shown = text if len(text) <= _MAX_WORDS else text[:_MAX_WORDS] + "..."
    return "".join(char if char.isprintable() else json.dumps(char)[1:-1] for char in shown)
