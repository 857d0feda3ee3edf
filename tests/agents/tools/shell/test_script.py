"""Scripts read without running them: the commands that bash would run, and when it gives up."""

from __future__ import annotations

import random
import subprocess
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.tools.shell.command import could_be
from agents.tools.shell.script import read
from agents.tools.shell.variables import UNKNOWN
from tests.gears import examples


def commands(script):
    return [command.words for command in read(script).commands]


@pytest.mark.parametrize(
    ("script", "words"),
    [
        ("rm -rf src", "rm -rf src"),
        ("rm\t-rf   src", "rm -rf src"),
        ("r\\m -rf src", "rm -rf src"),
        ("r''m \"-rf\" s'r'c", "rm -rf src"),
        ("$'\\x72\\155' -rf $'s\\u0072c'", "rm -rf src"),
        ('$"rm" -rf src', "rm -rf src"),
        ("r\\\nm -rf src", "rm -rf src"),
        ("rm -rf src # and more", "rm -rf src"),
        ("a=rm; $a -rf src", "rm -rf src"),
        ('a="rm -rf src"; $a', "rm -rf src"),
        ("a=r; b=m; $a$b -rf src", "rm -rf src"),
        ("a=r; a+=m; $a -rf src", "rm -rf src"),
        ('a=(rm -rf src); "${a[@]}"', "rm -rf src"),
        ("a=b; b=rm; ${!a} -rf src", "rm -rf src"),
        ("${none:-rm} -rf src", "rm -rf src"),
        ("r${none}m -rf src", "rm -rf src"),
        ("r$@m -rf src", "rm -rf src"),
        ("rm${IFS}-rf${IFS}src", "rm -rf src"),
        ("IFS=,; a=rm,-rf,src; $a", "rm -rf src"),
        ("rm -rf {src,tests}", "rm -rf src tests"),
        ("rm -rf src{1..2}", "rm -rf src1 src2"),
        ("for i in src; do rm -rf $i; done", "rm -rf src"),
        ("set -- rm -rf src; $@", "rm -rf src"),
        ('f() { "$@"; }; f rm -rf src', "rm -rf src"),
        ("$(echo rm) -rf src", "rm -rf src"),
        ("$(printf '%s%s' r m) -rf src", "rm -rf src"),
        ("$(which rm) -rf src", "rm -rf src"),
        ("echo $(rm -rf src)", "rm -rf src"),
        ("echo `rm -rf src`", "rm -rf src"),
        ("echo `echo \\`rm -rf src\\``", "rm -rf src"),
        ('echo "a $(rm -rf src)"', "rm -rf src"),
        ("cat <(rm -rf src)", "rm -rf src"),
        ("echo $((1 + $(rm -rf src)))", "rm -rf src"),
        ("x[$(rm -rf src)]=1", "rm -rf src"),
        ("cat <<E\n$(rm -rf src)\nE", "rm -rf src"),
        ("if a; then b; else rm -rf src; fi", "rm -rf src"),
        ("case a in a) rm -rf src;; esac", "rm -rf src"),
        ("a | b && { (rm -rf src); } &", "rm -rf src"),
        ("! time rm -rf src", "rm -rf src"),
        ("time case a in a) rm -rf src;; esac", "rm -rf src"),
        ("env -u A B=c rm -rf src", "rm -rf src"),
        ("env -S 'rm -rf src'", "rm -rf src"),
        ("sudo -u x -- rm -rf src", "rm -rf src"),
        ("nice -n 5 nohup setsid stdbuf -oL rm -rf src", "rm -rf src"),
        ("timeout -k 1 5 rm -rf src", "rm -rf src"),
        ("command -p rm -rf src", "rm -rf src"),
        ("exec -a x rm -rf src", "rm -rf src"),
        ("busybox rm -rf src", "rm -rf src"),
        ("uv run --with a rm -rf src", "rm -rf src"),
        ("sh -c 'rm -rf src'", "rm -rf src"),
        ("bash -xec -- 'rm -rf src'", "rm -rf src"),
        ("sh -c '\"$@\"' _ rm -rf src", "rm -rf src"),
        ("sh -c '$0 -rf src' rm", "rm -rf src"),
        ("export a=rm; sh -c '$a -rf src'", "rm -rf src"),
        ("eval rm '-rf src'", "rm -rf src"),
        ("trap 'rm -rf src' EXIT", "rm -rf src"),
        ("alias x='rm -rf src'", "rm -rf src"),
        ("echo rm -rf src | sh", "rm -rf src"),
        ("echo rm -rf src | { bash; }", "rm -rf src"),
        ("printf 'rm -rf %s' src | bash -s", "rm -rf src"),
        ("bash <<< 'rm -rf src'", "rm -rf src"),
        ("bash <<'E'\nrm -rf src\nE", "rm -rf src"),
        ("bash <<'E'\n\\rm -rf src\nE", "rm -rf src"),
        ("cat <<E | sh -x\nrm -rf src\nE", "rm -rf src"),
        ("find src -exec rm {} +", f"rm src/{UNKNOWN}"),
        ("find . -name '*.py' -delete", f"rm -r ./{UNKNOWN}/*.py"),
        ("find . ! -name '*.py' -delete", f"rm -r ./{UNKNOWN}"),
        ("echo src | xargs rm -rf", "rm -rf src"),
        ("find a -name b | xargs -I% sh -c 'rm %'", f"rm a/{UNKNOWN}/b"),
        ("parallel rm -rf ::: src", "rm -rf src"),
        ("flock /tmp/l rm -rf src", "rm -rf src"),
        ("git -c alias.x='!rm -rf src' x", "rm -rf src"),
        ("git rebase -x 'rm -rf src' HEAD~2", "rm -rf src"),
        ("python -m pip install a", "pip install a"),
        ("declare -A m=([a]=rm); ${m[a]} -rf src", "rm -rf src"),
        ("m=(ls rm); ${m[1]} -rf src", "rm -rf src"),
        ("f() { :; }; f x; r$@m -rf src", "rm -rf src"),
        ("cat <<E\n`rm -rf src`\nE", "rm -rf src"),
        ("cat <<E\n${x:-`rm -rf src`}\nE", "rm -rf src"),
        ('echo "${x:+`{ rm -rf src; }`}"', "rm -rf src"),
        ("env - A=b rm -rf src", "rm -rf src"),
        ("env -S rm -rf src", "rm -rf src"),
        ("env -iSrm -rf src", "rm -rf src"),
        ("npm --silent x -- rm -rf src", "rm -rf src"),
        ("npm x --call='rm -rf src'", "rm -rf src"),
        ("hyperfine ls 'rm -rf src'", "rm -rf src"),
        ("git -c core.editor='rm -rf src' commit", "rm -rf src"),
        ("ls <<<< $(rm -rf src", "rm -rf src"),
        ("if; rm -rf src", "rm -rf src"),
    ],
)
def test_what_would_run_is_found(script, words):
    assert words in [" ".join(found) for found in commands(script)]


