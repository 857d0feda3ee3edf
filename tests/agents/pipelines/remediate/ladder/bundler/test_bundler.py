"""Bundler with an index on loopback: each lock that comes out is one that Bundler takes frozen."""

import hashlib
import re
import shutil
import subprocess
from datetime import date
from types import MappingProxyType

import pytest

from agents.pipelines.remediate.ladder import (
    Entry,
    Fix,
    Level,
    Locked,
    Refusal,
    Stuck,
    Unfit,
    climb,
    ecosystem_of,
)
from agents.pipelines.remediate.ladder.bundler import lock as locks
from agents.pipelines.remediate.ladder.bundler import requirements
from agents.pipelines.remediate.ladder.bundler.adapter import Bundler
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group, serve_folder
from tests.fakes.work_trees import AnsweringTree

GEMS = {
    "codec": {"1.2.0": {}, "1.2.1": {}, "1.2.2": {}, "1.3.0.rc1": {}, "1.3.0": {}, "2.0.0": {}},
    "http": {
        "1.0.0": {"codec": "~> 1.2"},
        "1.0.5": {"codec": "= 1.2.0"},
        "1.1.0": {"codec": "~> 1.2"},
    },
}
BOTH = ['gem "http", "1.0.0"', 'gem "codec", "1.2.0"']
_BUILD = """\
Gem::Specification.new do |s|
  s.name, s.version, s.summary, s.authors = "{name}", "{version}", "x", ["Ada"]
{needs}
end
"""


@pytest.fixture(scope="session")
def index_folder(tmp_path_factory):
    """A folder that Bundler reads as an index: https://guides.rubygems.org/rubygems-org-compact-index-api/"""
    if shutil.which("bundle") is None:
        pytest.skip("Bundler is not installed here: install Debian's package `bundler`")
    root = tmp_path_factory.mktemp("gems")
    for each in ("gems", "info", "specs"):
        (root / each).mkdir()
    for name, releases in GEMS.items():
        for version, needs in releases.items():
            said = "\n".join(f'  s.add_dependency "{n}", "{spec}"' for n, spec in needs.items())
            spec = root / "specs" / f"{name}-{version}.gemspec"
            spec.write_text(_BUILD.format(name=name, version=version, needs=said))
            file = root / "gems" / f"{name}-{version}.gem"
            build = ["gem", "build", "--silent", "-o", str(file), spec.name]
            subprocess.run(build, cwd=spec.parent, check=True, capture_output=True)
    subprocess.run(["gem", "generate_index", "-d", str(root)], check=True, capture_output=True)
    write_compact_index(root)
    return root


def write_compact_index(root, *, without=(), days=MappingProxyType({})):
    listed = ["created_at: 2026-01-01T00:00:00Z", "---"]
    for name, releases in GEMS.items():
        rows = ["---"]
        for version, needs in releases.items():
            if (name, version) in without:
                continue
            data = (root / "gems" / f"{name}-{version}.gem").read_bytes()
            asks = ",".join(f"{n}:{spec}" for n, spec in needs.items())
            day = f",created_at:{days[version]}T10:00:00Z" if version in days else ""
            rows.append(f"{version} {asks}|checksum:{hashlib.sha256(data).hexdigest()}{day}")
        text = "\n".join([*rows, ""])
        (root / "info" / name).write_text(text)
        digest = hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
        kept = ",".join(version for version in releases if (name, version) not in without)
        listed.append(f"{name} {kept} {digest}")
    (root / "versions").write_text("\n".join([*listed, ""]))


@pytest.fixture
def gems(tree, index_folder, tmp_path):
    """A work tree whose Bundler asks an index of ours: a codec with a fault, and who needs it."""
    root = tmp_path / "index"
    shutil.copytree(index_folder, root)
    with serve_folder(root) as address:
        tree.environment = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "LANG": "C.UTF-8"}
        tree.environment["GEM_HOME"] = str(tmp_path / "gems")
        tree.index, tree.address = root, address
        yield tree


