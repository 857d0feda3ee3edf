"""Cargo with a registry on loopback: each lock that comes out is one that cargo fetches frozen."""

import hashlib
import io
import json
import os
import re
import shutil
import subprocess
import tarfile
from datetime import date
from pathlib import Path

import pytest
from packaging.version import Version

from agents.pipelines.remediate.ladder import (
    Fix,
    Level,
    Refusal,
    Stuck,
    Target,
    Unfit,
    climb,
    ecosystem_of,
)
from agents.pipelines.remediate.ladder.cargo import requirements
from agents.pipelines.remediate.ladder.cargo.adapter import Cargo
from agents.pipelines.remediate.ladder.cargo.lock import entries_of
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group, serve_folder

KNOWS_SPARSE = "1.68"  # https://doc.rust-lang.org/cargo/CHANGELOG.html#cargo-168-2023-03-09

ROOT = """\
[package]
name = "shop"  # the looks of this file stay
version = "0.1.0"
edition = "2021"
build = "build.rs"

[[bin]]
name = "shop"
path = "src/odd.rs"

[dependencies]
{wanted}
"""


class SparseIndex:
    """A folder that cargo reads as a sparse index, with the files beside it.

    https://doc.rust-lang.org/cargo/reference/registry-index.html#sparse-protocol
    """

    def __init__(self, root):
        self.root = root

    def publish(self, name, version, *, yanked=False, day="", **needs):
        """Publish a crate without any code that needs those versions of others."""
        manifest = f'[package]\nname = "{name}"\nversion = "{version}"\nedition = "2021"\n'
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            for path, text in (("Cargo.toml", manifest), ("src/lib.rs", "")):
                member = tarfile.TarInfo(f"{name}-{version}/{path}")
                member.size = len(text)
                archive.addfile(member, io.BytesIO(text.encode()))
        crate = self.root / "crates" / name / version / "download"
        crate.parent.mkdir(parents=True)
        crate.write_bytes(packed.getvalue())
        row = {
            "name": name,
            "vers": version,
            "deps": [_make_need(other, spec) for other, spec in needs.items()],
            "cksum": hashlib.sha256(packed.getvalue()).hexdigest(),
            "features": {},
            "yanked": yanked,
            **({"pubtime": f"{day}T19:30:12Z"} if day else {}),
        }
        index = self.root / "index" / name[:2] / name[2:4] / name
        index.parent.mkdir(parents=True, exist_ok=True)
        with index.open("a") as listed:
            listed.write(f"{json.dumps(row, separators=(',', ':'))}\n")


def _make_need(name, spec):
    return {
        "name": name,
        "req": spec,
        "features": [],
        "optional": False,
        "default_features": True,
        "target": None,
        "kind": "normal",
    }


def _find_cargo():
    """Find a cargo that knows sparse indexes: rustup's, also off PATH, or the system's."""
    for folder in (Path.home() / ".cargo/bin", *os.get_exec_path()):
        program = shutil.which("cargo", path=str(folder))
        if program is None:
            continue
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
        if said.returncode == 0 and Version(said.stdout.split()[1]) >= Version(KNOWS_SPARSE):
            return program
    return None


@pytest.fixture
def crates(tree, tmp_path):
    """A work tree whose cargo asks a registry of ours: a codec with a fault, and who needs it."""
    program = _find_cargo()
    if program is None:
        pytest.skip(f"no cargo from {KNOWS_SPARSE} on is installed here")
    registry = SparseIndex(tmp_path / "registry")
    for version in ("1.2.0", "1.2.1", "1.2.2", "1.3.0-rc.1", "1.3.0", "2.0.0"):
        registry.publish("codec", version, yanked=version == "1.2.1")
    registry.publish("http", "1.0.0", codec="^1.2.0")
    registry.publish("http", "1.0.5", codec="=1.2.0")
    registry.publish("http", "1.1.0", codec="^1.2")
    with serve_folder(registry.root) as address:
        home = tmp_path / "cargo"
        home.mkdir()
        (home / "config.toml").write_text(
            '[source.crates-io]\nreplace-with = "near"\n'
            f'[source.near]\nregistry = "sparse+{address}/index/"\n'
        )
        (registry.root / "index/config.json").write_text(json.dumps({"dl": f"{address}/crates"}))
        rustup = {"RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup"))}
        path = f"{Path(program).parent}:/usr/bin:/bin"
        tree.environment = {**rustup, "PATH": path, "HOME": str(tmp_path), "CARGO_HOME": str(home)}
        tree.registry = registry
        yield tree


