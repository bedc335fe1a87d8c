"""Data sets as uint8 arrays, and the tables that say which client holds which image. NumPy only.

``load`` reads a data set, ``get`` fetches one, ``prepared`` reads the folders of tensorflow-datasets; ``partition``
deals training images to clients, and ``federated`` stacks the partitions of several seeds for the engine.
"""
