"""Composer with a repository on loopback: each lock that comes out is one that installs frozen."""

import hashlib
import io
import json
import re
import shutil
import zipfile
from datetime import date

import pytest

from agents.pipelines.remediate.ladder import Fix, Level, Refusal, Stuck, Unfit, climb, ecosystem_of
from agents.pipelines.remediate.ladder.composer import constraints
from agents.pipelines.remediate.ladder.composer.adapter import Composer
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group, serve_folder


class PackageRepository:
    """A folder that Composer reads as a repository.

    https://getcomposer.org/doc/05-repositories.md#composer
    """

    def __init__(self, root, address):
        self.root, self.address = root, address
        self.packages = {}

    def publish(self, name, version, code="", day="", **needs):
        """Publish a release that needs those versions of others of the same vendor."""
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w") as archive:
            archive.writestr(f"{version}/code.php", f"<?php {code}")
        file = self.root / f"{name.replace('/', '-')}-{version}.zip"
        file.write_bytes(packed.getvalue())
        dist = {
            "type": "zip",
            "url": f"{self.address}/{file.name}",
            "shasum": hashlib.sha1(packed.getvalue(), usedforsecurity=False).hexdigest(),
        }
        require = {f"acme/{other}": spec for other, spec in needs.items()}
        told = {"name": name, "version": version, "dist": dist, "require": require}
        told |= {"time": f"{day}T10:00:00+00:00"} if day else {}
        self.packages.setdefault(name, {})[version] = told
        whole = {"packages": self.packages, "notify-batch": f"{self.address}/downloads/"}
        (self.root / "packages.json").write_text(json.dumps(whole))


@pytest.fixture
def packages(tree, tmp_path):
    """A work tree whose Composer asks a repository of ours: a codec with a fault, its users."""
    if shutil.which("composer") is None:
        pytest.skip("composer is not installed here: install Debian's package `composer`")
    root, home = tmp_path / "repository", tmp_path / "composer"
    root.mkdir()
    home.mkdir()
    with serve_folder(root) as address:
        repository = PackageRepository(root, address)
        for version in ("1.2.0", "v1.2.1", "1.2.2", "1.3.0-RC1", "1.3.0", "2.0.0"):
            repository.publish("acme/codec", version)
        repository.publish("acme/http", "1.0.0", codec="^1.2.0")
        repository.publish("acme/http", "1.0.5", codec="1.2.0")
        repository.publish("acme/http", "1.1.0", codec="~1.2")
        near = {"packagist.org": False, "near": {"type": "composer", "url": address}}
        config = {"config": {"secure-http": False}, "repositories": near}
        (home / "config.json").write_text(json.dumps(config))
        tree.environment = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(tmp_path),
            "COMPOSER_HOME": str(home),
            "COMPOSER_ALLOW_SUPERUSER": "1",
        }
        tree.repository = repository
        yield tree


async def bash(tree, script):
    done = await tree.run(["bash", "-c", script], timeout=120)
    assert done.exit_code == 0, done.output


async def lock(tree, require, *held, **more):
    """Lock a project as people do, with these packages at these versions."""
    manifest = {"name": "acme/shop", "require": require, **more}
    tree.lay({"composer.json": json.dumps(manifest, indent=4) + "\n"})
    pins = " ".join(f"--with {each}" for each in held)
    await bash(tree, f"composer update --no-install --no-scripts --no-plugins {pins}")


async def run_climb(tree, *ranges, terms=TERMS):
    about = group("acme/codec", *(ranges or ("< 1.2.2",)), manifests=["composer.lock"])
    about = about.model_copy(update={"ecosystem": "composer"})
    return await climb(tree, ecosystem_of(tree.paths, about), about, terms)


async def test_a_transitive_one_moves_in_the_lock_alone_and_no_script_runs(packages):
    evil = {"scripts": {"pre-update-cmd": "touch evil", "pre-install-cmd": "touch evil"}}
    wish = {"acme/http": "1.0.0"}
    await lock(
        packages, wish, "acme/codec:1.2.0", extra={"x": 1}, config={"sort-packages": True}, **evil
    )
    start = await packages.snapshot()

    fix = await run_climb(packages)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("composer.lock",), "Composer")
    assert fix.moves[0].new == ("1.2.2",), "the smallest that is safe"
    changed = [x for x in packages.diff(start, fix.tree).splitlines() if re.match(r"[+-][^+-]", x)]
    assert len(changed) == 6, changed
    assert not (packages.folder / "evil").exists()
    await bash(packages, "composer validate --no-check-publish && composer install --no-scripts")


async def test_a_pin_moves_and_the_file_keeps_its_looks(packages):
    await lock(packages, {"acme/codec": "1.2.0"}, config={"sort-packages": True})
    before = (packages.folder / "composer.json").read_text()

    fix = await run_climb(packages)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files) == (Level.BUMP, ("composer.json", "composer.lock"))
    assert (packages.folder / "composer.json").read_text() == before.replace("1.2.0", "1.2.2")


