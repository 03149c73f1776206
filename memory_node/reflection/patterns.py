"""What recurs over episodes, with the evidence for it and against it.

Precision first. A pattern needs K supporting episodes of the last M about the same thing (3 of 10), which outnumber
the ones against it three to one, and something that they share besides the name. Four forms are looked for: a thing
that keeps going wrong (or changed for good), a condition under which it does, a figure above which it does, and a
choice that somebody keeps making. Scattered cases are left alone.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ...schemas import Evidence, Memory
from ..index.analysis import folded
from .confidence import confidence
from .features import Observation, is_word, observe, opposite_of
from .pattern_text import statement_of

Form: TypeAlias = Literal["recurring", "condition", "threshold", "reversal", "choice"]

K: Final = 3
M: Final = 10
OUTNUMBER: Final = 3.0
"""Supporting episodes for each one against."""
CHANCE: Final = 0.12
"""How likely a condition may be to fit by chance alone; many words are tried, and episodes are few."""
CHANCE_OF_SAID: Final = 0.2
"""…where an episode says itself that the condition was missing."""
_MOST_NAMES: Final = 40
AFTER_REVERSAL: Final = 2
"""Episodes in a row that show a new state, after at least K of the old one."""


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern: ids of its evidence, what it is about, and a statement that quotes its most central episode.

    Of a reversal, ``supporting`` show the present state, ``contradicting`` the one before, ``since`` is when it began.
    """

    statement: str
    about: tuple[str, ...]
    supporting: tuple[str, ...]
    contradicting: tuple[str, ...]
    form: Form
    central: str
    confidence: float
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class _Found:
    form: Form
    subject: str
    condition: str
    supporting: tuple[int, ...]
    contradicting: tuple[int, ...]
    core: tuple[int, ...]
    since: int | None = None

    @property
    def score(self) -> float:
        bonus = {"reversal": 2.0, "recurring": 1.0, "condition": 0.5, "threshold": 0.25, "choice": 0.0}[self.form]
        own = self.condition.lstrip("¬@") in self.subject  # "without X" of X itself says little
        against = 0 if self.form == "reversal" else len(self.contradicting)
        return len(self.core) - 0.9 * against + bonus - (0.4 if own and self.condition else 0.0)


def find_patterns(
    episodes: Sequence[Memory], vectors: NDArray[np.float32] | None = None, *, k: int = K, m: int = M
) -> list[Pattern]:
    """Patterns over ``episodes``, best supported first, no two over the same evidence.

    ``vectors`` are calibrated unit vectors of the episodes, ``(n, dimensions)``, for choosing the central one; without
    them shared words choose. The last ``m`` episodes about a thing count, in the order of ``occurred_at``.
    """
    order = sorted(range(len(episodes)), key=lambda i: episodes[i].occurred_at)
    ordered = [episodes[i] for i in order]
    seen = observe(ordered)
    found: list[_Found] = []
    groups = _groups(seen)
    for name, members in groups.items():
        found += _of_group(name, members[-m:], seen, k)
    for name, members in _together(groups, k).items():
        found += _of_conditions(name, members[-m:], seen, k)
    points = None if vectors is None else vectors[order]
    return [_pattern(found_, ordered, seen, points) for found_ in _distinct(found)]


def _groups(seen: Sequence[Observation]) -> dict[str, list[int]]:
    """Episodes by the name that they are about."""
    groups: dict[str, list[int]] = defaultdict(list)
    for i, observation in enumerate(seen):
        for name in observation.names:
            groups[name].append(i)
    return groups


def _together(groups: dict[str, list[int]], k: int) -> dict[str, list[int]]:
    """Episodes about either of two names that occur together K times: not every episode names both."""
    names = sorted(groups, key=lambda name: (-len(groups[name]), name))[:_MOST_NAMES]
    union: dict[str, list[int]] = {}
    for at, first in enumerate(names):
        for second in names[at + 1 :]:
            both = set(groups[first]) & set(groups[second])
            if len(both) >= k and len(both) < max(len(groups[first]), len(groups[second])):
                union[f"{first} {second}"] = sorted({*groups[first], *groups[second]})
    return union


def _of_conditions(name: str, members: list[int], seen: Sequence[Observation], k: int) -> Iterable[_Found]:
    bad = [i for i in members if seen[i].result == "bad"]
    good = [i for i in members if seen[i].result == "good"]
    if len(bad) >= k:
        yield from _conditions(name, bad, good, seen, k)
        yield from _thresholds(name, bad, good, seen, k)


def _of_group(name: str, members: list[int], seen: Sequence[Observation], k: int) -> Iterable[_Found]:
    if len(members) < k:
        return
    reversal = (
        _reversal(name, members, seen, k)
        or _changed_choice(name, members, seen, k)
        or _changed_condition(name, members, seen, k)
    )
    if reversal is not None:
        yield reversal
        return
    bad = [i for i in members if seen[i].result == "bad"]
    good = [i for i in members if seen[i].result == "good"]
    if len(bad) >= k and len(bad) >= OUTNUMBER * len(good) and _coherent(name, bad, seen):
        yield _Found("recurring", name, "", tuple(bad), tuple(good), tuple(bad))
        return
    yield from _of_conditions(name, members, seen, k)
    yield from _choices(name, members, seen, k)


