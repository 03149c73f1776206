"""Following causes: the walk over the graph, what of it to show, and when to look back at all."""

from .choice import chosen
from .triggers import trigger_of
from .walk import MAX_VISITED, Found, Step, in_path_order, walk

__all__ = ["MAX_VISITED", "Found", "Step", "chosen", "in_path_order", "trigger_of", "walk"]
