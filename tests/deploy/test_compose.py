"""compose.yml: the sandbox can work, secrets are files, names and ports are the server's."""

import json
from importlib import resources

import jsonschema_rs
import pytest
import yaml

from app.config.settings import Settings
from app.wiring.serve import DRAIN_SECONDS

DATA = "/var/lib/fettle"


@pytest.fixture(scope="module")
def compose(deploy):
    return yaml.safe_load((deploy / "compose.yml").read_text("utf-8"))


@pytest.fixture
def server(compose):
    return compose["services"]["fettle"]


def test_it_is_what_the_specification_of_compose_describes(compose):
    package = pytest.importorskip(
        "check_jsonschema", reason="check-jsonschema, which has the specification, is not installed"
    )
    file = resources.files(package) / "builtin_schemas/vendor/compose-spec.json"
    jsonschema_rs.validator_for(json.loads(file.read_text())).validate(compose)


def test_what_it_sets_are_settings_and_none_is_secret(server, variables, secret_variables):
    assert set(server["environment"]) <= set(variables) - secret_variables
    assert server["environment"]["FETTLE_DATA_DIR"] == DATA


def test_each_secret_is_a_file_of_its_own_that_only_who_needs_it_gets(
    compose, server, secret_variables
):
    assert set(server["secrets"]) <= secret_variables
    assert {"FETTLE_WEBHOOK_SECRETS", "FETTLE_PRIVATE_KEY"} <= set(server["secrets"])
    files = {name: each["file"] for name, each in compose["secrets"].items()}
    assert files == {name: f"secrets/{name}" for name in files}
    used = [name for each in compose["services"].values() for name in each["secrets"]]
    assert sorted(used) == sorted(files)
    words = ("password", "secret", "key")
    for each in compose["services"].values():
        for name, value in each["environment"].items():
            assert not any(word in name.lower() for word in words) or value.startswith(
                "/run/secrets/"
            )


def test_the_port_is_the_servers_and_open_to_this_machine_alone(server, port):
    assert server["environment"]["FETTLE_PORT"] == str(port)
    assert server["ports"] == [f"127.0.0.1:{port}:{port}"]


def test_the_database_is_reached_by_fettle_alone(compose):
    database = compose["services"]["postgres"]
    assert "ports" not in database
    assert database["networks"] == ["database"]
    assert compose["networks"]["database"]["internal"] is True


def test_bubblewrap_is_given_what_it_needs_and_nothing_else_is(server, deploy):
    assert server["user"] == "10001:10001"
    assert server["cap_drop"] == ["ALL"]
    assert not {"privileged", "cap_add", "devices", "pid", "userns_mode"} & set(server)
    assert server["read_only"] is True
    options = set(server["security_opt"])
    assert {"no-new-privileges:true", "systempaths=unconfined"} <= options
    (profile,) = [each.partition("=")[2] for each in options if each.startswith("seccomp")]
    assert (deploy / profile).is_file()
    mounted = [each.partition(":")[0] for each in server["volumes"]]
    assert mounted == ["data"], "no folder of the machine, and never an engine's socket"


def test_the_probe_of_the_sandbox_finds_enough_room_in_tmp(server):
    (tmp,) = server["tmpfs"]
    size = int(tmp.partition("size=")[2].removesuffix("g")) * 1024
    assert size >= Settings.model_fields["disk_reserve_mb"].default * 2


def test_stopping_waits_for_the_drain(server):
    assert int(server["stop_grace_period"].removesuffix("s")) >= 2 * DRAIN_SECONDS


def test_every_image_has_a_tag_and_ours_is_the_projects_version(compose, project):
    images = [each["image"] for each in compose["services"].values()]
    assert f"fettle:{project['version']}" in images
    for image in images:
        name, _, tag = image.rpartition(":")
        assert name
        assert tag != "latest"
