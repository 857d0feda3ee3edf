"""Step 8: what a piece of Python does, said as shell commands, read from its syntax tree.

Only what is an argument of a call that writes, deletes, runs or reaches counts: a text that is
put in place of another is no path. What cannot be told from the code is left to the sandbox.
"""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import replace

from agents.tools.shell.command import Command, Script
from agents.tools.shell.options import named
from agents.tools.shell.python_texts import Texts
from agents.tools.shell.variables import UNKNOWN

_MARK = "\uf8ff"  # stands for a NUL while code is parsed

_RECURSIVE = named("shutil.rmtree os.removedirs send2trash.send2trash")
_REMOVES = named("os.remove os.unlink")
_COPIES = named("shutil.copy shutil.copy2 shutil.copyfile shutil.copytree")
_MOVES = named("shutil.move os.rename os.replace os.renames")
_LINKS = named("os.symlink os.link")
_OPENS = named("open io.open codecs.open gzip.open bz2.open lzma.open tarfile.open zipfile.ZipFile")
_RUNS = named(
    "system popen getoutput getstatusoutput check_output check_call Popen shell_exec"
    " create_subprocess_shell subprocess.run subprocess.call pty.spawn os.startfile"
)
_RUNS_WORDS = re.compile(r"(?:.*\.)?(?:exec[lv]p?e?|spawn[lv]p?e?|posix_spawnp?"
                         r"|create_subprocess_exec)")  # fmt: skip
_EVALUATES = named("exec eval compile builtins.exec builtins.eval")
_REQUESTS = named(
    "get post put patch delete head options request stream urlopen urlretrieve ws_connect"
)
_CLIENTS = ("requests", "httpx", "aiohttp", "urllib", "urllib3", "http.client", "websockets")
_STAND_INS = ("unittest.mock", "mock", "responses", "respx", "httpretty", "requests_mock", "vcr")
_NO_PATHS = named(
    "replace sub subn search match fullmatch findall finditer compile split rsplit count find index"
    " startswith endswith print write write_text append join strip partition rpartition insert"
    " dumps loads encode decode format removeprefix removesuffix get post put urlparse route path"
    " add_argument getLogger info debug warning error removeprefix extend setdefault"
)
_SHOWS = re.compile(r"print|dumps?|write\w*|put|post|urlopen|info|debug|warning|error|repr")
_KEYS_ONLY = named("len sorted list set frozenset tuple bool")


def python_commands(code: str, plain: Command) -> list[Command | Script] | None:
    """Return shell commands that do what the code does; None when it is no Python."""
    try:
        with warnings.catch_warnings(action="ignore"):
            tree = ast.parse(code.replace(UNKNOWN, _MARK))
        return [_known(each) for each in _Code(tree, plain).commands()]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _known(found: Command | Script) -> Command | Script:
    if isinstance(found, Script):
        return Script(found.text.replace(_MARK, UNKNOWN))
    return replace(found, words=tuple(word.replace(_MARK, UNKNOWN) for word in found.words))


