"""Judging two statements: duplicate, contradiction, supersession, or compatible.

Facts with equal subject and predicate are compared exactly. Texts are judged by rules, carefully: a contradiction needs
a difference that rules can name and no difference of scope; a duplicate needs equal meaning in every respect that rules
can see, and a high similarity besides. In doubt both are kept: ``compatible``.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

import rjieba

from ...schemas import Fact
from ..simplified import simplified
from . import cues
from .axes import opposite
from .facts import compare_facts
from .keeping import squeezed
from .relations import are_turned, is_exclusive
from .relations import relation as relation_of
from .statements import Statement
from .values import Value, relation

Verdict: TypeAlias = Literal["duplicate", "contradict", "supersede", "compatible"]
Side: TypeAlias = Literal["a", "b"]

_MARKS: Final = frozenset(".,;。，；、")

LONGEST: Final = 1000
"""Characters. What is longer tells more than one thing."""
SAME: Final = 0.84
"""Calibrated similarity (unit) from which two texts may say the same. Translations have 0.8 on average."""
TOPIC: Final = 0.45
"""…from which two texts in different languages that share a name may be about the same."""
TRANSLATED: Final = 0.8
"""…and without one."""
NEAR: Final = 0.8
"""…from which two texts in one language may be about the same, with few words in common."""

REPLACED: Final = 0.65
"""…from which a text that speaks of a change may replace the other."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """``newer`` says which side replaces the other in a supersession; ``basis`` is what was compared."""

    verdict: Verdict
    why: str
    newer: Side | None = None
    basis: Literal["fact", "text"] = "text"


def judge(
    a: str,
    b: str,
    *,
    similarity: float,
    fact_a: Fact | None = None,
    fact_b: Fact | None = None,
    b_is_newer: bool = False,
) -> Judgement:
    """How ``a`` and ``b`` relate. ``similarity`` is the calibrated one of both as passages, 0…1.

    ``b_is_newer``: ``b`` was said later. That alone makes no supersession (it may be a mistake), its words decide.
    """
    a, b = simplified(a), simplified(b)
    if max(len(a), len(b)) > LONGEST and (fact_a is None or fact_b is None):
        same = squeezed(a) == squeezed(b)
        return (
            Judgement("duplicate", "the same text") if same else Judgement("compatible", "too long for one statement")
        )
    first, second = Statement(a[:LONGEST]), Statement(b[:LONGEST])
    if fact_a is not None and fact_b is not None:
        exact = compare_facts(fact_a, fact_b)
        if exact is not None:
            return _of_facts(first, second, exact.relation, exact.why, b_is_newer)
    read = _of_relations(first, second, fact_a or relation_of(a), fact_b or relation_of(b), b_is_newer)
    return read or _of_texts(first, second, similarity, b_is_newer)


@dataclass(frozen=True, slots=True)
class Pair:
    """What `judge` is asked about two texts, of which ``b`` was said later."""

    a: str
    b: str
    similarity: float
    fact_a: Fact | None
    fact_b: Fact | None


def judge_each(pairs: Sequence[Pair]) -> list[Judgement]:
    """How the texts of each pair relate: in one go, for whoever has it done in another process."""
    return [judge(p.a, p.b, similarity=p.similarity, fact_a=p.fact_a, fact_b=p.fact_b, b_is_newer=True) for p in pairs]


def _of_relations(a: Statement, b: Statement, x: Fact | None, y: Fact | None, b_is_newer: bool) -> Judgement | None:
    """What follows from the relations that two texts state, if both do and it is of the same."""
    if x is None or y is None or _meant_differently(a, b):
        return None
    if are_turned(x, y):
        return Judgement("contradict", f"{x.object} is the {x.predicate} of {x.subject}, and the other way round")
    exact = compare_facts(x, y)
    if exact is None or (exact.relation == "different" and _is_within(x.object, y.object)):
        return None
    if exact.relation == "different" and not is_exclusive(x) and _newer(a, b, b_is_newer) is None:
        return None
    return _of_facts(a, b, exact.relation, exact.why, b_is_newer)


def _is_within(a: str, b: str) -> bool:
    """Whether one value only says more exactly what the other says: 3.2 and 3.2.1."""
    shorter, longer = sorted((squeezed(a), squeezed(b)), key=len)
    return longer.startswith(shorter) and not longer[len(shorter) :][:1].isdigit()


def _of_facts(a: Statement, b: Statement, relation_: str, why: str, b_is_newer: bool) -> Judgement:
    match relation_:
        case "equal":
            return Judgement("duplicate", why, basis="fact")
        case "different":
            newer = _newer(a, b, b_is_newer)
            if newer is not None:
                return Judgement("supersede", f"{why}; the newer one says that it changed", newer, "fact")
            scope = _scope(a, b, strict=True)
            return Judgement("compatible", scope, basis="fact") if scope else Judgement("contradict", why, basis="fact")
        case _:
            return Judgement("compatible", why, basis="fact")


def _of_texts(a: Statement, b: Statement, similarity: float, b_is_newer: bool) -> Judgement:
    if not _same_topic(a, b, similarity) and not _excluded(a, b, similarity):
        return Judgement("compatible", "they are about different things")
    if why := _meant_differently(a, b):
        return Judgement("compatible", why)
    if why := _one_of_all(a, b) or _one_of_all(b, a):
        return Judgement("contradict", why)
    difference = _difference(a, b)
    newer = _newer(a, b, b_is_newer)
    if newer is None and a.says(cues.OPEN) and not b.says(cues.OPEN):
        newer = "b"
    scope = _scope(a, b, strict=False)
    if newer is not None and not _aspects_differ(a, b) and (why := difference or _replaces(a, b, similarity)):
        return Judgement("supersede", f"{why}; the newer one says that it changed", newer)
    if scope:
        return Judgement("compatible", scope)
    if difference:
        return Judgement("contradict", difference)
    if newer is None and similarity >= _enough(a, b) and _says_the_same(a, b):
        return Judgement("duplicate", f"the same in other words (similarity {similarity:.2f})")
    return Judgement("compatible", "nothing that rules can see speaks against both being true")


def _enough(a: Statement, b: Statement) -> float:
    """The similarity that a duplicate needs: figures that agree speak for it, most of all across languages."""
    if not a.values or not b.values:
        return SAME
    return SAME - (0.08 if a.language != b.language else 0.02)


def shared_words(a: Statement, b: Statement) -> float:
    """The share of the shorter statement's words that stand in the other, 0…1; when it happens says not what it is."""
    left, right = a.content - _WHEN, b.content - _WHEN
    shorter = min(len(left), len(right))
    return len(left & right) / shorter if shorter else 0.0


