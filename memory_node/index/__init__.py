"""The index: the searchable view of the log, by meaning and by words, in English and Chinese."""

from .analysis import language, sparse_document, sparse_query, terms
from .calibration import Calibration
from .edge import EdgeIndex
from .entries import search_entries
from .filters import IndexFilter
from .index import Facet, Hit, Index, IndexQuery
from .recipe import RECIPE, embedded_text, embedding, raw_vector

__all__ = [
    "RECIPE", "Calibration", "EdgeIndex", "Facet", "Hit", "Index", "IndexFilter", "IndexQuery", "embedded_text",
    "embedding", "language", "raw_vector", "search_entries", "sparse_document", "sparse_query",
    "terms",
]  # fmt: skip
