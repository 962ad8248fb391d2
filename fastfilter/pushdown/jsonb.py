"""Tests of JSON values in a ``jsonb`` column of PostgreSQL.

``->`` and ``->>`` with a key of text give null where there is no object or no such key, and ``->>`` where the value is
JSON null as well. jsonb holds no NUL and no lone surrogate, so what looks for one finds nothing and is never asked; it
keeps every digit of a number. No condition can stop with an error, whatever is in a row: casts stand in a CASE behind
what they need, and no number is cast to a double that is not sure to be one.
"""

from __future__ import annotations

import json
import math
import struct
import sys
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, Final

from fastfilter.bytecode.constants import Intervals, Json, Strings, Text
from fastfilter.bytecode.opcodes import Opcode
from fastfilter.compiler.pushdown import Bounds
from fastfilter.pushdown.leaves import BoundLeaf
from fastfilter.pushdown.sql import Parameter, Sql, SqlStore, spell
from fastfilter.runtime.vm.lowering import lower
from fastfilter.values import INT64_MIN, UINT64_MAX, Elements, ScalarSet, StringBound, canonical_number, point

__all__ = ["jsonb_leaf"]


def jsonb_leaf(store: SqlStore, bound: BoundLeaf, path: Sequence[str], column: Sql) -> Bounds[Sql]:
    """The bounds of a test of the value at a path of keys in a column."""
    if not path:
        return Bounds(True, False)
    if not all(map(store.is_storable, path)):
        return Bounds.exactly(False)
    return _Value(store, path, column).test(bound)