def _coherent(name: str, members: list[int], seen: Sequence[Observation]) -> bool:
    """Whether at least half of the episodes (and two) share something besides the name."""
    own = frozenset(folded(name).split())
    counts = Counter(
        feature
        for i in members
        for feature in seen[i].features
        if feature != f"@{name}" and feature.lstrip("¬") not in own
    )
    shared = max(counts.values(), default=0)
    return shared >= 2 and shared >= len(members) / 2


def _reversal(name: str, members: list[int], seen: Sequence[Observation], k: int) -> _Found | None:
    """K or more episodes that ended one way, then two or more that all ended the other way."""
    told = [i for i in members if seen[i].result != "neutral"]
    for split in range(k, len(told) - AFTER_REVERSAL + 1):
        before, after = told[:split], told[split:]
        old, new = {seen[i].result for i in before}, {seen[i].result for i in after}
        if len(old) == len(new) == 1 and old != new and _coherent(name, before, seen):
            return _Found("reversal", name, "", tuple(after), tuple(before), tuple(after), since=after[0])
    return None


def _changed_choice(name: str, members: list[int], seen: Sequence[Observation], k: int) -> _Found | None:
    """A word that K or more episodes affirm, and two or more later ones deny; or the other way round."""
    words = {feature.lstrip("¬") for i in members for feature in seen[i].features if is_word(feature)}
    if any(seen[i].result == "bad" for i in members):
        return None
    best: _Found | None = None
    for word in sorted(words - set(folded(name).split())):
        told = [
            (i, word in seen[i].features)
            for i in members
            if (word in seen[i].features) != (f"¬{word}" in seen[i].features)
        ]
        for split in range(k, len(told) - AFTER_REVERSAL + 1):
            before, after = told[:split], told[split:]
            old, new = {state for _, state in before}, {state for _, state in after}
            if len(old) == len(new) == 1 and old != new:
                ids = tuple(i for i, _ in after)
                found = _Found("reversal", name, word, ids, tuple(i for i, _ in before), ids, since=ids[0])
                best = found if best is None or found.score > best.score else best
    return best


def _changed_condition(name: str, members: list[int], seen: Sequence[Observation], k: int) -> _Found | None:
    """Under one condition K or more ended one way; then something changed, it is said, and now it is the other way."""
    told = [i for i in members if seen[i].result != "neutral"]
    for feature in sorted(
        {feature for i in told for feature in seen[i].features if not is_word(feature)} - {f"@{name}"}
    ):
        with_it = [i for i in told if feature in seen[i].features]
        for split in range(k, len(with_it)):
            before, after = with_it[:split], with_it[split:]
            old, new = {seen[i].result for i in before}, {seen[i].result for i in after}
            change = next((i for i in told if before[-1] < i <= after[0] and seen[i].changes), None)
            if len(old) == len(new) == 1 and old != new and change is not None:
                ids = tuple(i for i in told if i >= change)
                if len(ids) >= AFTER_REVERSAL:
                    return _Found(
                        "reversal", name, feature, ids, tuple(i for i in told if i < change), ids, since=change
                    )
    return None


def _conditions(name: str, bad: list[int], good: list[int], seen: Sequence[Observation], k: int) -> Iterable[_Found]:
    """What holds when it goes wrong and not when it goes well; or what is missing then, and was said to be missing."""
    features = {feature for i in (*bad, *good) for feature in seen[i].features} - {f"@{name}"}
    for feature in sorted(features):
        with_bad = [i for i in bad if feature in seen[i].features]
        with_good = [i for i in good if feature in seen[i].features]
        other_good = [i for i in good if i not in with_good]
        if (
            len(with_bad) >= k
            and len(with_bad) >= OUTNUMBER * len(with_good)
            and len(with_bad) >= 0.75 * len(bad)
            and _by_chance(len(with_bad), len(with_good), len(bad), len(good)) <= CHANCE
        ):
            others = () if feature.startswith("@") else tuple(other_good)  # another thing is no evidence for this one
            yield _Found("condition", name, feature, (*with_bad, *others), tuple(with_good), tuple(with_bad))
        lacking = [i for i in bad if feature not in seen[i].features]
        if (
            len(with_good) >= 2
            and len(with_good) >= 0.6 * len(good)
            and len(lacking) >= k
            and len(lacking) >= OUTNUMBER * len(other_good)
            and len(with_good) >= OUTNUMBER * len(with_bad)
            and _denied(feature, lacking, seen)
            and _by_chance(len(lacking), len(other_good), len(bad), len(good)) <= CHANCE_OF_SAID
        ):
            yield _Found(
                "condition", name, opposite_of(feature), (*lacking, *with_good), tuple(with_bad), tuple(lacking)
            )


