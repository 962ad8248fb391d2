"""Checks an installed package from outside the source tree: `python smoke.py native|python`."""

import pathlib
import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq

import fastfilter

expected = sys.argv[1]
assert fastfilter.backend == expected, f"the {fastfilter.backend} back end is in use, not {expected}"
assert (pathlib.Path(fastfilter.__file__).parent / "py.typed").is_file()

FILTER = (
    '{"and": [{"field": "metadata.channel", "operator": "eq", "value": "support"},'
    ' {"field": "importance", "operator": "gte", "value": 0.7},'
    ' {"not": {"field": "content", "operator": "icontains", "value": "resolved"}}]}'
)
rows = pa.table(
    {
        "id": ["a", "b", "c"],
        "content": ["Ticket open", "ticket RESOLVED", "nothing"],
        "importance": [0.9, 0.9, 0.1],
        "metadata": ['{"channel": "support"}'] * 3,
    }
)
flt = fastfilter.compile(FILTER)
assert flt.indices(rows).tolist() == [0]
assert flt.select([{"content": "open", "importance": 0.7, "metadata": {"channel": "support"}}, {}]) != []
assert fastfilter.Program.from_bytes(flt.program.to_bytes()) == flt.program

pq.write_table(rows, "rows.parquet")
command = [sys.executable, "-m", "fastfilter", "run", FILTER, "rows.parquet"]
answer = subprocess.run(command, capture_output=True, text=True, check=True)
assert answer.stdout.count("\n") == 1 and '"id":"a"' in answer.stdout.replace(" ", ""), answer.stdout
print(f"smoke test passed: {expected} build, fastfilter {fastfilter.__version__}")
