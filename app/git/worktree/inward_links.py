"""Where the symbolic links of a tree lead, followed as the kernel would follow them."""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Mapping

MOST_LINKS = 40
"""Links that the kernel follows for one name: https://man7.org/linux/man-pages/man7/path_resolution.7.html"""


def leads_outside(
    path: str,
    links: Mapping[str, str],
    plain: Callable[[str], str],
    like_git: Callable[[str], bool],
) -> bool:
    """Tell whether the link at `path` leads out of the tree, or into git's own folder.

    `links`: the target of each link of the tree, by its path as `plain` spells it. A link is
    followed wherever it stands on the way, so `..` goes up from where it leads. What is not there
    counts as a folder: it may come to be one.
    """
    here = [part for part in posixpath.dirname(path).split("/") if part]
    ahead = [path.rsplit("/", 1)[-1]]
    followed = 0
    while ahead:
        part = ahead.pop()
        if part in ("", "."):
            continue
        if part == "..":
            if not here:
                return True
            here.pop()
            continue
        if like_git(part):
            return True
        target = links.get(plain("/".join([*here, part])))
        if target is None:
            here.append(part)
            continue
        followed += 1
        if followed > MOST_LINKS:
            return False  # nobody can follow it
        if not target or target.startswith("/"):
            return True
        ahead += reversed(target.split("/"))
    return False
