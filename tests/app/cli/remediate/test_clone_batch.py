"""A clone beside the commands: it spares a download, or it is all there is; never more."""

from __future__ import annotations

import json
import shutil

import pytest

from agents.errors import ConfigError
from app.cli.remediate.clone_batch import RemediatingClone
from app.cli.remediate.terminal_session import SessionOptions
from app.clone.preconditions import start_at
from app.config.settings import load_settings
from app.git.mirror.mirror import Mirror
from app.operator.remediation_report import left_alone
from app.operator.remediation_requests import RemediationOptions
from app.operator.scan_file import read_scan
from app.secrets.redaction import Redactor
from tests.agents.pipelines.remediate.conftest import lock
from tests.app.cli.remediate.remediation_scene import shop
from tests.app.clone.test_resolve import make_hostile, snapshot
from tests.app.git.conftest import git

__all__ = ["shop"]  # a fixture
NAME = "octo-org/shop"


async def clone_shop(shop, path="clone", packages=("jinja2",), files=None):
    """Return a clone of the shop, as a person has it."""
    repository = await shop.repository("shop", packages, files)
    await shop.install()
    clone = shop.root / path
    git(shop.root, "clone", "-q", str(repository.gitdir), str(clone))
    git(clone, "remote", "set-url", "origin", f"{shop.github.url}/{NAME}.git")
    return clone


async def test_a_clone_is_named_by_its_folder_and_begins_the_mirror(shop):
    clone = await clone_shop(shop)
    (clone / "secret.txt").write_text("of nobody else\n")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "mine alone")
    mine = git(clone, "rev-parse", "HEAD")
    marker = shop.root / "marker"
    make_hostile(clone, marker)
    git(clone, "config", "include.path", "/nowhere")
    before = snapshot(clone)

    done = await shop.run("scan", str(clone))

    assert done.code == 0, done.err
    assert "taken from a clone on this machine" in done.err
    [mirror] = shop.mirrors
    assert not await Mirror(mirror).holds(mine)
    assert snapshot(clone) == before
    assert not marker.exists()
    again = await shop.run("scan", str(clone))
    assert (again.code, "taken from a clone" in again.err) == (0, False)


async def test_the_folder_one_stands_in_and_where_people_keep_clones(shop):
    clone = await clone_shop(shop, "home/src/shop")
    done = await shop.run("scan", NAME)
    assert "taken from a clone" in done.err
    shop.monkeypatch.chdir(clone)
    assert (await shop.run("scan")).code == 0
    shop.monkeypatch.chdir(shop.root)
    with pytest.raises(ConfigError, match="not in a git repository"):
        await shop.run("scan")


async def test_a_configured_folder(shop):
    clone = await clone_shop(shop)
    shop.settings(FETTLE_CLONES=json.dumps({NAME: str(clone)}))
    assert "taken from a clone" in (await shop.run("scan", NAME)).err


# --- without an App -----------------------------------------------------------------------------


async def clone_and_scan(shop, packages=("jinja2",), files=None):
    """Return a clone, and a scan of it; then there is no App any more."""
    clone = await clone_shop(shop, packages=packages, files=files)
    file = shop.root / "scan.json"
    file.write_text((await shop.run("scan", str(clone))).out)
    for name in ("APP_ID", "PRIVATE_KEY_FILE", "WEBHOOK_SECRETS"):
        shop.monkeypatch.delenv(f"FETTLE_{name}")
    await shop.github.stop()
    return clone, file


async def test_what_a_scan_found_is_mended_in_a_clone_without_github_and_without_a_model(shop):
    clone, file = await clone_and_scan(shop)
    before = snapshot(clone)
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"):
        shop.monkeypatch.delenv(name, raising=False)
    shop.monkeypatch.setenv("FETTLE_MODELS", "none")

    done = await shop.run("remediate", str(clone), from_scan=file)

    assert done.code == 0, done.err
    group = done.groups["jinja2"]
    assert (group["result"], group["level"], group["url"]) == ("fixed", 0, "")
    assert group["text"].startswith(f"Made the branch {group['branch']}: Update jinja2 from")
    assert "pull request" not in group["text"]
    assert json.loads(git(clone, "show", f"{group['branch']}:lock.json")) == {
        "versions": {"jinja2": "3.1.4", "sqlparse": "1.4.4", "stuck": "1.0.0"}
    }
    assert snapshot(clone) == before
    [kept] = (shop.server.data / "clones").iterdir()
    assert kept.name == f"done-{group['run']}"
    assert group["commit"] == git(clone, "rev-parse", group["branch"])


