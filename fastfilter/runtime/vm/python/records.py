"""Records that are dicts: one call evaluates a program on a sequence of them.

A record is read like JSON: a path is looked up in nested mappings, and is MISSING where a parent is absent, null, or no
mapping. Values may be those that JSON, Arrow, pandas and NumPy give to Python; anything else in a field that the filter
names is an error, never a row passed over.
"""

from __future__ import annotations

import datetime
import functools
import re
import uuid
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, Literal

from fastfilter.bytecode.program import Field, Program, Role
from fastfilter.errors import BindError, DataError
from fastfilter.runtime.vm.python.columns import follow
from fastfilter.runtime.vm.python.json_text import MAX_DEPTH, MalformedJson, parse_json
from fastfilter.runtime.vm.python.jsonb import NarrowFloat
from fastfilter.runtime.vm.python.machine import code_of
from fastfilter.values import INT64_MIN, MISSING, UINT64_MAX, Instant, JsonFloat

__all__ = ["run_records"]

_MORSEL_RECORDS: Final = 4096
"""Records evaluated together: bounds what is held besides the records themselves."""


def run_records(
    program: Program,
    records: Sequence[Mapping[str, Any]],
    *,
    metadata: str,
    columns: Mapping[str, str],
    on_invalid_json: Literal["missing", "error"],
) -> list[bool]:
    """Whether each record matches.

    Args:
        program: the compiled filter.
        records: dicts as an API shows them. A value is a str, a number, a bool, None, a list or tuple, a mapping, a
            datetime (UTC if naive) or date, a Decimal, a UUID, or a NumPy or pandas scalar or array of these.
            Metadata may be a mapping, None, or JSON text (str or bytes).
        metadata: the key of a record under which its metadata are.
        columns: keys of built-in fields that are not under their own name.
        on_invalid_json: whether metadata that cannot be read as an object count as MISSING or are an error.

    Raises:
        BindError: a field the filter names holds a value of another type.
        DataError: metadata cannot be read, under ``on_invalid_json="error"``; ``row`` is the record's position.
        TypeError: a record is no mapping.
    """
    code = code_of(program)
    fields = [use.field for use in program.fields]
    keys = [columns.get(field.path[0], field.path[0]) for field in fields]
    reads_metadata = any(field.role is Role.METADATA for field in fields)
    strict = on_invalid_json == "error"
    matches: list[bool] = []
    for first in range(0, len(records), _MORSEL_RECORDS):
        morsel = records[first : first + _MORSEL_RECORDS]
        # All fields of all records are looked at: an unreadable value is an error whatever the other conditions.
        values: list[list[Any]] = [[] for _ in fields]
        for row, record in enumerate(morsel, first):
            if not isinstance(record, Mapping):
                raise TypeError(f"record {row} is no mapping but a {type(record).__name__}")
            root, is_json = _metadata_of(record, metadata, strict, row) if reads_metadata else (MISSING, False)
            for field, key, column in zip(fields, keys, values, strict=True):
                if field.role is Role.COLUMN:
                    column.append(_convert(record.get(key, MISSING), field))
                elif is_json:
                    column.append(follow(root, field.path))
                else:
                    column.append(_convert(_look_up(root, field.path), field))
        bits = code.run(len(morsel), functools.partial(_pick, values))
        matches += [bits >> row & 1 == 1 for row in range(len(morsel))]
    return matches


def _pick(values: list[list[Any]], field: int, rows: Sequence[int]) -> list[Any]:
    column = values[field]
    return [column[row] for row in rows]


def _metadata_of(record: Mapping[str, Any], key: str, strict: bool, row: int) -> tuple[Any, bool]:
    """A record's metadata, and whether they are a JSON value (of a text) rather than Python objects."""
    root = record.get(key)
    is_json = isinstance(root, str | bytes | bytearray)
    fault = ""
    if isinstance(root, str | bytes | bytearray):
        try:
            root = parse_json(str.__str__(root) if isinstance(root, str) else bytes(root))
        except MalformedJson:
            root, fault = MISSING, "is not well-formed JSON, or nests too deeply"
        else:
            fault = "" if isinstance(root, dict) else "is JSON, but not an object"
    elif root is not None and not isinstance(root, Mapping):
        fault = f"is no mapping but a {type(root).__name__}"
    if fault and strict:
        raise DataError(f"the record's {key!r} {fault}", row)
    return root, is_json


def _look_up(root: Any, path: Sequence[str]) -> Any:
    for key in path:
        if not isinstance(root, Mapping):
            return MISSING
        root = root.get(key, MISSING)
    return root


def _convert(value: Any, field: Field) -> Any:
    """A record's value as the tests know it."""
    kind = type(value)
    if value is None or value is MISSING or kind is str or kind is bool or kind is float:
        return value
    if kind is int:
        return _integer(value)
    if not _is_container(value):
        return _scalar(value, field)
    # Without recursion: a record may nest deeper than calls can, or contain itself.
    result: list[Any] = []
    pending: list[tuple[Any, list[Any] | dict[str, Any], Any, int]] = [(value, result, None, 1)]
    while pending:
        item, target, key, depth = pending.pop()
        if _is_container(item):
            if depth > MAX_DEPTH:
                message = f"field {field.name} holds a value nested more than {MAX_DEPTH} deep"
                raise BindError(message, field=field.name)
            converted: Any = {} if isinstance(item, Mapping) else []
            pending += _children(item, converted, field, depth + 1)
        else:
            converted = _scalar(item, field)
        if isinstance(target, dict):
            target[key] = converted
        else:
            target.append(converted)
    return result[0]


