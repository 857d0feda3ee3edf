"""The repository's own rules: what they match, and that unknown words do not slip past them."""

from __future__ import annotations

from fnmatch import fnmatchcase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.policy import Policy, Rule
from agents.tools.gate.policy_rules import may_match, owners_word
from agents.tools.mcp import tool_class
from agents.tools.registry import tool_named
from agents.tools.shell.variables import UNKNOWN


def bash(command):
    return tool_named("bash").model_validate({"command": command})


def write(path):
    return tool_named("write").model_validate({"path": path, "content": ""})


def page(url):
    return tool_named("webfetch").model_validate({"url": url})


@pytest.mark.parametrize(
    ("rule", "call", "matches"),
    [
        ({"command": "make deploy*"}, bash("make deploy-prod"), True),
        ({"command": "make deploy*"}, bash("make test; env A=b make  'deploy'"), True),
        ({"command": "make deploy*"}, bash("/usr/bin/make deploy"), True),
        ({"command": "make deploy*"}, bash("sh -c 'time make deploy'"), True),
        ({"command": "make deploy*"}, bash("for t in test deploy; do make $t; done"), True),
        ({"command": "make deploy*"}, bash('make "$1"'), True),
        ({"command": "make deploy*"}, bash("make -s deploy"), True),
        ({"command": "make deploy*"}, bash("make -C . -s A=b deploy"), True),
        ({"command": "make deploy*"}, bash("/usr/bin/make -j 4 -- deploy"), True),
        ({"command": "make deploy*"}, bash("watch -n1 make -s deploy"), True),
        ({"command": "npm run deploy*"}, bash("npm --prefix a run --silent deploy"), True),
        ({"command": "make -s *"}, bash("make -s test"), True),
        ({"command": "make deploy*"}, bash("make -s test"), False),
        ({"command": "make deploy*"}, bash("make test"), False),
        ({"command": "make deploy*"}, bash("echo make deploy"), False),
        ({"command": "make deploy*"}, write("make deploy"), False),
        ({"command": "./deploy.sh*"}, bash("./deploy.sh prod"), True),
        ({"command": "npx *"}, bash("npx deploy"), True),
        ({"path": "db/**"}, write("db/schema.sql"), True),
        ({"path": "db/**"}, bash("cd db && sed -i s/a/b/ schema.sql"), True),
        ({"path": "db/**"}, bash("rm db/schema.sql"), True),
        ({"path": "db/**"}, bash("cat db/schema.sql > /tmp/a"), False),
        ({"path": "*.sql"}, bash("mv a.txt db/a.sql"), True),
        ({"path": "db/**"}, tool_named("read").model_validate({"path": "db/schema.sql"}), False),
        ({"host": "*.example.net"}, page("https://docs.example.net/a"), True),
        ({"host": "*.example.net"}, page("https://example.org/a"), False),
        ({"host": "localhost"}, bash("curl http://localhost:8000/"), True),
        ({"tool": "mcp_tracker_*"}, tool_class("mcp_tracker_close").model_validate({}), True),
        ({"tool": "mcp_tracker_*"}, tool_class("mcp_other_close").model_validate({}), False),
        ({"tool": "bash"}, bash("# nothing"), True),
        ({"tool": "bash", "path": "db/**"}, write("db/a"), False),
        ({"command": "tee *", "path": "db/**"}, bash("tee a; touch db/a"), False),
        ({"command": "tee *", "path": "db/**"}, bash("touch a; tee db/a"), True),
    ],
)
def test_a_rule_matches_when_all_that_it_names_does(rule, call, matches):
    for kind in ("ask", "deny"):
        word = owners_word(Policy.model_validate({kind: [rule]}), call)
        assert (word is not None) is matches
        assert word is None or word.id == f"policy/{kind}/1"


def test_the_first_match_is_named_and_a_deny_beats_every_ask():
    policy = Policy(
        ask=(Rule(tool="bash"),),
        deny=(Rule(command="ls"), Rule(command="make*", reason="It is slow."), Rule(tool="bash")),
    )
    word = owners_word(policy, bash("make"))
    assert (word.id, word.reason) == ("policy/deny/2", "It is slow.")
    assert owners_word(policy, write("a")) is None


def test_a_rule_without_a_reason_says_what_it_names():
    word = owners_word(Policy(ask=(Rule(command="make*"),)), bash("make"))
    assert word.reason == "The repository's policy says so (command `make*`)."


PATTERN = st.text(st.sampled_from("ab*?[] "), max_size=6)
TEXT = st.text(st.sampled_from("ab] "), max_size=6)


@given(PATTERN, TEXT)
def test_what_is_known_matches_as_everywhere_else(pattern, text):
    assert may_match(pattern, text) == fnmatchcase(text, pattern)


@given(PATTERN, TEXT, TEXT, TEXT)
def test_an_unknown_part_hides_no_match(pattern, start, middle, end):
    if fnmatchcase(start + middle + end, pattern):
        assert may_match(pattern, start + UNKNOWN + end)


def test_an_unknown_part_is_not_everything():
    assert not may_match("make deploy", f"make test{UNKNOWN}")
    assert not may_match("make deploy", f"{UNKNOWN} test")
    assert may_match("make deploy", f"m{UNKNOWN}y")