class _Value:
    """A JSON value at a path.

    Attributes:
        value: it as jsonb.
        text: it as text.
    """

    def __init__(self, store: SqlStore, path: Sequence[str], column: Sql) -> None:
        keys = [spell("CAST({} AS text)", Parameter(key)) for key in path]
        parent = column
        for key in keys[:-1]:
            parent = spell("({} -> {})", parent, key)
        self.value = spell("({} -> {})", parent, keys[-1])
        self.text = spell("({} ->> {})", parent, keys[-1])
        self._store = store
        self._path = path
        self._column = column

    def test(self, bound: BoundLeaf) -> Bounds[Sql]:
        """The bounds of a test of this value."""
        constant = bound.constant
        if bound.opcode is Opcode.EXISTS:
            return Bounds.exactly(spell("({} IS NOT NULL)", self.text))
        if bound.opcode is Opcode.IS_NULL:
            return Bounds.exactly(self._is("null"))
        if isinstance(constant, ScalarSet):
            return self._equals(constant, bound.elements)
        if isinstance(constant, StringBound):
            return self._ordered(constant)
        if isinstance(constant, Text):
            ignore_case = bound.opcode is Opcode.CONTAINS_IGNORE_CASE
            return self._searched_ignoring_case(constant.value) if ignore_case else self._searched(constant.value)
        if isinstance(constant, Strings):
            texts = tuple(filter(self._store.is_storable, constant.values))
            return Bounds.exactly(self._store.texts(texts, self.text) if texts else False)
        if isinstance(constant, Json):
            return self._contains(constant.text)
        assert isinstance(constant, Intervals)
        if bound.opcode is Opcode.TIMESTAMP_RANGE:
            return Bounds(self._is("string"), False)
        if bound.opcode is Opcode.NUMBER_RANGE:
            return self._number_in(constant)
        return self._text_number_in(constant)

    def _is(self, kind: str) -> Sql:
        return spell(f"(jsonb_typeof({{}}) = '{kind}')", self.value)

    def _equals(self, scalars: ScalarSet, elements: Elements) -> Bounds[Sql]:
        wanted: list[Any] = [*filter(self._store.is_storable, scalars.strings)]
        wanted += [boolean for boolean in (False, True) if (scalars.true if boolean else scalars.false)]
        parts: list[Bounds[Sql]] = []
        if elements is not Elements.ONLY:
            # Below its top a value contains no scalar but its equal, so this asks for equality, and by an index.
            parts += [Bounds.exactly(spell("({} @> {})", self._column, _jsonb(self._object(item)))) for item in wanted]
            if scalars.numbers:
                parts.append(self._number_in(Intervals(tuple(point(number) for number in scalars.numbers))))
            if scalars.instants:
                parts.append(Bounds(self._is("string"), False))
        if elements is not Elements.NEVER:
            items = [json.dumps(item, ensure_ascii=False) for item in wanted + ([None] if scalars.null else [])]
            if items:
                contained = spell("({} @> ANY(CAST(CAST({} AS text[]) AS jsonb[])))", self.value, Parameter(items))
                parts.append(Bounds.exactly(self._store.conjunction([self._is("array"), contained])))
            if scalars.numbers:
                points = Intervals(tuple(point(number) for number in scalars.numbers))
                parts.append(
                    Bounds.exactly(
                        _some_element(self.value, "element", _number_in(self._store, spell("element"), points))
                    )
                )
            if scalars.instants:
                parts.append(Bounds(self._is("array"), False))
        return self._store.any_of(parts)

    def _object(self, item: Any) -> Any:
        for key in reversed(self._path):
            item = {key: item}
        return item

    def _ordered(self, bound: StringBound) -> Bounds[Sql]:
        if not self._store.is_storable(bound.value) or any(character >= "\ud800" for character in bound.value):
            return Bounds(self._is("string"), False)
        ordered = self._store.order(bound.operator, bound.value, self.text)
        return Bounds.exactly(self._store.conjunction([self._is("string"), ordered]))

    def _searched(self, text: str) -> Bounds[Sql]:
        if not self._store.is_storable(text):
            return Bounds.exactly(False)
        return Bounds.exactly(
            spell(
                "(CASE jsonb_typeof({}) WHEN 'string' THEN {} WHEN 'array' THEN {} @> {} ELSE FALSE END)",
                self.value,
                self._store.searches(text, self.text),
                self.value,
                _jsonb(text),
            )
        )

    def _searched_ignoring_case(self, text: str) -> Bounds[Sql]:
        found = self._store.searches_ignoring_case(text.lower(), self.text)
        if found.upper is False:
            return found
        of_string = Bounds(
            _and(self._store, self._is("string"), found.upper), _and(self._store, self._is("string"), found.lower)
        )
        return self._store.any_of([of_string, Bounds(self._is("array"), False)])

    def _contains(self, pattern: str) -> Bounds[Sql]:
        wanted = json.loads(pattern)
        if not _is_storable(wanted, self._store):
            return Bounds.exactly(False)
        if not _has_number(wanted):
            return Bounds.exactly(spell("({} @> {})", self.value, _jsonb(wanted)))
        contained = _contained(self._store, self.value, wanted)
        if contained is None:
            return Bounds(spell("({} IS NOT NULL)", self.value), False)
        if isinstance(wanted, list | dict):
            return Bounds.exactly(contained)
        # At the top, and only there, an array contains a scalar that is one of its elements.
        element = _contained(self._store, self.value, [wanted])
        assert element is not None
        return Bounds.exactly(self._store.disjunction([contained, element]))

    def _number_in(self, intervals: Intervals) -> Bounds[Sql]:
        return Bounds.exactly(_number_in(self._store, self.value, intervals))

    def _text_number_in(self, intervals: Intervals) -> Bounds[Sql]:
        """A text that is a plain number and, read as a double, lies in the intervals.

        A text of few digits can be cast to a double. One of many could be out of a double's range, or of a numeric's:
        it is compared as a decimal of its first digits, which tell on which side of a bound it lies, with a digit more
        that tells whether there are others than zeros behind.
        """
        pairs = list(struct.iter_unpack("=2d", lower(Opcode.TEXT_NUMBER_RANGE, intervals, None).doubles))
        if not pairs:
            return Bounds.exactly(False)
        double = spell("CAST({} AS double precision)", self.text)
        few = [_double_between(double, low, high) for low, high in pairs]
        many = [_rounding_to(low, high).condition(spell("number")) for low, high in pairs]
        return Bounds.exactly(
            spell(
                f"(CASE WHEN length({{}}) <= {_FEW} THEN (CASE WHEN {{}} ~ {_PLAIN} THEN {{}} ELSE FALSE END)"
                f" WHEN {{}} ~ {_PLAIN} THEN (SELECT {{}} FROM {_MANY_DIGITS}) ELSE FALSE END)",
                self.text,
                self.text,
                _any(self._store, few),
                self.text,
                _any(self._store, many),
                self.text,
                self.text,
            )
        )


