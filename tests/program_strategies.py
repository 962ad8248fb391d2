"""Random programs for Hypothesis: valid bytecode that no compiler would write, for both virtual machines to agree on.

:func:`programs` draws programs that pass the verifier by construction: any order of instructions, any registers that
are written where they are read, jumps to any later instruction, constants of every type. It reads the opcode table, so
a new opcode is drawn as soon as it has a row. Give it the fields that the data has, and :class:`Literals` that occur in
the data, so that conditions are true on some rows::

    @given(programs([Field(Role.COLUMN, ("importance",)), Field(Role.METADATA, ("a", "b"))]))
    def test(program: Program) -> None: ...

:func:`constants` draws a constant of one type.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from fastfilter.bytecode.constants import Constant, Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import OPCODES, Argument, ConstantType, Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import INSTANT_MAX, INSTANT_MIN
from fastfilter.values import Elements, Interval, ScalarSet, StringBound, canonical_number

DEFAULT_FIELDS = (
    Field(Role.COLUMN, ("importance",)),
    Field(Role.COLUMN, ("content",)),
    Field(Role.METADATA, ("source", "system")),
    Field(Role.METADATA, ("a.b",)),
    Field(Role.METADATA, ("",)),
)

_FEW_NUMBERS = (0, 1, -1, 2, 5, 0.5, 0.7, 1.5, 1e300, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2.0**64, 5e-324)
_FEW_STRINGS = (
    "", "a", "b", "A", "ab", "true", "5", "1.50", "é", "\u0130", "\uff61", "\U0001f600", "\ud83d",
    "2026-01-01T00:00:00Z",
)  # fmt: skip
_FEW_INSTANTS = (0, 1, -1, 1_767_225_600_000_000_000, 10**30, INSTANT_MIN, INSTANT_MAX)


def compact_json(value: object) -> str:
    """A Python value as the text of a Json constant: no white space, lone surrogates as escapes."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return re.sub("[\ud800-\udfff]", lambda surrogate: f"\\u{ord(surrogate[0]):04x}", text)


@dataclass(frozen=True)
class Literals:
    """What constants are made of; the defaults are few values that collide, and some of every kind.

    Attributes:
        numbers: finite numbers, in any spelling.
        strings: any strings.
        instants: nanoseconds since the epoch.
    """

    numbers: st.SearchStrategy[int | float] = field(
        default_factory=lambda: st.one_of(
            st.sampled_from(_FEW_NUMBERS),
            st.integers(-(2**63), 2**64 - 1),
            st.floats(allow_nan=False, allow_infinity=False),
        )
    )
    strings: st.SearchStrategy[str] = field(
        default_factory=lambda: st.one_of(
            st.sampled_from(_FEW_STRINGS), st.text(st.characters(exclude_categories=()), max_size=5)
        )
    )
    instants: st.SearchStrategy[int] = field(
        default_factory=lambda: st.one_of(st.sampled_from(_FEW_INSTANTS), st.integers(INSTANT_MIN, INSTANT_MAX))
    )


DEFAULT_LITERALS = Literals()


def _sorted_tuples(elements: st.SearchStrategy[Any], max_size: int = 4) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.sets(elements, max_size=max_size).map(lambda values: tuple(sorted(values)))


