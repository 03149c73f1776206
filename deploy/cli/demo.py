"""`demo`: the play."""

from __future__ import annotations

import sys

import click


@click.command()
def demo() -> None:
    """Start a bus of its own and let three agents work on it; checks itself and leaves nothing running."""
    from ...agents.demo import main

    sys.exit(main())
