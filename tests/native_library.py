"""The C sources of texts and JSON as a shared library of their own, called by ctypes: tests of each function alone.

Every text is handed over in memory of exactly its size, so that the address sanitizer sees a read beyond it.
"""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

SOURCES = Path(__file__).parent.parent / "src"
SANITIZE = "FASTFILTER_TEST_SANITIZE"
"""An environment variable: build with the address and undefined-behaviour sanitizers (see ``run_sanitized``)."""

MISSING, NULL, BOOL, NUMBER, STRING, TIMESTAMP, ARRAY, OBJECT = range(8)
OK, MALFORMED, NOT_OBJECT, NO_MEMORY = range(4)
TEXT_OK, TEXT_TOO_LONG, TEXT_NO_MEMORY = range(3)
NO_LIMIT = 2**63 - 1


class _Bytes(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("length", ctypes.c_int64)]


class _Buffer(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p),
        ("length", ctypes.c_int64),
        ("capacity", ctypes.c_int64),
        ("failed", ctypes.c_bool),
    ]


class _Value(ctypes.Structure):
    _fields_ = [("kind", ctypes.c_uint8), ("escaped", ctypes.c_bool), ("text", _Bytes)]


class _NumberUnion(ctypes.Union):
    _fields_ = [("int64", ctypes.c_int64), ("uint64", ctypes.c_uint64), ("float64", ctypes.c_double)]


class _Number(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("as_", _NumberUnion)]


class Value(NamedTuple):
    """An ff_json_value: its kind, whether it holds a backslash, and its raw text."""

    kind: int
    escaped: bool
    text: bytes


