"""What real repositories get here: set-up and checks of trees of many languages, without a model.

    python tests/bench/environments [--only NAME ...] [--again] [--list]

Each tree is made from archives of PyPI, npm and Debian, pinned in `trees.toml`, and looked at as by
`fettle doctor repository`. Rows are kept: a tree that was measured is not measured again unless it
has changed, or `--again` is given. A tree that should end as could-not-be-told has `because`, an
expression that its reason must fit.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.bench.environments.mirrors import DebianMirror
from tests.bench.environments.sources import PinnedArchive, SourceMissing
from tests.bench.npm import CACHE

HERE = Path(__file__).parent
KEPT = CACHE / "environments"
AIM = 0.9
LIMIT = 3600  # seconds for one tree
REASON = 160  # characters in the table
HEADS = ("Tree", "Made from", "Set-up", "Checks", "Tests", "Stable", "Seconds", "A change's effect")


@dataclass(frozen=True)
class Tree:
    """One repository as it is made, and what is expected of it."""

    name: str
    ecosystem: str
    sources: tuple[PinnedArchive, ...]
    kind: str = ""
    """`monorepo`, `service` or `version`, where it stands for one of them."""
    files: dict[str, str] = field(default_factory=dict)
    """Files that the archives leave out, or that make one repository of several."""
    drop: tuple[str, ...] = ()
    """Paths that are taken out."""
    home: dict[str, str] = field(default_factory=dict)
    """Files of the operator's home: where their tools find packages."""
    mirror: DebianMirror | None = None
    """A registry on loopback; `{mirror}` in the home's files stands for its URL."""
    because: str = ""

    @property
    def key(self) -> str:
        """Return what its measured row is valid for."""
        told = repr(self) if self.mirror else repr(self).replace(", mirror=None", "")
        return hashlib.sha256(told.encode()).hexdigest()

    def make(self, folder: Path) -> None:
        """Lay it into the folder, as a repository of one commit. Raises SourceMissing."""
        for source in self.sources:
            source.lay(source.fetch(KEPT / "archives"), folder)
        for path in self.drop:
            place = folder / path
            shutil.rmtree(place) if place.is_dir() else place.unlink()
        _write_files(folder, self.files)
        identity = ("-c", "user.name=bench", "-c", "user.email=bench@localhost")
        for command in (("init", "-q"), ("add", "-A", "-f"), (*identity, "commit", "-qm", "made")):
            subprocess.run(["git", *command], cwd=folder, check=True, capture_output=True)


def read_trees() -> list[Tree]:
    """Return the trees in the order of the file."""
    listed = tomllib.loads((HERE / "trees.toml").read_text("utf-8"))["tree"]
    for each in listed:
        each["sources"] = tuple(PinnedArchive(**about) for about in each["sources"])
        if mirror := each.get("mirror"):
            each["mirror"] = DebianMirror(mirror["kind"], tuple(mirror["packages"]))
    return [Tree(**each) for each in listed]


def measure(tree: Tree) -> dict[str, Any]:
    """Return what `fettle doctor repository` says of the tree, or why it cannot be made."""
    with tempfile.TemporaryDirectory(prefix="fettle-bench-") as made:
        place = Path(made)
        repository, home = place / tree.name, place / "home"
        repository.mkdir()
        place.chmod(0o755)
        try:
            tree.make(repository)
            with tree.mirror.serve(KEPT) if tree.mirror else nullcontext("") as url:
                _make_home(home, {k: v.replace("{mirror}", url) for k, v in tree.home.items()})
                done = _examine(repository, home)
        except SourceMissing as error:
            return {"missing": str(error)}
    try:
        told: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        return {"missing": f"fettle doctor repository ended with exit code {done.returncode}"}
    return told


def _examine(repository: Path, home: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "HOME": str(home), "FETTLE_DATA_DIR": str(KEPT / "data")}
    return subprocess.run(
        [sys.executable, "-m", "app", "doctor", "repository", str(repository), "--json"],
        cwd=HERE.parents[2],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        timeout=LIMIT,
        check=False,
    )


def _make_home(home: Path, files: dict[str, str]) -> None:
    """Make a home like the operator's own, with these files in their places."""
    home.mkdir()
    own = {path.split("/")[0] for path in files}
    for each in Path.home().iterdir():
        if each.name not in own:
            (home / each.name).symlink_to(each)
    _write_files(home, files)


