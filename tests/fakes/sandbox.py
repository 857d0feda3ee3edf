"""A sandbox whose self-test ends as a test wants."""

from __future__ import annotations

from app.sandbox.port import ProbeReport


class ProbedBackend:
    """A backend of this name; it holds if each of its probes does."""

    owner = (1, 1)

    def __init__(self, name, *probes):
        self.name, self.probes = name, probes
        self.level = "none" if name == "none" else "full"

    async def probe(self):
        held = all(probe.held for probe in self.probes)
        words = ("", "") if held else (f"cause of {self.name}", f"remedy of {self.name}")
        return ProbeReport(self.name, self.probes, *words, 0.25, ("a note",))