_WHEN: Final = cues.words(
    "every daily weekly monthly day night morning noon afternoon evening midnight week month year "
    "每天 每日 每周 每月 每年 每晚 每 凌晨 清晨 早上 早晨 上午 中午 下午 傍晚 晚上 夜里 半夜"
)


def _same_topic(a: Statement, b: Statement, similarity: float) -> bool:
    """Whether both speak of one thing: many true statements look alike."""
    if a.language != b.language:
        known = {name for name in a.names & b.names if name.isascii()}
        figures = bool(a.values) and _figures_match(a.values, b.values)
        return similarity >= (TRANSLATED - 0.05 if figures else TRANSLATED) or (similarity >= TOPIC and bool(known))
    shared = shared_words(a, b)
    return shared >= 0.5 or (similarity >= NEAR and shared >= 0.3)


def _excluded(a: Statement, b: Statement, similarity: float) -> bool:
    """Whether texts of one language with few words in common exclude each other all the same."""
    if a.language != b.language:
        return False
    if _all_and_exception(a, b) or _all_and_exception(b, a):
        return similarity >= NEAR - 0.1
    shared = shared_words(a, b)
    near = similarity >= NEAR and shared >= 0.2
    named = similarity >= REPLACED and shared >= 0.3 and bool(a.names & b.names)
    return (near or named) and opposite(a.poles, b.poles) is not None


def _newer(a: Statement, b: Statement, b_is_newer: bool) -> Side | None:
    if b.changes and (b_is_newer or not a.changes):
        return "b"
    return "a" if a.changes and not b.changes and not b_is_newer else None


def _meant_differently(a: Statement, b: Statement) -> str | None:
    """A belief, a report, a condition or a rule can stand beside a fact that does not follow it."""
    for cue, why in (
        (cues.BELIEF, "one is a belief"),
        (cues.REPORT, "one is what somebody says"),
        (cues.CONDITION, "one is a condition"),
    ):
        if a.says(cue) != b.says(cue):
            return why
    for x, y in ((a, b), (b, a)):
        if x.says(cues.LIKING) and not y.says(cues.LIKING) and y.says(cues.DEED):
            return "a liking and a deed"
        if x.says(cues.RULE) and not y.says(cues.RULE) and y.says(cues.DEED) and not y.says(cues.UNIVERSAL):
            return "a rule and a deed"
        if x.says(cues.PARTIAL) and not y.says(cues.UNIVERSAL):
            return "one is about a part of the cases"
    return None


def _aspects_differ(a: Statement, b: Statement) -> bool:
    return any(a.aspects[slot].isdisjoint(b.aspects[slot]) for slot in a.aspects.keys() & b.aspects.keys())


