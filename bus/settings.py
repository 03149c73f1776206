"""Settings from the environment: one variable ``AFTERWIT_<FIELD>`` per field of a frozen Struct.

    class NodeSettings(msgspec.Struct, frozen=True, kw_only=True):
        data_dir: Annotated[Path, Meta(description="Where the index is kept.")] = Path(".afterwit")
        workers: Annotated[int, Meta(ge=1, le=64)] = 4
        api_key: Annotated[str, Meta(min_length=8, extra={"secret": True})] | None = None

        @classmethod
        def from_env(cls, mapping: Mapping[str, str]) -> NodeSettings:
            return read_env(cls, mapping)

``Meta(extra={"env": "OTHER_NAME"})`` names another variable, ``{"secret": True}`` keeps the value out of messages.
``AFTERWIT_<FIELD>_FILE`` may name a file that holds the value instead: that is how containers are given secrets.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import msgspec
from msgspec import Meta

from ..schemas import Invalid

S = TypeVar("S", bound=msgspec.Struct)

PREFIX: Final = "AFTERWIT_"


@dataclass(frozen=True, slots=True)
class Setting:
    """One field of a settings Struct. ``default`` is ``msgspec.NODEFAULT`` where the variable must be set."""

    field: str
    variable: str
    type: Any
    default: Any
    description: str
    secret: bool


def read_env(cls: type[S], mapping: Mapping[str, str]) -> S:
    """A ``cls`` from ``mapping``. An empty variable counts as unset; a tuple is written with commas, ``~`` is our home.

    Raises:
        Invalid: a value does not fit, its file cannot be read, or a variable without default is missing;
            ``detail["field"]`` is the variable.
    """
    values = {}
    for setting in settings_of(cls):
        text = mapping.get(setting.variable, "").strip() or _from_file(f"{setting.variable}_FILE", mapping)
        if text:
            values[setting.field] = _value(setting, text)
        elif setting.default is msgspec.NODEFAULT:
            about = f" ({setting.description})" if setting.description else ""
            raise Invalid(f"{setting.variable} must be set{about}", field=setting.variable)
        elif isinstance(setting.default, Path):
            values[setting.field] = setting.default.expanduser()
    return cls(**values)


def write_env(settings: msgspec.Struct) -> dict[str, str]:
    """The variables that `read_env` turns into ``settings`` again; values that are None are left out."""
    env = {}
    for setting in settings_of(type(settings)):
        value = getattr(settings, setting.field)
        if value is not None:
            env[setting.variable] = ",".join(map(_text, value)) if isinstance(value, tuple) else _text(value)
    return env


def settings_of(cls: type[msgspec.Struct]) -> Iterator[Setting]:
    """The settings that ``cls`` knows, in its order: what the README's table is made from."""
    hints = get_type_hints(cls, include_extras=True)
    for field in msgspec.structs.fields(cls):
        metas = list(_metas(hints[field.name]))
        extra: dict[str, Any] = {}
        for meta in metas:
            extra |= meta.extra or {}
        default = field.default_factory() if field.default_factory is not msgspec.NODEFAULT else field.default
        yield Setting(
            field=field.name,
            variable=extra.get("env", PREFIX + field.encode_name.upper()),
            type=hints[field.name],
            default=default,
            description=next((m.description for m in metas if m.description), ""),
            secret=bool(extra.get("secret")),
        )


def _from_file(variable: str, mapping: Mapping[str, str]) -> str:
    path = mapping.get(variable, "").strip()
    if not path:
        return ""
    try:
        return Path(path).expanduser().read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as e:
        raise Invalid(f"{variable}: {path!r} cannot be read: {e}", field=variable) from e


def _value(setting: Setting, text: str) -> Any:
    value: Any = [part.strip() for part in text.split(",")] if _is_tuple(setting.type) else text
    try:
        return msgspec.convert(value, setting.type, strict=False, dec_hook=_decode)
    except (msgspec.ValidationError, ValueError) as e:
        shown = "its value" if setting.secret else repr(text)
        problem = str(e).replace(" - at `$`", "")
        raise Invalid(f"{setting.variable}: {shown} does not fit: {problem}", field=setting.variable) from e


def _metas(type: Any) -> Iterator[Meta]:
    """All Metas in ``type``, the inner ones first: constraints stand inside ``… | None``."""
    for part in get_args(type):
        if isinstance(part, Meta):
            yield part
        else:
            yield from _metas(part)


def _is_tuple(type: Any) -> bool:
    if get_origin(type) is tuple:
        return True
    return any(_is_tuple(part) for part in get_args(type) if not isinstance(part, Meta))


def _decode(type: Any, value: Any) -> Any:
    if type is Path:
        return Path(value).expanduser()
    raise NotImplementedError(type)


def _text(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)