async def bash(tree, script):
    done = await tree.run(
        ["bash", "-c", f"export BUNDLE_SILENCE_ROOT_WARNING=1; {script}"], timeout=120
    )
    assert done.exit_code == 0, done.output
    return done.output


async def lock(tree, *wanted, first=()):
    """Lock a project as people do; `first` is what the first locking asks for instead."""
    head = f'source "{tree.address}"\nputs "I am run"  # a Gemfile is a program\n'
    for gems_asked in filter(None, (first, wanted)):
        tree.lay({"Gemfile": head + "\n".join([*gems_asked, ""])})
        await bash(tree, "bundle lock")


async def run_climb(tree, *ranges, terms=TERMS):
    about = group("codec", *(ranges or ("< 1.2.2",)), manifests=["Gemfile.lock"])
    about = about.model_copy(update={"ecosystem": "rubygems"})
    return await climb(tree, ecosystem_of(tree.paths, about), about, terms)


async def test_a_transitive_one_moves_in_the_lock_alone_and_the_gemfile_is_not_run(gems):
    await lock(gems, 'gem "http", "1.0.0"', first=BOTH)
    start = await gems.snapshot()

    fix = await run_climb(gems)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files, fix.tool) == (Level.FLOAT, ("Gemfile.lock",), "Bundler")
    assert fix.moves[0].new == ("1.2.2",), "the smallest that is safe"
    changed = [x for x in gems.diff(start, fix.tree).splitlines() if re.match(r"[+-][^+-]", x)]
    assert changed == ["-    codec (1.2.0)", "+    codec (1.2.2)"]
    await bash(gems, "BUNDLE_FROZEN=true bundle cache --no-install")


async def test_a_pin_moves_and_the_file_keeps_its_looks(gems):
    await lock(gems, "gem 'codec', '1.2.0', require: false  # pinned on purpose")
    before = (gems.folder / "Gemfile").read_text()

    fix = await run_climb(gems)

    assert isinstance(fix, Fix), fix.reason
    assert (fix.level, fix.files) == (Level.BUMP, ("Gemfile", "Gemfile.lock"))
    assert (gems.folder / "Gemfile").read_text() == before.replace("1.2.0", "1.2.2")
    await bash(gems, "BUNDLE_FROZEN=true bundle cache --no-install")


async def test_an_upper_bound_moves_where_the_policy_permits_the_major(gems):
    await lock(gems, 'gem "codec", "~> 1.2", ">= 1.2.0"')
    fix = await run_climb(gems, "< 2.0.0", terms=TERMS.model_copy(update={"majors": True}))
    assert isinstance(fix, Fix), fix.reason
    assert fix.level == Level.WIDEN
    assert 'gem "codec", "~> 2.0", ">= 1.2.0"' in (gems.folder / "Gemfile").read_text()
    await bash(gems, "BUNDLE_FROZEN=true bundle cache --no-install")


async def test_a_parent_that_holds_it_back_moves_to_the_smallest_release_that_does_not(gems):
    await lock(gems, 'gem "http"', first=['gem "http", "1.0.5"'])

    fix = await run_climb(gems)

    assert isinstance(fix, Fix), "\n".join(step.why for step in fix.steps)
    assert fix.level == Level.PARENT
    new = {move.name: move.new for move in fix.moves}
    assert new == {"codec": ("1.2.2",), "http": ("1.1.0",)}


async def test_files_that_the_index_has_otherwise_are_no_fix(gems):
    await lock(gems, 'gem "http", "1.0.0"', first=BOTH)
    other = gems.index / "gems/codec-1.3.0.gem"
    (gems.index / "gems/codec-1.2.2.gem").write_bytes(other.read_bytes())
    before = (gems.folder / "Gemfile.lock").read_text()

    refused = await run_climb(gems)

    assert isinstance(refused, Refusal)
    assert any("another gem than codec-1.2.2" in step.why for step in refused.steps), refused.steps
    assert (gems.folder / "Gemfile.lock").read_text() == before