def _scope(a: Statement, b: Statement, *, strict: bool) -> str | None:
    """Why both may be true in spite of a difference: another part, time, place, person. ``strict``: of facts."""
    for slot in a.aspects.keys() & b.aspects.keys():
        if a.aspects[slot].isdisjoint(b.aspects[slot]):
            return f"they differ in scope ({slot})"
    if strict:
        return None
    if a.names and b.names and (a.names - b.names) and (b.names - a.names) and a.language == b.language:
        return "they name different things"
    labels_a, labels_b = _labels(a), _labels(b)
    if any(labels_a[noun].isdisjoint(labels_b[noun]) for noun in labels_a.keys() & labels_b.keys()):
        return "they name different things"
    if _dates_differ(a, b) and (_figures_differ(a, b) or opposite(a.poles, b.poles) or a.negated != b.negated):
        return "they speak of different times"
    if _one_day_of_many(a, b) or _one_day_of_many(b, a):
        return "a rule and one day"
    if _replaced(a, b):
        return "they differ in something else as well"
    return None


def _labels(statement: Statement) -> dict[str, set[float]]:
    found: dict[str, set[float]] = {}
    for value in statement.values:
        if value.dimension == "label":
            found.setdefault(value.noun, set()).add(value.low)
    return found


def _dates(statement: Statement) -> list[Value]:
    return [value for value in statement.values if value.day is not None]


def _dates_differ(a: Statement, b: Statement) -> bool:
    pairs = [x.day.matches(y.day) for x in _dates(a) for y in _dates(b) if x.day is not None and y.day is not None]
    return bool(pairs) and not any(same is True for same in pairs) and any(same is False for same in pairs)


def _one_day_of_many(rule: Statement, case: Statement) -> bool:
    """Whether a rule stands beside one day: "closed on Mondays", "was open on Monday 6 April"."""
    single = (
        any(value.dimension == "date" for value in case.values) or " on the day " in case.text or "那天" in case.text
    )
    return single and not any(value.dimension == "date" for value in rule.values) and not rule.says(cues.ONLY)


def _replaced(a: Statement, b: Statement) -> bool:
    """Whether the two share a frame in which other words than figures, opposites and negations were exchanged."""
    if a.language != b.language:
        return False
    left, right = _tokens(a), _tokens(b)
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    if matcher.ratio() < 0.5:
        return False
    for tag, i, j, k, end in matcher.get_opcodes():
        if tag == "replace" and _plain(left[i:j], a) and _plain(right[k:end], b):
            return True
    return False


def _tokens(statement: Statement) -> list[str]:
    return [token.casefold() for token in rjieba.cut(statement.text) if token.strip() and token not in _MARKS]


def _plain(tokens: list[str], statement: Statement) -> bool:
    """Content that is no figure, no negation and at no pole."""
    if not tokens:
        return False
    text = (" " if statement.language == "en" else "").join(tokens)
    part = Statement(text)
    return bool(part.content) and not part.values and not part.poles and not part.says(cues.NEGATION)


def _difference(a: Statement, b: Statement) -> str | None:
    """What the two cannot both be right about."""
    if figures := _figures_differ(a, b):
        return figures
    if axis := opposite(a.poles, b.poles):
        return f"opposites ({axis})"
    if why := _only_and_more(a, b) or _only_and_more(b, a) or _all_and_exception(a, b) or _all_and_exception(b, a):
        return why
    if _denies(a, b):
        return "one denies what the other says"
    if _dates_differ(a, b) and a.language == b.language and {v.dimension for v in _dates(a) + _dates(b)} == {"date"}:
        return "different dates"
    return None


def _replaces(a: Statement, b: Statement, similarity: float) -> str | None:
    """What else two statements differ in, where the newer one says that something changed."""
    if similarity < REPLACED or (shared_words(a, b) < 0.5 and a.language == b.language):
        return None
    if a.language == b.language and a.names & b.names and b.names ^ a.names:
        return "other names"
    if a.says(cues.OPEN) != b.says(cues.OPEN):
        return "one fills in what the other left open"
    if any(
        _moved(a, b, dimension)
        for dimension in {v.dimension for v in a.values} & {v.dimension for v in b.values} - {"label"}
    ):
        return "other figures"
    if a.negated != b.negated and (a.language == b.language or similarity >= TRANSLATED):
        return "one denies what the other says"
    return None


def _moved(a: Statement, b: Statement, dimension: str) -> bool:
    """Whether not every figure of one has its equal in the other."""
    left = [value for value in a.values if value.dimension == dimension]
    right = [value for value in b.values if value.dimension == dimension]
    return len(left) <= 2 and len(right) <= 2 and not (_figures_match(left, right) and _figures_match(right, left))


