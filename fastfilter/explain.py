"""Filter.explain(): the plan of a filter in words."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from fastfilter.bytecode.program import Program
from fastfilter.compiler.describe import describe
from fastfilter.compiler.expr import Expression
from fastfilter.runtime.binding import Binding, JsonPath, MapKey, Source, StructChild

__all__ = ["explain"]


def explain(
    program: Program,
    expression: Expression | None,
    rules: Sequence[str],
    binding: Binding | None,
    kernels: Sequence[str] | None,
) -> str:
    """The text of :meth:`fastfilter.Filter.explain`; the last two are given if there is a schema to bind to."""
    parts: list[tuple[str, str]] = []
    if expression is not None:
        parts.append(("expression (optimized)", describe(expression)))
        parts.append(("rules applied", ", ".join(rules) if rules else "none"))
    parts.append(("program", program.disassemble()))
    if binding is not None:
        places = [
            f"{use.field.name}: {_place(source, binding)}"
            for use, source in zip(binding.program.fields, binding.sources, strict=True)
        ]
        parts.append(("columns", "\n".join(places) or "none"))
    if kernels is not None:
        parts.append(("kernels", "\n".join(kernels) or "none"))
    return "\n".join(f"{title}\n{textwrap.indent(text.rstrip(), '  ')}" for title, text in parts)


def _place(source: Source, binding: Binding) -> str:
    if source.column is None:
        return "no column has it: MISSING on every row"
    column = binding.schema.field(source.column)
    words = [f"column {column.name!r} ({column.type})"]
    for step in source.steps:
        if isinstance(step, StructChild):
            words.append(f"struct child {step.child}")
        elif isinstance(step, MapKey):
            words.append(f"map key {step.key!r}")
        elif isinstance(step, JsonPath):
            words.append("JSON path " + (" → ".join(repr(key) for key in step.path) or "(the whole value)"))
    if source.type is not None and source.steps:
        words.append(f"type {source.type}")
    return ", ".join(words)
