"""Afterwit: a shared memory bus for multi-agent systems."""

__version__ = "0.1.0"
