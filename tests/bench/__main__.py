"""Run the benches of this folder: each file or folder with a `main()`, or those that are named.

    python tests/bench [NAME ...] [-- OPTION ...]

Each runs in a process of its own and prints its own table; the options go to every one of them.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


def has_main(path: Path) -> bool:
    """Tell whether the file has a `main()`; a bench must then also start itself."""
    body = ast.parse(path.read_text("utf-8")).body
    if not any(isinstance(part, ast.FunctionDef) and part.name == "main" for part in body):
        return False
    starts = any(isinstance(p, ast.If) and "__name__" in ast.unparse(p.test) for p in body)
    if not starts:
        raise SystemExit(f'{path}: has main(), but no `if __name__ == "__main__"` that calls it')
    return True


def benches() -> dict[str, Path]:
    """Return the benches of this folder by name."""
    files = {path.stem: path for path in HERE.glob("*.py") if path.name != "__main__.py"}
    files |= {path.parent.name: path for path in HERE.glob("*/__main__.py")}
    return {name: path for name, path in sorted(files.items()) if has_main(path)}


def main(arguments: list[str]) -> int:
    """Run the benches one after the other; return 1 if one of them failed."""
    names, options = _split(arguments)
    found = benches()
    unknown = [name for name in names if name not in found]
    if unknown or not found:
        wrong = f"no bench {', '.join(unknown)}" if unknown else "no bench"
        sys.stderr.write(f"{wrong} in {HERE}; there is: {', '.join(found) or 'nothing'}\n")
        return 2
    failed = [name for name in names or found if not _run(name, found[name], options)]
    if failed:
        sys.stderr.write(f"failed: {', '.join(failed)}\n")
    return 1 if failed else 0


def _split(arguments: list[str]) -> tuple[list[str], list[str]]:
    if "--" not in arguments:
        return arguments, []
    at = arguments.index("--")
    return arguments[:at], arguments[at + 1 :]


def _run(name: str, path: Path, options: list[str]) -> bool:
    print(f"== {name}", flush=True)
    ended = subprocess.run([sys.executable, str(path), *options], check=False, cwd=ROOT)
    return ended.returncode == 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
