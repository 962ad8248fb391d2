"""The tables that the benchmarks filter, made with a fixed seed."""

from __future__ import annotations

import functools

import numpy as np
import pyarrow as pa

__all__ = ["SEED_FILTER", "matching_memories", "memories"]

SEED_FILTER = {
    "and": [
        {"field": "metadata.channel", "operator": "eq", "value": "support"},
        {"field": "importance", "operator": "gte", "value": 0.7},
        {"not": {"field": "content", "operator": "icontains", "value": "resolved"}},
    ]
}
"""The example in FishMem's documentation."""

_WORDS = (
    "the customer reported that her open support ticket about billing was still waiting for an answer from our team",
    "and asked again whether somebody had looked at the invoice of last month which showed two charges for one order",
)
_CHANNELS = ("support", "sales", "email", "chat", "phone", "web", "forum", "partner")


@functools.cache
def memories(num_rows: int) -> pa.Table:
    """Memories of FishMem's shape: contents of about 190 bytes, a tenth of which say RESOLVED, in eight channels."""
    random = np.random.default_rng(7)
    words = " ".join(_WORDS).split()
    variants = []
    for variant in range(4096):
        text = [words[i] for i in random.integers(0, len(words), 34)]
        if variant % 10 == 0:
            text[int(random.integers(0, 34))] = "RESOLVED"
        variants.append(" ".join(text))
    content = pa.array(variants).take(pa.array(random.integers(0, len(variants), num_rows)))
    channel = pa.array(_CHANNELS).take(pa.array(random.integers(0, len(_CHANNELS), num_rows)))
    metadata = pa.StructArray.from_arrays([channel], ["channel"])
    importance = pa.array(random.random(num_rows))
    return pa.table({"content": content, "importance": importance, "metadata": metadata})


def matching_memories(table: pa.Table) -> int:
    """How many rows of :func:`memories` the seed filter selects, counted with pyarrow."""
    import pyarrow.compute as pc

    channel = pc.struct_field(table["metadata"], "channel")
    resolved = pc.match_substring(table["content"], "resolved", ignore_case=True)
    mask = pc.and_(
        pc.and_(pc.equal(channel, "support"), pc.greater_equal(table["importance"], 0.7)), pc.invert(resolved)
    )
    return int(pc.sum(mask).as_py())