def _by_chance(with_bad: int, with_good: int, bad: int, good: int) -> float:
    """How likely so many bad ones (or more) have a feature by chance: the hypergeometric distribution's upper tail."""
    having, total = with_bad + with_good, bad + good
    ways = sum(
        math.comb(bad, x) * math.comb(good, having - x)
        for x in range(with_bad, min(bad, having) + 1)
        if having - x <= good
    )
    return ways / math.comb(total, having)


def _denied(feature: str, members: list[int], seen: Sequence[Observation]) -> bool:
    """Whether one of the episodes says that the feature was missing, or puts another in its place."""
    if is_word(feature):
        return any(opposite_of(feature) in seen[i].features for i in members)
    slot = feature.split(":", maxsplit=1)[0]
    return ":" in feature and any(
        other.startswith(f"{slot}:") and other != feature for i in members for other in seen[i].features
    )


def _thresholds(name: str, bad: list[int], good: list[int], seen: Sequence[Observation], k: int) -> Iterable[_Found]:
    """A figure above which it goes wrong."""
    measures = {measure for i in (*bad, *good) for measure, _ in seen[i].figures}
    for measure in sorted(measures):
        at = {i: figure for i in (*bad, *good) for found, figure in seen[i].figures if found == measure}
        low_bad = sorted(at[i] for i in bad if i in at)
        if len(low_bad) < k or len(low_bad) < 0.75 * len(bad):
            continue
        limit = low_bad[0]
        over = [i for i in good if at.get(i, -1.0) >= limit]
        under = [i for i in good if i in at and at[i] < limit]
        if len(under) >= 2 and len(low_bad) >= OUTNUMBER * len(over):
            above = [i for i in bad if i in at]
            yield _Found("threshold", name, f"{measure}>={limit:g}", (*above, *under), tuple(over), tuple(above))


def _choices(name: str, members: list[int], seen: Sequence[Observation], k: int) -> Iterable[_Found]:
    """Somebody who, without good or bad, chooses the same again and again."""
    neutral = [i for i in members if seen[i].result == "neutral"]
    tagged = {other for i in members for other in seen[i].names}
    own = frozenset(part for other in tagged for part in other.split())
    words = {feature for i in neutral for feature in seen[i].features if is_word(feature)}
    for word in sorted(words):
        if word.lstrip("¬") in own or len(word.lstrip("¬")) < 2:
            continue
        same = [i for i in neutral if word in seen[i].features]
        against = [i for i in members if opposite_of(word) in seen[i].features]
        if len(same) >= k and len(same) >= OUTNUMBER * len(against) and len(same) >= 0.6 * len(members):
            yield _Found("choice", name, word, tuple(same), tuple(against), tuple(same))


def _distinct(found: Iterable[_Found]) -> list[_Found]:
    chosen: list[_Found] = []
    for candidate in sorted(found, key=lambda one: (-one.score, one.subject, one.condition)):
        evidence = set(candidate.core)
        if not any(len(evidence & told) >= 0.5 * min(len(evidence), len(told)) for told in map(_told, chosen)):
            chosen.append(candidate)
    return chosen


def _told(found: _Found) -> set[int]:
    """The episodes that a pattern accounts for; a reversal tells of the state before as well."""
    return set(found.core) | (set(found.contradicting) if found.form == "reversal" else set())


def _pattern(
    found: _Found, episodes: Sequence[Memory], seen: Sequence[Observation], vectors: NDArray[np.float32] | None
) -> Pattern:
    central = _central(found.core, seen, vectors)
    supporting = tuple(episodes[i].id for i in sorted(found.supporting))
    contradicting = tuple(episodes[i].id for i in sorted(found.contradicting))
    names = _about(found, episodes)
    against = 0 if found.form == "reversal" else len(contradicting)
    return Pattern(
        statement_of(
            found.form, names, found.condition, [episodes[i] for i in found.core], episodes[central], len(contradicting)
        ),
        names,
        supporting,
        contradicting,
        found.form,
        episodes[central].id,
        confidence(Evidence(supporting=len(supporting), contradicting=against)),
        episodes[found.since].occurred_at if found.since is not None else None,
    )


def _about(found: _Found, episodes: Sequence[Memory]) -> tuple[str, ...]:
    """Names that most of the core episodes share, as they are written there; the subject first."""
    counts = Counter(name for i in found.core for name in episodes[i].entities)
    common = [name for name, count in counts.most_common() if count >= 0.5 * len(found.core)]
    return tuple(sorted(common, key=lambda name: folded(name) != found.subject))


def _central(members: Sequence[int], seen: Sequence[Observation], vectors: NDArray[np.float32] | None) -> int:
    """The episode that is nearest to all others: by meaning, or by the features that they share."""
    if vectors is not None:
        rows = vectors[list(members)]
        return members[int(np.argmax(rows @ rows.sum(axis=0)))]
    counts = Counter(feature for i in members for feature in seen[i].features)
    return max(
        members, key=lambda i: sum(counts[feature] for feature in seen[i].features) / max(len(seen[i].features), 1)
    )
