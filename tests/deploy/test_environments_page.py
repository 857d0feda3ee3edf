"""The page of measured environments shows enough pinned trees, of enough kinds."""

import re
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
ROW = re.compile(
    r"^\| ([\w.-]+) \(([^;)]+)(?:; (\w+))?\) \|.*\| (\d+) of (\d+) \| \d+ \| (.+) \|$", re.MULTILINE
)


def read_rows():
    return ROW.findall((ROOT / "deploy" / "environments.md").read_text("utf-8"))


def test_what_is_shown_is_made_of_pinned_archives():
    text = (ROOT / "tests" / "bench" / "environments" / "trees.toml").read_text("utf-8")
    pinned = {each["name"]: each for each in tomllib.loads(text)["tree"]}

    for name, ecosystem, kind, *_ in read_rows():
        assert (pinned[name]["ecosystem"], pinned[name].get("kind", "")) == (ecosystem, kind)
        assert all(source["sha256"] for source in pinned[name]["sources"])


def test_there_are_enough_of_each_kind_and_nine_of_ten_have_a_stable_check():
    rows = read_rows()
    kinds = Counter(kind for _, _, kind, *_ in rows)
    stable = [row for row in rows if int(row[3])]

    assert len(rows) >= 24
    assert len({ecosystem for _, ecosystem, *_ in rows}) >= 9
    assert (kinds["monorepo"] >= 4, kinds["service"] >= 2, kinds["version"] >= 3) == (True,) * 3
    assert len(stable) >= 0.9 * len(rows)
    assert all(row[5].startswith(("no worse", "could not be told: ")) for row in rows)
    assert all("could not be told" in row[5] for row in rows if row not in stable)
