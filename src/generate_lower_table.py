"""Writes ``unicode_lower_table.h``: what ``str.lower`` of the interpreter that runs this does to every character.

Made at build time rather than committed, so that the native code and Python agree on every version of Unicode. All
that is written comes from ``str.lower`` itself: whether a character is cased or case-ignorable, which decides how a
capital sigma beside it is lowered, shows in what becomes of such a sigma.
"""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

NUM_CODE_POINTS = 0x110000
BLOCK_BITS = 7
BLOCK_SIZE = 1 << BLOCK_BITS
CAPITAL_I_WITH_DOT, CAPITAL_SIGMA, KELVIN_SIGN = 0x130, 0x3A3, 0x212A
UNCASED, CASED, CASE_IGNORABLE = range(3)


def casing(character: str) -> int:
    """How Python's final-sigma rule sees a character: it skips the case-ignorable and looks for the cased."""
    if (character + "Σ").lower().endswith("ς"):
        return CASED
    return CASE_IGNORABLE if ("a" + character + "Σ").lower().endswith("ς") else UNCASED


def record(code_point: int) -> tuple[int, int]:
    """The distance from a character to its lower case, and its casing."""
    character = chr(code_point)
    lowered = character.lower()
    if code_point == CAPITAL_I_WITH_DOT:
        if lowered != "i\u0307":
            raise ValueError(f"str.lower makes {lowered!a} of U+0130; ff_lower writes 'i\\u0307'")
        return 0, casing(character)
    if len(lowered) != 1:
        raise ValueError(
            f"str.lower makes {lowered!a} of U+{code_point:04X}; ff_lower knows one such character, U+0130"
        )
    if code_point >= 0x80 and ord(lowered) < 0x80 and code_point != KELVIN_SIGN:
        raise ValueError(
            f"the lower case of U+{code_point:04X} is ASCII; the search that ignores case does not expect it"
        )
    if lowered != character and 2 * num_bytes(lowered) > 3 * num_bytes(character):
        raise ValueError(f"the lower case of U+{code_point:04X} is longer than ff_lower makes room for")
    return ord(lowered) - code_point, casing(character)


def num_bytes(character: str) -> int:
    """The length of a character in UTF-8, surrogates included."""
    return len(character.encode("utf-8", "surrogatepass"))


def array(declaration: str, values: Iterable[object]) -> str:
    """A C array, a handful of values a line."""
    lines: list[str] = []
    line = "   "
    for value in values:
        item = f" {value},"
        if len(line) + len(item) > 118:
            lines.append(line)
            line = "   "
        line += item
    return "\n".join([f"{declaration} = {{", *lines, line, "};", ""])


def table() -> str:
    """The header's text."""
    records: dict[tuple[int, int], int] = {(0, UNCASED): 0}
    blocks: dict[Sequence[int], int] = {}
    block_of: list[int] = []
    for first in range(0, NUM_CODE_POINTS, BLOCK_SIZE):
        block = tuple(
            records.setdefault(record(code_point), len(records)) for code_point in range(first, first + BLOCK_SIZE)
        )
        block_of.append(blocks.setdefault(block, len(blocks)))
    if len(records) > 256 or len(blocks) > 256:
        raise ValueError(f"{len(records)} records and {len(blocks)} blocks do not fit bytes")
    return "\n".join(
        [
            f"/* Made by generate_lower_table.py: str.lower of Unicode {unicodedata.unidata_version}. Do not edit. */",
            "#ifndef FASTFILTER_UNICODE_LOWER_TABLE_H",
            "#define FASTFILTER_UNICODE_LOWER_TABLE_H",
            "",
            "#include <stdint.h>",
            "",
            f"#define FF_LOWER_BLOCK_BITS {BLOCK_BITS}",
            f"#define FF_LOWER_BLOCK_SIZE {BLOCK_SIZE}",
            "",
            "typedef enum { FF_UNCASED, FF_CASED, FF_CASE_IGNORABLE } ff_casing;",
            "typedef struct {",
            "    int32_t delta;",
            "    ff_casing casing;",
            "} ff_lower_record;",
            "",
            array(
                f"static const ff_lower_record ff_lower_records[{len(records)}]",
                (f"{{{delta}, {('FF_UNCASED', 'FF_CASED', 'FF_CASE_IGNORABLE')[kind]}}}" for delta, kind in records),
            ),
            array(f"static const uint8_t ff_lower_blocks[{len(block_of)}]", block_of),
            array(
                f"static const uint8_t ff_lower_entries[{len(blocks) * BLOCK_SIZE}]",
                (entry for block in blocks for entry in block),
            ),
            "#endif",
            "",
        ]
    )


def generate(path: str | Path) -> None:
    """Writes the header to ``path``, unless it is there already with the same text."""
    path = Path(path)
    text = table()
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    generate(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("unicode_lower_table.h"))
