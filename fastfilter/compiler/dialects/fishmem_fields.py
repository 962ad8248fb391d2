"""FishMem's fields, and the operators that are defined on them: the table of docs/semantics.md."""

from __future__ import annotations

import re
from typing import Final

from fastfilter.bytecode.program import Field, Role

__all__ = [
    "BUILT_IN", "BUILT_IN_NAMES", "CONDITION_KEYS", "LOGICAL_KEYS", "MEMORY_TYPE", "METADATA", "METADATA_PATH",
    "NUMERIC", "OPERATORS", "SCOPE_NAMES", "TEXT", "TIMESTAMP",
]  # fmt: skip

LOGICAL_KEYS: Final = ("field", "and", "or", "not")
SCOPE_NAMES: Final = ("user_id", "agent_id", "run_id")
CONDITION_KEYS: Final = ("field", "operator", "value")
METADATA_PATH: Final = re.compile(r"metadata(?:\.[A-Za-z0-9_-]+)+")

# The types of fields.
TEXT: Final = "text field"
MEMORY_TYPE: Final = "memory type"
NUMERIC: Final = "numeric field"
TIMESTAMP: Final = "timestamp field"
METADATA: Final = "metadata path"

_SETS: Final = ("eq", "ne", "in", "nin")
_ORDERS: Final = ("gt", "gte", "lt", "lte")
_SEARCHES: Final = ("contains", "icontains")
OPERATORS: Final = {
    TEXT: (*_SETS, *_SEARCHES, "exists"),
    MEMORY_TYPE: (*_SETS, *_SEARCHES, "exists"),
    NUMERIC: (*_SETS, *_ORDERS, "exists"),
    TIMESTAMP: (*_SETS, *_ORDERS, "exists"),
    METADATA: (*_SETS, *_ORDERS, *_SEARCHES, "exists"),
}
"""For every type of field the operators that are defined on it; ``metadata`` has them all."""

BUILT_IN: Final = {
    name: (Field(Role.COLUMN, (name,)), field_type)
    for field_type, names in (
        (TEXT, ("id", "content", "subject", "attribute")),
        (MEMORY_TYPE, ("memory_type",)),
        (NUMERIC, ("importance", "access_count")),
        (TIMESTAMP, ("created_at", "updated_at", "event_date", "last_accessed_at")),
    )
    for name in names
}

BUILT_IN_NAMES: Final = (*BUILT_IN, *SCOPE_NAMES)
"""The top-level columns that a filter can be about: built-in fields and scopes."""
