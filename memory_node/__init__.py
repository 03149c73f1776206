"""Everything that remembers: operations, index, windows, retrieval, and the models that they ask."""
