"""Fakes of the ports about alerts: alerts, advisories and releases of actions in plain values."""

from __future__ import annotations

from dataclasses import dataclass, field

from agents.ports import ActionRepository, Knowledge


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


@dataclass
class MemoryActionReleases:
    """The port ActionReleases over plain values."""

    tags: dict = field(default_factory=dict)
    """The commit of each tag."""
    name: str | None = None
    """What a repository is called by now; None: as it was asked for; empty: nobody sees it."""
    branches: dict = field(default_factory=dict)
    goes_on: tuple = ()
    """Pairs of a ref and a commit that it goes on from."""
    days: dict = field(default_factory=dict)
    notes: dict = field(default_factory=dict)
    """What the releases of tags say."""
    permitted: bool = True
    now: dict = None
    """The commits of tags at the moment, where they are others than those that were listed."""
    asked: list = field(default_factory=list)

    async def find(self, repository):
        self.asked.append(("find", repository))
        name = repository if self.name is None else self.name
        return ActionRepository(name=name, tags=self.tags) if name else None

    async def find_commit(self, repository, tag):
        self.asked.append(("commit", repository, tag))
        tags = self.tags if self.now is None else self.now
        return "" if tag in self.branches else tags.get(tag, "")

    async def holds(self, repository, commit, ref):
        self.asked.append(("holds", repository, commit, ref))
        return (ref, commit) in self.goes_on

    async def find_day(self, repository, tag):
        return self.days.get(tag)

    async def read_notes(self, repository, tags):
        self.asked.append(("notes", repository, tuple(tags)))
        return {tag: self.notes[tag] for tag in tags if tag in self.notes}

    async def may_change_workflows(self):
        return self.permitted