@pytest.mark.parametrize(
    "script",
    [
        "# rm -rf src\nls",
        "echo 'rm -rf src'",
        'echo "rm -rf src" > note.txt',
        "cat > a.sh <<'E'\nrm -rf src\nE",
        "grep -rn 'rm -rf src' docs",
        "git commit -m 'no more rm -rf src'",
        "a='rm -rf src'; echo \"$a\"",
        "python3 -c 'print(\"rm -rf src\")'",
        "bash script.sh < rm",
        "cat <<'E'\n`rm -rf src`\nE",
        "cat <<E\n\\`rm -rf src\\`\nE",
        "grep -n 'a[`rm -rf src`]' docs",
        "awk '{ print \"rm\" }' a",
        "sed -n 's/rm -rf src/x/p' a",
        "tar czf /tmp/a.tgz --exclude=rm src",
    ],
)
def test_what_is_only_text_does_not_run(script):
    assert "rm" not in {words[0] for words in commands(script)}


@pytest.mark.parametrize(
    ("script", "folder", "written"),
    [
        ("echo a > b", "/workspace", "b"),
        ("cd src/a; echo a >> b", "/workspace/src/a", "b"),
        ("cd src && echo a > b", "/workspace/src", "b"),
        ("cd src && { echo a; } > b", "/workspace/src", "b"),
        ("cd src && cd .. && echo a >| b", "/workspace", "b"),
        ("(cd src); echo a &> b", "/workspace", "b"),
        ("cd src | true; echo a > b", "/workspace", "b"),
        ("cd /tmp; cd -; echo a > b", "/workspace", "b"),
        ("pushd src; popd; echo a > b", "/workspace", "b"),
        ("cd; echo a > b", "/home/agent", "b"),
        ("a=src; cd $a; echo a > b", "/workspace/src", "b"),
        ("{ echo a; echo c; } > b", "/workspace", "b"),
        ("cat <<E > b\na\nE", "/workspace", "b"),
        ("for i in 1; do echo a; done > b", "/workspace", "b"),
        ("> b", "/workspace", "b"),
        ("sh -c 'cd src; echo a > b'", "/workspace/src", "b"),
        ("env -C src sh -c 'echo a > b'", "/workspace/src", "b"),
    ],
)
def test_where_output_goes_and_from_where(script, folder, written):
    assert (folder, (written,)) in [(c.folder, c.writes) for c in read(script).commands]


@pytest.mark.parametrize("script", ["echo a 2>&1", "ls < b", "ls 2>&-", "diff <(a) <(b)"])
def test_not_every_sign_is_an_output(script):
    assert not any(command.writes for command in read(script).commands)


def test_all_values_of_a_variable_count():
    found = commands("a=ls; [ -f x ] && a=rm; $a -rf src; while read a; do $a; done")
    assert {("ls", "-rf", "src"), ("rm", "-rf", "src"), (UNKNOWN,)} <= set(found)


