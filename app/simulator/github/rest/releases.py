"""REST endpoints of tags and releases, which everybody may read of what is public."""

from __future__ import annotations

from app.simulator.github.answers import Answer, Json, not_found, require_found
from app.simulator.github.calls import Call
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.git import annotated_tag_json, release_json, tag_json

routes = Routes()
TAGS = "refs/tags/"


@routes.add("GET", "/tags", scope="public", needs="metadata=read")
async def list_tags(call: Call) -> Answer:
    """Return the tags, each with its commit, also where a tag of its own stands between them.

    https://docs.github.com/rest/repos/repos#list-repository-tags
    """
    found = await call.git.commits_of(TAGS)
    return call.page(
        [
            tag_json(call.world, call.repository, ref.removeprefix(TAGS), sha)
            for ref, sha in sorted(found.items(), reverse=True)
        ]
    )


@routes.add("GET", "/git/tags/{sha}", scope="public", needs="contents=read")
async def get_annotated_tag(call: Call) -> Json:
    """Return a tag that is an object of its own.

    https://docs.github.com/rest/git/tags#get-a-tag
    """
    sha = call.request.match_info["sha"]
    found = await call.git.refs(TAGS)
    name = next((ref.removeprefix(TAGS) for ref, each in found.items() if each == sha), "")
    commit = (await call.git.commits_of(TAGS)).get(TAGS + name)
    if commit is None or commit == sha:
        raise not_found()
    [about] = await call.git.commits(commit, limit=1)
    return annotated_tag_json(call.world, call.repository, (name, sha), about)


@routes.add("GET", "/releases/tags/{tag:.+}", scope="public", needs="contents=read")
async def get_release(call: Call) -> Json:
    """Return the release of a tag.

    https://docs.github.com/rest/releases/releases#get-a-release-by-tag-name
    """
    tag = call.request.match_info["tag"]
    published = require_found(call.repository.releases.get(tag))
    return release_json(call.world, call.repository, tag, published)
