"""The guard looks at every write before anything else sees it.

It is a chain of checks. Each gets the text fields of a write and answers with findings; a finding with action
``refused`` stops the write, and ``masked`` comes with the text to store instead. No checks are installed yet:
secrets, personal data and instructions aimed at the model are a later stage's; the hook and its place in the path
are here, so that nothing has to be rebuilt for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from ..schemas import GuardFinding, Rejected


@dataclass(frozen=True, slots=True)
class Inspected:
    """What a check makes of a text: its findings, and the text to store."""

    text: str
    findings: tuple[GuardFinding, ...] = ()


class Check(Protocol):
    """One thing to look for."""

    def __call__(self, agent: str, field: str, text: str) -> Inspected:
        """Look at ``text``, which ``agent`` wants to store in ``field``."""


class Guard:
    """Runs all checks over all text fields of a write."""

    def __init__(self, checks: Sequence[Check] = ()) -> None:
        self._checks = tuple(checks)

    def inspect(self, agent: str, texts: Mapping[str, str]) -> tuple[dict[str, str], tuple[GuardFinding, ...]]:
        """The texts to store in place of ``texts``, and everything that was found.

        Raises:
            Rejected: a check refused; ``detail["findings"]`` says what kind of thing stood in which field.
        """
        clean = dict(texts)
        findings: list[GuardFinding] = []
        for field, text in texts.items():
            for check in self._checks:
                inspected = check(agent, field, text)
                text = inspected.text
                findings += inspected.findings
            clean[field] = text
        refused = [f for f in findings if f.action == "refused"]
        if refused:
            what = ", ".join(f"{f.kind} in {f.field}" for f in refused)
            raise Rejected(
                f"the guard refused this: {what}", findings=[{"kind": f.kind, "field": f.field} for f in refused]
            )
        return clean, tuple(findings)