async def bash(tree, script):
    done = await tree.run(["bash", "-c", script], timeout=120)
    assert done.exit_code == 0, done.output


async def lock(tree, wanted, *precise, more=None):
    """Lock a project as people do, with these crates at these versions."""
    tree.lay(
        {"Cargo.toml": ROOT.format(wanted=wanted), "src/odd.rs": "fn main() {}", "build.rs": ""}
    )
    tree.lay(more or {})
    steps = [f"cargo update {name} --precise {version}" for name, version in precise]
    await bash(tree, " && ".join(["cargo generate-lockfile", *steps]))


async def run_climb(tree, *ranges, manifest="Cargo.lock", terms=TERMS, package="codec"):
    about = group(package, *(ranges or ("< 1.2.2",)), manifests=[manifest])
    about = about.model_copy(update={"ecosystem": "rust"})
    fix = await climb(tree, ecosystem_of(tree.paths, about), about, terms)
    await bash(tree, "cargo fetch --locked")
    return fix


async def test_a_transitive_one_moves_in_the_lock_alone(crates):
    await lock(crates, 'http = "=1.0.0"', ("codec", "1.2.0"))
    start = await crates.snapshot()

    fix = await run_climb(crates)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("Cargo.lock",), "Cargo")
    assert fix.moves[0].new == ("1.2.2",), "the smallest that is safe and was not yanked"
    changed = [x for x in crates.diff(start, fix.tree).splitlines() if re.match(r"[+-][^+-]", x)]
    assert len(changed) == 4, changed


async def test_pins_of_root_and_member_move_and_keep_their_looks(crates):
    member = '[package]\nname = "part"\nversion = "0.1.0"\n\n[dev-dependencies]\n'
    member += 'other = { package = "codec", version = "=1.2.0", features = [] }\n'
    members = {"parts/one/Cargo.toml": member, "parts/one/src/lib.rs": ""}
    wanted = 'codec = "=1.2.0"   # pinned on purpose\n\n[workspace]\nmembers = ["parts/*"]\n'
    await lock(crates, wanted, more=members)

    fix = await run_climb(crates)

    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.BUMP
    assert fix.files == ("Cargo.lock", "Cargo.toml", "parts/one/Cargo.toml")
    said = (crates.folder / "Cargo.toml").read_text()
    assert said == ROOT.format(wanted=wanted).replace("=1.2.0", "=1.2.2")
    assert (crates.folder / "parts/one/Cargo.toml").read_text() == member.replace("1.2.0", "1.2.2")


async def test_an_upper_bound_moves_where_the_policy_permits_the_major(crates):
    await lock(crates, 'codec = "1.2"')
    terms = TERMS.model_copy(update={"majors": True})

    fix = await run_climb(crates, "< 2.0.0", terms=terms)

    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.WIDEN
    assert 'codec = "2.0"' in (crates.folder / "Cargo.toml").read_text()


async def test_a_parent_that_holds_it_back_moves_to_the_smallest_release_that_does_not(crates):
    await lock(crates, 'http = "1"', ("http", "1.0.5"))

    fix = await run_climb(crates)

    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.PARENT
    assert {move.name: move.new for move in fix.moves} == {"codec": ("1.2.2",), "http": ("1.1.0",)}


async def test_each_of_several_copies_goes_its_own_way(crates):
    crates.registry.publish("codec", "2.0.1")
    wanted = 'codec = "1"\nnewer = { package = "codec", version = "2" }'
    await lock(crates, wanted, ("codec@1.3.0", "1.2.0"), ("codec@2.0.1", "2.0.0"))

    fix = await run_climb(crates, "< 1.2.2", ">= 2.0.0, < 2.0.1")

    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.2.2", "2.0.1")
    assert fix.files == ("Cargo.lock",)