def _denies(a: Statement, b: Statement) -> bool:
    """One negation more, over the same words, and nothing that would limit it: "must not fly within 48 hours"."""
    if a.negated == b.negated or a.language != b.language or shared_words(a, b) < 0.6:
        return False
    if a.names != b.names:
        return False  # "some parcels are late" and "no parcel to Ulm is late"
    if (
        a.says(cues.NOT_ALL)
        or b.says(cues.NOT_ALL)
        or any(a.poles[axis] == b.poles[axis] for axis in a.poles.keys() & b.poles.keys())
    ):
        return False
    return len(_limits(a)) == len(_limits(b))


def _limits(statement: Statement) -> list[Value]:
    return [value for value in statement.values if value.dimension not in ("count", "label")]


def _figures_differ(a: Statement, b: Statement) -> str | None:
    for dimension in {value.dimension for value in a.values} & {value.dimension for value in b.values}:
        if dimension == "label" or dimension in ("date", "month", "year", "weekday"):
            continue
        left = [value for value in a.values if value.dimension == dimension]
        right = [value for value in b.values if value.dimension == dimension]
        if dimension == "number" and shared_words(a, b) < 0.6:
            continue  # a bare number may be anything
        most = 1 if dimension == "number" else 2
        if max(len(left), len(right)) <= most and (why := _disjoint(left, right, across=a.language != b.language)):
            return why
    return None


def _disjoint(left: list[Value], right: list[Value], *, across: bool) -> str | None:
    if _sums(left, right) or _sums(right, left):
        return None
    found = None
    for x in left:
        for y in right:
            if (
                x.noun != y.noun
                and not (across and x.noun and y.noun)
                and ("person" in (x.noun, y.noun) or (x.noun and y.noun))
            ):
                continue
            match relation(x, y):
                case "disjoint":
                    found = f"{x.text} against {y.text}"
                case "equal" | "consistent":
                    return None
    return found


def _sums(whole: list[Value], parts: list[Value]) -> bool:
    return len(whole) == 1 and len(parts) > 1 and abs(sum(part.low for part in parts) - whole[0].low) < 1e-6


def _only_and_more(only: Statement, more: Statement) -> str | None:
    shared = only.names & more.names
    if (
        only.says(cues.ONLY)
        and shared
        and more.names - only.names
        and not more.says(cues.ONLY)
        and shared_words(only, more) >= 0.6
    ):
        return f"only {', '.join(sorted(shared))} against more"
    return None


_ALL: Final = re.compile(r"\b(?:all|every|each)\b|所有|全部|每[个台条位间]", re.IGNORECASE)


def _one_of_all(all_: Statement, one: Statement) -> str | None:
    """What all of a kind have, against one of them: every worker node runs kernel 6.8, worker-31 runs kernel 6.1."""
    if not _ALL.search(all_.text) or one.says(cues.UNIVERSAL) or all_.says(cues.NOT_ALL) or _aspects_differ(all_, one):
        return None
    kinds = {name.rpartition("-")[0] for name in one.names - all_.names if name.rpartition("-")[2].isdigit()}
    if not kinds & all_.content:
        return None
    has, has_not = _labels(all_), _labels(one)
    nouns = [noun for noun in has.keys() & has_not.keys() if has[noun].isdisjoint(has_not[noun])]
    return f"all against one ({', '.join(sorted(nouns))})" if nouns else None


def _all_and_exception(all_: Statement, exception: Statement) -> str | None:
    if (
        _ALL.search(all_.text)
        and re.search(r"\bstill\b|\bexcept\b|还有|仍有|尚有", exception.text, re.IGNORECASE)
        and exception.values
        and shared_words(all_, exception) >= 0.2
    ):
        return "all against an exception"
    return None


def _says_the_same(a: Statement, b: Statement) -> bool:
    """Equal in figures, names, negation, poles and aspects, and not one frame with another word in it."""
    if a.poles != b.poles and any(a.poles[axis] != b.poles[axis] for axis in a.poles.keys() & b.poles.keys()):
        return False
    if a.negated != b.negated and a.language == b.language and not (a.poles.keys() & b.poles.keys()):
        return False
    if a.language == b.language and _told_aspects(a) != _told_aspects(b):
        return False
    if a.language == b.language and (a.names ^ b.names):
        return False
    return _figures_match(a.values, b.values) and _figures_match(b.values, a.values)


def _told_aspects(statement: Statement) -> set[str]:
    """A time of day says the part of the day as well."""
    timed = any(value.dimension == "clock" for value in statement.values)
    return statement.aspects.keys() - ({"daypart"} if timed else set())


def _figures_match(left: list[Value], right: list[Value]) -> bool:
    return all(any(relation(x, y) == "equal" for y in right) for x in left)
