"""Edits that agents make all day go through; what takes more away than it names does not."""

from __future__ import annotations

import pytest

from agents.policy import Policy
from agents.tools.shell.judge import judge
from agents.tools.shell.script import read


def rules(script):
    return {finding.rule for finding in judge(read(script), Policy())}


def python(*lines):
    return "\n".join(["python3 - <<'E'", *lines, "E"])


REPLACES = [
    ("/api/v1", "/api/v2"), ("path = '/var/lib/app'", "path = '/srv/app'"), ("/etc/passwd", "x"),
    ("subprocess.run(['git', 'push'])", "run()"), ("os.remove(path)", "os.unlink(path)"),
    ("curl https://a.example/install.sh", "curl https://b.example/x"), ("AGENTS.md", "README.md"),
    ("requests.get('https://a.example')", "requests.get('https://b.example', timeout=9)"),
]  # fmt: skip

ALLOWED = [
    *(python("p = 'src/a.py'", "s = open(p).read()", f"s = s.replace({a!r}, {b!r})",
             "open(p, 'w').write(s)") for a, b in REPLACES),
    *(python("from pathlib import Path", "p = Path('src') / 'a.py'", "s = p.read_text()",
             f"p.write_text(s.replace({a!r}, {b!r}))") for a, b in REPLACES),
    python("import re", "s = open('a').read()", "s = re.sub(r'^/static/', '/assets/', s)",
           "open('a', 'w').write(s)"),
    python("from pathlib import Path", "Path('tests/test_a.py').write_text('''import shutil",
           "def test_a(tmp_path):", "    shutil.rmtree(tmp_path)", "''')"),
    python("import tempfile, shutil", "d = tempfile.mkdtemp()", "shutil.rmtree(d)"),
    python("import tempfile, os", "with tempfile.TemporaryDirectory() as d:",
           "    os.remove(os.path.join(d, 'a'))"),
    python("import requests", "from unittest import mock", "with mock.patch('requests.get'):",
           "    requests.get('https://api.example.com/x')"),
    python("import os, subprocess", "env = os.environ.copy()",
           "print(subprocess.run(['make'], env=env).stdout)"),
    python("import pathlib", "for p in pathlib.Path('.').rglob('*.pyc'):", "    p.unlink()"),
    "python -c \"print('a/b'.replace('/', '.'))\"",
    "python -c \"print('/'.join(['a', 'b'])); open('out.txt', 'w').write('x')\"",
    "python -c \"s = open('AGENTS.md').read(); open('/tmp/x', 'w').write(s)\"",
    "python -c \"import shutil; shutil.copy('/usr/share/zoneinfo/UTC', 'tests/data/UTC')\"",
    'python -c "import os; print(sorted(os.environ), len(os.environ))"',
    "python -c \"from httpx import URL; print(URL('https://example.com/a'))\"",
    "node -e \"let s=fs.readFileSync('a','utf8').replace('/old','/new');fs.writeFileSync('a',s)\"",
    "cat > tests/test_a.py <<'E'\nimport os\nos.remove('/etc/hosts')\nE",
    'rm -rf "${PWD}/build"', 'rm -rf "$PWD/build" "$TMPDIR/x"', "> src/a.py",
    'curl -H "Origin: https://x.example" localhost:8000', "http :8000/x",
    "curl -d '{\"a\": \"https://x.example\"}' http://127.0.0.1:8000/x",
    'curl -s "http://localhost:8000/to?u=https://x.example"',
    "http POST http://localhost:8000/x Host:x.example url=https://x.example",
    "git commit -m 'Do not read /etc/shadow'", "git log --all --grep='/etc/shadow'",
    'grep -rn "/etc/shadow" src', 'rg -n "~/.ssh" docs', "echo 'see /etc/shadow' > notes.txt",
    "pytest -k '/etc/shadow'", "cat /etc/passwd", "ls /proc/self/fd",
    "cd /tmp/r && git reset --hard && git clean -fdx && git rebase main", "git -C /tmp/r push",
    "git push /tmp/r.git HEAD", "cd $(mktemp -d) && git clone -q r.git w && cd w && git push",
    "git worktree remove --force /tmp/base", "git clean -fd build", "git prune --dry-run",
    "rm -rf node_modules package-lock.json", "rm -f tests/output/*.png",
    "find . -name '*.snap' -delete", "find . -name '*.js.map' -delete",
    "npm publish --dry-run", "cargo publish --dry-run", "gh --version", "su --version",
    "$PYTHON -m pytest -q", "sed s/a/b/ x.sh | bash -n", "env | grep APP_", "printenv | grep NODE",
    "mv src/a.py /tmp/", "mv src/a src/b", "git checkout HEAD -- src/a.py Makefile",
    "git checkout main -- package-lock.json", "git restore src/a.py tests/b.py",
    "git checkout feature/x", "truncate -s 0 src/a.py", "fd -e pyc -x rm", "npx rimraf dist",
    "npx eslint src", "go run ./cmd/a", "uv run --extra dev mypy", "ps -ef", "ps -C node",
    "cat > /tmp/t.sh <<'E'\nset -e\nmake test\nrm -rf build\nE\nbash /tmp/t.sh",
    "env --chdir=/tmp rm -rf x", "env -C src rm -rf build", "npm init -y", "go get ./...",
    "cargo update --dry-run", "uv lock", "python x.py", "./gradlew",
    "cp -r a docs/", "cp a .github/ISSUE_TEMPLATE/", "mv docs manual", "jq .env a.json",
]  # fmt: skip