async def test_contents_that_the_index_does_not_have_are_not_replaced(crates):
    await lock(crates, 'http = "=1.0.0"', ("codec", "1.2.0"))
    file = crates.folder / "Cargo.lock"
    text = re.sub(
        r'(name = "codec"\n.*\n.*\nchecksum = )"[^"]*"', rf'\1"{"0" * 64}"', file.read_text()
    )
    file.write_text(text)
    about = group("codec", "< 1.2.2", manifests=["Cargo.lock"])
    about = about.model_copy(update={"ecosystem": "rust"})

    refused = await climb(crates, ecosystem_of(crates.paths, about), about, TERMS)

    assert isinstance(refused, Refusal)
    assert file.read_text() == text


async def test_settings_and_build_scripts_of_the_repository_are_not_obeyed(crates):
    """A wrapper, a linker, an alias: none of it is in the copy that cargo sees."""
    await lock(crates, 'http = "=1.0.0"', ("codec", "1.2.0"))
    evil = '[build]\nrustc-wrapper = "./evil.sh"\n[alias]\nupdate = "run"\n[net]\noffline = true\n'
    crates.lay(
        {"rust-toolchain.toml": '[toolchain]\nchannel = "1.0.0"\n', ".cargo/config.toml": evil}
    )
    about = group("codec", "< 1.2.2", manifests=["Cargo.lock"])
    about = about.model_copy(update={"ecosystem": "rust"})

    fix = await climb(crates, ecosystem_of(crates.paths, about), about, TERMS)

    assert isinstance(fix, Fix), fix.reason
    assert fix.files == ("Cargo.lock",)


async def test_what_stands_in_for_crates_io_is_asked_in_its_place(crates):
    """Nobody else is: also where it does not answer."""
    await lock(crates, 'http = "=1.0.0"', ("codec", "1.2.0"))
    about = group("codec", "< 1.2.2", manifests=["Cargo.lock"])
    about = about.model_copy(update={"ecosystem": "rust"})
    replaced = '[source.crates-io]\nreplace-with = "mine"\n[source.mine]\nregistry = "{}"\n'
    crates.lay({".cargo/config.toml": replaced.format("sparse+http://127.0.0.1:9/")})

    refused = await climb(crates, ecosystem_of(crates.paths, about), about, TERMS)

    assert isinstance(refused, Refusal)
    assert (refused.cause, refused.steps) == ("other_index", ())
    assert "takes codec from 127.0.0.1:9, and Cargo" in refused.reason


@pytest.mark.parametrize(
    ("spec", "admitted", "pin", "moved"),
    [
        ("1.2", True, None, "1.2"),
        ("1.3", False, None, "1.2"),
        ("^0.9", False, None, "^1.2"),
        ("~1.1.0", False, None, "~1.2.6"),
        ("=1.2.0", False, "=1.2.6", "=1.2.6"),
        ("= 1.2.0", False, "= 1.2.6", "= 1.2.6"),
        ("1.2.7", False, None, "1.2.6"),
        ("2", False, None, "1"),
        ("1.*", True, None, "1.*"),
        ("0.9.*", False, None, "1.2.*"),
        ("*", True, None, None),
        (">=1.0, <1.2", False, None, ">=1.0, <1.3"),
        (">= 0.4, < 1.0.0", False, None, ">= 0.4, < 2.0.0"),
        (">=1, <=1.2.5", False, None, ">=1, <=1.2.6"),
        (">=1.0, <1.3", True, None, None),
        ("not a version", False, None, None),
    ],
)
def test_a_requirement_is_read_as_cargo_reads_it(spec, admitted, pin, moved):
    assert requirements.admits(spec, "1.2.6") is admitted
    assert requirements.move_pin(spec, "1.2.6") == pin
    assert requirements.move_range(spec, "1.2.6") == moved


@pytest.mark.parametrize(
    "table",
    [
        {"name": "--config=x", "version": "1.0.0"},
        {"name": "codec;id", "version": "1.0.0"},
        {"name": "codec", "version": "1.0.0 --precise"},
        {"name": "codec", "version": "latest"},
        {"name": "codec"},
        {"version": "1.0.0"},
    ],
)
def test_what_is_no_crate_or_version_is_never_put_on_a_command_line(table):
    with pytest.raises(Unfit):
        entries_of({"package": [table]}, "Cargo.lock")


