"""What the tests of optimizer and code generator share: short names for expressions, rows of every kind of value, and
the truth of an expression on all of them at once."""

from __future__ import annotations

import functools
import re
from decimal import Decimal

import oracle
from hypothesis import strategies as st

from fastfilter.bytecode.constants import Intervals, Json, Strings, Text
from fastfilter.bytecode.program import Field, Role
from fastfilter.compiler.expr import (
    FALSE,
    TRUE,
    And,
    Contains,
    ContainsIgnoreCase,
    EqualsAny,
    Exists,
    Expression,
    IsNull,
    JsonContains,
    Leaf,
    Literal,
    Not,
    NumberRange,
    Or,
    StringRange,
    TextEqualsAny,
    TextNumberRange,
    TimestampRange,
)
from fastfilter.values import (
    MISSING,
    Elements,
    Instant,
    Interval,
    JsonFloat,
    ScalarSet,
    StringBound,
    canonical_number,
    parse_timestamp,
)

A = Field(Role.METADATA, ("a",))
B = Field(Role.COLUMN, ("b",))
C = Field(Role.METADATA, ("c", "d"))

# ---------------------------------------------------------------------------------------------------------------------
# short names, also those of tests/golden/optimizer/*.txt


def all_of(*children: Expression) -> And:
    return And(children)


def any_of(*children: Expression) -> Or:
    return Or(children)


def scalars(*values: object, instants: tuple[str, ...] = ()) -> ScalarSet:
    numbers = {
        canonical_number(value) for value in values if isinstance(value, int | float) and not isinstance(value, bool)
    }
    return ScalarSet(
        None in values,
        any(value is False for value in values),
        any(value is True for value in values),
        tuple(sorted(numbers)),
        tuple(sorted({value for value in values if isinstance(value, str)})),
        tuple(sorted({parse_timestamp(text) or 0 for text in instants})),
    )


def eq(field: Field, *values: object, instants: tuple[str, ...] = ()) -> EqualsAny:
    return EqualsAny(field, scalars(*values, instants=instants), Elements.NEVER)


def within(field: Field, *values: object, instants: tuple[str, ...] = ()) -> EqualsAny:
    return EqualsAny(field, scalars(*values, instants=instants), Elements.ALSO)


def element(field: Field, *values: object, instants: tuple[str, ...] = ()) -> EqualsAny:
    return EqualsAny(field, scalars(*values, instants=instants), Elements.ONLY)


def interval(text: str) -> Interval:
    """An interval as mathematics spells it: ``[1, 2)``; a bound left out is none."""
    match = re.fullmatch(r"([\[(])([^,]*),([^,]*)([\])])", text.replace(" ", ""))
    assert match is not None
    opening, lower, upper, closing = match.groups()
    lower_bound = canonical_number(float(lower) if "." in lower or "e" in lower else int(lower)) if lower else None
    upper_bound = canonical_number(float(upper) if "." in upper or "e" in upper else int(upper)) if upper else None
    return Interval(lower_bound, opening == "[", upper_bound, closing == "]")


def intervals(*texts: str) -> Intervals:
    return Intervals(tuple(map(interval, texts)))


NAMES = {
    "a": A,
    "b": B,
    "c": C,
    "true": TRUE,
    "false": FALSE,
    "all_of": all_of,
    "any_of": any_of,
    "no": Not,
    "exists": Exists,
    "is_null": IsNull,
    "eq": eq,
    "within": within,
    "element": element,
    "number": lambda field, *texts: NumberRange(field, intervals(*texts)),
    "instant": lambda field, *texts: TimestampRange(field, intervals(*texts)),
    "text": lambda field, *values: TextEqualsAny(field, Strings(tuple(sorted(values)))),
    "text_number": lambda field, *texts: TextNumberRange(field, intervals(*texts)),
    "string": lambda field, operator, value: StringRange(field, StringBound(operator, value)),
    "contains": lambda field, value: Contains(field, Text(value)),
    "icontains": lambda field, value: ContainsIgnoreCase(field, Text(value)),
    "json": lambda field, value: JsonContains(field, Json(value)),
}