STOPPED = {
    "delete/outside-build": [
        "mv src /tmp/x", "rm -rf Sources",
        "mv * /tmp/", "mv -t /tmp src", "find src -exec mv {} /tmp \\;",
        "rsync -a --del /tmp/a/ ./", "rsync -a --delete-after /tmp/a/ src",
        "truncate -s0 src/*.py", "rimraf src", "npx rimraf src", "fd -e py -x rm",
        "for f in src/*.py; do : > $f; done", "rm -rf $PWD/src", "rm -rf $PWD",
        "rm -f src/**/*.png",
    ],
    "git/discards": [
        "git restore src", "git restore .", "git checkout HEAD -- src tests docs",
        "git checkout -- '*.py'", "git restore ':(top)'", "git checkout-index -fa",
        "git -c clean.requireForce=false clean -d", "git -C /tmp --work-tree=. reset --hard",
        "git worktree remove --force wt",
    ],
    "git/push": ["cd /tmp/r && git push https://x.example/a", "git push origin HEAD"],
    "dependency/new": [
        "python -mpip install left", "dotnet add a.csproj package X", "poetry self add left",
        "uvx left", "npx -y left", "npx left@1", "uv run --with left python a.py",
        "go run example.org/left@latest", "pnpm dlx left", "npm create vite",
        "npm init vite@latest", "npx create-react-app a", "cargo update -p serde", "npm update",
        "yarn upgrade", "go get -u ./...", "uv lock --upgrade", "poetry update",
    ],
    "secrets/environment": [
        "ps auxe", "ps eww", "jq -n env",
 "env | grep -v APP_", "env | grep .",
    ],
    "secrets/files": [
        "python -c 'p = \"/etc/shadow\"; print(open(p).read())'", "grep root /etc/shadow",
        "grep -e /x /etc/shadow", "cat /proc/1/fd/3",
    ],
    "network/none": [
        "curl -H 'A: b' https://x.example", "curl -x http://x.example localhost",
        "curl localhost https://x.example", "curl '{https://x.example}'", "curl -K c", "curl -sKc",
        "curl --config=c http://localhost", "echo a | curl -K -",
    ],
    "shell/unclear": ["$PYTHON -m pip install left", "$x a"],
    "shell/piped": ["base64 -d a | bash -n +n", "base64 -d a | bash /dev/stdin -n"],
    "path/protected": [
        "vim -es -c wq AGENTS.md",
        "git diff --output=AGENTS.md", "sed -n 'w AGENTS.md' a", "sed 's/a/b/w AGENTS.md' a",
    ],
    "path/never": [
        "mv docs .github", "cp -r x/.github .", "git checkout HEAD~1 -- .github",
        "mv .github old", "mv .github/workflows old",
    ],
}  # fmt: skip


@pytest.mark.parametrize("script", ALLOWED)
def test_ordinary_edits_are_never_stopped(script):
    assert rules(script) == set()


@pytest.mark.parametrize(
    ("rule", "script"), [(rule, script) for rule, scripts in STOPPED.items() for script in scripts]
)
def test_what_takes_more_than_it_names_is_stopped(rule, script):
    assert rule in rules(script)
