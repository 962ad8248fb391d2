"""From lines of JSON to columns: the members of each line as they are spelled, and then types that hold all of them.

A column's type is known only when its last value has been seen, so lines pass twice: :meth:`LineColumns.split` takes
them apart into columns of JSON text and notes what kinds of values there are, :meth:`LineColumns.typed` gives the texts
their type.
"""

from __future__ import annotations

import functools
import json
import operator
import re
from collections.abc import Iterable, Mapping
from typing import Final

import pyarrow as pa

from fastfilter.corpus.kinds import Kinds, kind_of_number, type_of
from fastfilter.corpus.reader import Piece
from fastfilter.errors import DataError
from fastfilter.runtime.vm.python.json_text import MalformedJson, parse_json

__all__ = ["LineColumns", "members", "metadata_text", "project"]

_STRING: Final = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
_SPACE: Final = r"[ \t\r\n]*+"
_MEMBER = re.compile(rf"[ \t\r\n,]*+({_STRING}){_SPACE}:{_SPACE}({_STRING}|[^ \t\r\n,}}\[{{]++)?+", re.DOTALL)
"""A key, and its value if that is no array and no object."""
_TOKEN = re.compile(rf"{_STRING}|[\[{{]|[\]}}]", re.DOTALL)
_DECODER = json.JSONDecoder(parse_int=float)  # Python refuses to make an int of thousands of digits


def members(line: str) -> dict[str, str]:
    """The members of a JSON object: each key, and its value's text as it is spelled. Of a key given twice, the last.

    Args:
        line: JSON text of an object; that it is well-formed has been checked.

    Example:
        >>> members('{"n": 1.50, "m": {"a": [1]}}')
        {'n': '1.50', 'm': '{"a": [1]}'}
    """
    found: dict[str, str] = {}
    position = line.index("{") + 1
    while (match := _MEMBER.match(line, position)) is not None:
        quoted, value = match.groups()
        position = match.end()
        if value is None:
            start = position
            position = _end_of_nested(line, start)
            value = line[start:position]
        key = json.loads(quoted) if "\\" in quoted else quoted[1:-1]
        found[key] = value
    return found


def metadata_text(spelled: str) -> str | None:
    """The JSON text that a string spells; None of what is no string, or a string of what is no JSON.

    Example:
        >>> metadata_text('"{\\\\"a\\\\": 1}"')
        '{"a": 1}'
    """
    if not spelled.startswith('"'):
        return None
    text: str = json.loads(spelled)
    try:
        parse_json(text)
    except MalformedJson:
        return None
    return text


def _end_of_nested(line: str, start: int) -> int:
    try:
        return _DECODER.raw_decode(line, start)[1]
    except RecursionError:
        return _end_of_deep(line, start)


