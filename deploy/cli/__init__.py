"""The `afterwit` command. Exit status: 0 done, 1 failed, 2 wrong usage.

Commands import what they need when they run, so that `afterwit --help` and a single `store` start quickly.
"""

from .group import cli, main

__all__ = ["cli", "main"]
