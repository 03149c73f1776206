"""Options that several commands take, and how a command is run."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import click

from ...schemas import AfterwitError
from ..data_dir import DataDir
from .output import Output


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Make a command of a function that takes ``output`` first; adds ``--json``.

    An `AfterwitError` is printed and makes the exit status 1; Ctrl-C as well.
    """

    @click.option("--json", "as_json", is_flag=True, help="Machine output: JSON, errors as objects on stderr.")
    @functools.wraps(function)
    def run(*, as_json: bool, **arguments: Any) -> None:
        output = Output(json=as_json)
        for library in ("afterwit", "nats"):  # what they log is for parts that keep a log: here errors are told
            logging.getLogger(library).addHandler(logging.NullHandler())
        try:
            function(output, **arguments)
        except AfterwitError as e:
            output.error(e)
            sys.exit(1)
        except KeyboardInterrupt:
            sys.exit(1)

    return run


def asynchronous(function: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Like `command`, of a coroutine function."""

    @functools.wraps(function)
    def run(*args: Any, **arguments: Any) -> None:
        asyncio.run(function(*args, **arguments))

    return command(run)


def data_dir_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--data-dir``, given to the command as ``data_dir: DataDir``."""

    @click.option(
        "--data-dir",
        type=click.Path(file_okay=False, path_type=Path),
        help="Everything of this machine's bus lies here.  [AFTERWIT_DATA_DIR, ~/.afterwit]",
    )
    @functools.wraps(function)
    def with_data_dir(*args: Any, data_dir: Path | None, **arguments: Any) -> Any:
        return function(*args, data_dir=DataDir.find(data_dir, os.environ), **arguments)

    return with_data_dir


def client_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--server``, ``--token``, ``--agent`` and ``--data-dir``, given to the command as ``target: Target``."""

    @click.option("--server", metavar="URL", help="NATS URL of the bus.  [AFTERWIT_URL]")
    @click.option("--token", metavar="TOKEN", help="The agent's token.  [AFTERWIT_TOKEN]")
    @click.option("--agent", metavar="NAME", help="An agent made by `up --agent` here.  [AFTERWIT_AGENT]")
    @data_dir_option
    @functools.wraps(function)
    def with_target(
        *args: Any, server: str | None, token: str | None, agent: str | None, data_dir: DataDir, **arguments: Any
    ) -> Any:
        from ..client import Target

        target = Target.find(data_dir, os.environ, server=server, token=token, agent=agent)
        return function(*args, target=target, **arguments)

    return with_target


def operator_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--server`` and ``--data-dir``, given to the command as ``url: str`` and ``data_dir: DataDir``."""

    @click.option("--server", metavar="URL", help="NATS URL of the bus.  [AFTERWIT_URL]")
    @data_dir_option
    @functools.wraps(function)
    def with_url(*args: Any, server: str | None, data_dir: DataDir, **arguments: Any) -> Any:
        from ..client import find_url

        url = find_url(data_dir, os.environ, server)
        return function(*args, url=url, data_dir=data_dir, **arguments)

    return with_url
