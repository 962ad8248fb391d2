"""Makes a sample corpus: FishMem memories and Anansi chunks, each as Parquet and as JSONL, always the same.

``python -m examples.make_corpus [--out FOLDER] [--rows 5000]`` makes a small one of four files;
``python -m examples.make_corpus --folder FOLDER --bytes 1000000000`` a folder of Parquet files of about that size.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

__all__ = ["MEMORY_SCHEMA", "chunk_records", "make_folder", "make_samples", "memory_records"]

MEMORY_SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("user_id", pa.string()),
        ("agent_id", pa.string()),
        ("content", pa.string()),
        ("memory_type", pa.dictionary(pa.int32(), pa.string())),
        ("subject", pa.string()),
        ("attribute", pa.string()),
        ("importance", pa.float64()),
        ("access_count", pa.int64()),
        ("created_at", pa.timestamp("ms", "UTC")),
        ("updated_at", pa.timestamp("ms", "UTC")),
        ("event_date", pa.timestamp("ms", "UTC")),
        ("last_accessed_at", pa.timestamp("ms", "UTC")),
        ("metadata", pa.string()),
    ]
)
"""The columns of the memories: built-in fields typed, metadata as JSON text."""

CHUNK_SCHEMA = pa.schema([("id", pa.string()), ("content", pa.string()), ("metadata", pa.string())])

_START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
_OPENINGS = ("Ticket", "Call", "Order", "Invoice", "Refund", "Meeting", "Delivery", "Complaint")
_SENTENCES = (
    "waiting for an answer from the billing team about last month's invoice which shows two charges for one order "
    "prefers tea in the morning and short mails in the evening lives in Zürich near the lake asked again whether "
    "somebody had looked at it the parcel never arrived 東京 and the courier says otherwise"
)
_WORDS = _SENTENCES.split()
_MEMORY_TYPES = ("fact", "preference", "decision", "identity", "event", "observation", "goal", "todo")
_CHANNELS = ("support", "sales", "email", "chat", "phone", "web")
_REPEATED = ("user_id", "agent_id", "memory_type", "subject", "attribute")
_LABELS = ("vip", "eu", "billing", "urgent", "trial")


def memory_records(num_rows: int) -> Iterator[dict[str, Any]]:
    """Memories as FishMem's API shows them, the same ones every time."""
    choose = random.Random(7)
    for number in range(num_rows):
        created = _START + datetime.timedelta(minutes=choose.randrange(400_000), milliseconds=choose.randrange(1000))
        state = choose.choice(("open", "RESOLVED", "resolved", "pending"))
        yield {
            "id": f"mem_{number:07}",
            "user_id": choose.choice(("ada", "bob", "eve")),
            "agent_id": choose.choice(("helper", "scribe", None)),
            "content": f"{choose.choice(_OPENINGS)} {state}: {' '.join(choose.choices(_WORDS, k=24))}",
            "memory_type": choose.choice(_MEMORY_TYPES),
            "subject": choose.choice(("customer", "order", None)),
            "attribute": choose.choice(("status", "taste", None)),
            "importance": choose.choice((None, round(choose.random(), 3), round(choose.random(), 3))),
            "access_count": choose.randrange(50),
            "created_at": _iso(created),
            "updated_at": _iso(created + datetime.timedelta(hours=choose.randrange(1000))),
            "event_date": choose.choice((None, _iso(created))),
            "last_accessed_at": choose.choice((None, _iso(created + datetime.timedelta(days=3)))),
            "metadata": choose.choice((None, {}, *[_memory_metadata(choose) for _ in range(6)])),
        }


def _memory_metadata(choose: random.Random) -> dict[str, Any]:
    metadata: dict[str, Any] = {
        "channel": choose.choice(_CHANNELS),
        "source": {"system": choose.choice(("crm", "web"))},
    }
    if choose.random() < 0.6:
        metadata["labels"] = choose.sample(_LABELS, choose.randrange(4))
    if choose.random() < 0.5:
        metadata["score"] = choose.choice((choose.randrange(10), round(choose.random(), 2), "high", None, True))
    if choose.random() < 0.3:
        metadata["zip"] = f"{choose.randrange(1000):05}"  # leading zeros: a text, whatever it looks like
    return metadata


