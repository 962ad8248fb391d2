"""Listings: golden ones, the way back from them, and faults by line."""

from __future__ import annotations

import pytest
from golden_files import GOLDEN, check_golden
from hypothesis import given
from hypothesis import strategies as st
from program_strategies import programs
from sample_programs import SAMPLES

from fastfilter.bytecode.assembler import assemble
from fastfilter.bytecode.constants import Intervals, Json, Strings, Text
from fastfilter.bytecode.disassembler import describe_constant, disassemble
from fastfilter.bytecode.program import Program
from fastfilter.errors import ProgramError
from fastfilter.values import Interval, ScalarSet, StringBound, point


@pytest.mark.parametrize("name", SAMPLES)
def test_golden_listing(name: str) -> None:
    check_golden(f"listings/{name}.txt", disassemble(SAMPLES[name]))


@pytest.mark.parametrize("name", SAMPLES)
def test_a_golden_listing_reads_back(name: str) -> None:
    text = (GOLDEN / f"listings/{name}.txt").read_bytes().decode()
    assert assemble(text) == SAMPLES[name]
    assert assemble(text.replace("\n", "\r\n")) == SAMPLES[name]


@given(programs())
def test_random_programs_read_back(program: Program) -> None:
    listing = disassemble(program)
    assert assemble(listing) == program
    assert disassemble(assemble(listing)) == listing


def test_a_listing_may_be_written_freely() -> None:
    text = """
        ; rows that matter
        0 NUMBER_RANGE r1   r0 f0 c0
        1 RETURN r1;done
        constant 0=intervals  (-1e-5,0]   [0.7,inf)
\tfield 0 = column  "importance"
    registers 2"""
    assert assemble(text).constants == (Intervals((Interval(-1e-5, False, 0, True), Interval(0.7, True, None, False))),)


