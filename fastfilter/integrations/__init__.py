"""Filters on engines that spread work over processes and machines: Ray Data, Spark, Dask.

Each engine has a module of its own and is imported only when a function of it is called; docs/scale.md shows them.
"""
