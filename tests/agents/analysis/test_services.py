"""The servers that tests need, read from files that anybody may have written."""

import time

import pytest

from agents.analysis.service_start import (
    UNAVAILABLE,
    explain_unavailable,
    wrap_with_services,
)
from agents.analysis.services import (
    Service,
    UnstartedService,
    find_services,
    list_service_paths,
)
from agents.ports import CommandResult

CI = ".github/workflows/ci.yml"

WORKFLOW = """
on: push
jobs:
  test:
    runs-on: ubuntu-latest
    services:
      db:
        image: postgres:16-alpine
        env:
          POSTGRES_USER: ada
          POSTGRES_PASSWORD: s3cret
          POSTGRES_DB: shop
        ports: ["5433:5432"]
        options: --health-cmd pg_isready
      cache:
        image: docker.io/library/redis@sha256:abc
        ports:
          - 6379
    steps:
      - run: make test
"""


def find(text, path=CI):
    return find_services({path: text})


def service(about, path=CI):
    """Return what is read of one service; `about` are its lines."""
    lines = "".join(f"        {line}\n" for line in about.strip().split("\n"))
    return find(f"jobs:\n  test:\n    services:\n      it:\n{lines}", path)


def test_the_services_of_a_workflow():
    found = find(WORKFLOW)
    assert found.unstarted == ()
    assert found.services == (
        Service(
            kind="postgres", port=5433, user="ada", password="s3cret", database="shop", source=CI
        ),
        Service(kind="redis", port=6379, user="", password="", database="", source=CI),
    )


def test_the_services_of_a_compose_file_without_what_the_repository_builds():
    text = """
services:
  app:
    build: .
  db:
    image: mariadb:11
    environment:
      - MARIADB_ROOT_PASSWORD=root
      - MARIADB_DATABASE=${NAME:-shop}
      - MARIADB_USER=ada
      - MARIADB_PASSWORD=${FROM_THE_SHELL}
    ports:
      - published: 3307
        target: 3306
"""
    (found,) = find(text, "docker-compose.test.yml").services
    assert (found.kind, found.port, found.database) == ("mysql", 3307, "shop")
    assert (found.user, found.password) == ("ada", "")  # nobody knows it: then any is taken


@pytest.mark.parametrize(
    ("ports", "port"),
    [
        ("[5432]", 5432),
        ("['6000:5432']", 6000),
        ("['127.0.0.1:6001:5432/tcp']", 6001),
        ("['${PORT:-6002}:5432']", 5432),
        ("['${{ matrix.port }}:5432']", 5432),
        ("5432:5432", 5432),
    ],
)
def test_the_port_on_the_machine_of_the_tests(ports, port):
    (found,) = service(f"image: postgres\nports: {ports}").services
    assert found.port == port


def test_the_first_of_two_on_one_port_holds():
    two = find_services(
        {"compose.yml": "services: {a: {image: redis}}", CI: WORKFLOW.replace("6379", "6380")}
    )
    assert [(each.kind, each.port) for each in two.services] == [
        ("postgres", 5433),
        ("redis", 6380),
        ("redis", 6379),
    ]


def test_what_cannot_be_started_is_said():
    (said,) = service("image: docker.elastic.co/elasticsearch/elasticsearch:8.1.0").unstarted
    assert "elasticsearch" in said.reason
    assert said.source == CI
    (low,) = service("image: postgres\nports: ['80:5432']").unstarted
    assert "port 80" in low.reason


def test_what_a_compose_file_runs_beside_databases_is_asked_of_no_test():
    found = find("services: {mail: {image: axllent/mailpit}, db: {image: redis}}", "compose.yml")
    assert [each.kind for each in found.services] == ["redis"]
    assert found.unstarted == ()


@pytest.mark.parametrize(
    "evil",
    [
        "'; touch /tmp/pwned; '",
        '"$(touch /tmp/pwned)"',
        "x' IDENTIFIED BY 'y",
        "-Dmine",
        "a\\nb",
        "../../etc",
        "`id`",
        "${{ secrets.NAME }}",
        "x" * 100,
    ],
)
def test_a_name_of_another_form_is_left_out(evil):
    quoted = "'" + evil.replace("'", "''") + "'"
    about = f"image: postgres\nenv:\n  POSTGRES_USER: {quoted}\n  POSTGRES_DB: {quoted}"
    (found,) = service(about).services
    assert (found.user, found.database) == ("postgres", "postgres")


def test_a_password_that_could_leave_its_quotes_is_left_out():
    for evil in ("it''s", "back\\slash", "two words"):
        (found,) = service(f"image: mysql\nenv:\n  MYSQL_ROOT_PASSWORD: '{evil}'").services
        assert found.password == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- a\n- b",
        "jobs: [1, 2]",
        "jobs: {test: {services: [postgres]}}",
        "jobs: {test: {services: {db: postgres}}}",
        "jobs: {test: {services: {db: {image: 7, ports: {a: b}}}}}",
        "a: &a [1]\nb: [*a, *a]",
        "services: !!python/object:os.system {}",
        "a: " + "[" * 5000,
        "x" * 200_000,
        "\0",
    ],
)
def test_odd_files_name_no_service(text):
    assert find(text).services == ()


def test_many_services_cost_little_and_few_are_started():
    many = "".join(f"      s{n}: {{image: redis, ports: [{2000 + n}]}}\n" for n in range(1500))
    started = time.process_time()
    found = find(f"jobs:\n  test:\n    services:\n{many}")
    assert len(found.services) == 5
    assert time.process_time() - started < 10


def test_only_files_that_may_name_services_are_read():
    paths = [CI, "compose.yaml", "docker-compose.yml", "src/compose.yml", "a.yml", "README.md"]
    assert list_service_paths(paths) == [CI, "compose.yaml", "docker-compose.yml"]


def test_values_stand_beside_the_script_and_never_in_it():
    (db, cache) = find(WORKFLOW).services
    argv = wrap_with_services(["bash", "-c", "make test"], [db, cache])
    script = argv[2]
    assert argv[:2] == ["bash", "-c"]
    assert argv[3:5] == ["services", "2"]
    assert argv[5:10] == ["postgres", "5433", "ada", "s3cret", "shop"]
    assert argv[-3:] == ["bash", "-c", "make test"]
    assert "s3cret" not in script
    assert wrap_with_services(["make"], []) == ["make"]


def test_why_a_service_did_not_start_is_told_with_what_an_operator_can_do():
    needed = find(WORKFLOW).services

    def result(output, code=UNAVAILABLE):
        return CommandResult(code, "exit", output, 1.0)

    told = explain_unavailable(result("[service unavailable] redis: missing program\n"), needed)
    assert "redis-server" in told
    assert "operator" in told
    assert CI in told
    broken = result("[service unavailable] postgres: it gave no answer for 60 s.\n")
    assert "it gave no answer" in explain_unavailable(broken, needed)
    assert explain_unavailable(result("[service unavailable] redis: x", code=1), needed) == ""
    assert explain_unavailable(result("tests failed"), needed) == ""
    assert explain_unavailable(result("[service unavailable] redis: x"), ()) == ""


@pytest.mark.parametrize(
    ("source", "of_compose"),
    [("docker-compose.test.yml", True), ("compose.yml", True), (CI, False)],
)
def test_it_is_known_whether_a_compose_file_alone_names_the_server(source, of_compose):
    said = "`x, which compose.yml names` cannot be started"
    assert UnstartedService(source=source, reason=said).is_of_compose is of_compose
