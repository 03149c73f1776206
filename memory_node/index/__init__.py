"""The index: the searchable view of the log, by meaning and by words, in English and Chinese."""

from .analysis import (
    bare,
    folded,
    han_share,
    is_identifier,
    is_question,
    language,
    sentences,
    sparse_document,
    sparse_query,
    terms,
)
from .calibration import Calibration
from .edge import EdgeIndex
from .entries import search_entries
from .filters import IndexFilter, Near
from .index import Checksum, Facet, Hit, Index, IndexQuery, Stored, checksum_of
from .recipe import RECIPE, embedded_text, embedding, is_turn, raw_vector, recipe, speaker, talk, turn_before

__all__ = [
    "RECIPE", "Calibration", "Checksum", "EdgeIndex", "Facet", "Hit", "Index", "IndexFilter", "IndexQuery", "Near",
    "Stored", "bare", "checksum_of", "embedded_text", "embedding", "folded", "han_share", "is_identifier",
    "is_question", "is_turn", "language", "raw_vector", "recipe", "search_entries", "sentences", "sparse_document",
    "sparse_query", "speaker", "talk", "terms", "turn_before",
]  # fmt: skip