def _is_container(value: Any) -> bool:
    if isinstance(value, Mapping):
        return True
    return (isinstance(value, list | tuple) and not isinstance(value, Instant)) or _is_array(value)


def _is_array(value: Any) -> bool:
    return getattr(value, "ndim", 0) != 0 and hasattr(value, "dtype")


def _children(item: Any, target: Any, field: Field, depth: int) -> Iterable[tuple[Any, Any, Any, int]]:
    """What is in a container, last first, as work for :func:`_convert`'s stack."""
    if not isinstance(item, Mapping):
        return [(element, target, None, depth) for element in reversed(list(item))]
    work = []
    for key, element in item.items():
        if not isinstance(key, str):
            message = f"field {field.name} holds a mapping with a key of type {type(key).__name__}; keys are str"
            raise BindError(message, field=field.name, type=type(key).__name__)
        work.append((element, target, str.__str__(key), depth))
    return work


_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MICROSECOND: Final = datetime.timedelta(microseconds=1)


def _scalar(value: Any, field: Field) -> Any:
    if value is None or isinstance(value, bool | Decimal | Instant):
        return value
    # Subclasses (of enumerations, of NumPy) may compare and hash in ways of their own.
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _integer(int.__int__(value))
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, uuid.UUID):
        return str(value)
    if hasattr(value, "to_datetime64"):  # pandas keeps nanoseconds that a datetime has no place for
        return _numpy_instant(value.to_datetime64(), field)
    if isinstance(value, datetime.datetime):
        since_epoch = value.replace(tzinfo=None) - _EPOCH - (value.utcoffset() or datetime.timedelta())
        return Instant(since_epoch // _MICROSECOND * 1_000)
    if isinstance(value, datetime.date):
        return Instant((value.toordinal() - _EPOCH.toordinal()) * _NANOSECONDS["D"])
    dtype_kind = getattr(getattr(value, "dtype", None), "kind", "")
    if dtype_kind == "M":
        return _numpy_instant(value, field)
    if dtype_kind in ("b", "i", "u", "f", "U"):
        plain = value.item()
        if type(plain) is float and value.dtype.itemsize in (2, 4):
            return NarrowFloat(plain, value.dtype.itemsize)
        if type(plain) in (bool, int, float, str):
            return plain  # of 64 bits at most
    raise _unsupported(value, field)


def _integer(value: int) -> int | JsonFloat:
    """As in JSON: beyond 64 bits an integer is the nearest double, and keeps its digits as text."""
    return value if INT64_MIN <= value <= UINT64_MAX else JsonFloat(format(Decimal(value), "f"))


def _unsupported(value: Any, field: Field) -> BindError:
    name = type(value).__name__
    return BindError(f"field {field.name} holds a {name}, which a filter cannot compare", field=field.name, type=name)


_DATETIME64: Final = re.compile(r"datetime64\[(\d*)([A-Za-z]+)\]")
_NAT: Final = -(2**63)
_NANOSECONDS: Final = {
    "W": 604_800_000_000_000, "D": 86_400_000_000_000, "h": 3_600_000_000_000, "m": 60_000_000_000,
    "s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1,
}  # fmt: skip
_PER_NANOSECOND: Final = {"ps": 1_000, "fs": 1_000_000, "as": 1_000_000_000}


def _numpy_instant(value: Any, field: Field) -> Instant | None:
    """A datetime64 of any unit as an exact instant; None if it is "not a time"."""
    number = int(value.astype("int64"))
    if number == _NAT:
        return None
    match = _DATETIME64.fullmatch(str(value.dtype))
    if match is None:
        raise _unsupported(value, field)
    number *= int(match[1] or "1")
    unit = match[2]
    if unit in ("Y", "M"):
        years, months = (number, 0) if unit == "Y" else divmod(number, 12)
        return Instant(_days_to_month(1970 + years, months + 1) * _NANOSECONDS["D"])
    if unit in _NANOSECONDS:
        return Instant(number * _NANOSECONDS[unit])
    nanoseconds, rest = divmod(number, _PER_NANOSECOND[unit])
    if rest:
        message = f"field {field.name} holds a {match[0]} finer than a nanosecond, {value}"
        raise BindError(message, field=field.name, type=match[0])
    return Instant(nanoseconds)


def _days_to_month(year: int, month: int) -> int:
    """Days from the epoch to the first of a month, in the proleptic Gregorian calendar, of any year."""
    cycles, year_of_cycle = divmod(year, 400)
    day = datetime.date(year_of_cycle or 400, month, 1).toordinal() - (0 if year_of_cycle else 146_097)
    return day + cycles * 146_097 - _EPOCH.toordinal()