@st.composite
def intervals(draw: st.DrawFn, bounds: st.SearchStrategy[Any]) -> Intervals:
    """Any union of ranges: the bounds cut the line into gaps and points, each of which is in it or not."""
    cuts = draw(_sorted_tuples(bounds, max_size=3))
    # Region 2i is the gap before cut i, region 2i + 1 the cut itself; the last region is the gap behind all cuts.
    num_regions = 2 * len(cuts) + 1
    inside = draw(st.lists(st.booleans(), min_size=num_regions, max_size=num_regions))
    found: list[Interval] = []
    first: int | None = None
    for region in range(num_regions + 1):
        if region < num_regions and inside[region]:
            first = region if first is None else first
        elif first is not None:
            last = region - 1
            lower = cuts[(first - 1) // 2] if first > 0 else None
            upper = cuts[last // 2] if last < num_regions - 1 else None
            found.append(Interval(lower, first % 2 == 1, upper, last % 2 == 1))
            first = None
    return Intervals(tuple(found))


def constants(
    constant_type: ConstantType, literals: Literals = DEFAULT_LITERALS, *, instants: bool = False
) -> st.SearchStrategy[Constant]:
    """Well-formed constants of one type; ``instants`` asks for Intervals of instants instead of numbers."""
    numbers = literals.numbers.map(canonical_number)
    match constant_type:
        case ConstantType.SCALARS:
            return st.builds(
                ScalarSet,
                null=st.booleans(),
                false=st.booleans(),
                true=st.booleans(),
                numbers=_sorted_tuples(numbers),
                strings=_sorted_tuples(literals.strings),
                instants=_sorted_tuples(literals.instants),
            )
        case ConstantType.INTERVALS:
            return intervals(literals.instants if instants else numbers)
        case ConstantType.STRING_BOUND:
            return st.builds(StringBound, st.sampled_from(("gt", "gte", "lt", "lte")), literals.strings)
        case ConstantType.TEXT:
            return st.builds(Text, literals.strings)
        case ConstantType.STRINGS:
            return st.builds(Strings, _sorted_tuples(literals.strings))
        case ConstantType.JSON:
            scalars = st.one_of(st.none(), st.booleans(), numbers, literals.strings)
            values = st.recursive(
                scalars,
                lambda children: st.one_of(
                    st.lists(children, max_size=3), st.dictionaries(literals.strings, children, max_size=3)
                ),
                max_leaves=6,
            )
            return values.map(compact_json).map(Json)


@st.composite
def programs(
    draw: st.DrawFn,
    fields: Sequence[Field] = DEFAULT_FIELDS,
    *,
    literals: Literals = DEFAULT_LITERALS,
    max_instructions: int = 20,
    max_registers: int = 6,
) -> Program:
    """Programs that pass the verifier.

    Args:
        fields: the fields of the program, all different, in this order; its tests read any of them.
        literals: what its constants are made of.
        max_instructions: at least 1, RETURN included.
        max_registers: at least 2, register 0 included.
    """
    length = draw(st.integers(1, max_instructions))
    num_registers = draw(st.integers(2, max_registers))
    pool: list[Constant] = []
    instructions: list[Instruction] = []
    written = {0}  # on every way to the instruction
    written_at_jumps: dict[int, set[int]] = {}

    def draw_slot(opcode: Opcode, slot: str) -> int:
        spec = OPCODES[opcode]
        if slot == "destination":
            if spec.reads_destination:
                return draw(st.sampled_from(sorted(written - {0})))
            unwritten = sorted(set(range(num_registers)) - written)
            return draw(st.sampled_from(unwritten or range(1, num_registers)))
        if slot == "source":
            computed = sorted(written - {0}, reverse=True) or [0]
            # Every test narrows its source, so chains of them soon hold no row: most begin with all rows.
            all_rows = [0] * 2 * len(computed) if spec.writes and not spec.reads_destination else []
            return draw(st.sampled_from(all_rows + computed))
        if slot == "field":
            return draw(st.integers(0, len(fields) - 1))
        if slot == "mode":
            return int(draw(st.sampled_from(Elements)))
        if spec.argument is Argument.TARGET:
            return draw(st.integers(len(instructions) + 1, length - 1))
        assert spec.constant is not None
        constant = draw(constants(spec.constant, literals, instants=opcode is Opcode.TIMESTAMP_RANGE))
        if constant not in pool:
            pool.append(constant)
        return pool.index(constant)

    for index in range(length):
        written &= written_at_jumps.pop(index, written)
        choices = [
            opcode
            for opcode, spec in OPCODES.items()
            if (opcode is Opcode.RETURN) == (index == length - 1)
            and (len(written) > 1 or not spec.reads_destination)
            and (fields or not spec.field)
        ]
        # Most tests are true on few rows: many of them and their unions make answers that are not all alike.
        weights = {Opcode.OR: 8, Opcode.AND_NOT: 2, Opcode.JUMP_IF_NONE: 2}
        choices.sort(key=lambda opcode: not OPCODES[opcode].field)  # Hypothesis likes what stands first
        weighted = [opcode for opcode in choices for _ in range(weights.get(opcode, 2 if OPCODES[opcode].field else 1))]
        opcode = draw(st.sampled_from(weighted))
        slots = {slot: draw_slot(opcode, slot) for slot in OPCODES[opcode].operands}
        instructions.append(Instruction(opcode, **slots))
        if OPCODES[opcode].writes:
            written.add(slots["destination"])
        if OPCODES[opcode].argument is Argument.TARGET:
            target = slots["argument"]
            written_at_jumps[target] = written_at_jumps.get(target, written) & written
    uses = tuple(FieldUse(given_field, None) for given_field in fields)
    return Program(tuple(instructions), tuple(pool), uses, num_registers)