def compiler() -> str | None:
    """The C compiler Python was built with if it is here, else any."""
    configured = (sysconfig.get_config_var("CC") or "cc").split()[0]
    return shutil.which(configured) or shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def _call(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def _build(folder: Path, flags: Sequence[str]) -> Path:
    sys.path.insert(0, str(SOURCES))
    try:
        from generate_lower_table import generate
    finally:
        sys.path.remove(str(SOURCES))
    generate(folder / "unicode_lower_table.h")
    sources = [*SOURCES.glob("kernels/*.c"), *SOURCES.glob("json/*.c")]
    path = folder / "libfastfilter_text.so"
    command = [compiler() or "cc", "-std=c11", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", *flags]
    includes = [f"-I{folder}", f"-I{SOURCES / 'include'}", f"-I{SOURCES}"]
    build = subprocess.run(
        [*command, *includes, *map(str, sorted(sources)), "-lm", "-o", str(path)], capture_output=True, text=True
    )
    if build.returncode != 0:
        raise RuntimeError(f"the C sources do not compile:\n{build.stderr}")
    return path


@functools.cache
def load() -> Native:
    """Compiles the library once a run and loads it; skips the test where there is no compiler."""
    if compiler() is None:
        pytest.skip("no C compiler here: the native text and JSON functions are not tested alone")
    sanitize = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]
    with tempfile.TemporaryDirectory() as folder:
        return Native(_build(Path(folder), sanitize if os.environ.get(SANITIZE) else ["-O2"]))


def run_sanitized(test_file: str) -> None:
    """Runs a test file once more, in a process of its own, on a library built with sanitizers."""
    if os.environ.get(SANITIZE):
        pytest.skip("this is the run with sanitizers")
    if compiler() is None:
        pytest.skip("no C compiler here: nothing to run with sanitizers")
    name = _call(str(compiler()), "-print-file-name=libasan.so")
    if not Path(name).is_absolute():
        pytest.skip("this C compiler has no address sanitizer to preload")
    environment = {
        **os.environ,
        SANITIZE: "1",
        "LD_PRELOAD": name,
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    }
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", test_file]
    run = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert run.returncode == 0, run.stdout[-4000:] + run.stderr[-8000:]


class Paths:
    """Compiled paths, and an extraction over them."""

    def __init__(self, native: Native, paths: Sequence[Sequence[bytes]], trusted: bool = False) -> None:
        self._native = native
        self._library = native.library
        self._paths = self._library.ff_json_paths_new(trusted)
        for slot, path in enumerate(paths):
            with native.held(*path) as keys:
                assert self._library.ff_json_paths_add(self._paths, (_Bytes * len(path))(*keys), len(path), slot)
        assert self._library.ff_json_paths_num_slots(self._paths) == len(paths)
        self._out = (_Value * max(len(paths), 1))()

    def __del__(self) -> None:
        self._library.ff_json_paths_free(self._paths)

    def extract(self, text: bytes, before: bytes = b"", behind: bytes = b"") -> tuple[int, list[Value]]:
        """The status, and the value of every path, of a text that stands between others in memory."""
        for value in self._out:
            value.kind = 99  # every slot has to be written
        with self._native.held(before + text + behind) as (held,):
            inner = _Bytes(held.data + len(before), len(text))
            end = held.data + held.length
            status = self._library.ff_json_extract(
                self._paths, inner, end, self._out, ctypes.byref(self._native.scratch)
            )
            count = self._library.ff_json_paths_num_slots(self._paths)
            return status, [_value_of(value) for value in self._out[:count]]


class Pattern:
    """A prepared containment test. ``ValueError`` if its JSON is malformed."""

    def __init__(self, native: Native, json: bytes) -> None:
        self._native = native
        self._pattern = None
        with native.held(json) as (held,):
            self._pattern = native.library.ff_json_pattern_new(held)
        if self._pattern is None:
            raise ValueError("malformed pattern")

    def __del__(self) -> None:
        self._native.library.ff_json_pattern_free(self._pattern)

    def contained_in(self, value: Value) -> bool:
        """Whether the value contains the pattern."""
        with self._native.held(value.text) as (held,):
            given = _Value(value.kind, value.escaped, held)
            answer = self._native.library.ff_json_contains(
                self._pattern, ctypes.byref(given), ctypes.byref(self._native.scratch)
            )
        assert answer in (0, 1)
        return bool(answer)


def _value_of(value: _Value) -> Value:
    text = b"" if not value.text.length else ctypes.string_at(value.text.data, value.text.length)
    return Value(value.kind, value.escaped, text)


class Native:
    """The functions of bytes.h, text.h and json.h with Python arguments and results."""

    def __init__(self, path: Path) -> None:
        self.library = library = ctypes.CDLL(str(path))
        self.scratch = _Buffer()
        self._memory = memory = ctypes.CDLL(None)
        memory.malloc.restype = ctypes.c_void_p
        memory.malloc.argtypes = [ctypes.c_size_t]
        memory.free.argtypes = [ctypes.c_void_p]
        buffer, value = ctypes.POINTER(_Buffer), ctypes.POINTER(_Value)
        position = ctypes.POINTER(ctypes.c_int64)
        pointer, boolean, integer = ctypes.c_void_p, ctypes.c_bool, ctypes.c_int
        signatures: dict[str, tuple[object, list[object]]] = {
            "ff_buffer_free": (None, [buffer]),
            "ff_compare_utf16": (integer, [_Bytes, _Bytes]),
            "ff_lower": (boolean, [_Bytes, buffer]),
            "ff_find": (boolean, [_Bytes, _Bytes]),
            "ff_parse_timestamp": (boolean, [_Bytes, position, ctypes.POINTER(ctypes.c_int32)]),
            "ff_parse_double": (ctypes.c_double, [_Bytes]),
            "ff_is_plain_number": (boolean, [_Bytes]),
            "ff_append_double": (boolean, [buffer, ctypes.c_double]),
            "ff_append_float": (boolean, [buffer, ctypes.c_float]),
            "ff_append_half": (boolean, [buffer, ctypes.c_double]),
            "ff_append_int64": (boolean, [buffer, ctypes.c_int64]),
            "ff_append_uint64": (boolean, [buffer, ctypes.c_uint64]),
            "ff_append_timestamp": (boolean, [buffer, ctypes.c_int64, ctypes.c_int32]),
            "ff_target_at": (pointer, [integer]),
            "ff_target_runs": (boolean, [pointer]),
            "ff_json_paths_new": (pointer, [boolean]),
            "ff_json_paths_add": (boolean, [pointer, ctypes.POINTER(_Bytes), integer, integer]),
            "ff_json_paths_num_slots": (integer, [pointer]),
            "ff_json_paths_free": (None, [pointer]),
            "ff_json_extract": (integer, [pointer, _Bytes, pointer, value, buffer]),
            "ff_json_string": (_Bytes, [value, buffer]),
            "ff_json_number": (_Number, [_Bytes]),
            "ff_json_next_element": (boolean, [value, position, value]),
            "ff_json_text": (integer, [value, ctypes.c_int64, buffer]),
            "ff_json_pattern_new": (pointer, [_Bytes]),
            "ff_json_pattern_free": (None, [pointer]),
            "ff_json_contains": (integer, [pointer, value, buffer]),
        }
        for name, (result, arguments) in signatures.items():
            function = getattr(library, name)
            function.restype, function.argtypes = result, arguments

    @contextmanager
    def held(self, *texts: bytes) -> Iterator[list[_Bytes]]:
        """The texts in memory of exactly their sizes."""
        held = []
        try:
            for text in texts:
                data = self._memory.malloc(len(text))
                ctypes.memmove(data, text, len(text))
                held.append(_Bytes(data, len(text)))
            yield held
        finally:
            for text_held in held:
                self._memory.free(text_held.data)

    def _taken(self) -> bytes:
        """The content of the scratch buffer, which is emptied but keeps its memory."""
        length, self.scratch.length = self.scratch.length, 0
        assert not self.scratch.failed
        return ctypes.string_at(self.scratch.data, length) if length else b""

    def _appended(self, name: str, *arguments: object) -> str:
        self.scratch.length = 0
        assert getattr(self.library, name)(ctypes.byref(self.scratch), *arguments)
        return self._taken().decode("ascii")

    def targets(self) -> list[str]:
        """The CPU targets that this machine can run."""
        names = []
        while target := self.library.ff_target_at(len(names)):
            names.append(target)
        running = [target for target in names if self.library.ff_target_runs(target)]
        return [ctypes.cast(target, ctypes.POINTER(ctypes.c_char_p))[0].decode() for target in running]

    def use_target(self, name: str) -> None:
        """Paths made from now on use the target's kernels."""
        in_use = ctypes.c_void_p.in_dll(self.library, "ff_target_in_use")
        number = 0
        while target := self.library.ff_target_at(number):
            if ctypes.cast(target, ctypes.POINTER(ctypes.c_char_p))[0].decode() == name:
                in_use.value = target
                return
            number += 1
        raise ValueError(name)

    # Texts

    def compare_utf16(self, left: bytes, right: bytes) -> int:
        with self.held(left, right) as held:
            answer = int(self.library.ff_compare_utf16(*held))
        return (answer > 0) - (answer < 0)

    def lower(self, text: bytes, before: bytes = b"") -> bytes:
        """``text`` lower-cased behind ``before``, which stands in the buffer already."""
        self.scratch.length = 0
        with self.held(before, text) as (first, held):
            assert self.library.ff_lower(first, ctypes.byref(self.scratch))
            assert self.library.ff_lower(held, ctypes.byref(self.scratch))
        return self._taken()

    def find(self, text: bytes, needle: bytes) -> bool:
        with self.held(text, needle) as held:
            return bool(self.library.ff_find(*held))

    def parse_timestamp(self, text: bytes) -> int | None:
        """Nanoseconds since the epoch."""
        seconds, nanoseconds = ctypes.c_int64(), ctypes.c_int32()
        with self.held(text) as (held,):
            if not self.library.ff_parse_timestamp(held, ctypes.byref(seconds), ctypes.byref(nanoseconds)):
                return None
        assert 0 <= nanoseconds.value < 10**9
        return seconds.value * 10**9 + nanoseconds.value

    def parse_double(self, text: bytes) -> float:
        with self.held(text) as (held,):
            return float(self.library.ff_parse_double(held))

    def is_plain_number(self, text: bytes) -> bool:
        with self.held(text) as (held,):
            return bool(self.library.ff_is_plain_number(held))

    def double_text(self, number: float) -> str:
        return self._appended("ff_append_double", number)

    def float_text(self, number: float) -> str:
        return self._appended("ff_append_float", number)

    def half_text(self, number: float) -> str:
        return self._appended("ff_append_half", number)

    def int64_text(self, number: int) -> str:
        return self._appended("ff_append_int64", number)

    def uint64_text(self, number: int) -> str:
        return self._appended("ff_append_uint64", number)

    def timestamp_text(self, seconds: int, nanoseconds: int) -> str:
        return self._appended("ff_append_timestamp", seconds, nanoseconds)

    # JSON

    def value(self, text: bytes) -> Value:
        """The one value of a well-formed text."""
        status, (value,) = Paths(self, [()]).extract(text)
        assert status == OK, text
        return value

    def is_well_formed(self, text: bytes) -> bool:
        status, (value,) = Paths(self, [()]).extract(text)
        assert (status, value.kind == MISSING) in ((OK, False), (MALFORMED, True))
        return bool(status == OK)

    def string(self, value: Value) -> bytes:
        with self.held(value.text) as (held,):
            content = self.library.ff_json_string(_Value(value.kind, value.escaped, held), self.scratch)
            assert content.data is not None
            assert (content.data == held.data) == (not value.escaped), "a copy exactly where there are escapes"
            return ctypes.string_at(content.data, content.length)

    def number(self, text: bytes) -> int | float:
        with self.held(text) as (held,):
            number = self.library.ff_json_number(held)
        if number.type == 1:
            assert number.as_.uint64 >= 2**63
        return (number.as_.int64, number.as_.uint64, number.as_.float64)[number.type]  # type: ignore[no-any-return]

    def elements(self, array: Value) -> list[Value]:
        elements, position, element = [], ctypes.c_int64(0), _Value()
        with self.held(array.text) as (held,):
            given = _Value(array.kind, array.escaped, held)
            while self.library.ff_json_next_element(ctypes.byref(given), ctypes.byref(position), ctypes.byref(element)):
                elements.append(_value_of(element))
        return elements

    def jsonb_text(self, value: Value, limit: int = NO_LIMIT, before: bytes = b"") -> bytes | None:
        """The JSONB text behind ``before``, or None if it is longer than ``limit``."""
        self.scratch.length = 0
        with self.held(before, value.text) as (first, held):
            assert self.library.ff_lower(first, ctypes.byref(self.scratch))
            given = _Value(value.kind, value.escaped, held)
            status = self.library.ff_json_text(ctypes.byref(given), limit, ctypes.byref(self.scratch))
        text = self._taken()
        assert text.startswith(before.lower())
        if status == TEXT_TOO_LONG:
            assert text == before.lower(), "a text too long leaves the buffer as it was"
            return None
        assert status == TEXT_OK
        return text[len(before) :]
