"""Where a run stands, its files, and the commits that are made of them."""

from __future__ import annotations

import asyncio
import hashlib
import re
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel

from agents.analysis.known_packages import (
    KnownPackages,
    list_known_paths,
    read_known_packages,
)
from agents.errors import SignaturesRequired
from agents.loop.turns import last_tree
from agents.policy import POLICY_PATH, PinnedPolicy, Policy, parse_policy
from agents.ports import SetupResult, WorkTree
from agents.requests import Person, Request
from agents.run.naming import branch_name, commit_message, to_conventional
from agents.run.state import RunPorts, RunState
from agents.text import commit_text, one_line

M = TypeVar("M", bound=BaseModel)
_COMMIT = re.compile(r"\b[0-9a-f]{40}(?:[0-9a-f]{24})?\b")


@dataclass(kw_only=True)
class RunWorkspace:
    """The parts of a run that need no model: its request, ports, policy, state and commits."""

    id: str
    request: Request
    ports: RunPorts
    given: PinnedPolicy | None = None
    """The policy that it was admitted under; None: that of the newest commit of its trunk holds."""
    standing: RunState = field(default_factory=RunState)
    current: str = ""
    """The stage occurrence at work, like `implement/2`."""
    summary: str = ""
    """What the stage at work wants people to read beside its name."""
    noreply: str = "users.noreply.github.com"
    """The host of GitHub's no-reply addresses, for the co-author trailer."""
    pages: str = ""
    """The address of the pages, where whoever can read the repository can see the run."""
    wall: Callable[[], float] = time.time
    left_by: str = ""
    """The stage occurrence that the run did not get through, if it ends early."""
    _tree: WorkTree | None = None
    _policy: Policy | None = None
    _known: KnownPackages | None = None
    _tree_at: str | None = None
    """What the files are; None: nobody knows, so they are put back before they are used."""
    _opened_for: str = ""
    _shown: str = ""
    """The commits that the work tree was opened for, and whose dependencies its commands see."""
    _permitted: dict[str, str] = field(default_factory=dict)
    """Protected paths that people let the stage at work change, each with a tree that has there
    what they said yes to."""

    @property
    def trunk(self) -> str:
        """Return the newest commit of the default branch, as of the run's start."""
        return self.standing.trunk

    @property
    def base(self) -> str:
        """Return the commit that the change is compared with; empty before `prepare`."""
        return self.standing.base

    @property
    def start(self) -> str:
        """Return the commit after which the run's own ones begin."""
        return self.standing.start

    @property
    def head(self) -> str:
        """Return the newest commit of the run."""
        return self.standing.head

    @property
    def branch(self) -> str:
        """Return the branch of the open pull request that the run goes on with, if any."""
        return self.standing.branch

    @property
    def merging(self) -> str:
        """Return the commit of another branch that the run brings in, if it does."""
        return self.standing.merging

    @property
    def foundation(self) -> str:
        """Return the commit whose dependencies the work tree is given."""
        return self.standing.foundation or self.base

    @property
    def foreign(self) -> bool:
        """Return whether nothing of the run may be pushed: it stands on commits of a fork."""
        return self.standing.foreign

    @property
    def pushed(self) -> bool:
        """Return whether what the run made stands on its pull request already."""
        return self.standing.pushed

    @property
    def _branch_head(self) -> str:
        return self.standing.start if self.branch else ""

    @property
    def unchanged(self) -> bool:
        """Return whether the run has committed nothing so far."""
        return self.standing.head == self.standing.start

    @property
    def mark(self) -> str:
        """Return a short word that tells this run's branch from those of other runs."""
        return hashlib.sha256(self.id.encode()).hexdigest()[:6]

    def summarize(self, text: str) -> None:
        """Say what people read beside the stage's name."""
        self.summary = text

    async def install(self, own: str = "") -> SetupResult:
        """Install what the work tree needs, in the image that the run's commands run in.

        `own`: a commit of the run for which that is done; by default what it stands on.
        """
        image, commit = self.standing.image, own or self.foundation
        policy = await self.policy()
        made = await self.ports.source.set_up(commit, policy, image, own=bool(own))
        return made.model_copy(update={"image": image})

    def update_state(self, **changes: object) -> None:
        """Note where the run stands now, by fields of `RunState`."""
        self.standing = self.standing.model_copy(update=changes)

    async def policy(self) -> Policy:
        """Return the policy as of the run's start: the one that it was admitted under.

        Set-up commands that a second look found stand in it, where it names none.
        """
        if self._policy is None and self.given is not None:
            self._policy = self.given.policy()
        if self._policy is None:
            self._policy = parse_policy(await self.ports.source.show(self.trunk, POLICY_PATH))
        found = self.standing.setup
        if found is None or not found.holds or self._policy.setup.run is not None:
            return self._policy
        setup = self._policy.setup.model_copy(update={"run": found.commands})
        return self._policy.model_copy(update={"setup": setup})

    async def read_texts(self, commit: str, paths: Iterable[str]) -> dict[str, str]:
        """Return the texts of files as a commit has them; empty ones where it has none."""
        show = self.ports.source.show
        return {
            path: (await show(commit, path) or b"").decode("utf-8", "replace") for path in paths
        }

    async def find_known_packages(self) -> KnownPackages:
        """Return the packages that the default branch names, which need no person's yes."""
        source, trunk = self.ports.source, self.trunk
        if not trunk:
            return KnownPackages()
        if self._known is None:
            paths = await asyncio.to_thread(list_known_paths, await source.files(trunk))
            texts = await self.read_texts(trunk, paths)
            self._known = await asyncio.to_thread(read_known_packages, trunk, texts)
        return self._known

    async def tree(
        self,
        at: str | None = None,
        *,
        changing: bool = False,
        pristine: bool = False,
        set_up_for: str = "",
    ) -> WorkTree:
        """Return the work tree with the files of `at` (a commit or tree), `head` by default.

        `changing`: what is done with it may change files. `pristine`: ignored files, which no
        commit holds, are taken away as well. `set_up_for`: the commit whose dependencies commands
        see, where they are not those that the run stands on.
        """
        at = at or self.head
        if self._tree is None:  # also after people were waited for: its files were taken away
            open_tree, image = self.ports.source.open, self.standing.image
            self._tree = await open_tree(self.foundation, await self.policy(), image)
            self._opened_for = self._shown = self.foundation
        if self._shown != (wanted := set_up_for or self._opened_for):
            await self._tree.use_set_up(wanted)
            self._shown, pristine = wanted, True
        if self._tree_at != at or pristine:
            self._tree_at = None
            await self._tree.restore(at, pristine=pristine)
        self._tree_at = None if changing else at
        return self._tree

    def let_go(self) -> None:
        """Forget the work tree: while the run waits its files may be taken away."""
        self._tree, self._tree_at, self._policy = None, None, None

    @property
    def left(self) -> str:
        """Return the files as the stage left them: a commit or tree."""
        return self._tree_at or self.head

    @property
    def permitted(self) -> dict[str, str]:
        """Return what people let the stage change, as `WorkTree.commit` takes it."""
        return dict(self._permitted)

    @property
    def at_work(self) -> WorkTree:
        """Return the work tree as it is at this moment, while a conversation goes on."""
        assert self._tree is not None, "a conversation has its files"
        return self._tree

    async def write(self, files: Mapping[str, bytes]) -> None:
        """Write these files on top of what the stage left; the next `commit` takes them."""
        tree = await self.tree(self._tree_at, changing=True)
        for path, data in files.items():
            await tree.write(path, data)
        self._tree_at = await tree.snapshot()

    async def commit(
        self,
        subject: str,
        body: str = "",
        *,
        onto: str = "",
        credit: Person | None = None,
        moves_action: str = "",
    ) -> str | None:
        """Commit the files as the stage left them; None when nothing changed.

        `onto`: an earlier commit of the run; the new one takes the place of all since then.
        `credit`: whose change it is, where that is not who asked for the run. `moves_action`: the
        action of which code alone has changed the release that is used, and nothing else.
        """
        files = self.left
        tree = await self.tree(files)
        if not await tree.list_changed_paths(self.head, files):
            return None
        permitted = self.permitted
        if onto:  # what was let through before is let through in the commit that replaces it
            permitted = (
                dict.fromkeys(await tree.list_changed_paths(onto, self.head), self.head) | permitted
            )
        subject = one_line(await self.format_subject(subject), 72)
        message = self.message(subject, commit_text(body), credit)
        commit = await tree.commit(
            files, onto or self.head, message, permitted=permitted, moves_action=moves_action
        )
        self.update_state(head=commit)
        self._tree_at = commit
        return commit

    async def push(self, branch: str, *, replacing: str = "", commit: str = "") -> str:
        """Push what the run has committed, signed where it has to be; return the branch's page.

        `commit`: up to which of its commits; all of them by default. They have other ids after
        that, where they were signed: see `rename_commits_in`.
        """
        publisher, signing = self.ports.publisher, (await self.policy()).commits.signing
        if signing == "github" or await self._is_signed():
            await self._sign()
        try:
            return await publisher.push(branch, self.find_signed(commit), replacing=replacing)
        except SignaturesRequired:
            if signing == "none" or not await self._sign():
                raise
            return await publisher.push(branch, self.find_signed(commit), replacing=replacing)

    def find_signed(self, commit: str) -> str:
        """Return what stands for a commit of the run since it was signed; for none, its newest."""
        return self.standing.signed.get(commit, commit) or self.head

    async def _is_signed(self) -> bool:
        """Return whether this push was begun before, and what is signed may be there already."""
        signer = self.ports.signer
        return signer is not None and not self.unchanged and await signer.has_signed(self.head)

    async def _sign(self) -> bool:
        """Go on with signed commits in the place of the run's own; False where nobody signs."""
        if self.ports.signer is None or self.unchanged:
            return False
        signed = await self.ports.signer.sign(self.start, self.head, merging=self.merging)
        if not signed:
            return False
        self.update_state(
            head=signed[self.head],
            foundation=signed.get(self.standing.foundation, self.standing.foundation),
            signed={**self.standing.signed, **signed},
        )
        return True

    def rename_commits_in(self, value: M) -> M:
        """Return the value with the ids that the run's commits have since they were signed."""
        if not self.standing.signed:
            return value
        return value.model_validate_json(
            _COMMIT.sub(
                lambda found: self.standing.signed.get(found[0], found[0]), value.model_dump_json()
            )
        )

    async def format_subject(self, subject: str) -> str:
        """Return the first line of a commit, or a title, as the repository's policy wants it."""
        if (await self.policy()).commits.style == "plain":
            return subject
        kind, stage = self.request.kind, self.current.partition("/")[0]
        return to_conventional(subject, request=kind, stage=stage, about=self.standing.about)

    async def new_branch(self, *words: str) -> str:
        """Return the name of a branch of these words, as the repository's policy wants it."""
        return branch_name((await self.policy()).branches.folder, *words)

    def message(self, subject: str, body: str, credit: Person | None = None) -> str:
        """Return a commit's message with what says whose it is, and which run made it."""
        credit = credit or self.request.asked_by
        return commit_message(
            subject,
            body,
            run=self.id,
            stage=self.current,
            credit=credit,
            noreply=self.noreply,
            pages=self.pages,
        )

    async def what_is_left(self, stage: str = "") -> str:
        """Return the files as the stage left them (a tree) that the run did not get through.

        Empty where it changed none. What it had come to before it waited counts as well. `stage`:
        its occurrence, where the run has gone on since.
        """
        stage = stage or self.left_by
        for session in {stage, *self.standing.sessions.values()}:  # one of them is its own
            if tree := last_tree(await self.ports.journal.turns(session), stage):
                return tree
        return ""
