"""What a command prints: for people by default, JSON with ``--json``; errors on stderr in one readable line."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import msgspec

from ...schemas import AfterwitError, ErrorReply

if TYPE_CHECKING:
    from rich.console import Console, RenderableType


class Output:
    """Standard output and error of one command."""

    def __init__(self, *, json: bool) -> None:
        self.json = json

    @property
    def people(self) -> Console:
        """Where people read results."""
        from rich.console import Console

        return Console(highlight=False)

    @property
    def aside(self) -> Console:
        """Where people read what is not the result: progress, warnings."""
        from rich.console import Console

        return Console(stderr=True, highlight=False)

    def result(self, value: Any, *renderables: RenderableType) -> None:
        """Print ``value`` as one line of JSON, or ``renderables`` for people.

        Strings are markup: what others have said is to be escaped, or given as a `Text`.
        """
        if self.json:
            self.json_line(value)
        else:
            for renderable in renderables:
                self.people.print(renderable)

    def json_line(self, value: Any) -> None:
        """Print ``value`` as one line of JSON, at once."""
        sys.stdout.write(msgspec.json.encode(value).decode() + "\n")
        sys.stdout.flush()

    def error(self, error: AfterwitError) -> None:
        """Print ``error`` on stderr."""
        if self.json:
            sys.stderr.write(msgspec.json.encode(ErrorReply(error=error.body), enc_hook=str).decode() + "\n")
        else:
            from rich.text import Text

            self.aside.print(Text.assemble((f"{error.code}: ", "bold red"), error.message), soft_wrap=True)
