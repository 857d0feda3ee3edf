"""What a run pushed is stated, signed, in a note on it: verified on a clone, and taken back."""

import json
import subprocess

from aiohttp import ClientSession

from app.simulator.github.gitdir import GitDir
from tests.flows.conftest import CHECKED
from tests.flows.forked import call_fettle

PAGES = {
    "FETTLE_PAGES": "people",
    "FETTLE_PAGES_PORT": "0",
    "FETTLE_PAGES_URL": "https://fettle.example",
}


def clone_of(place, folder):
    """Clone the repository with its notes, as somebody with a login would."""
    gitdir = place.repository.gitdir
    subprocess.run(["git", "clone", "-q", "--no-local", gitdir, folder], check=True)
    fetch = ["fetch", "-q", "origin", "+refs/notes/*:refs/notes/*", "+refs/heads/*:refs/heads/x/*"]
    subprocess.run(["git", "-C", folder, *fetch], check=True)
    return folder


async def test_a_pull_request_is_verified_without_trusting_the_server_and_taken_back(
    make_place, tmp_path
):
    async with make_place(CHECKED, **PAGES) as place:
        await place.label()
        await place.ends("pull_request")
        [pull] = place.pulls()
        assert "`fettle verify` in a clone says whether that holds" in pull.issue.body
        [check] = [c for c in place.repository.check_runs.values() if c.name == "fettle"]
        assert (check.conclusion, check.head_sha) == ("success", pull.head_sha)
        assert "Checked: `tests` passed." in check.output["summary"]
        page = check.details_url
        assert page.startswith("https://fettle.example/runs/")
        assert f"({page})" in place.progress()
        messages = "".join(message for _, message in await place.commits(pull))
        assert f"Fettle-Page: {page}/stages/implement/1\n" in messages
        async with (
            ClientSession() as session,
            session.get(f"{place.server.url}/.well-known/fettle-keys.json") as answer,
        ):
            (tmp_path / "keys.json").write_bytes(await answer.read())
        clone = clone_of(place, tmp_path / "clone")
        environment = {
            "PATH": "/usr/bin:/bin",
            "FETTLE_DATA_DIR": str(tmp_path / "elsewhere"),
            "FETTLE_GITHUB_URL": place.github.url,
        }

        async def verify(commit):
            arguments = (commit, "--clone", str(clone), "--keys", str(tmp_path / "keys.json"))
            return await call_fettle("verify", *arguments, environment=environment)

        code, out, err = await verify(pull.head_sha)
        assert (code, err) == (0, ""), out
        assert f"{pull.head_sha[:12]}: holds" in out
        assert "asked for by mara: octo-org/calc#1" in out
        assert "exit 0 in check_quality/1: python3 -B -m unittest -q" in out
        assert (await verify("main"))[0] == 2, "nothing was stated of it"
        code, out, err = await verify(f"octo-org/calc#{pull.issue.number}")
        assert (code, out) == (2, ""), "it is private"
        assert "could not be fetched without a login" in " ".join(err.split())
        place.repository.private = False
        code, out, _ = await verify(f"octo-org/calc#{pull.issue.number}")
        assert code == 0, out
        assert out.startswith(f"{pull.head_sha[:12]}: holds")

        note = await GitDir(place.repository.gitdir).run(
            "notes", "--ref=refs/notes/fettle", "show", pull.head_sha
        )
        statement = json.loads(note)
        assert not any(secret.encode() in note for secret in place.secrets())
        statement["payload"] = statement["payload"][:-8] + "AAAA" + statement["payload"][-4:]
        forged = ("notes", "--ref=refs/notes/fettle", "add", "-f", "-m", json.dumps(statement))
        who = ["-c", "user.name=Eve", "-c", "user.email=eve@example.com"]
        subprocess.run(["git", "-C", clone, *who, *forged, pull.head_sha], check=True)
        code, out, _ = await verify(pull.head_sha)
        assert code == 1
        assert "The signature: does not hold" in out
        assert "asked for by" not in out, "nothing of it is repeated"

        await place.say("jonas", "/bot undo")
        await place.say("mara", "/bot undo")
        words = "@mara, what the last run did is taken back"
        await place.wait_until(lambda: any(words in each for each in place.comments()))
        told = "\n".join(place.comments())
        assert "is deleted. Its commits stay" in told
        assert pull.issue.state == "closed"
        assert await place.branches() == []
        assert "**Taken back**, as @mara asked." in place.progress()
