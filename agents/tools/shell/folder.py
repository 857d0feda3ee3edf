"""Step 8: the folder that a script is in, as it changes it."""

from __future__ import annotations

from dataclasses import dataclass

from agents.tools.paths import ROOT
from agents.tools.shell.command import Command, absolute
from agents.tools.shell.variables import HOME


@dataclass
class Folder:
    """Where the next command runs."""

    here: str = ROOT
    before: str = ROOT

    def follow(self, command: Command) -> None:
        """Go where the command goes, if it changes the folder."""
        if command.name in ("cd", "pushd"):
            given = [word for word in command.words[1:] if word == "-" or word[:1] != "-"]
            target = given[0] if given else HOME
            there = self.before if target == "-" else absolute(target, self.here)
            self.here, self.before = there, self.here
        elif command.name == "popd":
            self.here, self.before = self.before, self.here
