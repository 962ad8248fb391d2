"""A sample corpus, two example filters, and a demonstration of both: ``python -m examples.demo``."""