def _write_files(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)


def find_stable(told: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the checks that ran and said the same twice: by counted tests, or word by word.

    That a command succeeded twice says nothing where it need not have looked at anything.
    """
    good = (each for each in told.get("checks", ()) if each["verdict"] == "no worse")
    return [each for each in good if each["tests"] or each.get("same_output")]


def is_as_expected(tree: Tree, told: dict[str, Any]) -> bool:
    """Return whether the tree ended as it should: checked, or untold for the right reason."""
    if tree.because:
        reasons = " ".join((*told.get("untold", ()), *told.get("setup", {}).get("problems", ())))
        return not told.get("ready") and bool(re.search(tree.because, reasons))
    return bool(find_stable(told))


def describe(tree: Tree, told: dict[str, Any]) -> str:
    """Return the tree's row of the table."""
    made = ", ".join(f"{each.name} {each.version}" for each in tree.sources)
    kind = f"{tree.ecosystem}; {tree.kind}" if tree.kind else tree.ecosystem
    if "missing" in told:
        cells = ("", "", "", "", "", f"not made: {told['missing']}")
        return _to_row(f"{tree.name} ({kind})", made, *cells)
    checks, problems = told["checks"], told["setup"]["problems"]
    ran = [each for each in checks if each["tests"] is not None or each["verdict"] == "no worse"]
    tests = sum(each["tests"] or 0 for each in checks)
    worked = "worked" if not problems else f"{len(problems)} failed"
    setup = worked if told["setup"]["commands"] or problems else "nothing to install"
    verdict = "no worse" if told["ready"] else "could not be told"
    if any(each["verdict"] == "worse" for each in checks):
        verdict = "not the same twice"
    reasons = [*problems, *told["untold"]]  # what was not installed is why a check cannot run
    if not told["ready"] and reasons:
        verdict += f": {reasons[0][:REASON]}"
    stable, seconds = len(find_stable(told)), f"{told['seconds']:.0f}"
    return _to_row(
        f"{tree.name} ({kind})",
        made,
        setup,
        f"{len(checks)} found, {len(ran)} ran",
        str(tests or ""),
        f"{stable} of {len(checks)}",
        seconds,
        verdict,
    )


def _to_row(*cells: str) -> str:
    plain = (" ".join(each.replace("|", "¦").split()) for each in cells)
    return f"| {' | '.join(plain)} |"


def main(arguments: list[str] | None = None) -> int:
    """Measure the trees that have no row yet, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", action="append", metavar="NAME", default=[])
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--list", action="store_true", help="print what was measured before")
    options = parser.parse_args(arguments)
    trees = [each for each in read_trees() if not options.only or each.name in options.only]
    rows = KEPT / "rows"
    rows.mkdir(parents=True, exist_ok=True)
    measured = []
    for tree in trees:
        file = rows / f"{tree.name}.json"
        kept = json.loads(file.read_text()) if file.exists() else {}
        if not options.list and (options.again or kept.get("key") != tree.key):
            print(f"-- {tree.name}", file=sys.stderr, flush=True)
            kept = {"key": tree.key, "told": measure(tree)}
            file.write_text(json.dumps(kept, indent=1))
        if kept.get("key") == tree.key:
            measured.append((tree, kept["told"]))
    print_table(measured)
    return 0


def print_table(measured: list[tuple[Tree, dict[str, Any]]]) -> None:
    """Print the rows, and what they come to."""
    print(_to_row(*HEADS), _to_row(*("---" for _ in HEADS)), sep="\n")
    for tree, told in measured:
        print(describe(tree, told))
    stable = sum(bool(find_stable(told)) for _, told in measured)
    wrong = [tree.name for tree, told in measured if not is_as_expected(tree, told)]
    print(
        f"\n{stable} of {len(measured)} trees, in "
        f"{len({tree.ecosystem for tree, _ in measured})} ecosystems, have a check that ran and is "
        f"stable (aim: {AIM:.0%}). Not as expected: {', '.join(wrong) or 'none'}."
    )


if __name__ == "__main__":
    raise SystemExit(main())
