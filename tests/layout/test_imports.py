"""Who may import whom, read from the sources; and every opcode known everywhere."""

from __future__ import annotations

import ast
import functools
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import get_args

import oracle
import pytest

from fastfilter.bytecode.opcodes import OPCODES, Opcode
from fastfilter.compiler import expr
from fastfilter.runtime.vm.python.tests import TESTS

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "fastfilter"


@functools.cache
def modules() -> dict[str, ast.Module]:
    """The syntax tree of every module of the package, by name."""
    found = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = ast.parse(path.read_text(encoding="utf-8"), filename=str(path))
    return found


def imports(name: str, at_the_top: bool = False) -> set[str]:
    """The modules a module imports: of the package by full name, of others by their first part.

    Args:
        name: the module.
        at_the_top: only what is imported when the module itself is, not inside functions.
    """
    found: set[str] = set()
    for node in _import_statements(modules()[name], at_the_top):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{name} imports relatively"
            assert node.module
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [target if target in modules() else node.module for target in targets]
        found.update(target if target.startswith("fastfilter") else target.partition(".")[0] for target in targets)
    return found


def _import_statements(tree: ast.AST, at_the_top: bool) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            if not at_the_top:
                yield from _import_statements(node, at_the_top)
        elif not (at_the_top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)):
            yield from _import_statements(node, at_the_top)


def within(module: str, *rooms: str) -> bool:
    """Whether a module is in one of some packages, or is one of some modules."""
    return any(module == f"fastfilter.{room}" or module.startswith(f"fastfilter.{room}.") for room in rooms)


def test_the_rule_reads_the_sources() -> None:
    assert "fastfilter.filter" in modules()
    assert {"fastfilter.compiler.codegen", "fastfilter.runtime.binder"} <= imports("fastfilter.filter")
    assert "pyarrow" in imports("fastfilter.filter")
    assert "fastfilter.bytecode.disassembler" in imports("fastfilter.bytecode.program")
    assert "fastfilter.bytecode.disassembler" not in imports("fastfilter.bytecode.program", at_the_top=True)


ALLOWED = {
    "values": (),
    "errors": (),
    "bytecode": ("bytecode", "values", "errors"),
    "compiler": ("compiler", "bytecode", "values", "errors", "_content"),
    "runtime": ("runtime", "bytecode", "values", "errors", "_native", "_records"),
    "explain": ("compiler", "runtime", "bytecode", "values", "errors"),
    "pushdown": ("pushdown", "compiler", "runtime", "bytecode", "values", "errors"),
    "filter": ("pushdown", "explain", "compiler", "runtime", "bytecode", "values", "errors"),
}
"""What each room may import of the package; what is not listed (corpus, integrations, cli, …) stands above."""


@pytest.mark.parametrize("module", sorted(modules()))
def test_rooms(module: str) -> None:
    own = [target for target in imports(module) if target.startswith("fastfilter")]
    for room, allowed in ALLOWED.items():
        if within(module, room):
            assert [target for target in own if not within(target, *allowed)] == []


OTHERS = {
    "values": set(),
    "errors": set(),
    "bytecode": set(),
    "compiler": set(),
    "compiler.dialects.base": {"numpy"},  # numbers of a filter may be NumPy's
    "runtime": {"pyarrow", "numpy"},
    "runtime.inputs": {"pyarrow", "numpy", "polars", "pandas"},
    "filter": {"pyarrow", "numpy"},
    "explain": {"pyarrow", "numpy"},
    "pushdown": {"pyarrow", "numpy"},
    "corpus": {"pyarrow", "numpy"},
    "corpus.filesystems": {"pyarrow", "fsspec"},
    "cli": {"pyarrow", "typer", "rich", "click"},
    "cli_options": {"typer"},
    "terminal": {"pyarrow", "rich"},
    "integrations.dask": {"pyarrow", "dask", "pandas"},
    "integrations.ray": {"pyarrow", "ray"},
    "integrations.spark": {"pyarrow", "pyspark"},
    "integrations.worker": {"pyarrow"},
}
"""The other libraries that a room may import; of several entries the longest counts. All else imports none."""

