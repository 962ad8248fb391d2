"""Golden files: texts under tests/golden that an output must equal.

``FASTFILTER_UPDATE_GOLDEN=1`` in the environment writes them anew instead of comparing; read the difference before
committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

GOLDEN = Path(__file__).parent / "golden"


def check_golden(name: str, text: str) -> None:
    """Asserts that ``text`` equals the golden file of that name (a path under tests/golden, such as ``a.txt``)."""
    path = GOLDEN / name
    if os.environ.get("FASTFILTER_UPDATE_GOLDEN") == "1":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        return
    assert path.is_file(), f"there is no {path}; FASTFILTER_UPDATE_GOLDEN=1 writes it"
    assert text == path.read_bytes().decode(), f"{path} is different; FASTFILTER_UPDATE_GOLDEN=1 writes it anew"