def _end_of_deep(line: str, start: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(line, start):
        if token[0] in ("[", "{"):
            depth += 1
        elif token[0] in ("]", "}"):
            depth -= 1
            if depth == 0:
                return token.end()
    raise AssertionError("the line is well-formed")


def project(lines: pa.LargeStringArray, columns: Iterable[str], missing: set[str]) -> bytes:
    """The lines with only these members, in this order, their values as they are spelled; a line's end after each.

    Columns that some line has are taken out of ``missing``.
    """
    keys = {name: json.dumps(name, ensure_ascii=False) for name in columns}
    projected = []
    for line in lines.to_pylist():
        found = members(line)
        if missing:
            missing.difference_update(found)
        inner = ",".join(f"{key}:{found[name]}" for name, key in keys.items() if name in found)
        projected.append("{" + inner + "}\n")
    return "".join(projected).encode()


class LineColumns:
    """The columns that the lines of a run become.

    Args:
        declared: types of built-in fields' columns: a value of another kind is an error, never a guess.
        metadata: name of the metadata column, which keeps its JSON text.
        columns: the columns to make, in this order; None is every key there is, in order of appearance.
    """

    def __init__(self, declared: Mapping[str, pa.DataType], metadata: str, columns: Iterable[str] | None) -> None:
        self._declared = declared
        self._metadata = metadata
        self._only = columns is not None
        self._kinds: dict[str, Kinds] = dict.fromkeys(columns or (), Kinds.NONE)

    def values_missing(self) -> set[str]:
        """The columns without a value so far; metadata is not looked at."""
        return {name for name, kinds in self._kinds.items() if not kinds and name != self._metadata}

    @property
    def schema(self) -> pa.Schema:
        """The columns and their types, by all lines that were split so far."""
        return pa.schema([(name, self._type(name, kinds)) for name, kinds in self._kinds.items()])

    def _type(self, name: str, kinds: Kinds) -> pa.DataType:
        if name == self._metadata:
            return pa.string()
        declared = self._declared.get(name)
        if declared is None:
            return type_of(kinds) or pa.string()
        if pa.types.is_integer(declared):
            return pa.float64() if kinds & Kinds.NUMBER else declared
        return declared

    def split(self, piece: Piece) -> pa.RecordBatch:
        """The lines as columns of JSON text, one for each key; null is a key that is not there, or null.

        Raises:
            DataError: a built-in field has a value that its type cannot hold, or a key is no Unicode text.
        """
        rows = [members(line) for line in piece.batch.column(0).to_pylist()]
        if not self._only:
            for row in rows:
                for name in row:
                    if name not in self._kinds:
                        self._kinds[name] = Kinds.NONE
        columns = {}
        for name in self._kinds:
            texts = [row.get(name) for row in rows]
            columns[name] = texts = [None if text == "null" else text for text in texts]
            if name == self._metadata:
                columns[name] = [text and (metadata_text(text) or text) for text in texts]
            else:
                self._note(name, texts, piece)
        try:
            return pa.record_batch(
                [pa.array(texts, pa.large_string()) for texts in columns.values()], names=list(columns)
            ) if columns else _no_columns(len(rows))  # fmt: skip
        except UnicodeEncodeError:
            raise DataError(f"{piece.file.path}: a key holds half a surrogate pair, which no column name can") from None

    def _note(self, name: str, texts: list[str | None], piece: Piece) -> None:
        """Notes the kinds of a column's values, and refuses those that the column of a built-in field cannot hold."""
        declared = self._declared.get(name)
        seen = self._kinds[name]
        present = [text for text in texts if text is not None]
        kinds = {Kinds.STRING} if all(text[0] == '"' for text in present) else set(map(_kind, present))
        if declared is not None and not kinds <= _always_held(declared, seen):
            for row, text in enumerate(texts):
                if text is not None:
                    kind = _kind(text)
                    _check_kind(name, text, kind, seen, declared, piece.place(row))
                    seen |= kind
        if present:
            self._kinds[name] = functools.reduce(operator.or_, kinds, seen)

    def typed(self, split: pa.RecordBatch) -> pa.RecordBatch:
        """Columns of JSON text, as :meth:`split` gave them, with their types.

        Raises:
            DataError: a text holds half a surrogate pair.
        """
        schema = self.schema
        arrays = []
        for field in schema:
            position = split.schema.get_field_index(field.name)
            if position < 0 or pa.types.is_null(field.type):
                arrays.append(pa.nulls(split.num_rows, field.type))
                continue
            texts = split.column(position)
            kinds = self._kinds[field.name]
            if field.name == self._metadata or (kinds & ~Kinds.STRING and field.type == pa.string()):
                arrays.append(texts.cast(pa.string()))
            elif field.type == pa.string():
                arrays.append(_unquoted(texts, field.name))
            else:
                arrays.append(texts.cast(field.type))
        return pa.record_batch(arrays, schema=schema) if arrays else split


def _no_columns(num_rows: int) -> pa.RecordBatch:
    return pa.RecordBatch.from_struct_array(pa.array([{}] * num_rows, pa.struct([])))


def _kind(text: str) -> Kinds:
    first = text[0]
    if first == '"':
        return Kinds.STRING
    if first in "tf":
        return Kinds.BOOL
    if first in "[{":
        return Kinds.OTHER
    return kind_of_number(text)


def _always_held(declared: pa.DataType, seen: Kinds) -> set[Kinds]:
    """The kinds of values that the column of a built-in field holds whatever else is in it."""
    if declared == pa.string():
        return {Kinds.STRING}
    return set() if Kinds.LONG_INTEGER in seen else {Kinds.INTEGER, Kinds.NUMBER}


def _check_kind(name: str, text: str, kind: Kinds, seen: Kinds, declared: pa.DataType, place: str) -> None:
    """Refuses a value that the column of a built-in field cannot hold as it is."""
    shown = text if len(text) <= 60 else text[:60] + "…"
    if declared == pa.string():
        if kind != Kinds.STRING:
            raise DataError(f"{place}: {name!r} is {shown}, but the column holds text")
    elif not kind & (Kinds.INTEGER | Kinds.LONG_INTEGER | Kinds.NUMBER):
        raise DataError(f"{place}: {name!r} is {shown}, but the column holds numbers (of 64 bits)")
    elif Kinds.LONG_INTEGER in kind | seen and (pa.types.is_floating(declared) or Kinds.NUMBER in kind | seen):
        raise DataError(
            f"{place}: {name!r} is {shown}, but the column would have to hold an integer that no double equals"
        )


def _unquoted(texts: pa.LargeStringArray, name: str) -> pa.StringArray:
    values = [text if text is None else json.loads(text) if "\\" in text else text[1:-1] for text in texts.to_pylist()]
    try:
        return pa.array(values, pa.string())
    except UnicodeEncodeError:
        raise DataError(f"a text of {name!r} holds half a surrogate pair, which no column can; JSONL can") from None
