"""Files in, files out: Parquet, Arrow IPC, JSONL and CSV, read in pieces, filtered, and written whole or not at all."""
