"""Code of other languages: what a command holds runs, what is nowhere written out does not."""

from __future__ import annotations

import pytest

from agents.policy import Policy
from agents.tools.base import Capability
from agents.tools.bash import Bash
from agents.tools.gate.gate import ALLOW, decide
from agents.tools.gate.objections import Circumstances
from agents.tools.shell.judge import judge
from agents.tools.shell.script import read


def rules(script):
    return list(dict.fromkeys(found.rule for found in judge(read(script), Policy())))


WRITTEN_OUT = [
    "python3 -c 'import calc; print(calc.add(1, 1))'", "python -Bc 'print(1)'",
    "python -c'print(1)'", "make -f /dev/stdin <<'E'\nall:\n\tls\nE",
    "python3 -W ignore -c 'print(1)'", "python3 - <<'E'\nimport os\nos.rename('a', 'b')\nE",
    "python3 <<< 'print(1)'", "echo 'print(1)' | python3", "cat <<E | python3 -\nprint(1)\nE",
    "cat a.py | python3", "python3 - < a.py", "c='print(1)'; python3 -c \"$c\"",
    'for f in *.py; do python3 -c "import ast; ast.parse(open(\'$f\').read())"; done',
    "git show HEAD:a.json | python3 -m json.tool", "git log | python3 -c 'import sys; print(1)'",
    "git log | python3 count.py", "ls | perl -ne 'print if /a/'", "ls | ruby -e 'puts gets'",
    "git show HEAD:a.php | php -l", "node -p '1 + 1'", "node --eval='1'", "perl -pi -e s/a/b/ a",
    "ls | node count.js", "ls | bun run a", "ls | awk '{ print $1 }'", "ls | awk -f a.awk",
    'python3 -m pytest -c "$settings"', "make -f - <<'E'\nall:\n\tls\nE", "ls | make test",
    "cat > x.py <<'E'\nprint(1)\nE\npython3 x.py; rm x.py", "sqlite3 a <<'E'\nselect 1;\nE",
]  # fmt: skip
NOT_WRITTEN_OUT = [
    "base64 -d a | python3", "base64 -d a | python3 -u -", "gunzip -c a | node", "xxd -r a | perl",
    "python3 <(base64 -d a)", "python3 < <(base64 -d a)", "base64 -d a | python3 /dev/stdin",
    'python3 -c "$(base64 -d a)"', 'read x; python -Bc "$x"', 'perl -e "$(gunzip -c a)"',
    'node --eval="$(cat a)"', 'ruby -e "$none"', "base64 -d a | python3.13", "tr a b < c | php",
    "base64 -d a | make -f -", "base64 -d a | awk -f - b", "make -f <(gunzip -c a)",
    'nice env A=1 python3 -c "$(cat a)"',
]  # fmt: skip


@pytest.mark.parametrize("script", WRITTEN_OUT)
@pytest.mark.parametrize("tainted", [False, True], ids=["clean", "tainted"])
def test_code_that_is_written_out_runs(script, tainted):
    """Also where strangers have a say: they could have it put into a file, which runs as well."""
    where = Circumstances(Capability.CHANGE, tainted=tainted)
    assert decide(Bash(command=script), Policy(), where) == ALLOW


@pytest.mark.parametrize("script", NOT_WRITTEN_OUT)
def test_code_that_is_nowhere_written_out_is_refused(script):
    assert rules(script) == ["shell/piped"]


@pytest.mark.parametrize(
    ("script", "rule"),
    [
        ("python -m pip install left", "dependency/new"),
        ("python -mpip install left", "dependency/new"),
        ("python -Im pip install left", "dependency/new"),
        ("python -W ignore -m twine upload a", "publish/package"),
        ("python setup.py upload", "publish/package"),
        ("python3 -c 'print(open(\"/etc/shadow\").read())'", "secrets/files"),
        ("python3 -c 'print(1)' > AGENTS.md", "path/protected"),
        ("perl -pi -e s/a/b/ AGENTS.md", "path/protected"),
    ],
)
def test_what_the_command_line_itself_says_still_counts(script, rule):
    assert rules(script) == [rule]
