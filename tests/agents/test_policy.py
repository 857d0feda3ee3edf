"""The policy file: what it says holds, and what cannot be read is said in words."""

import pytest

from agents.errors import PolicyInvalid
from agents.policy import Policy, parse_policy


def test_no_file_and_an_empty_file_are_all_defaults():
    assert parse_policy(None) == parse_policy(b"") == parse_policy(b"# later\n") == Policy()


@pytest.mark.parametrize(
    "text",
    [
        b"budget: {usd: 1",
        b"budget: 2023-99-99",
        b"budget: {turns: " + b"9" * 5000 + b"}",
        b"\xff\xfe\x00",
        b"[" * 5000,
        b"? [a]: b",
        b"!!python/object/apply:os.system [id]",
        b"just words",
        b"qualty: []",
        b"budget: {usd: .nan}",
        b"budget: {minutes: 0}",
    ],
    ids=range(11),
)
def test_what_cannot_be_read_is_an_error_that_names_the_file(text):
    with pytest.raises(PolicyInvalid, match=r"`\.github/fettle\.yml` is not"):
        parse_policy(text)


def test_a_file_full_of_faults_is_not_repeated_in_full():
    text = "\n".join(f"key{n}: 1" for n in range(500))

    with pytest.raises(PolicyInvalid) as caught:
        parse_policy(text.encode())

    assert "`key0`" in str(caught.value)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("path", "protected"),
    [
        (".github/workflows/ci.yml", True),
        (".GitHub/Workflows/ci.yml", True),
        ("docs/CODEOWNERS", True),
        ("CLAUDE.md", True),
        ("sub/agents.md", True),
        (".github/dependabot.yml", False),
        ("src/workflows/x.yml", False),
    ],
)
def test_protected_paths_whatever_their_case(path, protected):
    assert (Policy().protects(path) is not None) is protected