def _number_in(store: SqlStore, value: Sql, intervals: Intervals) -> Sql:
    """That a jsonb is a number in the intervals: an integer of 64 bits exactly, any other as the nearest double."""
    lowered = lower(Opcode.NUMBER_RANGE, intervals, None)
    number = spell("CAST({} AS numeric)", value)
    doubles = [_rounding_to(*pair).condition(number) for pair in struct.iter_unpack("=2d", lowered.doubles)]
    among = _any(store, doubles)
    bounds = [bound for interval in intervals.values for bound in interval[0::2] if bound is not None]
    # Up to 2**53 every integer is a double, and lies in the same ranges as one.
    if any(abs(bound) >= 2**53 for bound in bounds):
        pairs = {*struct.iter_unpack("=2q", lowered.int64s), *struct.iter_unpack("=2Q", lowered.uint64s)}
        integers = [_Range(Fraction(low), True, Fraction(high), True).condition(number) for low, high in sorted(pairs)]
        among = spell(
            f"(CASE WHEN scale({{}}) = 0 AND {{}} >= {INT64_MIN} AND {{}} <= {UINT64_MAX} THEN {{}} ELSE {{}} END)",
            number,
            number,
            number,
            _any(store, integers),
            among,
        )
    return spell("(CASE WHEN jsonb_typeof({}) = 'number' THEN {} ELSE FALSE END)", value, among)


_MAX_PATTERN_DEPTH: Final = 30


def _contained(store: SqlStore, value: Sql, wanted: Any, depth: int = 1) -> Sql | None:
    """That a jsonb contains a pattern, below the top; None if the pattern nests too deep for a query.

    PostgreSQL's own ``@>`` compares all digits of numbers, so it is asked about what has none in it.
    """
    if depth > _MAX_PATTERN_DEPTH:
        return None
    if not isinstance(wanted, list | dict):
        if not _has_number(wanted):
            return spell("({} = {})", value, _jsonb(wanted))
        return _number_in(store, value, Intervals((point(canonical_number(wanted)),)))
    parts: list[Sql | None] = []
    if isinstance(wanted, dict):
        parts.append(
            spell("({} @> {})", value, _jsonb({key: item for key, item in wanted.items() if not _has_number(item)}))
        )
        for key, item in wanted.items():
            if _has_number(item):
                member = spell("({} -> CAST({} AS text))", value, Parameter(key))
                parts.append(_contained(store, member, item, depth + 1))
    else:
        parts.append(spell("({} @> {})", value, _jsonb([item for item in wanted if not _has_number(item)])))
        for item in wanted:
            if _has_number(item):
                name = f"element_{depth}"
                inner = _contained(store, spell(name), item, depth + 1)
                if inner is None:
                    return None
                parts.append(_some_element(value, name, inner))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return store.conjunction(known) if len(known) > 1 else known[0]


def _some_element(value: Sql, name: str, condition: Sql) -> Sql:
    """That a jsonb is an array with an element of which, under a name, a condition holds."""
    array = spell("(CASE WHEN jsonb_typeof({}) = 'array' THEN {} ELSE '[]' END)", value, value)
    return spell(f"EXISTS (SELECT FROM jsonb_array_elements({{}}) AS elements ({name}) WHERE {{}})", array, condition)


def _has_number(value: Any) -> bool:
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, int | float) and not isinstance(item, bool):
            return True
    return False