async def test_a_release_that_was_replaced_is_no_fix(gems):
    """The same version with other contents, which the index's own checksum does not know."""
    await lock(gems, 'gem "http", "1.0.0"', first=BOTH)
    with (gems.index / "gems/codec-1.2.2.gem").open("ab") as file:
        file.write(bytes(512))

    refused = await run_climb(gems)

    assert isinstance(refused, Refusal)
    assert any("The checksum of codec-1.2.2" in step.why for step in refused.steps), refused.steps


async def test_what_was_yanked_is_not_taken(gems):
    await lock(gems, 'gem "http", "1.0.0"', first=BOTH)
    write_compact_index(gems.index, without=[("codec", "1.2.2")])
    fix = await run_climb(gems)
    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.3.0",)


LOCK = """\
GEM
  remote: https://rubygems.org/
  specs:
    codec (1.2.0)
    nokogiri (1.13.3-x86_64-linux)
      racc (~> 1.4)
    racc (1.6.0)

PLATFORMS
  arm64-darwin-22
  x86_64-linux

DEPENDENCIES
  codec (~> 1.2, >= 1.2.0)
  nokogiri

CHECKSUMS
  codec (1.2.0) sha256={sum}

RUBY VERSION
   ruby 3.0.1p64

BUNDLED WITH
   2.5.1
""".replace("{sum}", "a" * 64)


def test_each_part_of_a_lock_file_is_read():
    made = locks.read_lock(LOCK, "Gemfile.lock")
    assert [(e.key, e.version, e.needs) for e in made.entries] == [
        ("codec 1.2.0", "1.2.0", ()),
        ("nokogiri 1.13.3-x86_64-linux", "1.13.3", ("racc 1.6.0",)),
        ("racc 1.6.0", "1.6.0", ()),
    ]
    assert made.asked == {"codec": "~> 1.2, >= 1.2.0", "nokogiri": ""}
    assert made.entries[0].hashes == (f"sha256={'a' * 64}",)
    assert locks.write_gemfile(made, {"racc": "1.6.1"}) == (
        'source "https://rubygems.org/"\n'
        'gem "codec", "~> 1.2", ">= 1.2.0"\n'
        'gem "nokogiri"\n'
        'gem "racc", "= 1.6.1"\n'
    )


def test_what_another_machine_writes_otherwise_stays_as_it_was():
    new = LOCK.replace("codec (1.2.0)", "codec (1.2.2)").replace("2.5.1", "2.3.15")
    new = new.replace("  arm64-darwin-22\n", "").replace("RUBY VERSION\n   ruby 3.0.1p64\n\n", "")
    assert locks.splice(LOCK, new) == LOCK.replace("codec (1.2.0)", "codec (1.2.2)")


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        (
            "GEM\n",
            "GIT\n  remote: https://example.com/x\n  specs:\n\nGEM\n",
            "takes gems from git, ",
        ),
        ("  specs:\n", "  remote: https://example.com/\n  specs:\n", "from several indexes, "),
        ("https://rubygems.org/", 'https://x/"; `id`; "', "names its index"),
        ("https://rubygems.org/", "https://u:hunter22@gems.example/", r"\(gems.example\)"),
        ("    codec (1.2.0)", '    codec (1.2.0"; `id`)', "command lines"),
        ("    codec (1.2.0)", "    -codec (1.2.0)", "command lines"),
        ("  codec (~> 1.2, >= 1.2.0)", '  codec (~> 1.2", `id`)', "command lines"),
        ("  codec (~> 1.2, >= 1.2.0)", "  codec!", "command lines"),
        ("  codec (~> 1.2, >= 1.2.0)", "  #{`id`}", "command lines"),
    ],
)
async def test_what_it_does_not_know_never_gets_into_a_gemfile(tree, old, new, why):
    tree.lay({"Gemfile": "", "Gemfile.lock": LOCK.replace(old, new, 1)})
    with pytest.raises(Unfit, match=why) as refused:
        await Bundler("").read(tree)
    assert "hunter22" not in str(refused.value)
    assert tree.ran == []