def read(text: str) -> Expression:
    """An expression from its short spelling."""
    expression: Expression = eval(text, {"__builtins__": {}}, dict(NAMES, None_=None))
    return expression


# ---------------------------------------------------------------------------------------------------------------------
# rows

ISO = "2024-01-01T00:00:00Z"
SAME_ISO = "2024-01-01T01:00:00+01:00"
LATER_ISO = "2024-01-01T00:00:00.000000001Z"
MOMENT = parse_timestamp(ISO)
assert MOMENT is not None

SCALAR_VALUES: tuple[object, ...] = (
    None, True, False, 0, 1, 2, 3, -1, 1.5, -0.0, 0.1, Decimal("0.1"), Decimal("44.4"), Decimal("1.50"), 2**53,
    2**53 + 1, 2**63, 2**64 - 1, 1e300, float("nan"), float("inf"), float("-inf"), JsonFloat("1.50"),
    JsonFloat("1e400"), "", "a", "A", "b", "ab", "1", "2", "1.5", "01", "1e0", "true", "null", "\U0001f600", "\uff61",
    ISO, SAME_ISO, LATER_ISO, Instant(MOMENT), Instant(MOMENT + 1), Instant(0),
)  # fmt: skip
VALUES: tuple[object, ...] = (
    MISSING, *SCALAR_VALUES, [], {}, {"a": 1}, {"a": None}, [None], [1], [2], [1, 2], [1.5, "a"], ["a"], ["A", "b"],
    [True], ["true"], [ISO], [SAME_ISO, "a"], [Instant(MOMENT)], [Instant(MOMENT), Instant(MOMENT + 1)], [[1]],
    [{"a": 1}],
)  # fmt: skip
"""Values of every kind; timestamps stand where a TIMESTAMP column would hold them."""

_SIDE = len(VALUES)
NUM_ROWS = _SIDE * _SIDE
EVERY_ROW = (1 << NUM_ROWS) - 1
"""The rows: every pair of values of the fields A and B. A set of rows is an integer with a bit for each."""
_ONE_COLUMN = (1 << _SIDE) - 1
_FIRST_OF_EVERY_RUN = sum(1 << (run * _SIDE) for run in range(_SIDE))


@functools.cache
def rows_of_test(test: Leaf) -> int:
    """The rows on which a test is true, by the oracle."""
    answers = [oracle.evaluate(test, {test.field: value}.__getitem__) for value in VALUES]
    if test.field == A:  # the value of A changes from run to run, that of B within a run
        return sum(_ONE_COLUMN << (run * _SIDE) for run, answer in enumerate(answers) if answer)
    return _FIRST_OF_EVERY_RUN * sum(1 << position for position, answer in enumerate(answers) if answer)


def rows_of(expression: Expression) -> int:
    """The rows on which an expression is true."""
    if isinstance(expression, Literal):
        return EVERY_ROW if expression.value else 0
    if isinstance(expression, Not):
        return EVERY_ROW & ~rows_of(expression.child)
    if isinstance(expression, And):
        return functools.reduce(int.__and__, map(rows_of, expression.children), EVERY_ROW)
    if isinstance(expression, Or):
        return functools.reduce(int.__or__, map(rows_of, expression.children), 0)
    return rows_of_test(expression)


def row_named(rows: int) -> str:
    """The first of some rows, for a failure message."""
    run, position = divmod((rows & -rows).bit_length() - 1, _SIDE)
    return f"a = {VALUES[run]!r}, b = {VALUES[position]!r}"


# ---------------------------------------------------------------------------------------------------------------------
# random expressions

