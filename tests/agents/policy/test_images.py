"""Which images a repository may name: the grammar of references, and the operator's patterns."""

import pytest

from agents.policy.images import LONGEST, parse_image, parse_image_patterns

DIGEST = "sha256:" + "5e" * 32


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("python", "docker.io/library/python:latest"),
        ("python:3.12-slim", "docker.io/library/python:3.12-slim"),
        ("docker.io/python:3", "docker.io/library/python:3"),
        ("index.docker.io/library/python:3", "docker.io/library/python:3"),
        ("acme/ci", "docker.io/acme/ci:latest"),
        ("ghcr.io/acme/ci:1", "ghcr.io/acme/ci:1"),
        ("localhost/ci:1", "localhost/ci:1"),
        ("registry.example:5000/a/b/c:T_1.x", "registry.example:5000/a/b/c:T_1.x"),
        (f"ghcr.io/acme/ci@{DIGEST}", f"ghcr.io/acme/ci@{DIGEST}"),
        (f"ghcr.io/acme/ci:1@{DIGEST}", f"ghcr.io/acme/ci@{DIGEST}"),
        ("5e" * 32, f"docker.io/library/{'5e' * 32}:latest"),  # a name, and no image's id
    ],
)
def test_a_reference_is_completed_as_docker_does(text, whole):
    assert str(parse_image(text)) == whole


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "-v", "--privileged", "--pull=always", "-python:3", "python:3 --privileged"),
        *("Python:3", "GHCR.IO/acme/ci", "ghcr.io/acme/ci@evil", "ghcr.io/acme/ci@sha256:5e"),
        *(f"ghcr.io/acme/ci@{DIGEST.upper()}", f"ghcr.io/acme/ci@sha512:{'5e' * 64}"),
        *(
            "docker://python:3",
            "oci:/etc",
            "dir:/etc",
            "https://ghcr.io/acme/ci",
        ),
        *("localhost/../x", "../x", "./x", "/etc/passwd", "a//b", "a/", "/a", "a:", "a:b:c", "a@"),
        *(
            "python:3\n",
            "python\t:3",
            "python:3\x00",
            "python\uff1a3",
            "pyth\u043en:3",
            "a" * (LONGEST + 1),
        ),
        *("${localEnv:IMAGE}", "python:3,readonly", "python:3;id", "python:$(id)", "*", "python:*"),
    ],
)
def test_what_is_no_reference_is_refused_and_not_repeated(text):
    with pytest.raises(ValueError, match="is no image as in") as refused:
        parse_image(text)
    assert not text.strip() or text not in str(refused.value).replace(
        "`ghcr.io/owner/name:tag`", ""
    )


@pytest.mark.parametrize(
    ("pattern", "image", "allowed"),
    [
        ("mcr.microsoft.com/devcontainers/*", "mcr.microsoft.com/devcontainers/python:3", True),
        ("mcr.microsoft.com/devcontainers/*", f"mcr.microsoft.com/devcontainers/go@{DIGEST}", True),
        ("mcr.microsoft.com/devcontainers/*", "mcr.microsoft.com/devcontainers/a/b:3", False),
        (
            "mcr.microsoft.com/devcontainers/*",
            "mcr.microsoft.com.evil.example/devcontainers/a",
            False,
        ),
        (
            "mcr.microsoft.com/devcontainers/*",
            "evil.example/mcr.microsoft.com/devcontainers/a",
            False,
        ),
        ("mcr.microsoft.com/devcontainers/*", "mcr-microsoft.com/devcontainers/a", False),
        ("ghcr.io/acme/**", "ghcr.io/acme/team/ci:1", True),
        ("ghcr.io/acme/**", "ghcr.io/acme-evil/ci:1", False),
        ("ghcr.io/acme/ci", "ghcr.io/acme/ci:anything", True),
        ("ghcr.io/acme/ci", "ghcr.io/acme/ci2", False),
        ("ghcr.io/acme/ci:1.*", "ghcr.io/acme/ci:1.7", True),
        ("ghcr.io/acme/ci:1.*", "ghcr.io/acme/ci:2.1.7", False),
        ("ghcr.io/acme/ci:1.*", "ghcr.io/acme/ci", False),
        ("ghcr.io/acme/ci:1", f"ghcr.io/acme/ci:1@{DIGEST}", False),
        (f"ghcr.io/acme/ci@{DIGEST}", f"ghcr.io/acme/ci@{DIGEST}", True),
        (f"ghcr.io/acme/ci@{DIGEST}", f"ghcr.io/acme/ci:9@{DIGEST}", True),
        (f"ghcr.io/acme/ci@{DIGEST}", f"ghcr.io/acme/ci@sha256:{'0' * 64}", False),
        (f"ghcr.io/acme/ci@{DIGEST}", "ghcr.io/acme/ci:latest", False),
        ("python", "docker.io/library/python:3", True),
        ("python", "acme/python:3", False),
        ("*", "python:3", True),
        ("*", "ghcr.io/acme/ci", False),
        ("**", "ghcr.io/acme/team/ci:1", True),
        ("registry.example:5000/ci", "registry.example:5000/ci:1", True),
        ("registry.example/ci", "registry.example:5000/ci:1", False),
    ],
)
def test_a_pattern_allows_what_it_says_and_no_other(pattern, image, allowed):
    [parsed] = parse_image_patterns((pattern,))
    assert parsed.allows(parse_image(image)) is allowed


def test_a_pattern_that_means_one_image_says_which():
    texts = ("ghcr.io/acme/ci", "ghcr.io/acme/ci:1", f"acme/ci@{DIGEST}", "ghcr.io/*/ci:1", "a:1*")
    named = [each.reference for each in parse_image_patterns(texts)]
    assert [str(each) for each in named if each] == [
        "ghcr.io/acme/ci:1",
        f"docker.io/acme/ci@{DIGEST}",
    ]


@pytest.mark.parametrize(
    "text", ["", "a b", "A*", "ghcr.io/acme/ci@evil", "docker://*", "a//b", "--x", "../x"]
)
def test_what_is_no_pattern_is_named_by_its_place(text):
    with pytest.raises(ValueError, match="in place 2 "):
        parse_image_patterns(("python:3", text))