def _any(store: SqlStore, conditions: Sequence[Sql]) -> Sql:
    if not conditions:
        return spell("FALSE")
    return store.disjunction(conditions) if len(conditions) > 1 else conditions[0]


_PLAIN: Final = "'^-{0,1}[0-9]+([.][0-9]+){0,1}$'"
_FEW: Final = 300
"""Digits of which none make a number too great for a double, or so small that it is none but zero."""
_MANY_DIGITS: Final = (
    "(SELECT sign * CAST('0' || left(digits, 2000) || (CASE WHEN substr(digits, 2001) ~ '[1-9]' THEN '1' ELSE '' END)"
    " AS numeric) AS number FROM (SELECT (CASE WHEN left({}, 1) = '-' THEN -1 ELSE 1 END) AS sign,"
    " ltrim({}, '-0') AS digits) AS parts) AS numbers"
)
"""A plain number: a double differs from its neighbours, and from halfway to them, in its first 1,400 digits."""


class _Range:
    """Exact numbers from one to another."""

    def __init__(self, low: Fraction, low_closed: bool, high: Fraction, high_closed: bool) -> None:
        self._low = Parameter(_digits(low))
        self._high = Parameter(_digits(high))
        self._operators = ">=" if low_closed else ">", "<=" if high_closed else "<"

    def condition(self, number: Sql) -> Sql:
        """That a numeric lies in it."""
        above, below = self._operators
        return spell(
            f"({{}} {above} CAST(CAST({{}} AS text) AS numeric) AND {{}} {below} CAST(CAST({{}} AS text) AS numeric))",
            number, self._low, number, self._high,
        )  # fmt: skip


def _rounding_to(low: float, high: float) -> _Range:
    """The numbers whose nearest double lies between two doubles: up to halfway to the next one.

    What lies in the middle is rounded to the even double.
    """
    return _Range(_halfway(low, -math.inf), _is_even(low), _halfway(high, math.inf), _is_even(high))


def _halfway(double: float, towards: float) -> Fraction:
    beyond = math.nextafter(double, towards)
    if math.isfinite(beyond):
        return (Fraction(double) + Fraction(beyond)) / 2
    return Fraction(double) + (Fraction(double) - Fraction(math.nextafter(double, -towards))) / 2


def _is_even(double: float) -> bool:
    (bits,) = struct.unpack("=Q", struct.pack("=d", double))
    return bool(bits % 2 == 0)


def _digits(number: Fraction) -> str:
    """A fraction of a power of two in plain digits, all of them."""
    places = number.denominator.bit_length() - 1
    units = number.numerator * 5**places
    whole, fraction = divmod(abs(units), 10**places)
    return f"{'-' if units < 0 else ''}{whole}" + (f".{fraction:0{places}d}" if places else "")


def _double_between(value: Sql, low: float, high: float) -> Sql:
    if low == high:
        return spell("({} = {})", value, _double(low))
    parts = []
    if low > -sys.float_info.max:
        parts.append(spell("{} >= {}", value, _double(low)))
    if high < sys.float_info.max:
        parts.append(spell("{} <= {}", value, _double(high)))
    return spell("(" + " AND ".join(["{}"] * len(parts)) + ")", *parts) if parts else spell("TRUE")


def _double(value: float) -> Sql:
    return spell("CAST({} AS double precision)", Parameter(value))


def _jsonb(value: Any) -> Sql:
    return spell("CAST(CAST({} AS text) AS jsonb)", Parameter(json.dumps(value, ensure_ascii=False)))


def _and(store: SqlStore, condition: Sql, other: Sql | bool) -> Sql | bool:
    if isinstance(other, bool):
        return condition if other else False
    return store.conjunction([condition, other])


def _is_storable(value: Any, store: SqlStore) -> bool:
    """Whether jsonb can hold all strings and keys in a JSON value."""
    pending = [value]
    while pending:
        item = pending.pop()
        if isinstance(item, str):
            if not store.is_storable(item):
                return False
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, dict):
            pending += item.keys()
            pending += item.values()
    return True
