"""Find what a change leaves so that its own language cannot parse it, whether or not tests load it.

Each file is given to the parser that its language brings, in the sandbox, which runs nothing of it.
What could not be parsed before either is written for something else, such as a template.
"""

from __future__ import annotations

from collections.abc import Sequence

from agents.analysis.languages import is_code
from agents.analysis.languages.projects import NOT_OURS
from agents.analysis.which_are_tests import is_test
from agents.pipelines.stages.quality.results import Baseline
from agents.ports import WorkTree
from agents.run import StageContext

MOST = 40  # files
SECONDS = 60.0
_ALWAYS = (".py", ".rb", ".php", ".bash")
_IF_BEFORE = (".js", ".cjs", ".mjs", ".sh", ".json")
"""Kinds of files that others read by other rules: modules, JSX, other shells, comments."""
PARSE = r"""
number=-1
for path; do
  number=$((number + 1))
  case $path in
    *.py) python3 -I -c 'import ast, sys; ast.parse(open(sys.argv[1], "rb").read())' "$path" ;;
    *.json) python3 -I -c 'import json, sys; json.load(open(sys.argv[1], "rb"))' "$path" ;;
    *.js | *.cjs | *.mjs) node --check "$path" ;;
    *.rb) ruby -c "$path" ;;
    *.php) php -l "$path" ;;
    *) bash -n "$path" ;;
  esac >/dev/null 2>&1 </dev/null
  case $? in 0 | 126 | 127) ;; *) echo "$number" ;; esac
done
"""
"""Prints the numbers of files that are refused; where there is no parser, nobody says anything."""


async def find_unparsed_files(
    run: StageContext, baseline: Baseline, changed: Sequence[str], tree: WorkTree, commit: str
) -> tuple[str, ...]:
    """Return the changed files that cannot be parsed in this tree, the commit's.

    Nothing where people named the checks, which then say all that is asked for.
    """
    if baseline.chosen or not baseline.runs:
        return ()
    there = await run.ports.source.files(commit)
    likely = [path for path in changed if path in there and _is_parsed(path)][:MOST]
    refused = await _parse(tree, likely)
    if not refused:
        return ()
    before = await run.ports.source.files(run.base)
    old = [path for path in refused if path in before]
    odd = await _parse(await run.tree(run.base), old)
    return tuple(
        path for path in refused if path not in odd and (path in old or path.endswith(_ALWAYS))
    )


def _is_parsed(path: str) -> bool:
    parts = path.split("/")
    aside = any("{{" in part or NOT_OURS.fullmatch(part) for part in parts[:-1])
    kind = path.endswith(_IF_BEFORE) or (path.endswith(_ALWAYS) and is_code(path))
    return kind and not aside and not is_test(path)


async def _parse(tree: WorkTree, paths: Sequence[str]) -> list[str]:
    """Return those that are refused; all of them where the parsers came to no end."""
    if not paths:
        return []
    argv = ["bash", "-c", PARSE, "parse", *(f"./{path}" for path in paths)]
    ended = await tree.run(argv, timeout=SECONDS, writable=False)
    if ended.why != "exit":
        return [*paths]
    numbers = {int(line) for line in ended.output.split() if line.isdecimal()}
    return [path for number, path in enumerate(paths) if number in numbers]
