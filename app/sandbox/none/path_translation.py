"""The translation of paths in commands and in their output, where nothing can be mounted.

Without a mount namespace there is no `/workspace`: its files lie wherever Fettle keeps them. So
each mounted path in arguments, scripts, variables and the folder is replaced by the real one
before a command begins, and replaced back in what the command wrote. The translation is a
convenience and never a defence.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from agents.errors import ConfigError
from app.sandbox.port import HOME, SCRATCH, Mount, SandboxCommand

_SHELLS = {"bash", "sh", "dash"}
_OWN = {HOME: "home", SCRATCH: "tmp"}
_HARMLESS = re.compile(r"[\w./@+:-]+")

# Not in `./q`, `a/q` or `${X}/q`, but behind an option's letter, as in `-I/workspace/include`.
_BEFORE = r"(?:(?<![\w./~}*?-])|(?<=\s-[A-Za-z])|(?<=^-[A-Za-z]))"


class PathTranslation:
    """Translates one command's paths.

    Where no mount gives it a home and /tmp, those are `home` and `tmp` in `scratch`.
    """

    def __init__(self, mounts: Sequence[Mount], scratch: Path) -> None:
        real = {mount.target: str(mount.source) for mount in mounts}
        self._mounted = {target: source for target, source in real.items() if target not in _OWN}
        self._fresh = {
            target: real.get(target, str(scratch / name)) for target, name in _OWN.items()
        }
        for path in (*self._mounted.values(), *self._fresh.values()):
            _require_harmless(path)
        self._paths = _compile_pattern(self._mounted)
        self._all = _compile_pattern({**self._mounted, **self._fresh})
        self._back = _compile_pattern(
            {source: source for source in self._map_back()}, after=r"(?![\w-])"
        )

    def translate_argv(self, command: SandboxCommand) -> tuple[str, ...]:
        """Return the arguments with the real paths; /tmp and the home folder in scripts alone.

        In other arguments those two are as likely the machine's own.
        """
        script = _find_script(command.argv)
        return tuple(
            self.translate(argument) if at == script else self._replace(self._paths, argument)
            for at, argument in enumerate(command.argv)
        )

    def translate_environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with the real paths."""
        return {name: self.translate(value) for name, value in variables.items()}

    def translate(self, text: str) -> str:
        """Return a text with each path replaced by the real one."""
        return self._replace(self._all, text)

    def restore(self, output: str) -> str:
        """Return the output of a command, with the paths as the command knows them."""
        names = self._map_back()
        return self._back.sub(lambda found: names[found.group()], output)

    def _replace(self, pattern: re.Pattern[str], text: str) -> str:
        real = {**self._fresh, **self._mounted}
        return pattern.sub(lambda found: real[found.group()], text)

    def _map_back(self) -> dict[str, str]:
        return {source: target for target, source in {**self._fresh, **self._mounted}.items()}


def _find_script(argv: Sequence[str]) -> int:
    """Return which argument is the script of a shell; -1 for none."""
    if PurePosixPath(argv[0]).name not in _SHELLS or "-c" not in argv[1:3]:
        return -1
    after = argv.index("-c", 1) + 1
    return after + 1 if argv[after : after + 1] == ("--",) else after


def _compile_pattern(paths: Mapping[str, str], after: str = r"(?![\w.-])") -> re.Pattern[str]:
    """Return what finds these paths, longest first, where they are not a part of others."""
    longest = sorted(paths, key=len, reverse=True)
    return re.compile(f"{_BEFORE}(?:{'|'.join(map(re.escape, longest)) or '(?!)'}){after}")


def _require_harmless(path: str) -> None:
    if not _HARMLESS.fullmatch(path):
        raise ConfigError(
            f"This sandbox writes real paths into commands, and `{path}` has a character that a "
            f"shell would act on. Set FETTLE_DATA_DIR to a path of letters, digits and `. _ - + @`."
        )
