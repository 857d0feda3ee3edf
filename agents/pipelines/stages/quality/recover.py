"""Install what a check could not import, where the repository's own manifests name it.

Set-up installs what a project needs to run, and the groups it knows for tests. What stands in other
extras and requirements files is missing then, and pytest stops at the first file that imports it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from agents.analysis.failure_cause import shorten_cause
from agents.analysis.languages import find_folder
from agents.analysis.missing_modules import find_package
from agents.errors import ToolError
from agents.pipelines.stages.quality.results import CheckResult
from agents.run import StageContext
from agents.text import code_span, one_line
from agents.tools.shell.known_install import find_known_install

ROUNDS = 3  # what was installed may show what else is missing
_SECONDS = 600.0

_INSTALLED = (
    "{packages} was installed before the checks were measured: they could not import it, set-up had"
    " left it out, and the repository's manifests name it."
)
_FAILED = "{packages}, which the repository's manifests name, could not be installed: {cause}"


@dataclass
class MissingPackages:
    """Installs each of them once, in the folder of the check that asked for it."""

    run: StageContext
    commit: str
    set_up_for: str = ""
    """The commit whose dependencies they are added to; empty: those that the run stands on."""
    notes: list[str] = field(default_factory=list)
    """What was installed, or why not, for people: untrusted sentences."""
    _tried: set[tuple[str, str]] = field(default_factory=set)

    async def install(self, runs: Iterable[CheckResult]) -> bool:
        """Install what these runs could not import; return whether anything was installed."""
        done = False
        for folder, packages in (await self._list_packages(runs)).items():
            done = await self._install_in(folder, packages) or done
        return done

    async def _list_packages(self, runs: Iterable[CheckResult]) -> dict[str, list[str]]:
        """Return the known packages by folder that were not tried before."""
        wanted: dict[str, list[str]] = {}
        for each in runs:
            if not (each.exit_code and each.missing):
                continue
            known, folder = await self.run.find_known_packages(), find_folder(each.command)
            for module in each.missing:
                package = find_package(module, known)
                if package and (folder, package) not in self._tried:
                    self._tried.add((folder, package))
                    wanted.setdefault(folder, []).append(package)
        return wanted

    async def _install_in(self, folder: str, packages: Sequence[str]) -> bool:
        script = f"{f'cd {folder} && ' if folder else ''}pip install {' '.join(packages)}"
        install = find_known_install(script, await self.run.find_known_packages())
        if install is None:  # a folder that no plain command can name
            return False
        tree = await self.run.tree(self.commit, changing=True, set_up_for=self.set_up_for)
        named = ", ".join(map(code_span, packages))
        try:
            ended = await tree.run(
                ["bash", "-c", install.script], timeout=_SECONDS, network="indexes"
            )
        except ToolError as error:
            self.notes.append(_FAILED.format(packages=named, cause=one_line(str(error), 300)))
            return False
        if ended.exit_code or ended.why != "exit":
            cause = shorten_cause(ended.output)
            self.notes.append(_FAILED.format(packages=named, cause=cause))
            return False
        self.notes.append(_INSTALLED.format(packages=named))
        return True
