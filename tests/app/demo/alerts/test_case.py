"""The demo's alerts: real ones as files, and a made-up one for where no index has the real ones."""

import shutil

import pytest

from app.demo.alerts.case import CASES, _read, made_up_case
from app.demo.alerts.exploit_check import ExploitSandbox
from app.demo.package_index.releases import package_lock
from app.demo.package_index.server import LocalIndex
from app.simulator.github import LocalGitHub
from tests.app.conftest import open_folder, sandbox

__all__ = ["open_folder", "sandbox"]  # fixtures


@pytest.mark.parametrize("folder", sorted(CASES.iterdir()), ids=lambda folder: folder.name)
def test_a_real_case_is_whole_and_names_no_index(folder):
    case = _read(folder)
    assert case.about.package == folder.name
    assert case.about.manifest in case.files
    assert case.about.exploit.before != case.about.exploit.after
    assert not [path for path, text in case.files.items() if "://" in text]


@pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed here")
async def test_the_made_up_attack_works_with_what_is_locked_and_not_with_the_safe_release(
    sandbox, open_folder
):
    case = made_up_case()
    risky, safe, above = case.releases
    index = await LocalIndex.start(case.releases)
    github = await LocalGitHub.start(open_folder / "github")
    try:
        for path, text in case.files.items():
            (open_folder / "source" / path).parent.mkdir(parents=True, exist_ok=True)
            (open_folder / "source" / path).write_text(text)
        owner = github.create_organization("octo-org")
        repository = await github.create_repository(owner, "x", source=open_folder / "source")
        fixed = package_lock("tool", {"demo-settings": "^2.0.0"}, [safe, above])
        author = github.create_user("mara")
        files = {f"js/{name}": text for name, text in fixed.items()}
        await github.commit(repository, files, author=author, message="Fix", branch="fixed")

        lab = ExploitSandbox(sandbox, repository.gitdir, open_folder / "tries", index.environment)
        shown = [await lab.shows(case.about, each) for each in ("main", "fixed")]
    finally:
        await github.stop()
        await index.stop()

    assert shown == [case.about.exploit.before, case.about.exploit.after]
    assert (risky.version, safe.version) == ("1.0.0", case.about.patched)
