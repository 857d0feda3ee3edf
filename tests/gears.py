"""The two gears: which tests the quick one leaves out, by their folder and by what they are given.

Marks are given here rather than by hand, and what a test does is held against them: one that opens
a port, or starts a sandbox or a database server, fails unless it bears a mark.
"""

from __future__ import annotations

import gc
import socket
import sys
from itertools import accumulate, groupby
from pathlib import Path

import hypothesis
import pytest

MARKS = {
    "slow": "starts servers or many processes, or keeps a database",
    "sandbox": "runs commands in a real sandbox",
    "postgresql": "needs a PostgreSQL server",
    "flow": "runs the whole of Fettle",
}
FOLDERS = {  # and files; the longer of two that hold a test says what it is; None: nothing of this
    "tests/agents/pipelines/remediate/ladder": "slow",
    "tests/agents/pipelines/stages/quality/test_run_check.py": "slow",
    "tests/agents/text/test_child_process.py": "slow",
    "tests/app": "slow",
    "tests/app/config": None,
    "tests/app/evaluation/test_verdict.py": None,
    "tests/app/github/approvals/test_action_text.py": None,
    "tests/app/github/attachments/test_image_header.py": None,
    "tests/app/github/checks/test_job_log.py": None,
    "tests/app/github/transport/test_rate_limits.py": None,
    "tests/app/github/transport/test_urls.py": None,
    "tests/app/mcp/test_config.py": None,
    "tests/app/network": None,
    "tests/app/observability": None,
    "tests/app/operator": "flow",
    "tests/app/policies": None,
    "tests/app/sandbox": "sandbox",
    "tests/app/secrets": None,
    "tests/app/webhooks/test_receiver.py": None,
    "tests/attacks": "flow",
    "tests/bench": "slow",
    "tests/deploy": "slow",
    "tests/flows": "flow",
    "tests/referees": "slow",
}
FIXTURES = {
    "aiohttp_server": "slow",
    "local": "slow",
    "make_place": "flow",
    "postgresql": "postgresql",
    "postgresql_template": "postgresql",
    "postgresql_url": "postgresql",
    "sandbox": "sandbox",
    "scene": "slow",
    "serve": "slow",
    "sqlite_tables": "slow",
    "sqlite_template": "slow",
    "store_url": "slow",
}
SERVED = {"bwrap": "sandbox", "docker": "sandbox", "podman": "sandbox", "postgres": "postgresql"}
ROOT = Path(__file__).resolve().parents[1]


def examples(number: int) -> int:
    """Return how many examples a costly property gets: never more than others in this gear."""
    return min(number, hypothesis.settings().max_examples)


def hostile_texts(request: pytest.FixtureRequest, number: int) -> int:
    """Return how many texts made by chance are tried: as `--fuzz` says, and fewer in this gear."""
    share = 5 if request.config.getoption("--quick") else 1
    return min(number * request.config.getoption("--fuzz") // share, 10_000_000)


def of_folder(path: Path) -> str | None:
    """Return the mark of everything in the folder that holds this file, if it has one."""
    inside = path.relative_to(ROOT).as_posix()
    names = [name for name in FOLDERS if inside == name or inside.startswith(f"{name}/")]
    return FOLDERS[max(names, key=len)] if names else None


def marks_of(item: pytest.Item) -> set[str]:
    """Return the marks that a test gets from where it is and what it is given."""
    found = {FIXTURES[name] for name in getattr(item, "fixturenames", ()) if name in FIXTURES}
    if getattr(item, "callspec", None) and item.callspec.params.get("store_url") == "postgresql":
        found.add("postgresql")
    return found | ({mark} if (mark := of_folder(item.path)) else set())


def spread_flows(items: list[pytest.Item]) -> list[pytest.Item]:
    """Return the tests with the files of flows, which wait, among the others, which compute.

    At the end and alone they would leave a quarter of the machine idle. Files stay whole and in
    their order, so that what a file has set up serves all of it.
    """
    kinds: dict[bool, list[list[pytest.Item]]] = {True: [], False: []}
    for _, group in groupby(items, key=lambda item: item.path):
        tests = list(group)
        kinds[tests[0].get_closest_marker("flow") is not None].append(tests)
    placed: list[tuple[float, list[pytest.Item]]] = []
    for files in kinds.values():
        ends = list(accumulate(map(len, files)))
        placed += [(end / ends[-1], file) for end, file in zip(ends, files, strict=True)]
    return [test for _, file in sorted(placed, key=lambda each: each[0]) for test in file]


class Gears:
    """Gives the marks, and leaves out what bears one where only the quick tests are wanted."""

    def __init__(self, *, quick: bool) -> None:
        self._quick = quick
        self._item: pytest.Item | None = None
        self._did: dict[str, str] = {}
        sys.addaudithook(self._watch)

    def _watch(self, event: str, args: tuple) -> None:
        if self._item is None:
            return
        if event == "socket.bind" and _listens(*args):
            self._did["slow"] = "opens a port"
        elif event == "subprocess.Popen":
            name = Path(str(args[0])).name
            if name in SERVED:
                self._did[SERVED[name]] = f"starts {name}"

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Do not even read folders of which every test is left out."""
        inside = collection_path.relative_to(ROOT).as_posix()
        within = any(mark is None and name.startswith(inside) for name, mark in FOLDERS.items())
        return (self._quick and not within and of_folder(collection_path) is not None) or None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list) -> None:
        """Mark every test, and keep those that bear no mark."""
        for item in items:
            for mark in marks_of(item):
                item.add_marker(mark)
        if self._quick:
            left = [item for item in items if _has_mark(item)]
            items[:] = [item for item in items if not _has_mark(item)]
            config.hook.pytest_deselected(items=left)
        items[:] = spread_flows(items)

    @pytest.hookimpl(wrapper=True)
    def pytest_collection(self):
        """Look for no garbage in what is read, which stays: it would take twice as long."""
        gc.disable()
        try:
            return (yield)
        finally:
            gc.freeze()  # a last look for it takes a second of each process, for 20 MB
            gc.enable()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_setup(self, item: pytest.Item):
        """Begin to watch: fixtures are part of what a test does."""
        self._did.clear()
        self._item = item
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item: pytest.Item):
        """Fail a test that did what its marks do not tell."""
        result = yield
        if self._did and not _has_mark(item):
            [(mark, act), *_] = self._did.items()
            pytest.fail(f"A test that {act} bears the mark `{mark}`, by tests/gears.py or itself.")
        return result

    def pytest_runtest_teardown(self) -> None:
        """Watch no more."""
        self._item = None


def _has_mark(item: pytest.Item) -> bool:
    return any(item.get_closest_marker(mark) for mark in MARKS)


def _listens(bound: socket.socket, address: object) -> bool:
    """Tell servers' sockets from those that only ask which address the machine has."""
    return bound.type == socket.SOCK_STREAM and isinstance(address, tuple)
