"""Step 8: paths as commands write them, for sandboxes that cannot mount: each becomes the real one.

Without a mount namespace there is no `/workspace`: its files lie wherever Fettle keeps them. So
what stands for a mounted path in arguments, scripts, variables and the folder is replaced before a
command begins, and replaced back in what it wrote. That is convenience, never a defence: the
holds judge the real path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath

from agents.errors import ConfigError
from app.sandbox.bubblewrap.profile import HOME
from app.sandbox.port import Mount, SandboxCommand

_SHELLS = {"bash", "sh", "dash"}
_SCRATCH = {HOME: "home", "/tmp": "tmp"}  # noqa: S108 # inside, not ours
_HARMLESS = re.compile(r"[\w./@+:-]+")

# Not in `./q`, `a/q` or `${X}/q`, but behind an option's letter, as in `-I/workspace/include`.
_BEFORE = r"(?:(?<![\w./~}*?-])|(?<=\s-[A-Za-z])|(?<=^-[A-Za-z]))"


class PathTranslation:
    """The paths of one command; `scratch` holds its own empty `home` and `tmp`."""

    def __init__(self, mounts: Sequence[Mount], scratch: Path) -> None:
        self._mounted = {mount.target: str(mount.source) for mount in mounts}
        self._fresh = {target: str(scratch / name) for target, name in _SCRATCH.items()}
        for path in (*self._mounted.values(), *self._fresh.values()):
            _require_harmless(path)
        self._paths = _pattern(self._mounted)
        self._all = _pattern({**self._mounted, **self._fresh})
        self._back = _pattern({source: source for source in self._names()}, after=r"(?![\w-])")

    def argv(self, command: SandboxCommand) -> tuple[str, ...]:
        """Return the arguments; in a shell's script also what names /tmp or the home folder.

        In other arguments those stay: there they are as likely the machine's own.
        """
        script = _script_of(command.argv)
        return tuple(
            self.text(argument) if at == script else self._replace(self._paths, argument)
            for at, argument in enumerate(command.argv)
        )

    def environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables with the real paths in them."""
        return {name: self.text(value) for name, value in variables.items()}

    def text(self, text: str) -> str:
        """Return a text with every path in it replaced by the real one."""
        return self._replace(self._all, text)

    def shown(self, output: str) -> str:
        """Return what a command wrote, with its paths as the command knows them."""
        names = self._names()
        return self._back.sub(lambda found: names[found.group()], output)

    def _replace(self, pattern: re.Pattern[str], text: str) -> str:
        real = {**self._fresh, **self._mounted}
        return pattern.sub(lambda found: real[found.group()], text)

    def _names(self) -> dict[str, str]:
        return {source: target for target, source in {**self._fresh, **self._mounted}.items()}


def nested(mounts: Sequence[Mount]) -> list[tuple[Mount, Path]]:
    """Return the mounts that lie within another one, with their place in the outer one's source."""
    found = []
    for mount in mounts:
        target = PurePosixPath(mount.target)
        outer = [m for m in mounts if m is not mount and target.is_relative_to(m.target)]
        if outer:
            nearest = max(outer, key=lambda m: len(m.target))
            found.append((mount, nearest.source / target.relative_to(nearest.target)))
    return found


def _script_of(argv: Sequence[str]) -> int:
    """Return which argument is the script of a shell; -1 for none."""
    if PurePosixPath(argv[0]).name not in _SHELLS or "-c" not in argv[1:3]:
        return -1
    after = argv.index("-c", 1) + 1
    return after + 1 if argv[after : after + 1] == ("--",) else after


def _pattern(paths: Mapping[str, str], after: str = r"(?![\w.-])") -> re.Pattern[str]:
    """Return what finds these paths, longest first, where they are not a part of others."""
    longest = sorted(paths, key=len, reverse=True)
    return re.compile(f"{_BEFORE}(?:{'|'.join(map(re.escape, longest)) or '(?!)'}){after}")


def _require_harmless(path: str) -> None:
    if not _HARMLESS.fullmatch(path):
        raise ConfigError(
            f"This sandbox writes real paths into commands, and `{path}` has a character that a "
            f"shell would act on. Set FETTLE_DATA_DIR to a path of letters, digits and `. _ - + @`."
        )
