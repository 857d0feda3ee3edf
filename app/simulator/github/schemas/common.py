"""Accounts, Apps, installations and repositories as GitHub's REST API and webhooks show them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from urllib.parse import quote

from app.simulator.github.accounts import Account, App
from app.simulator.github.state.world import Installation, Repository, World

Json = Any

ACCOUNT_URLS = {
    "url": "",
    "followers_url": "/followers",
    "following_url": "/following{/other_user}",
    "gists_url": "/gists{/gist_id}",
    "starred_url": "/starred{/owner}{/repo}",
    "subscriptions_url": "/subscriptions",
    "organizations_url": "/orgs",
    "repos_url": "/repos",
    "events_url": "/events{/privacy}",
    "received_events_url": "/received_events",
}
REPOSITORY_URLS = {
    "url": "",
    "archive_url": "/{archive_format}{/ref}",
    "assignees_url": "/assignees{/user}",
    "blobs_url": "/git/blobs{/sha}",
    "branches_url": "/branches{/branch}",
    "collaborators_url": "/collaborators{/collaborator}",
    "comments_url": "/comments{/number}",
    "commits_url": "/commits{/sha}",
    "compare_url": "/compare/{base}...{head}",
    "contents_url": "/contents/{+path}",
    "contributors_url": "/contributors",
    "deployments_url": "/deployments",
    "downloads_url": "/downloads",
    "events_url": "/events",
    "forks_url": "/forks",
    "git_commits_url": "/git/commits{/sha}",
    "git_refs_url": "/git/refs{/sha}",
    "git_tags_url": "/git/tags{/sha}",
    "hooks_url": "/hooks",
    "issue_comment_url": "/issues/comments{/number}",
    "issue_events_url": "/issues/events{/number}",
    "issues_url": "/issues{/number}",
    "keys_url": "/keys{/key_id}",
    "labels_url": "/labels{/name}",
    "languages_url": "/languages",
    "merges_url": "/merges",
    "milestones_url": "/milestones{/number}",
    "notifications_url": "/notifications{?since,all,participating}",
    "pulls_url": "/pulls{/number}",
    "releases_url": "/releases{/id}",
    "stargazers_url": "/stargazers",
    "statuses_url": "/statuses/{sha}",
    "subscribers_url": "/subscribers",
    "subscription_url": "/subscription",
    "tags_url": "/tags",
    "teams_url": "/teams",
    "trees_url": "/git/trees{/sha}",
}
NOT_MODELLED: Mapping[str, Json] = {
    "homepage": None,
    "language": None,
    "license": None,
    "mirror_url": None,
    "disabled": False,
    "has_issues": True,
    "has_projects": False,
    "has_wiki": False,
    "has_pages": False,
    "has_downloads": True,
    "has_discussions": False,
    "forks": 0,
    "forks_count": 0,
    "stargazers_count": 0,
    "watchers": 0,
    "watchers_count": 0,
    "size": 0,
    "allow_forking": True,
    "is_template": False,
    "web_commit_signoff_required": False,
    "topics": [],
}

UNLISTED = frozenset(("dependabot_alert",))
"""Events that GitHub's schema of a webhook's App does not know, though Apps may hear of them."""


def moment(at: datetime) -> str:
    """Return a time as GitHub writes it."""
    return at.strftime("%Y-%m-%dT%H:%M:%SZ")


def maybe_moment(at: datetime | None) -> str | None:
    """Return a time as GitHub writes it, or null."""
    return moment(at) if at else None


def account_page(world: World, account: Account) -> str:
    """Return where people read about an account; a bot's page is its App's."""
    if account.kind == "Bot":
        return f"{world.url}/apps/{account.login.removesuffix('[bot]')}"
    return f"{world.url}/{account.login}"


def account_json(world: World, account: Account) -> Json:
    """Return `simple-user`."""
    root = f"{world.api}/users/{quote(account.login)}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "avatar_url": f"{world.url}/avatars/{account.id}",
        "gravatar_id": "",
        "html_url": account_page(world, account),
        "type": account.kind,
        "user_view_type": "public",
        "site_admin": False,
        **{name: root + suffix for name, suffix in ACCOUNT_URLS.items()},
    }


def organization_json(world: World, account: Account) -> Json:
    """Return `organization-simple`."""
    root = f"{world.api}/orgs/{account.login}"
    return {
        "login": account.login,
        "id": account.id,
        "node_id": account.node_id,
        "url": root,
        **{f"{name}_url": f"{root}/{name}" for name in ("repos", "events", "hooks", "issues")},
        "members_url": f"{root}/members{{/member}}",
        "public_members_url": f"{root}/public_members{{/member}}",
        "avatar_url": f"{world.url}/avatars/{account.id}",
        "description": None,
    }


def public_account_json(world: World, account: Account) -> Json:
    """Return `public-user`."""
    unknown = ("company", "location", "email", "hireable", "bio", "twitter_username")
    own = [each for each in world.repositories.values() if each.owner is account]
    return account_json(world, account) | {
        "name": account.name,
        "blog": "",
        **dict.fromkeys(unknown),
        "public_repos": sum(not each.private for each in own),
        "public_gists": 0,
        "followers": 0,
        "following": 0,
        "created_at": moment(account.created_at),
        "updated_at": moment(account.created_at),
    }


def app_json(world: World, app: App) -> Json:
    """Return `integration`."""
    return {
        "id": app.id,
        "client_id": app.client_id,
        "slug": app.slug,
        "node_id": app.node_id,
        "owner": account_json(world, app.owner),
        "name": app.slug,
        "description": "",
        "external_url": f"{world.url}/apps/{app.slug}",
        "html_url": f"{world.url}/apps/{app.slug}",
        "created_at": moment(app.created_at),
        "updated_at": moment(app.created_at),
        "permissions": app.permissions,
        "events": app.events,
    }


def via_json(world: World, app: App | None) -> Json:
    """Return `performed_via_github_app`."""
    if app is None:
        return None
    heard = [each for each in app.events if each not in UNLISTED]
    return app_json(world, app) | {"events": heard}


def installation_json(world: World, installation: Installation) -> Json:
    """Return `installation`."""
    by = installation.suspended_by
    root = f"{world.api}/app/installations/{installation.id}"
    return {
        "id": installation.id,
        "client_id": installation.app.client_id,
        "account": account_json(world, installation.account),
        "repository_selection": installation.selection,
        "access_tokens_url": f"{root}/access_tokens",
        "repositories_url": f"{world.api}/installation/repositories",
        "html_url": f"{world.url}/settings/installations/{installation.id}",
        "app_id": installation.app.id,
        "app_slug": installation.app.slug,
        "target_id": installation.account.id,
        "target_type": installation.account.kind,
        "permissions": installation.permissions,
        "events": installation.app.events,
        "created_at": moment(installation.created_at),
        "updated_at": moment(installation.created_at),
        "single_file_name": None,
        "has_multiple_single_files": False,
        "single_file_paths": [],
        "suspended_by": account_json(world, by) if by else None,
        "suspended_at": maybe_moment(installation.suspended_at),
    }


def brief_repository_json(repository: Repository) -> Json:
    """Return how events about installations name a repository."""
    return {
        "id": repository.id,
        "node_id": repository.node_id,
        "name": repository.name,
        "full_name": repository.full_name,
        "private": repository.private,
    }


def repository_json(world: World, repository: Repository) -> Json:
    """Return `repository`; `full-repository` needs no more than two counters on top."""
    root = f"{world.api}/repos/{repository.full_name}"
    web = f"{world.url}/{repository.full_name}"
    still_open = sum(issue.state == "open" for issue in repository.issues.values())
    return {
        "id": repository.id,
        "node_id": repository.node_id,
        "name": repository.name,
        "full_name": repository.full_name,
        "private": repository.private,
        "visibility": "private" if repository.private else "public",
        "owner": account_json(world, repository.owner),
        "html_url": web,
        "description": repository.description,
        **{name: root + suffix for name, suffix in REPOSITORY_URLS.items()},
        "created_at": moment(repository.created_at),
        "updated_at": moment(repository.pushed_at),
        "pushed_at": moment(repository.pushed_at),
        "git_url": f"{web}.git",
        "ssh_url": f"{web}.git",
        "clone_url": f"{web}.git",
        "svn_url": web,
        "default_branch": repository.default_branch,
        "archived": repository.archived,
        "fork": repository.parent is not None,
        "open_issues": still_open,
        "open_issues_count": still_open,
        **NOT_MODELLED,
    }


def full_repository_json(world: World, repository: Repository) -> Json:
    """Return `full-repository`."""
    counted = {"network_count": 0, "subscribers_count": 0}
    whole, parent = repository_json(world, repository) | counted, repository.parent
    if parent is None:
        return whole
    origin = repository_json(world, parent)
    return whole | {"parent": origin, "source": origin}


def minimal_repository_json(world: World, repository: Repository) -> Json:
    """Return `minimal-repository`."""
    whole = repository_json(world, repository)
    return {name: value for name, value in whole.items() if name not in {"license", "language"}}
