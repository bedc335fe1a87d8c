"""Data sets as NumPy arrays, and the tables that say which client holds which example.

`options` has the base class of data sources, which are members found by the catalogue: `official`, `synthetic`, and
`arrays` for the user's own data. `load` reads a published data set, `get` downloads one, `prepared` reads the folders
of tensorflow-datasets; `partition` deals training examples to clients, and `federated` stacks the partitions of several
seeds for the engine.
"""
