"""Go modules with a module proxy in a folder: what is vulnerable runs before, and not after."""

import io
import json
import os
import re
import zipfile
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Unfit, climb, ecosystem_of
from agents.pipelines.remediate.ladder.go.adapter import GO, Go
from agents.pipelines.remediate.ladder.go.mod_file import read_mod_file, read_sums
from agents.pipelines.remediate.ladder.python.provided_tools import call
from agents.policy import Policy
from app.dependencies.index_access import IndexWay, IndexWays
from app.dependencies.index_proxy import open_proxy
from app.dependencies.indexes.finder import IndexFinder
from app.network.addresses import system_resolver
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group, serve_folder
from tests.app.conftest import open_folder, sandbox
from tests.app.dependencies.conftest import KnownOperator
from tests.app.dependencies.install.conftest import ground

__all__ = ["ground", "open_folder", "sandbox"]  # fixtures

CODEC, HTTP = "example.com/acme/codec", "example.com/acme/http"
MAIN = 'package main\n\nimport "{module}"\n\nfunc main() {{ println({name}.Answer()) }}\n'
RUN = "GOGC=off go run -gcflags=all=-l ."
"""Builds what Go itself consists of, too: in less time if less of it is inlined."""
HEAD = "module example.com/shop\n\ngo 1.21\n\n"


class ModuleProxy:
    """A folder that Go reads as a module proxy: https://go.dev/ref/mod#goproxy-protocol"""

    def __init__(self, root):
        self.root = root

    def publish(self, module, version, answer, *, needs=None, go="1.21", day="2026-01-01"):
        """Publish a release whose function `Answer` returns that text, or what another's does."""
        folder = self.root / module / "@v"
        folder.mkdir(parents=True, exist_ok=True)
        name = module.rpartition("/")[2]
        head = f"module {module}\n\ngo {go}\n"
        head += "".join(f"\nrequire {other} {at}\n" for other, at in (needs or {}).items())
        imports = "".join(f'import "{other}"\n' for other in needs or {})
        inner = [f"{other.rpartition('/')[2]}.Answer()" for other in needs or {}]
        says = inner[0] if inner else f'"{answer}"'
        code = f"package {name}\n\n{imports}\nfunc Answer() string {{ return {says} }}\n"
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{module}@{version}/go.mod", head)
            archive.writestr(f"{module}@{version}/{name}.go", code)
        (folder / f"{version}.zip").write_bytes(packed.getvalue())
        (folder / f"{version}.mod").write_text(head)
        told = {"Version": version, "Time": f"{day}T00:00:00Z"}
        (folder / f"{version}.info").write_text(json.dumps(told))
        with (folder / "list").open("a") as listed:
            listed.write(f"{version}\n")


@pytest.fixture
async def modules(real, tmp_path, shared_home):
    """A work tree whose Go asks a proxy of ours: a codec with a fault, and who needs it."""
    proxy = ModuleProxy(tmp_path / "proxy")
    for version in ("v1.2.0", "v1.2.1", "v1.3.0-rc.1", "v1.3.0"):
        proxy.publish(CODEC, version, "safe" if version > "v1.2.0" else "vulnerable")
    proxy.publish(HTTP, "v1.0.0", "", needs={CODEC: "v1.2.0"})
    real.environment |= {
        "GOPROXY": f"file://{proxy.root}",
        "GOSUMDB": "off",
        "GOMODCACHE": str(tmp_path / "mod"),
        "GOCACHE": str(shared_home / "gocache"),
    }
    real.proxy = proxy
    return real


async def go(tree, body):
    return await call(tree, GO, f"export GOFLAGS=-modcacherw; {body}", seconds=120)


async def lay(tree, module, version, *, more=""):
    """Lay a program that prints what a module's function returns, tidy."""
    main = MAIN.format(module=module, name=module.rpartition("/")[2])
    tree.lay({"main.go": main, "go.mod": f"{HEAD}require {module} {version}\n{more}"})
    await go(tree, "go mod tidy")


async def run_climb(tree, *ranges, package=CODEC, terms=TERMS, manifest="go.mod"):
    about = group(package, *(ranges or ("< 1.2.1",)), manifests=[manifest])
    about = about.model_copy(update={"ecosystem": "go"})
    return await climb(tree, ecosystem_of(tree.paths, about), about, terms)


