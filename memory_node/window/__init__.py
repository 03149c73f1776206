"""Windows: the working set of a session. A view of the log, kept in Valkey or Redis."""

from .selection import Selected, select
from .valkey import ValkeyWindow
from .window import Window

__all__ = ["Selected", "ValkeyWindow", "Window", "select"]