@pytest.mark.parametrize(
    ("spec", "admitted", "pin", "moved"),
    [
        ("1.2.6", True, "1.2.6", "1.2.6"),
        ("= 1.2.0", False, "= 1.2.6", "= 1.2.6"),
        ("~> 1.2", True, None, "~> 1.2"),
        ("~> 1.1.0", False, None, "~> 1.2.6"),
        ("~> 0.9", False, None, "~> 1.2"),
        (">= 1.0, < 1.2", False, None, ">= 1.0, < 2"),
        ("", True, None, ""),
        ("!= 1.2.6", False, None, None),
        ("> 1.3", False, None, None),
        ("not a version", False, None, None),
    ],
)
def test_a_requirement_is_read_as_rubygems_reads_it(spec, admitted, pin, moved):
    assert requirements.admits(spec, "1.2.6") is admitted
    assert requirements.move_pin(spec, "1.2.6") == pin
    assert requirements.move_range(spec, "1.2.6") == moved


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ('gem "codec", "1.2.0"', 'gem "codec", "1.2.6"'),
        (
            "  gem('codec', '~> 1.2', '< 1.9', require: false)",
            "  gem('codec', '1.2.6', require: false)",
        ),
        ('gem "codec", VERSION', None),
        ('gem "codec", "#{x}"', None),
        ('gem "codecs", "1.2.0"', None),
        ('# gem "codec", "1.2.0"', None),
        ('gem "codec", "1.2.0" => 1', None),
        ('gem "codec"', None),
    ],
)
def test_only_plain_text_of_a_gemfile_is_changed(line, changed):
    assert requirements.rewrite(line, "codec", "= 1.2.6") == changed


def fetch_these(*files):
    """Return a work tree in which Bundler fetches these files, whatever it is asked."""
    said = "".join(f"FETTLE {file}\n" for file in files)
    return AnsweringTree({"Gemfile.lock": LOCK}, (0, "exit", said))


def build_locked(*keys):
    split = (key.split(" ") for key in keys)
    entries = (
        Entry(key=f"{name} {version}", name=name, version=version.partition("-")[0])
        for name, version in split
    )
    return Locked(entries=tuple(entries))


async def test_a_release_whose_number_only_begins_the_same_is_another_one():
    before, after = build_locked("rack 1.9"), build_locked("rack 2.0")
    with pytest.raises(Stuck, match=r"another gem than rack-2\.0 under"):
        await Bundler("").verify_lock(fetch_these("rack-2.0.1"), before, after)


async def test_gems_for_other_platforms_are_named_as_not_fetched():
    after = build_locked("nokogiri 1.16.2", "nokogiri 1.16.2-arm64-darwin", "rack 2.0")
    tree = fetch_these("nokogiri-1.16.2-x86_64-linux", "rack-2.0")
    accepted = await Bundler("").verify_lock(tree, build_locked("rack 1.9"), after)
    assert accepted.fetched == ("rack-2.0",)
    [note] = accepted.notes
    assert note.endswith("index: nokogiri-1.16.2, nokogiri-1.16.2-arm64-darwin.")


async def test_nothing_younger_than_the_policy_wants_is_taken(gems):
    await lock(gems, 'gem "http", "1.0.0"', first=BOTH)
    write_compact_index(gems.index, days={"1.2.2": "2026-06-30", "1.3.0": "2026-01-31"})
    terms = TERMS.model_copy(update={"today": date(2026, 7, 3), "min_days": 7})

    fix = await run_climb(gems, terms=terms)

    assert isinstance(fix, Fix), fix.reason
    assert fix.moves[0].new == ("1.3.0",)
