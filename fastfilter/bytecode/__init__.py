"""The contract between compiler and runtime: the instruction set, and programs read, written and verified."""
