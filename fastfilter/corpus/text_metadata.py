"""Metadata that a line of JSONL holds as a string of JSON, as dumps of tables with a text column do.

Such metadata is read like the text column it came from, and like a record's: the string is the JSON text. A line is
evaluated with its metadata once more at its end, as the value it spells: the last of a repeated key counts.
"""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa

from fastfilter.bytecode.opcodes import Opcode
from fastfilter.bytecode.program import Field, FieldUse, Instruction, Program, Role
from fastfilter.bytecode.verifier import MAX_ITEMS, MAX_REGISTERS
from fastfilter.corpus.json_lines import members, metadata_text
from fastfilter.runtime.vm.python.json_text import MalformedJson, parse_json
from fastfilter.values import StringBound

__all__ = ["or_text_metadata", "with_metadata_as_values"]


def or_text_metadata(program: Program, metadata: str) -> Program | None:
    """The program that is also true on records whose metadata is a string.

    None if it is true on every record anyhow, or has no room for that.

    Records are looked at for such metadata in the same pass, which costs next to nothing, and then only those that
    match have to be looked at again.

    Args:
        program: of record JSON.
        metadata: the key of the metadata.
    """
    *instructions, last = program.instructions
    register = program.num_registers
    most_items = max(len(program.instructions) + 2, len(program.fields) + 1, len(program.constants) + 1)
    if last.source == 0 or register == MAX_REGISTERS or most_items > MAX_ITEMS:
        return None
    field = Field(Role.COLUMN, (metadata,))
    fields = program.fields
    if all(use.field != field for use in fields):
        fields = (*fields, FieldUse(field, None))
    number = next(number for number, use in enumerate(fields) if use.field == field)
    constants = (*program.constants, StringBound("gte", ""))  # which every string is
    is_text = Instruction(Opcode.STRING_RANGE, register, 0, 0, number, len(program.constants))
    either = Instruction(Opcode.OR, last.source, register)
    return Program((*instructions, is_text, either, last), constants, fields, register + 1)


def with_metadata_as_values(batch: pa.RecordBatch, metadata: str) -> pa.RecordBatch:
    """A batch of lines in which metadata given as a string of JSON is a value; the batch itself if there is none.

    Strings that are no JSON stay, and so do lines that are no JSON objects.
    """
    column = batch.column(0)
    offsets = np.frombuffer(column.buffers()[1], np.int64)[column.offset : column.offset + len(column) + 1]
    if len(column) == 0 or column.buffers()[2] is None:
        return batch
    data = memoryview(column.buffers()[2])[offsets[0] : offsets[-1]]
    key = json.dumps(metadata, ensure_ascii=False).encode("utf-8", "surrogatepass")
    hits = [match.start() for match in re.finditer(re.escape(key) + rb'[ \t\r\n]*:[ \t\r\n]*"', data)]
    if not hits:
        return batch
    lines = column.cast(pa.large_binary()).to_pylist()
    for row in np.unique(np.searchsorted(offsets - offsets[0], hits, "right") - 1):
        lines[row] = _with_value(lines[row], metadata, key)
    return pa.record_batch([pa.array(lines, pa.large_binary()).cast(column.type)], schema=batch.schema)


def _with_value(line: bytes, metadata: str, key: bytes) -> bytes:
    try:
        parse_json(line)
        text = metadata_text(members(line.decode()).get(metadata, ""))
        if text is None:
            return line
        longer = line.rstrip(b" \t\r\n")[:-1] + b"," + key + b":" + text.encode() + b"}"
        parse_json(longer)
    except (MalformedJson, UnicodeError, ValueError):
        return line
    return longer
