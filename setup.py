"""The build of the native extensions; all else about the package is in pyproject.toml.

``FASTFILTER_PURE_PYTHON=1`` builds none, and the package then runs on its Python machine. Otherwise an extension that
cannot be built is an error.
"""

import os
import sys
from glob import glob
from pathlib import Path

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.command.build_py import build_py

PURE_PYTHON = os.environ.get("FASTFILTER_PURE_PYTHON", "0") not in ("", "0")
SOURCES = Path(__file__).parent / "src"


class BuildPackage(build_py):
    """Leaves a mark in a package without extension, so that its absence is known to be meant."""

    def run(self) -> None:
        super().run()
        if PURE_PYTHON and not self.editable_mode:
            marker = Path(self.build_lib) / "fastfilter" / "_pure_python.py"
            marker.write_text('"""This installation was built without the native extension, on purpose."""\n', "utf-8")


class BuildExtension(build_ext):
    """Translates the Cython source, and writes the table of lower-case characters that the C sources include."""

    def finalize_options(self) -> None:
        from Cython.Build import cythonize

        self.distribution.ext_modules = cythonize(
            self.distribution.ext_modules,
            include_path=["src"],
            compiler_directives={"language_level": 3},
            show_all_warnings=False,
        )
        super().finalize_options()

    def run(self) -> None:
        sys.path.insert(0, str(SOURCES))
        from generate_lower_table import generate

        generate(SOURCES / "unicode_lower_table.h")
        super().run()


def extension(name: str, c_sources: list[str]) -> Extension:
    headers = glob("src/**/*.h", recursive=True)
    return Extension(
        f"fastfilter.{name}",
        sources=[f"src/{name}.pyx", *sorted(c_sources)],
        include_dirs=["src/include", "src"],
        depends=[*sorted(headers), *sorted(glob("src/**/*.px[di]", recursive=True))],
        extra_compile_args=[] if sys.platform == "win32" else ["-std=c11", "-O3", "-Wall", "-Wextra"],
    )


EXTENSIONS = {
    "_content": [],
    "_native": glob("src/kernels/*.c") + glob("src/json/*.c"),
    "_records": [f"src/kernels/{name}.c" for name in ("bytes", "text_find", "text_number", "text_timestamp")],
}

setup(
    ext_modules=[] if PURE_PYTHON else [extension(name, c_sources) for name, c_sources in EXTENSIONS.items()],
    cmdclass={"build_py": BuildPackage, "build_ext": BuildExtension},
)