@pytest.mark.parametrize(
    "script",
    [
        "x=$(cat a); $x b",
        "read x; $x b",
        "$(echo bXI= | base64 -d) b",
        "a=xls; ${a#x} b",
        "mapfile a < b; ${a[0]} b",
        "printf -v a %s ls; $a b",
        f"{'{ls,}' * 20} b",
    ],
)
def test_what_only_the_run_can_tell_is_marked(script):
    assert (UNKNOWN, "b") in commands(script)


def test_words_with_unknown_parts_may_be_names():
    assert could_be("pu\0h", "push")
    assert could_be("\0sh", "push")
    assert could_be("p\0", "push")
    assert not could_be("pull\0", "push")
    assert not could_be("\0", "push")
    assert not could_be("pu\0us", "push")


WORD = st.text(st.sampled_from("ab -_./'\"\\$`*?[]{},~#=!&|;<>()\n\tä"), min_size=0, max_size=8)


@settings(max_examples=examples(60))
@given(st.lists(WORD, min_size=1, max_size=3))
def test_words_are_read_as_bash_reads_them(words):
    """Quote them in three ways; bash itself tells what it makes of that."""
    quoted = [quotes(word) for word, quotes in zip(words, [single, double, ansi], strict=False)]
    script = "printf '%s\\0' " + " ".join(quoted)
    told = subprocess.run(["bash", "-c", script], capture_output=True, check=True).stdout
    assert tuple(told.decode().split("\0")[:-1]) == commands(script)[0][2:]


def single(word):
    return "'" + word.replace("'", "'\\''") + "'"


def double(word):
    return '"' + "".join(f"\\{char}" if char in '"\\$`' else char for char in word) + '"'


def ansi(word):
    return "$'" + "".join(f"\\u{ord(char):04x}" for char in word) + "'"


# --- too much -----------------------------------------------------------------------------------

PARTS = (
    "rm ", "-rf ", "$(", "${a:-", ")", "}", "'", '"', "`", "|", "&&", ";", "\n", "<<E\n", "E\n",
    "sh -c ", "eval ", "a=", "$a", "if ", "then ", "fi ", "for i in ", "do ", "done ", "case x in ",
    "esac ", "{ ", "(", "find . -exec ", "\\;", "xargs ", "env ", "> ", "< ", "<<< ", "$((", "))",
    "[[ ", "]] ", "time ", "python -c ", "f() ", "{a,b}", "\\", "é",
)  # fmt: skip
REPEATED = (
    "$(", "(", "{ ", "`", "'", '"', "\\", "$((", "${a:-", "a=$a$a;", "$a$b$c ", "{a,b}", "{1..99}",
    "if ", "<<E ", "cat <<E\n", "sh -c '", "eval ", "env ", "time ", "xargs ", "a;", "a|", "a&&",
    "[[", "case x in ", "f(){ f;};", "rm x ", "a=b ", "a+=b;", "for i in a b c;do ", "<(", "! ",
    "#", "\n", "\\\n", "find . -exec ", 'python -c "', "$[", "x=(", "${a:-`", "a[$(", "x='a[$(';",
    "coproc ", "env -S ", "env - ", "cat <<E\n`", "${m[a]}", "perl -e 'exec q{",
    "echo | sh |", "nice -n 1 ",
)  # fmt: skip


def quick(script):
    began = time.thread_time()
    reading = read.__wrapped__(script)
    assert time.thread_time() - began < 3  # what is slow here takes minutes, on any machine
    return reading


@pytest.mark.parametrize("part", REPEATED)
def test_nesting_without_end_is_read_quickly_or_not_at_all(part):
    quick(part * (5_000 // len(part)))


@pytest.mark.parametrize("seed", range(6))
def test_garbage_is_read_quickly(seed):
    chance = random.Random(seed)
    quick("".join(chance.choice(PARTS) for _ in range(1_500))[:5_000])
    quick("".join(chance.choice("$(){}[]<>|&;`'\"\\ \n#!*?~=+-/:abrm1") for _ in range(5_000)))


@given(st.lists(st.sampled_from(PARTS), max_size=30).map("".join))
def test_nothing_makes_it_stumble(script):
    read(script)


@pytest.mark.parametrize(
    "script",
    [
        "echo a; " * 10_000,
        "a" * 60_001,
        "$(" * 200 + "ls" + ")" * 200,
        "eval " * 200 + "ls",
        "; ".join(f"rm a{number}" for number in range(900)),
        "a|" * 20_000,
        "x=(" * 15_000,
    ],
    ids=["long", "one-word", "deep", "wrapped", "many", "piped", "arrays"],
)
def test_what_is_too_much_is_said_to_be(script):
    assert not quick(script).readable


def test_an_ordinary_long_script_is_not():
    body = "\n".join(f"echo 'step {number}' && pytest -q tests/{number}" for number in range(200))
    assert quick(body).readable
    assert quick(f"cat > data.md <<'E'\n{'| a | (b) |' * 4_000}\nE").readable
