"""What moved in a lock file is fetched by its hashes: by uv, or by pip where folders count too."""

from __future__ import annotations

import re

import pytest

from agents.pipelines.remediate.ladder import Stuck
from agents.pipelines.remediate.ladder.locked import Entry, Locked
from agents.pipelines.remediate.ladder.python.index import prove

NAME, VERSION = "sqlparse", "0.5.0"
WRONG = f"sha256:{'1' * 64}"


async def find_hashes(tree):
    """Return the hashes of the release's files, as pip alone says them."""
    line = f"{NAME}=={VERSION} --hash={WRONG}"
    ask = "python3 -m pip download -q --no-deps --only-binary :all: --require-hashes"
    script = f"cd $(mktemp -d); echo '{line}' >r.txt; {ask} -r r.txt 2>&1"
    said = await tree.run(["bash", "-c", script], timeout=60)
    return re.findall(r"Got\s+([0-9a-f]{64})", said.output)


async def prove_hashes(tree, *hashes):
    before = Locked(entries=())
    entry = Entry(key=NAME, name=NAME, version=VERSION, hashes=hashes)
    return await prove(tree, before, Locked(entries=(entry,)), 120.0)


@pytest.mark.parametrize("way", ["one index", "a folder beside it"])
async def test_only_what_the_index_has_under_these_hashes_is_proved(real, tmp_path, way):
    if way != "one index":
        real.environment["PIP_FIND_LINKS"] = str(tmp_path)
    [right] = await find_hashes(real)

    accepted = await prove_hashes(real, f"sha256:{right}")
    assert accepted.fetched == (f"{NAME} {VERSION}",)
    assert not accepted.notes
    with pytest.raises(Stuck, match="other files than the lock file says"):
        await prove_hashes(real, WRONG)