_STRINGS = ("", "a", "A", "b", "1", "1.5", "true", ISO, SAME_ISO, LATER_ISO)
_NUMBERS = (0, 1, 2, 3, 1.5, 0.1, 44.4, -1, 2**53, 2**53 + 1, 2**64 - 1, 1e300)
_INSTANTS = (ISO, LATER_ISO)

_fields = st.sampled_from((A, B))


def _scalar_set(values: list[object], instants: list[str]) -> ScalarSet:
    return scalars(*values, instants=tuple(instants))


_scalar_sets = st.builds(
    _scalar_set,
    st.lists(st.sampled_from((None, False, True, *_NUMBERS, *_STRINGS)), max_size=4),
    st.lists(st.sampled_from(_INSTANTS), max_size=1),
)


@st.composite
def interval_sets(draw: st.DrawFn, bounds: tuple[int | float, ...]) -> Intervals:
    """Ascending intervals that neither overlap nor touch; none of them empty."""
    ends: list[int | float] = sorted(draw(st.sets(st.sampled_from(bounds), min_size=1, max_size=6)))
    found: list[Interval] = []
    while ends:
        lower = ends.pop(0)
        shape = draw(st.sampled_from(("point", "closed above", "open above")))
        upper = lower if shape == "point" else ends.pop(0) if ends and shape == "closed above" else None
        is_point = lower == upper
        closed = (True, True) if is_point else (draw(st.booleans()), draw(st.booleans()))
        if not found and draw(st.integers(0, 4)) == 0:
            found.append(Interval(None, False, lower, closed[0]))
        elif upper is None:
            found.append(Interval(lower, closed[0], None, False))
            break
        else:
            found.append(Interval(lower, closed[0], upper, closed[1]))
    return Intervals(tuple(found))


TESTS: st.SearchStrategy[Expression] = st.one_of(
    st.builds(Exists, _fields),
    st.builds(IsNull, _fields),
    st.builds(EqualsAny, _fields, _scalar_sets, st.sampled_from(Elements)),
    st.builds(NumberRange, _fields, interval_sets(_NUMBERS)),
    st.builds(NumberRange, _fields, st.just(Intervals(()))),
    st.builds(TimestampRange, _fields, interval_sets((0, MOMENT, MOMENT + 1, MOMENT + 2))),
    st.builds(
        StringRange,
        _fields,
        st.builds(StringBound, st.sampled_from(("gt", "gte", "lt", "lte")), st.sampled_from((*_STRINGS, "\uff61"))),
    ),
    st.builds(Contains, _fields, st.builds(Text, st.sampled_from(_STRINGS))),
    st.builds(ContainsIgnoreCase, _fields, st.builds(Text, st.sampled_from(_STRINGS))),
    st.builds(
        TextEqualsAny,
        _fields,
        st.sets(st.sampled_from((*_STRINGS, "[1, 2]", "44.4")), max_size=3).map(
            lambda found: Strings(tuple(sorted(found)))
        ),
    ),
    st.builds(TextNumberRange, _fields, interval_sets(_NUMBERS)),
    st.builds(
        JsonContains,
        _fields,
        st.builds(Json, st.sampled_from(("null", "1", "1.5", '"a"', f'"{ISO}"', "[1]", "[]", "{}", '{"a":1}', "true"))),
    ),
)
_LITERALS: st.SearchStrategy[Expression] = st.builds(Literal, st.booleans())


@st.composite
def expressions(draw: st.DrawFn) -> Expression:
    """Random expressions over A and B whose tests come from a small pool, so that they meet again."""
    pool = draw(st.lists(TESTS, min_size=1, max_size=5))
    leaves = st.one_of(st.sampled_from(pool), st.sampled_from(pool), st.sampled_from(pool).map(Not), TESTS, _LITERALS)
    return draw(
        st.recursive(
            leaves,
            lambda child: st.one_of(
                child.map(Not),
                st.lists(child, max_size=4).map(lambda found: And(tuple(found))),
                st.lists(child, max_size=4).map(lambda found: Or(tuple(found))),
            ),
            max_leaves=20,
        )
    )
