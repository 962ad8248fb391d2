"""The examples for clusters run: blocks of ``python cluster`` in the README and in docs/scale.md."""

from __future__ import annotations

import pathlib
import re
from typing import Any

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]

pytestmark = [
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning:ray"),
]


@pytest.mark.parametrize("document", ["README.md", "docs/scale.md"])
def test_the_examples_run(document: str, ray_data: Any, spark: Any, dask_client: Any) -> None:
    blocks = re.findall(r"^```python cluster\n(.*?)^```$", (ROOT / document).read_text(encoding="utf-8"), re.M | re.S)
    assert blocks
    namespace: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, document, "exec"), namespace)