OPTIONAL = {"polars", "pandas", "fsspec", "ray", "pyspark", "dask"}
"""What need not be installed, and so is imported only when it is needed."""


@pytest.mark.parametrize("module", sorted(modules()))
def test_other_libraries(module: str) -> None:
    others = {target for target in imports(module) if not target.startswith("fastfilter")} - sys.stdlib_module_names
    room = max((room for room in OTHERS if within(module, room)), key=len, default=None)
    assert others <= (OTHERS[room] if room else set())
    assert not imports(module, at_the_top=True) & OPTIONAL


@pytest.mark.parametrize("module", sorted(modules()))
def test_nothing_imports_the_tests(module: str) -> None:
    names = {path.stem for path in (ROOT / "tests").glob("*.py")} | {
        "tests",
        "benchmarks",
        "examples",
        "pytest",
        "hypothesis",
    }
    assert not imports(module) & names


def test_there_is_no_circle() -> None:
    graph = {
        module: {target for target in imports(module, at_the_top=True) if target in modules()} for module in modules()
    }
    graph = {module: targets - {module, "fastfilter"} for module, targets in graph.items()}
    while graph:
        free = {module for module, targets in graph.items() if not targets & graph.keys()}
        assert free, f"a circle among {sorted(graph)}"
        graph = {module: targets for module, targets in graph.items() if module not in free}


def test_the_oracle_is_independent() -> None:
    tree = ast.parse((ROOT / "tests" / "oracle.py").read_text(encoding="utf-8"))
    found = {
        (node.module, alias.name)
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("fastfilter")
        for alias in node.names
    }
    plain = {("fastfilter.values", name) for name in ("MISSING", "Elements", "Instant", "JsonFloat")}
    assert found == {("fastfilter.compiler", "expr"), *plain}


TEST_OPCODES = [opcode for opcode, spec in OPCODES.items() if spec.field]


@pytest.mark.parametrize("opcode", TEST_OPCODES)
def test_every_test_is_known_everywhere(opcode: Opcode) -> None:
    """A Python test, a leaf of the expression, a judge in the oracle, and a native kernel."""
    assert opcode in TESTS
    leaves = [leaf for leaf in get_args(expr.Leaf) if leaf.opcode is opcode]
    assert len(leaves) == 1
    assert leaves[0] in oracle._LEAVES
    spec = OPCODES[opcode]
    assert {"constant"} <= set(leaves[0].__slots__) or spec.constant is None
    assert ("elements" in leaves[0].__slots__) is spec.elements
    kernels = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "src" / "kernels").glob("*.c"))
    assert re.search(rf"\bFF_OP_{opcode.name}\b", kernels), "no native kernel"


def test_nothing_knows_a_test_that_is_none() -> None:
    assert set(TESTS) == set(TEST_OPCODES)
    assert {leaf.opcode for leaf in get_args(expr.Leaf)} == set(TEST_OPCODES)
    assert set(oracle._LEAVES) == set(get_args(expr.Leaf))


@pytest.mark.parametrize("opcode", Opcode)
def test_every_opcode_is_in_what_is_generated(opcode: Opcode) -> None:
    header = (ROOT / "src" / "generated" / "opcodes.h").read_text(encoding="utf-8")
    assert re.search(rf"^    FF_OP_{opcode.name} = {int(opcode)},$", header, re.MULTILINE)
    declarations = (ROOT / "src" / "generated" / "opcodes.pxd").read_text(encoding="utf-8")
    assert re.search(rf"^\s+FF_OP_{opcode.name}$", declarations, re.MULTILINE)
    reference = (ROOT / "docs" / "instructions.md").read_text(encoding="utf-8")
    assert f"| {int(opcode)} | [{opcode.name}]" in reference
    assert re.search(rf"^#+ {opcode.name}\b", reference, re.MULTILINE)
    if not OPCODES[opcode].field:
        machine = (ROOT / "src" / "_native.pyx").read_text(encoding="utf-8")
        assert re.search(rf"\bFF_OP_{opcode.name}\b", machine), "the native machine does not run it"
