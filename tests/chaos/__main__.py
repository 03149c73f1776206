"""`python -m tests.chaos`: a run of some minutes, and its report."""

from __future__ import annotations

import argparse
import asyncio
import logging
import random
import shutil
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import msgspec

from .cluster import clustered
from .document import write
from .report import figures, told
from .run import Trial, run


def main() -> int:
    """The exit status: 0 if all promises were kept."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos")
    parser.add_argument("--seconds", type=float, default=480, help="how long faults go on (default 480)")
    parser.add_argument("--seed", type=int, help="repeat the plan of an earlier run")
    parser.add_argument("--cluster", action="store_true", help="three NATS servers, two nodes, two gateways")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep logs and the history in a directory there")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there as well")
    parser.add_argument("--document", type=Path, metavar="FILE", help="write the figures into its marked block")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    plain = Trial(seed, given.seconds)
    print(f"seed {seed}", flush=True)
    for name in ("mcp", "httpx2"):  # that their servers die is what this is about
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    directory = Path(tempfile.mkdtemp(prefix=f"afterwit-chaos-{seed}-", dir=given.keep))
    with clustered(directory / "engines", seed, given.seconds) if given.cluster else nullcontext(plain) as trial:
        outcome = asyncio.run(run(directory, trial))
    print(told(outcome, trial))
    if given.json:
        given.json.write_bytes(msgspec.json.format(msgspec.json.encode(figures(outcome, trial))))
    if given.document:
        write(given.document, "chaos on a cluster" if given.cluster else "chaos", figures(outcome, trial))
    if outcome.violations or given.keep:
        (directory / "history.msgpack").write_bytes(msgspec.msgpack.encode(outcome.history))
        print(f"History and logs: {directory}")
    else:
        shutil.rmtree(directory)
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
