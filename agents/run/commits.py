"""Commits that no work tree makes alone: merges, and a run's newest ones regrouped by subject."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agents.run.workspace import RunWorkspace
from agents.text import commit_text, one_line


@dataclass(frozen=True)
class Group:
    """A commit that is to be made."""

    subject: str
    body: str
    files: tuple[str, ...]
    """All files of the change that belong to it, those that it takes away as well."""


async def regroup(run: RunWorkspace, onto: str, groups: Sequence[Group]) -> tuple[str, ...]:
    """Put these commits in the place of all after `onto`; return their ids.

    The files in the end are the same as before: they were checked, what lies between was not.
    """
    source, tree, head = run.ports.source, await run.tree(), run.head
    permitted = dict.fromkeys(
        await tree.list_changed_paths(onto, head), head
    )  # it was let through before
    commits: list[str] = []
    for group in groups:
        files = await source.overlay(commits[-1] if commits else onto, head, group.files)
        subject = one_line(await run.format_subject(group.subject), 72)
        message = run.message(subject, commit_text(group.body))
        parent = commits[-1] if commits else onto
        commits.append(await tree.commit(files, parent, message, permitted=permitted))
    if commits:
        left = await tree.list_changed_paths(commits[-1], head)
        assert not left, "a change without a commit would be lost"
        run.update_state(head=commits[-1])
    return tuple(commits)


async def merge(run: RunWorkspace, theirs: str, files: str, subject: str, body: str = "") -> str:
    """Commit these files (a tree) as the merge of the run's head with `theirs`; return the commit.

    What the other branch brings to protected paths goes in as it stands there, and nothing else
    that nobody has agreed to.
    """
    tree, ours = await run.tree(files), run.head
    changed = set(await tree.list_changed_paths(ours, files)) - set(
        await tree.list_changed_paths(theirs, files)
    )
    permitted = dict.fromkeys(sorted(changed), theirs) | run.permitted
    message = run.message(one_line(subject, 72), commit_text(body))
    commit = await tree.commit(files, ours, message, permitted=permitted, merging=theirs)
    run.update_state(head=commit, merging=theirs)
    return commit