async def test_an_upper_bound_moves_where_the_policy_permits_the_major(packages):
    await lock(packages, {"acme/codec": "^1.2"})
    fix = await run_climb(packages, "< 2.0.0", terms=TERMS.model_copy(update={"majors": True}))
    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.WIDEN
    assert '"acme/codec": "^2.0"' in (packages.folder / "composer.json").read_text()


async def test_a_parent_that_holds_it_back_moves_to_the_smallest_release_that_does_not(packages):
    await lock(packages, {"acme/http": "^1.0"}, "acme/http:1.0.5")

    fix = await run_climb(packages)

    assert isinstance(fix, Fix), "\n".join(step.why for step in fix.steps)
    assert fix.level == Level.PARENT
    new = {move.name: move.new for move in fix.moves}
    assert new == {"acme/codec": ("1.2.2",), "acme/http": ("1.1.0",)}


async def test_files_that_the_repository_has_otherwise_are_no_fix(packages):
    """Somebody changed what lies behind the release that the lock is to move to."""
    await lock(packages, {"acme/http": "1.0.0"}, "acme/codec:1.2.0")
    other = packages.repository.root / "acme-codec-1.3.0.zip"
    (packages.repository.root / "acme-codec-1.2.2.zip").write_bytes(other.read_bytes())
    before = (packages.folder / "composer.lock").read_text()

    refused = await run_climb(packages)

    assert isinstance(refused, Refusal)
    assert any("checksum verification" in step.why for step in refused.steps), refused.steps
    assert (packages.folder / "composer.lock").read_text() == before


@pytest.mark.parametrize(
    ("constraint", "admitted", "pin", "moved"),
    [
        ("1.2.6", True, "1.2.6", "1.2.6"),
        ("1.2", False, "1.2.6", "1.2.6"),
        ("v1.2.0", False, "v1.2.6", "v1.2.6"),
        ("^1.2", True, None, "^1.2"),
        ("^0.9", False, None, "^1.2"),
        ("~1.1", True, None, "~1.2"),
        ("~1.1.0", False, None, "~1.2.6"),
        ("1.2.*", True, None, "1.2.* || ^1.2.6"),
        (">=1.0,<1.2", False, None, ">=1.0,<1.2 || ^1.2.6"),
        (">=1.0 <1.3", True, None, ">=1.0 <1.3 || ^1.2.6"),
        ("^0.8 | ^1.0", True, None, "^0.8 | ^1.0 || ^1.2.6"),
        ("1.0 - 1.3", True, None, "1.0 - 1.3 || ^1.2.6"),
        ("^1.2@beta", True, None, "^1.2@beta || ^1.2.6"),
        ("dev-main", False, None, "dev-main || ^1.2.6"),
        ("*", True, None, "* || ^1.2.6"),
    ],
)
def test_a_constraint_is_read_as_composer_reads_it(constraint, admitted, pin, moved):
    assert constraints.admits(constraint, "1.2.6") is admitted
    assert constraints.move_pin(constraint, "1.2.6") == pin
    assert constraints.move_range(constraint, "1.2.6") == moved


@pytest.mark.parametrize(
    "package",
    [
        {"name": "--working-dir=/", "version": "1.0.0"},
        {"name": "acme/codec;id", "version": "1.0.0"},
        {"name": "acme/../codec", "version": "1.0.0"},
        {"name": "acme/codec", "version": "1.0.0 --with"},
        {"name": "acme/codec", "version": "$(id)"},
        {"name": "acme/codec"},
    ],
)
async def test_what_is_no_package_or_version_is_never_put_on_a_command_line(tree, package):
    tree.lay({"composer.json": "{}", "composer.lock": json.dumps({"packages": [package]})})
    with pytest.raises(Unfit):
        await Composer("").read(tree)
    assert tree.ran == []


async def test_a_branch_is_never_a_target(packages):
    """The code of `2.4.x-dev` is another one tomorrow, under the same version."""
    for version in ("1.4.x-dev", "dev-main"):
        packages.repository.publish("acme/codec", version)
    await lock(packages, {"acme/codec": "^1.0"})
    offered = await Composer("").available(packages, "acme/codec")
    assert "1.3.0" in offered
    assert not [each for each in offered if "dev" in each]


async def test_what_composer_says_when_it_fails_is_told(packages):
    await lock(packages, {"acme/codec": "^1.0"})
    with pytest.raises(Stuck) as raised:
        await Composer("").available(packages, "acme/none")
    assert "acme/none" in str(raised.value)


async def test_nothing_younger_than_the_policy_wants_is_taken(packages):
    packages.repository.publish("acme/codec", "v1.2.8", day="2026-06-30")
    packages.repository.publish("acme/codec", "v1.2.9", day="2026-01-31")
    await lock(packages, {"acme/codec": "^1.0"}, "acme/codec:1.2.0")
    terms = TERMS.model_copy(update={"today": date(2026, 7, 3), "min_days": 7})

    fix = await run_climb(packages, terms=terms)

    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.2.9",)
