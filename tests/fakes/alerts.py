"""A fake of the port Alerts: alerts and advisories in plain lists."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.ports import Knowledge


@dataclass
class MemoryAlerts:
    """The port Alerts over plain lists."""

    advisories: tuple = ()
    others: tuple = ()
    """Open alerts about other packages of the folder."""
    closed: dict = field(default_factory=dict)
    """What has become of alerts, by number; the others are open."""
    pulls: tuple = ()
    pulls_of: dict = field(default_factory=dict)
    """Open pull requests by package, where they are not those of all."""
    database: tuple = ()
    """The advisories that GitHub knows beside the alerts."""
    complete: bool = True
    numbers: tuple = ()
    """Alerts that are not open any more."""
    said: dict = field(default_factory=dict)
    """What was said on pull requests, by number and key."""
    closed_pulls: list = field(default_factory=list)
    asked: list = field(default_factory=list)

    async def open(self, ecosystem, package):
        self.asked.append(("open", ecosystem, package))
        return self.advisories

    async def open_in_folder(self, ecosystem, directory):
        every = (*self.advisories, *self.others)
        return tuple(each for each in every if each.directory == directory)

    async def find_by_numbers(self, alerts):
        return tuple(each for each in self.numbers if each.alert in alerts)

    async def state(self, alert):
        return self.closed.get(alert, "open")

    async def find_open_pulls(self, ecosystem, package, directory):
        return self.pulls_of.get(package, self.pulls)

    async def find_published(self, ecosystem, versions):
        self.asked.append(("known", *sorted(versions)))
        names = {name for name, _ in versions}
        found = tuple(each for each in self.database if each.package in names)
        return Knowledge(complete=self.complete, advisories=found)

    async def say(self, pull, key, body):
        self.said[pull, key] = body
        return f"url/pull-{pull}"

    async def close_pull(self, pull, key, body):
        self.said[pull, key] = body
        self.closed_pulls.append(pull)