def chunk_records(num_rows: int) -> Iterator[dict[str, Any]]:
    """Chunks as Anansi stores them, with its system fields in the metadata, the same ones every time."""
    choose = random.Random(11)
    for number in range(num_rows):
        written = _START + datetime.timedelta(minutes=choose.randrange(400_000))
        metadata: dict[str, Any] = {
            "sourceType": choose.choice(("meeting", "conversation", "voice", "document")),
            "author": f"{choose.choice(('alice', 'bert', 'chloé'))}@example.com",
            "timestamp": _iso(written),
            "channelName": "api",
        }
        if choose.random() < 0.7:
            metadata["score"] = choose.choice((round(choose.random(), 3), str(round(choose.random(), 2)), "n/a", None))
        if choose.random() < 0.4:
            metadata["sessionId"] = f"s{choose.randrange(100)}"
        if choose.random() < 0.4:
            metadata["tags"] = choose.sample(_LABELS, choose.randrange(1, 4))
        if choose.random() < 0.3:
            metadata["wordCount"] = choose.randrange(1000)
        content = " ".join(choose.choices(_WORDS, k=30))
        yield {"id": f"chunk_{number:07}", "content": content, "metadata": metadata}


def _iso(instant: datetime.datetime) -> str:
    return instant.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_table(records: list[dict[str, Any]], schema: pa.Schema) -> pa.Table:
    """Records as a table: timestamps as instants, metadata as JSON text."""
    columns = []
    for field in schema:
        values = [record[field.name] for record in records]
        if field.name == "metadata":
            values = [None if value is None else json.dumps(value, ensure_ascii=False) for value in values]
        elif pa.types.is_timestamp(field.type):
            values = [None if value is None else datetime.datetime.fromisoformat(value) for value in values]
        columns.append(pa.array(values, field.type))
    return pa.table(columns, schema=schema)


def make_samples(folder: pathlib.Path, num_rows: int) -> None:
    """Writes memories and chunks into a folder, each as Parquet and as JSONL."""
    folder.mkdir(parents=True, exist_ok=True)
    samples = {"memories": (memory_records, MEMORY_SCHEMA), "chunks": (chunk_records, CHUNK_SCHEMA)}
    for name, (make_records, schema) in samples.items():
        records = list(make_records(num_rows))
        pq.write_table(to_table(records, schema), folder / f"{name}.parquet", row_group_size=max(1, num_rows // 4))
        with open(folder / f"{name}.jsonl", "w", encoding="utf-8") as lines:
            lines.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)


def make_folder(folder: pathlib.Path, num_bytes: int, num_files: int = 8) -> None:
    """Fills a folder with Parquet files of memories, of about ``num_bytes`` together."""
    folder.mkdir(parents=True, exist_ok=True)
    choose = np.random.default_rng(13)
    base = to_table(list(memory_records(20_000)), MEMORY_SCHEMA)
    num_rows = 0
    for number in range(num_files):
        path = folder / f"memories-{number:03}.parquet"
        # Texts are stored plainly: repeated as they are here, a dictionary or compression would make them far smaller
        # than those of a real corpus, and the folder would hold many times the rows.
        options: dict[str, Any] = {"compression": "none", "use_dictionary": list(_REPEATED)}
        with open(path, "wb") as opened, pq.ParquetWriter(opened, MEMORY_SCHEMA, **options) as writer:
            while opened.tell() < num_bytes / num_files:
                rows = base.take(pa.array(choose.integers(0, len(base), 50_000)))
                ids = pa.array([f"mem_{row:09}" for row in range(num_rows, num_rows + len(rows))])
                num_rows += len(rows)
                writer.write_table(rows.set_column(0, "id", ids))


def main() -> None:
    """The command line of this module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path("demo"), help="where the small corpus goes")
    parser.add_argument("--rows", type=int, default=5_000, help="rows of each file of the small corpus")
    parser.add_argument("--folder", type=pathlib.Path, help="make a large folder of Parquet here instead")
    parser.add_argument("--bytes", type=int, default=1_000_000_000, help="its size")
    options = parser.parse_args()
    if options.folder is not None:
        make_folder(options.folder, options.bytes)
    else:
        make_samples(options.out, options.rows)


if __name__ == "__main__":
    main()
