"""The reflector that asks a language model. What it says is checked like anything that a stranger says."""

from __future__ import annotations

import functools
import logging
from collections.abc import Sequence
from importlib import resources
from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from ...schemas import AfterwitError, Memory, codec, json_schema
from ...schemas.reflection import ReflectOperation
from ..inference.chat import Answer, Chat, Message
from ..tokens import count_tokens
from .reflector import BadOutput, Material
from .sentences import language_of, shortened

logger = logging.getLogger(__name__)

PROMPT: Final = "reflect.1"
"""The prompt's name and version; it stands in the provenance of what the model writes."""
MATERIAL_TOKENS: Final = 12_000
ANSWER_TOKENS: Final = 4_096
_LONGEST: Final = 800
"""Characters of one memory."""
_SHARES: Final = (("events", 0.6), ("knowledge", 0.25), ("episodes", 0.15))

_REPAIR: Final = {
    "en": "That cannot be used: {why}. Answer again with one JSON object as the schema says, and fewer operations.",
    "zh": "这个回答无法使用：{why}。请重新回答，只给出一个符合模式的 JSON 对象，操作少一些。",
}


class Answered(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model answers."""

    operations: Annotated[tuple[ReflectOperation, ...], Meta(max_length=64)]


class ModelReflector:
    """Implements `Reflector`. Bad output is repaired once by asking again; then it is given up."""

    def __init__(self, chat: Chat, *, material_tokens: int = MATERIAL_TOKENS) -> None:
        self._chat = chat
        self._material_tokens = material_tokens

    @property
    def name(self) -> str:
        """See `Reflector`."""
        return f"model/{self._chat.model} {PROMPT}"

    async def reflect(self, material: Material) -> list[ReflectOperation]:
        """See `Reflector`."""
        texts = [memory.content for memory in (*material.events, *material.episodes, *material.knowledge)]
        if not texts:
            return []
        tongue = language_of(texts)
        messages = [
            Message("system", prompt(tongue)),
            Message("user", told(material, self._material_tokens)),
        ]
        answer = await self._asked(messages)
        try:
            return _operations(answer)
        except BadOutput as e:
            logger.info("a reflection is asked for again: %s", e)
            why = _REPAIR[tongue].format(why=e)
        said = Message("assistant", answer.text[: 4 * ANSWER_TOKENS])
        return _operations(await self._asked([*messages, said, Message("user", why)]))

    async def _asked(self, messages: Sequence[Message]) -> Answer:
        return await self._chat.answer(messages, schema=_schema(), name="operations", max_tokens=ANSWER_TOKENS)


@functools.cache
def prompt(tongue: str) -> str:
    """The constant part of what the model is told."""
    folder = resources.files(__package__) / "prompts"
    return (folder / f"{PROMPT}.{'zh' if tongue == 'zh' else 'en'}.md").read_text("utf-8")


def told(material: Material, budget: int) -> str:
    """The material as JSON lines within ``budget`` tokens: of each part the newest that fit, in order."""
    lines = [] if material.job.focus is None else [_encoded({"focus": material.job.focus})]
    left = float(budget)
    for i, (part, share) in enumerate(_SHARES):
        rest = sum(each for _, each in _SHARES[i:])
        chosen, used = _newest(getattr(material, part), left * share / rest)
        lines += [_encoded({"part": part.removesuffix("s"), **line}) for line in chosen]
        left -= used
    return "\n".join(lines)


def _newest(memories: Sequence[Memory], budget: float) -> tuple[list[dict[str, Any]], float]:
    """The most important first, then the newest, while they fit; in their order."""
    order = sorted(range(len(memories)), key=lambda i: (memories[i].importance < 0.8, -i))
    chosen: dict[int, dict[str, Any]] = {}
    used = 0.0
    for i in order:
        line = _line(memories[i])
        tokens = count_tokens(_encoded(line))
        if used + tokens <= budget:
            chosen[i] = line
            used += tokens
    return [chosen[i] for i in sorted(chosen)], used


def _line(memory: Memory) -> dict[str, Any]:
    line: dict[str, Any] = {
        "id": memory.id,
        "kind": memory.kind,
        "at": memory.occurred_at.date().isoformat(),
        "content": shortened(memory.content, _LONGEST),
    }
    if memory.turn is not None:
        line["turn"] = memory.turn
    if memory.kind == "episode" and isinstance(memory.data, dict):
        line["outcome"] = memory.data.get("outcome")
    if memory.tier == "semantic":
        line |= {"status": memory.status, "confidence": round(memory.confidence, 2)}
    return line


def _encoded(line: dict[str, Any]) -> str:
    return msgspec.json.encode(line).decode()


@functools.cache
def _schema() -> dict[str, Any]:
    return json_schema(Answered)


def _operations(answer: Answer) -> list[ReflectOperation]:
    if answer.cut:
        raise BadOutput("the answer was cut off at its greatest length")
    text = answer.text.strip()
    if text.startswith("```"):
        text = text.strip("`").removeprefix("json").strip()
    try:
        return list(codec.decode(text.encode("utf-8", "replace"), Answered).operations)
    except AfterwitError as e:
        raise BadOutput(e.message) from e