HEAD = 'registers 2\nfield 0 = column "importance"\nconstant 0 = intervals [0.7, inf)\n'
TAIL = "0 NUMBER_RANGE r1 r0 f0 c0\n1 RETURN r1\n"
FAULTS = {
    "no registers": (TAIL, "line 3: the listing ends without its number of registers"),
    "registers twice": (HEAD + "registers 2\n" + TAIL, "line 4: the number of registers stands twice"),
    "nothing": ("", "line 1: the listing ends without its number of registers"),
    "no instruction": (HEAD, "line 4: there is no instruction"),
    "an unreadable line": (HEAD + "RETURN r0\n" + TAIL, "line 4: 'RETURN r0' is no line of a listing"),
    "a wrong role": (HEAD + 'field 1 = row "a"\n' + TAIL, "line 4: .* is no line of a listing"),
    "a field without a path": (HEAD + "field 1 = metadata\n" + TAIL, "line 4: .* is no line of a listing"),
    "a wrong number": (HEAD + TAIL.replace("1 RETURN", "2 RETURN"), "line 5: its number is 2, but the next is 1"),
    "a misspelled opcode": (HEAD + TAIL.replace("BER_R", "BR_R"), "line 4: .*NUMBR_RANGE; did you mean NUMBER_RANGE?"),
    "too few operands": (
        HEAD + TAIL.replace(" c0", ""),
        r"line 4: NUMBER_RANGE has 4 operands \(destination, .* not 3",
    ),
    "a wrong prefix": (HEAD + TAIL.replace("f0", "c0"), "line 4: 'c0' stands where field"),
    "a number too large": (HEAD + TAIL.replace("f0", "f99999999999"), "line 4: 'f99999999999' stands where field"),
    "a large number": (HEAD + TAIL.replace("f0", "f65536"), "line 4: instruction 0: does not fit"),
    "wrong elements": (
        HEAD + "constant 1 = scalars 1\n0 EQUALS_ANY r1 r0 f0 c1 SOME\n1 RETURN r1",
        "line 5: 'SOME' is none of NEVER, ALSO, ONLY",
    ),
    "a wrong type of constant": (HEAD + "constant 1 = set 1\n" + TAIL, "line 4: there is no type of constant set"),
    "an unreadable interval": (HEAD.replace("0.7, ", "0.7 ") + TAIL, "line 3: cannot read"),
    "a closed infinity": (HEAD.replace("0.7", "-inf") + TAIL, "line 3: constant 0: a bound None cannot be closed"),
    "an unreadable scalar": (HEAD + "constant 1 = scalars 1x\n" + TAIL, "line 4: cannot read '1x'"),
    "a scalar twice": (HEAD + "constant 1 = scalars null null\n" + TAIL, "line 4: null stands twice"),
    "an instant that is none": (HEAD + "constant 1 = scalars @1.5\n" + TAIL, "line 4: cannot read"),
    "an unclosed string": (HEAD + 'constant 1 = text "a\n' + TAIL, "line 4: cannot read"),
    "two texts": (HEAD + 'constant 1 = text "a" "b"\n' + TAIL, "line 4: 2 strings stand where one must"),
    "a bound without operator": (HEAD + 'constant 1 = string_bound "a"\n' + TAIL, "line 4: .* no operator and string"),
    "a wrong operator": (
        HEAD + 'constant 1 = string_bound ne "a"\n' + TAIL,
        "line 4: constant 1: its operator is 'ne'",
    ),
    "bad JSON": (HEAD + "constant 1 = json {\n" + TAIL, "line 4: constant 1: its text is no compact JSON"),
    "an infinite bound": (
        HEAD.replace("0.7", "1e999") + TAIL,
        "line 3: constant 0: a bound inf is no canonical number",
    ),
    "a number that is not canonical": (HEAD.replace("0.7", "7.0") + TAIL, "line 3: constant 0: a bound 7.0 is no"),
    "a field twice": (HEAD + 'field 1 = column "importance"\n' + TAIL, "line 4: field 1: .* already has this field"),
    "an unwritten register": (HEAD + TAIL.replace("r1 r0", "r1 r1"), "line 4: instruction 0: reads register 1"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_is_named_with_its_line(name: str) -> None:
    text, message = FAULTS[name]
    with pytest.raises(ProgramError, match=f"^{message}"):
        assemble(text)


@given(st.text(st.characters(exclude_categories=())))
def test_any_text_is_refused_as_one_that_is_no_listing(text: str) -> None:
    with pytest.raises(ProgramError, match=r"^line [0-9]+: "):
        assemble(text)


@given(st.sampled_from(sorted(SAMPLES)), st.data())
def test_a_damaged_listing_is_refused_or_still_a_program(name: str, data: st.DataObject) -> None:
    listing = disassemble(SAMPLES[name])
    position = data.draw(st.integers(0, len(listing) - 1))
    inserted = data.draw(st.sampled_from(["", "0", "-", '"', "\\", " ", "\n", ";", "r1", "e9", ",", "\ud83d"]))
    damaged = listing[:position] + inserted + listing[position + data.draw(st.integers(0, 3)) :]
    try:
        program = assemble(damaged)
    except ProgramError:
        return
    assert assemble(disassemble(program)) == program


@pytest.mark.parametrize(
    ("constant", "words"),
    [
        (ScalarSet(null=True, false=True, numbers=(1, 2.5), strings=("a",)), '{null, false, 1, 2.5, "a"}'),
        (ScalarSet(instants=(1_500_000_000,)), "{1970-01-01T00:00:01.5Z}"),
        (ScalarSet(numbers=tuple(range(10))), "{0, 1, 2, 3, 4, 5, 4 more}"),
        (ScalarSet(null=True, numbers=tuple(range(10)), strings=("a",)), "{null, 0, 1, 2, 3, 4, 6 more}"),
        (ScalarSet(), "{}"),
        (Strings(("a", "\n")), '{"a", "\\n"}'),
        (Intervals(()), "nothing"),
        (Intervals((Interval(None, False, None, False),)), "anything"),
        (Intervals((Interval(None, False, 3, False), point(4))), "< 3 or = 4"),
        (Intervals((Interval(0.5, True, 7, True),)), ">= 0.5 and <= 7"),
        (Intervals(tuple(point(n) for n in range(8))), "= 0 or = 1 or = 2 or = 3 or = 4 or = 5 or 2 more"),
        (StringBound("lte", "é"), '<= "é"'),
        (Text("x" * 100), '"' + "x" * 60 + '..."'),
        (Json('{"a":1}'), '{"a":1}'),
    ],
)
def test_constants_in_words(constant: ScalarSet | Intervals | Strings | StringBound | Text | Json, words: str) -> None:
    assert describe_constant(constant) == words


def test_instants_in_words() -> None:
    bounds = Intervals((Interval(1_704_247_200_000_000_000, True, 10**30, False),))
    assert describe_constant(bounds, instants=True) == f">= 2024-01-03T02:00:00Z and < @{10**30}"