class _Code:
    def __init__(self, tree: ast.AST, plain: Command) -> None:
        self._tree, self._plain, self._texts = tree, plain, Texts(tree)
        modules = [*self._texts.modules]
        self._reaches = any(name.startswith(_CLIENTS) for name in modules) and not any(
            name.startswith(_STAND_INS) for name in modules
        )

    def commands(self) -> Iterator[Command | Script]:
        for part in ast.walk(self._tree):
            if isinstance(part, ast.Call):
                name = self._texts.dotted(part.func)
                yield from self._runs(part, name)
                yield from self._files(part, name)
                yield from self._methods(part)
                yield from self._reads(part, name)
                yield from self._reached(part, name)
        if _shows_environment(self._tree, self._texts):
            yield self._said("printenv")

    def _said(self, *words: str) -> Command:
        return replace(self._plain, words=words)

    def _argument(self, call: ast.Call, at: int, *keywords: str) -> list[str]:
        """Return what an argument may stand for, nothing where that cannot be told."""
        given = [each.value for each in call.keywords if each.arg in keywords]
        if len(call.args) > at:
            given = [call.args[at]]
        return [text for each in given for text in self._texts.of(each) if text.strip(UNKNOWN)]

    def _runs(self, call: ast.Call, name: str) -> Iterator[Command | Script]:
        last = name.rpartition(".")[2]
        given = [*call.args[:1], *(each.value for each in call.keywords if each.arg == "args")]
        if name in _EVALUATES:
            for text in self._argument(call, 0):
                yield from python_commands(text, self._plain) or ()
        elif name in _RUNS or last in _RUNS:
            for each in given:
                yield from self._run(each)
        elif _RUNS_WORDS.fullmatch(name):
            for each in call.args:
                yield from self._run(each)
            words = [self._texts.of(each)[0] for each in call.args]
            yield from (self._said(*words[at:]) for at in (0, 1) if _starts(words[at:]))

    def _run(self, part: ast.expr) -> Iterator[Command | Script]:
        words = self._texts.words(part)
        if words is not None:
            yield from (self._said(*words),) if _starts(words) else ()
        else:
            texts = self._texts.of(part)
            yield from (Script(text) for text in texts if text and not text.startswith(UNKNOWN))

    def _files(self, call: ast.Call, name: str) -> Iterator[Command]:
        first, second = self._argument(call, 0, "path", "src"), self._argument(call, 1, "dst")
        if name in _RECURSIVE:
            yield from (self._said("rm", "-r", path) for path in first)
        elif name in _REMOVES:
            yield from (self._said("rm", path) for path in first)
        elif name in _MOVES:
            yield from (self._said("mv", a, b) for a in first or [UNKNOWN] for b in second)
        elif name in _COPIES or name in _LINKS:
            program = "cp" if name in _COPIES else "ln"
            yield from (self._said(program, a, b) for a in first or [UNKNOWN] for b in second)
        elif name in ("os.truncate", "os.mknod") or (name == "os.open" and _for_writing(call)):
            yield from (self._said("tee", path) for path in first)
        elif name == "os.chmod":
            yield from (self._said("chmod", "u+w", path) for path in first)
        elif name in _OPENS and self._mode(call, 1):
            yield from (self._said("tee", path) for path in self._argument(call, 0, "file", "name"))

    def _methods(self, call: ast.Call) -> Iterator[Command]:
        """Yield what the methods of a path do."""
        if not isinstance(call.func, ast.Attribute) or self._texts.dotted(call.func) in _OPENS:
            return
        method, count = call.func.attr, len(call.args)
        paths = [text for text in self._texts.of(call.func.value) if text.strip(UNKNOWN)]
        for path in paths:
            if method in ("write_text", "write_bytes", "touch") or (
                method == "open" and self._mode(call, 0)
            ):
                yield self._said("tee", path)
            elif method == "unlink":
                yield self._said("rm", path)
            elif method in ("rename", "replace", "move", "copy") and count == 1:
                program = "cp" if method == "copy" else "mv"
                yield from (self._said(program, path, to) for to in self._argument(call, 0))
            elif method in ("symlink_to", "hardlink_to"):
                yield from (
                    self._said("ln", to, path) for to in self._texts.of(call.args[0])[:count]
                )
            elif method in ("read_text", "read_bytes", "open", "iterdir"):
                yield self._said("cat", path)

    def _mode(self, call: ast.Call, at: int) -> bool:
        """Return whether a call of `open` opens for writing."""
        return any(set(mode) & set("wax+") for mode in self._argument(call, at, "mode"))

    def _reads(self, call: ast.Call, name: str) -> Iterator[Command]:
        """Yield what a call may read: that counts where it is a place of credentials."""
        if name.rpartition(".")[2] not in _NO_PATHS:
            texts = [
                text for at in range(min(len(call.args), 3)) for text in self._argument(call, at)
            ]
            yield from (self._said("cat", text) for text in texts if text[:1] in ("/", "~", "."))

    def _reached(self, call: ast.Call, name: str) -> Iterator[Command]:
        last = name.rpartition(".")[2] or getattr(call.func, "attr", "")
        if last in ("connect", "create_connection", "connect_ex") and call.args:
            address = self._texts.words(call.args[0]) or ()
            yield from (self._said("curl", host) for host in address[:1] if host.strip(UNKNOWN))
        if not self._reaches:
            return
        if last in _REQUESTS or name.startswith("websockets."):
            texts = [text for at in (0, 1) for text in self._argument(call, at, "url")]
            yield from (self._said("curl", text) for text in texts if "://" in text)
        elif last in ("HTTPConnection", "HTTPSConnection"):
            yield from (self._said("curl", host) for host in self._argument(call, 0, "host"))


def _starts(words: tuple[str, ...] | list[str]) -> bool:
    """Return whether words begin with the name of a program."""
    return bool(words) and not words[0].startswith(UNKNOWN) and bool(words[0])


def _for_writing(call: ast.Call) -> bool:
    return any("O_WRONLY" in ast.dump(each) or "O_RDWR" in ast.dump(each) for each in call.args[1:])


# --- the environment ----------------------------------------------------------------------------


def _shows_environment(tree: ast.AST, texts: Texts) -> bool:
    """Return whether the values of all variables are printed or sent."""
    whole = _whole_environments(tree, texts)
    calls = [part for part in ast.walk(tree) if isinstance(part, ast.Call)]
    return any(
        _holds(argument, whole, texts)
        for call in calls
        if _SHOWS.fullmatch(getattr(call.func, "attr", "") or getattr(call.func, "id", ""))
        for argument in [*call.args, *(each.value for each in call.keywords)]
    )


def _whole_environments(tree: ast.AST, texts: Texts) -> frozenset[str]:
    """Return the names that hold the environment, or one value of it after the other."""
    found: frozenset[str] = frozenset()
    for part in ast.walk(tree):
        match part:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                pass
            case (
                ast.For(target=ast.Tuple(elts=[_, ast.Name(id=name)]), iter=value)
                | ast.comprehension(target=ast.Tuple(elts=[_, ast.Name(id=name)]), iter=value)
            ):
                pass
            case _:
                continue
        found |= {name} if _holds(value, found, texts) else set()
    return found


def _holds(part: ast.AST, names: frozenset[str], texts: Texts) -> bool:
    """Return whether an expression shows the environment, not only one variable or the names."""
    if isinstance(part, ast.Name) and part.id in names:
        return True
    if isinstance(part, ast.expr) and texts.dotted(part) in ("os.environ", "os.environb"):
        return True
    if isinstance(part, ast.Subscript | ast.Compare):
        return False
    if isinstance(part, ast.Call):
        if isinstance(part.func, ast.Name) and part.func.id in _KEYS_ONLY:
            return any(
                isinstance(each, ast.Call) and _holds(each, names, texts) for each in part.args
            )
        method = getattr(part.func, "attr", "")
        if method in ("get", "keys", "pop", "setdefault", "update"):
            return False
    kept = (each for each in ast.iter_child_nodes(part)
            if not (isinstance(each, ast.keyword) and each.arg == "env"))  # fmt: skip
    return any(_holds(each, names, texts) for each in kept)