async def test_an_indirect_one_moves_alone(modules):
    await lay(modules, HTTP, "v1.0.0")
    assert "vulnerable" in await go(modules, RUN)
    start = await modules.snapshot()

    fix = await run_climb(modules)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files) == (Level.FLOAT, ("go.mod", "go.sum"))
    assert fix.moves[0].new == ("1.2.1",), "the smallest that is safe"
    changed = [x for x in modules.diff(start, fix.tree).splitlines() if re.match(r"[+-][^+-]", x)]
    assert len(changed) == 6, changed
    assert "// indirect" in changed[1]
    assert "v1.2.0" not in (modules.folder / "go.sum").read_text(), "it is tidy, as it was before"
    assert "safe" in await go(modules, RUN)


async def test_an_own_requirement_moves_and_keeps_its_looks(modules):
    await lay(modules, CODEC, "v1.2.0")
    file = modules.folder / "go.mod"
    text = file.read_text().replace("v1.2.0", "v1.2.0 // the codec")
    file.write_text(text)

    fix = await run_climb(modules)

    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.BUMP
    assert file.read_text() == text.replace("v1.2.0", "v1.2.1")
    assert "`go mod verify` accepted the files as they are (exit code 0)." in fix.evidence


async def test_what_was_not_tidy_before_is_not_made_so(modules):
    await lay(modules, HTTP, "v1.0.0")
    file = modules.folder / "go.mod"
    file.write_text(f"{file.read_text()}\nrequire example.com/acme/unused v1.0.0 // indirect\n")
    modules.proxy.publish("example.com/acme/unused", "v1.0.0", "unused")

    fix = await run_climb(modules)

    assert isinstance(fix, Fix), fix.reason
    assert "acme/unused v1.0.0" in file.read_text()
    assert [move.name for move in fix.moves] == [CODEC]


async def test_a_release_that_needs_a_newer_language_is_no_fix(modules):
    await lay(modules, HTTP, "v1.0.0")
    modules.proxy.publish(CODEC, "v1.2.9", "safe", go="1.23")
    before = (modules.folder / "go.mod").read_text()

    refused = await run_climb(modules, "< 1.2.9")

    assert isinstance(refused, Refusal)
    assert "asks for Go 1.23" in refused.steps[0].why
    assert (modules.folder / "go.mod").read_text() == before


async def test_a_release_that_is_younger_than_the_policy_wants_is_passed_over(modules):
    await lay(modules, HTTP, "v1.0.0")
    modules.proxy.publish(CODEC, "v1.2.1", "safe", day="2026-11-19")

    fix = await run_climb(modules, terms=TERMS.model_copy(update={"min_days": 7}))

    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.3.0",)


async def test_files_that_the_proxy_has_otherwise_are_not_taken(modules):
    """Somebody published other files under the same version, or the lock lies."""
    await lay(modules, HTTP, "v1.0.0")
    file = modules.folder / "go.sum"
    file.write_text(
        re.sub(rf"({HTTP} v1.0.0 h1:)[^\n]{{10}}", r"\g<1>AAAAAAAAAA", file.read_text())
    )
    refused = await run_climb(modules)
    assert isinstance(refused, Refusal)
    assert any("checksum mismatch" in step.why for step in refused.steps)


async def test_a_module_that_another_stands_in_for_is_left_to_people(modules):
    modules.lay(
        {
            "fork/go.mod": f"module {CODEC}\n",
            "fork/x.go": 'package codec\nfunc Answer() string { return "fork" }\n',
        }
    )
    await lay(modules, HTTP, "v1.0.0", more=f"replace {CODEC} => ./fork\n")
    refused = await run_climb(modules)
    assert isinstance(refused, Refusal)
    assert "replaces" in refused.steps[0].why


@pytest.mark.parametrize(
    ("line", "built"),
    [
        (f"replace {CODEC} => {CODEC} v1.2.0", "1.2.0"),
        (f"replace {CODEC} v1.3.0 => {CODEC} v1.2.0", "1.2.0"),
        (f"replace {CODEC} v1.2.9 => {CODEC} v1.2.0", "1.3.0"),
        (f"replace {CODEC} => {HTTP} v1.2.0", "1.3.0"),
    ],
)
async def test_the_version_that_is_built_counts_and_not_the_one_that_it_replaces(tree, line, built):
    tree.lay({"go.mod": f"{HEAD}require {CODEC} v1.3.0\n\n{line}\n", "go.sum": ""})

    locked = await Go("").read(tree)

    assert [(each.name, each.version) for each in locked.entries] == [(CODEC, built)]


async def test_modules_that_lie_in_the_repository_are_left_to_people(tree):
    tree.lay({"api/go.mod": HEAD, "api/go.sum": "", "api/vendor/modules.txt": ""})
    refused = await run_climb_in(tree, "api")
    assert isinstance(refused, Refusal)
    assert (refused.cause, "go mod vendor" in refused.reason) == ("unsupported", True)
    assert tree.ran == []


