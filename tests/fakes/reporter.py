"""The port Reporter, which tells people how their run is going: here it only remembers."""

from __future__ import annotations


class RecordingReporter:
    """Remembers every call, its name first."""

    def __init__(self):
        self.calls = []

    def stage_started(self, stage, title):
        self.calls.append(("stage_started", stage, title))

    def stage_finished(self, stage, summary):
        self.calls.append(("stage_finished", stage, summary))

    def tool_called(self, stage, tool, subject):
        self.calls.append(("tool_called", stage, tool, subject))

    def report_spending(self, usage, cost_usd, answers):
        self.calls.append(("report_spending", usage, cost_usd, answers))

    def report_parked(self, stage, approvals):
        self.calls.append(("report_parked", stage, approvals))

    def report_pause(self, stage, why):
        self.calls.append(("report_pause", stage, why))

    def calls_of(self, name):
        """Return the arguments of each call of this name."""
        return [call[1:] for call in self.calls if call[0] == name]

    def list_events(self):
        """Return what was told, each with the stage that it is about."""
        return [call[:2] for call in self.calls]
