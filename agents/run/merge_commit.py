"""Merge another branch into the run's, as a commit with two parents."""

from __future__ import annotations

from agents.run.workspace import RunWorkspace
from agents.text import commit_text, one_line


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
    run.stands(head=commit, merging=theirs)
    return commit