def test_the_nearest_lock_file_holds_with_the_manifests_below_it(tree):
    tree.lay(dict.fromkeys(("Cargo.lock", "Cargo.toml", "a/Cargo.toml", "b/c/Cargo.toml"), ""))
    tree.lay(dict.fromkeys(("b/Cargo.lock", "b/Cargo.toml"), ""))

    def find(directory):
        about = group("codec", "< 2", manifests=[f"{directory}/Cargo.toml"], directory=directory)
        return ecosystem_of(tree.paths, about.model_copy(update={"ecosystem": "rust"}))

    assert isinstance(find("a"), Cargo)
    assert find("a").files == {"Cargo.lock", "Cargo.toml", "a/Cargo.toml"}
    assert find("b/c").files == {"b/Cargo.lock", "b/Cargo.toml", "b/c/Cargo.toml"}


async def test_without_cargo_people_are_told_what_is_missing(tree, tmp_path):
    programs = tmp_path / "bin"
    programs.mkdir()
    for program in Path("/usr/bin").iterdir():
        if program.name != "cargo":
            (programs / program.name).symlink_to(program)
    tree.environment = {"PATH": str(programs), "HOME": str(tree.folder.parent)}
    lock_text = (
        'version = 4\n\n[[package]]\nname = "codec"\nversion = "1.2.0"\nsource = "registry+x"\n'
    )
    tree.lay({"Cargo.lock": lock_text, "Cargo.toml": ROOT.format(wanted='codec = "1"')})
    about = group("codec", "< 1.2.2", manifests=["Cargo.lock"])
    about = about.model_copy(update={"ecosystem": "rust"})
    refused = await climb(tree, ecosystem_of(tree.paths, about), about, TERMS)
    assert isinstance(refused, Refusal)
    assert (refused.cause, "FETTLE_TOOLCHAINS" in refused.reason) == ("no_tool", True)


V1 = """\
[[package]]
name = "codec"
version = "1.2.0"
source = "registry+https://github.com/rust-lang/crates.io-index"

[[package]]
name = "shop"
version = "0.1.0"
dependencies = [
 "codec 1.2.0 (registry+https://github.com/rust-lang/crates.io-index)",
]

[metadata]
"checksum codec 1.2.0 (registry+https://github.com/rust-lang/crates.io-index)" = "{checksum}"
"""


async def test_a_lock_file_of_the_oldest_format_has_its_checksums_apart(crates):
    await lock(crates, 'codec = "1"', ("codec", "1.2.0"))
    made = (crates.folder / "Cargo.lock").read_text()
    checksum = re.search(r'checksum = "([0-9a-f]+)"', made)[1]
    crates.lay({"Cargo.lock": V1.format(checksum=checksum)})

    fix = await run_climb(crates)

    assert isinstance(fix, Fix), "\n".join(step.why for step in fix.steps)
    assert fix.moves[0].new == ("1.2.2",)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (r'(?m)^"checksum.*\n', "", "has no checksum of codec 1.2.0 that the index"),
        (
            r"registry\+https://github.com/rust-lang/crates.io-index",
            "git+https://git.example/codec#" + "a" * 40,
            "takes codec from a folder or from git",
        ),
    ],
)
async def test_what_has_no_checksum_is_not_blamed_on_the_index(crates, old, new, said):
    await lock(crates, 'codec = "1"', ("codec", "1.2.0"))
    text = re.sub(old, new, V1.format(checksum="0" * 64))
    crates.lay({"Cargo.lock": text})
    cargo = Cargo("", ("Cargo.toml",))
    cargo.aim([Target(name="codec", old="1.2.0", new="1.2.2")])
    with pytest.raises(Stuck, match=said):
        await cargo.relock(crates, {"codec": "1.2.2"})


async def test_nothing_younger_than_the_policy_wants_is_taken(crates):
    """The index says since when each version is there; of others nobody knows."""
    crates.registry.publish("codec", "1.2.8", day="2026-06-30")
    crates.registry.publish("codec", "1.2.9", day="2026-01-31")
    await lock(crates, 'codec = "1"', ("codec", "1.2.0"))
    terms = TERMS.model_copy(update={"today": date(2026, 7, 3), "min_days": 7})

    fix = await run_climb(crates, terms=terms)

    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.2.9",)