class Second(RemediatingClone):
    """Something is not set up right once the first group is done."""

    async def _group(self, start, name, found, others):
        if found.name == "sqlparse":
            raise ConfigError("Another command is at work.")
        return left_alone(found.group, "Moved.", "fixed")


async def test_packages_of_one_lock_file_become_one_branch_unless_one_is_chosen(shop):
    clone, file = await clone_and_scan(shop, ["jinja2", "sqlparse", "stuck"])

    done = await shop.run("remediate", str(clone), from_scan=file)

    first, second, third = (done.groups[each] for each in ("stuck", "jinja2", "sqlparse"))
    assert first["result"] == "fix_failed"  # it has no release, and takes nobody with it
    assert (second["result"], second["along"]) == ("fixed", ["sqlparse"])
    assert (third["result"], third["branch"]) == ("fixed", second["branch"])
    assert third["text"].startswith("It went along with jinja2")
    moved = json.loads(git(clone, "show", f"{second['branch']}:lock.json"))["versions"]
    assert moved == {"jinja2": "3.1.4", "sqlparse": "1.5.0", "stuck": "1.0.0"}
    assert len(git(clone, "rev-list", f"HEAD..{second['branch']}").split()) == 2

    chosen = await shop.run("remediate", str(clone), from_scan=file, packages=["sqlparse"])
    assert chosen.groups["sqlparse"]["along"] == []
    branch = chosen.groups["sqlparse"]["branch"]
    assert json.loads(git(clone, "show", f"{branch}:lock.json"))["versions"]["jinja2"] == "3.1.3"

    # What breaks later does not take the report away.
    wanted = SessionOptions(RemediationOptions("remediate"), machine_readable=True)
    session = Second(load_settings(serving=False), Redactor(), wanted)
    scan = read_scan(file)
    report = await session.report(await start_at(clone), scan.get_only(), scan)

    [told] = report.repositories
    assert [each.result for each in told.groups] == ["fixed", "fixed", "infra_error"]
    assert (report.exit_code, told.groups[2].text) == (6, "Another command is at work.")


async def test_a_major_version_that_breaks_a_check_is_a_branch_that_is_called_a_draft(shop):
    files = {
        "lock.json": lock(painter="1.0.0"),
        "wants.json": json.dumps({"painter": ["1.0.0"]}),
        "app.py": "import painter\n",
        "check.sh": "if grep -q 2.0.0 lock.json; then echo 'ValueError: no render'; exit 1; fi\n",
    }
    clone, file = await clone_and_scan(shop, ["painter"], files)
    shop.monkeypatch.setenv("FETTLE_MODELS", "none")

    done = await shop.run("remediate", str(clone), from_scan=file)

    assert done.code == 2, done.err
    group = done.groups["painter"]
    assert (group["result"], group["moved"]) == ("unverified", ["painter 1.0.0 -> 2.0.0"])
    assert group["text"].startswith(f"Made the branch {group['branch']}: Update painter from")
    assert "Worse than before: `unit`. A draft to go on with" in group["text"]
    assert "    ValueError: no render\n" in group["report"]
    assert "- `app.py:1` imports it" in group["report"]
    assert "2.0.0" in git(clone, "show", f"{group['branch']}:lock.json")

    again = await shop.run("remediate", str(clone), from_scan=file, shape="table")
    assert "A draft to go on with" in " ".join(again.out.split())


async def test_a_clone_at_another_commit_or_of_another_repository_is_refused(shop):
    clone, file = await clone_and_scan(shop)
    git(clone, "remote", "set-url", "origin", f"{shop.github.url}/octo-org/other.git")
    with pytest.raises(ConfigError, match="not about octo-org/other"):
        await shop.run("remediate", str(clone), from_scan=file)
    git(clone, "remote", "remove", "origin")
    (clone / "new.txt").write_text("x")
    git(clone, "add", "-A")
    git(clone, "commit", "-q", "-m", "next")
    with pytest.raises(ConfigError, match="Scan again"):
        await shop.run("remediate", str(clone), from_scan=file)
    git(clone, "checkout", "-q", "HEAD~1")

    done = await shop.run("remediate", str(clone), from_scan=file, no_pr=True)
    assert (done.code, done.groups["jinja2"]["result"]) == (0, "fixed")
    assert git(clone, "for-each-ref", "refs/heads/bot") == "", "not even a branch"

    # Without an App and without a scan, the missing settings are told.
    git(clone, "remote", "add", "origin", f"{shop.github.url}/{NAME}.git")
    with pytest.raises(ConfigError, match="FETTLE_APP_ID"):
        await shop.run("remediate", str(clone))
    shutil.rmtree(clone)
    with pytest.raises(ConfigError, match="no folder here"):
        await shop.run("remediate", "clone")