async def run_climb_in(tree, directory):
    about = group(CODEC, "< 2", manifests=[f"{directory}/go.mod"], directory=directory)
    about = about.model_copy(update={"ecosystem": "go"})
    found = ecosystem_of(tree.paths, about)
    assert isinstance(found, Go)
    return await climb(tree, found, about, TERMS)


def test_each_form_of_a_requirement_is_read():
    text = """\
module example.com/shop // who we are
go 1.22.1
toolchain go1.23.0
require example.com/a v1.0.0
require (
\t"example.com/b/v2" v2.0.0-20210101000000-abcdef123456 // indirect
\t// example.com/no v9.9.9
\texample.com/c v3.0.0+incompatible //indirect; why
\texample.com/d v0.1.0 // not indirectly
)
exclude example.com/e v1.0.0
replace (
\texample.com/a v1.0.0 => ../a
)
retract [v1.0.0, v1.1.0]
"""
    made = read_mod_file(text, "go.mod")
    assert [(e.module, e.version, e.indirect) for e in made.requirements] == [
        ("example.com/a", "v1.0.0", False),
        ("example.com/b/v2", "v2.0.0-20210101000000-abcdef123456", True),
        ("example.com/c", "v3.0.0+incompatible", True),
        ("example.com/d", "v0.1.0", False),
    ]
    assert (made.language, made.replaced) == ("1.22.1", {"example.com/a"})


@pytest.mark.parametrize(
    "line",
    [
        "require -modfile=/etc/passwd v1.0.0",
        "require example.com/a;id v1.0.0",
        "require example.com/../a v1.0.0",
        "require example.com/a v1.0.0;id",
        "require example.com/a latest",
        f"require example.com/{'a' * 400} v1.0.0",
        f"require example.com/a v1.0.{'0' * 400}",
    ],
)
def test_what_is_no_module_or_version_is_never_put_on_a_command_line(line):
    with pytest.raises(Unfit):
        read_mod_file(f"{HEAD}{line}\n", "go.mod")


def test_a_flood_of_lines_is_not_read():
    for read in (read_mod_file, read_sums):
        with pytest.raises(Unfit, match="more than 50000 lines"):
            read("\n" * 60_000, "go.mod")


NAMED = "modules.example"


async def resolve_named(host, port):
    """Find the proxy of ours by its name: Go asks no proxy on the way for loopback addresses."""
    return ["127.0.0.1"] if host == NAMED else await system_resolver(host, port)


class NamedWays(IndexWays):
    """The ways to the indexes, with a name that leads to loopback."""

    @asynccontextmanager
    async def open(self, tools, *, reading_alone=False):
        indexes = await self.finder.find(tools)
        allowed = [replace(each, tunnel=False) for each in indexes.allowed]
        about = {"certificates": indexes.certificates, "files": indexes.files}
        async with open_proxy(allowed, self.owner, resolver=resolve_named, **about) as proxy:
            yield IndexWay(indexes, proxy)


@pytest.mark.usefixtures("has_index")
async def test_in_the_sandbox_go_reaches_the_proxy_that_the_operator_is_configured_for(
    modules, held
):
    await lay(modules, CODEC, "v1.2.0")
    names = ("go.mod", "go.sum", "main.go")
    held.commit({name: (modules.folder / name).read_text() for name in names})
    about = group(CODEC, "< 1.2.1", manifests=["go.mod"]).model_copy(update={"ecosystem": "go"})
    with serve_folder(modules.proxy.root) as address:
        port = address.rpartition(":")[2]
        given = {**os.environ, "GOPROXY": f"http://{NAMED}:{port}", "GOSUMDB": "off"}
        finder = IndexFinder(
            KnownOperator(given),
            held.sandbox.owner,
            conceal=lambda _: None,
            resolver=resolve_named,
        )
        ways = NamedWays(finder, held.sandbox.owner)
        held.open_way = held.open_reading = ways.open

        async def name_origins(tools):
            """Name what Go is fetched from, so that it is kept: the port is another each time."""
            return [each.replace(f":{port}", "") for each in await finder.origins(tools)]

        held.origins = name_origins
        held.fetches = False  # the ladder brings a Go of its own
        _, tree = await held.run(policy=Policy.model_validate({"setup": {"run": []}}))

        fix = await climb(tree, ecosystem_of(frozenset(names), about), about, TERMS)

    assert isinstance(fix, Fix), fix
    assert fix.level == Level.BUMP
    assert b"codec v1.2.1" in await tree.read("go.mod")
