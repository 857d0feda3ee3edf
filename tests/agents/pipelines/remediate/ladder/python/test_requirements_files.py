"""Requirements files as people write them: line ends, remarks and layout stay as they are."""

import pytest

from agents.pipelines.remediate.ladder import Fix, climb, ecosystem_of
from tests.agents.pipelines.remediate.ladder.conftest import TERMS, group

ALERTS = group("sqlparse", "< 0.5.0", manifests=["requirements.txt"])
OLD, NEW = "--hash=sha256:" + "0" * 64, "--hash=sha256:" + "1" * 64


def answers(_tree, script):
    if "pip index" in script:
        return 0, "Available versions: 0.6.0, 0.5.0, 0.4.4\n"
    return 0, f"sqlparse==0.5.0 \\\n    {NEW}\n" if "uv pip compile" in script else ""


async def fix_file(tree, before):
    """Climb; return the file as it is then, and the notes."""
    (tree.folder / "requirements.txt").write_bytes(before.encode())
    tree.answers = answers
    fix = await climb(tree, ecosystem_of(tree.paths, ALERTS), ALERTS, TERMS)
    assert isinstance(fix, Fix), fix
    return (tree.folder / "requirements.txt").read_bytes().decode(), fix.notes


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("\ufeffsqlparse==0.4.4\r\n", "\ufeffsqlparse==0.5.0\r\n"),
        ("\ufeff# base\nsqlparse==0.4.4", "\ufeff# base\nsqlparse==0.5.0"),
        ("  sqlparse == 0.4.4 # ours\r\n\r\n", "  sqlparse == 0.5.0 # ours\r\n\r\n"),
    ],
)
async def test_marks_and_line_ends_stay_and_hide_nothing(tree, before, after):
    text, notes = await fix_file(tree, before)

    assert text == after
    assert not [note for note in notes if "is no requirement" in note]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            f"sqlparse==0.4.4 \\\n    {OLD} \\\n    {OLD}  # why\n",
            f"sqlparse==0.5.0 \\\n    {NEW}  # why\n",
        ),
        (f"sqlparse==0.4.4 \\\r\n  {OLD}\r\n# end", f"sqlparse==0.5.0 \\\r\n  {NEW}\r\n# end"),
        (f"a==1\r\nsqlparse==0.4.4 \\\r\n\t{OLD}", f"a==1\r\nsqlparse==0.5.0 \\\r\n\t{NEW}"),
        (f"sqlparse==0.4.4 {OLD} # why\n", f"sqlparse==0.5.0 {NEW} # why\n"),
        (
            f'sqlparse==0.4.4 ; python_version >= "3" \\\n  {OLD}\n',
            f'sqlparse==0.5.0 ; python_version >= "3" \\\n  {NEW}\n',
        ),
    ],
)
async def test_hashes_are_laid_out_as_before(tree, before, after):
    assert (await fix_file(tree, before))[0] == after


async def test_where_the_file_keeps_no_hash_that_is_said(tree):
    _, notes = await fix_file(tree, "sqlparse==0.4.4\n")

    assert notes == ("The files keep no hash of sqlparse to hold the index to.",)
