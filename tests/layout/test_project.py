"""The project as its users meet it: examples that run, one version, every public name explained."""

from __future__ import annotations

import ast
import doctest
import importlib
import importlib.util
import inspect
import os
import pathlib
import pkgutil
import re
import subprocess
import sys
import tomllib

import pytest
import running

import fastfilter

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(fastfilter.__path__, "fastfilter.")
    if not module.name.endswith(("__main__", "._content", "._native", "._records"))
)
ENGINES = ["fastfilter.integrations.dask", "fastfilter.integrations.ray", "fastfilter.integrations.spark"]
"""Modules whose examples need another engine to run; tests/integrations has it."""


def test_no_back_end_is_missing_by_accident() -> None:
    """All are tested, unless one is forced or the package was built without its extension on purpose."""
    pure = importlib.util.find_spec("fastfilter._pure_python") is not None
    if "FASTFILTER_BACKEND" in os.environ or pure:
        assert running.BACKENDS[0] == fastfilter.backend
    else:
        assert set(running.BACKENDS) == {"python", "native"}
        assert fastfilter.backend == "native"


@pytest.mark.parametrize("module", ["fastfilter", *(module for module in MODULES if module not in ENGINES)])
def test_examples_in_docstrings(module: str) -> None:
    results = doctest.testmod(importlib.import_module(module), verbose=False)
    assert results.failed == 0


def test_there_are_examples_in_docstrings() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(
        len(test.examples)
        for module in ["fastfilter", *MODULES]
        for test in finder.find(importlib.import_module(module))
    )
    assert examples > 40


def blocks(document: str, language: str) -> list[tuple[int, str]]:
    """The fenced blocks of a language in a document, with the line each begins at."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [
        (text.count("\n", 0, match.start(1)) + 1, match[1])
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    ]


DOCUMENTS = sorted(str(path.relative_to(ROOT)) for path in [ROOT / "README.md", *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize("document", DOCUMENTS)
def test_examples_in_documents(document: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python blocks of a document run, one after the other in one namespace, and what they say comes out does.

    A comment behind an expression statement or a ``print`` is its output; a line that shows an error names it.
    """
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for line, block in blocks(document, "python"):
        if ">>>" in block:
            test = doctest.DocTestParser().get_doctest(block, namespace, document, document, line)
            assert doctest.DocTestRunner().run(test, clear_globs=False).failed == 0
            continue
        source = "\n" * (line - 1) + block
        tree = ast.parse(source, document)
        lines = source.splitlines()
        for statement in tree.body:
            assert statement.end_lineno
            shown = re.search(r"#\s*(.*)$", lines[statement.end_lineno - 1][statement.end_col_offset :])  # type: ignore[misc]
            if isinstance(statement, ast.Expr) and shown:
                value = eval(compile(ast.Expression(statement.value), document, "eval"), namespace)
                if _is_value(shown[1]):
                    assert repr(value) == shown[1] or value == ast.literal_eval(shown[1]), (document, statement.lineno)
            else:
                exec(compile(ast.Module([statement], []), document, "exec"), namespace)


def _is_value(text: str) -> bool:
    try:
        ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return False
    return True


def test_the_readme_has_examples() -> None:
    assert len(blocks("README.md", "python")) >= 3


def test_the_version_stands_in_one_place() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    written = [
        str(path.relative_to(ROOT))
        for path in [
            ROOT / "pyproject.toml",
            ROOT / "setup.py",
            *(ROOT / "fastfilter").rglob("*.py"),
            *(ROOT / "src").rglob("*.pyx"),
        ]
        if re.search(rf"[\"']{re.escape(fastfilter.__version__)}[\"']", path.read_text(encoding="utf-8"))
    ]
    assert len(written) == 1, written
    assert ("version" in project) is not ("version" in project.get("dynamic", []))


@pytest.mark.parametrize("name", fastfilter.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    value = getattr(fastfilter, name)
    if isinstance(value, str):
        return
    documentation = inspect.getdoc(value)
    assert documentation, name
    if inspect.isclass(value):
        for method_name, method in vars(value).items():
            if not method_name.startswith("_") and (
                inspect.isfunction(method) or isinstance(method, staticmethod | property)
            ):
                assert inspect.getdoc(method), f"{name}.{method_name}"
                if inspect.isfunction(method) and value is fastfilter.Filter and method_name != "bind_record_json":
                    assert ">>> " in (inspect.getdoc(method) or "") or method_name == "columns", f"{name}.{method_name}"


def test_types_are_shipped() -> None:
    assert (ROOT / "fastfilter" / "py.typed").is_file()
    for extension in (ROOT / "src").glob("*.pyx"):
        assert (ROOT / "fastfilter" / f"{extension.stem}.pyi").is_file()
    data = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["package-data"]
    assert set(data["fastfilter"]) >= {"py.typed", "*.pyi"}


def texts() -> list[pathlib.Path]:
    """The files of the project, as version control knows them; in a source distribution, all that are there."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        paths = [ROOT / name for name in listed.stdout.splitlines()]
    else:
        paths = [
            path
            for room in ("fastfilter", "src", "tests", "docs", "benchmarks", "examples")
            for path in (ROOT / room).rglob("*")
        ]
    kinds = {".py", ".pyx", ".pxd", ".pyi", ".c", ".h", ".md", ".toml", ".txt", ".in", ""}
    return [path for path in paths if path.is_file() and path.suffix in kinds and path != pathlib.Path(__file__)]


FORBIDDEN = re.compile(r"\b(" + "|".join(["TO" + "DO", "FIX" + "ME", "X" + "XX", "HA" + "CK"]) + r")\b|/root/|/home/")


def test_nothing_is_left_to_do() -> None:
    """No file says that something is unfinished, or names a place on somebody's machine."""
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if FORBIDDEN.search(line)
    ]
    assert found == []


LIMITS = {".py": 500, ".c": 800, ".pyx": 800, ".h": 800}


@pytest.mark.parametrize("room", ["fastfilter", "src"])
def test_files_are_short(room: str) -> None:
    """A file that grows beyond this holds more than one thing."""
    sizes = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / room).rglob("*")
        if path.suffix in LIMITS and path.name not in ("_content.c", "_native.c", "_records.c", "unicode_lower_table.h")
    }
    assert sizes
    assert {name: size for name, size in sizes.items() if size > LIMITS[pathlib.Path(name).suffix]} == {}


def test_python_is_new_enough() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["requires-python"] == ">=3.11"
    assert sys.version_info >= (3, 11)
