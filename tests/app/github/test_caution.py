"""Who reads a report learns that it was made without a full sandbox."""

from app.git.environment import CommitIdentity
from app.git.ref_names import commit_ref
from app.github.pulls.publisher import GitHubPublisher
from app.github.reporting.progress_text import Progress, render
from app.github.transport.texts import OutgoingText

CAUTION = "**Caution:** this ran without a sandbox."
BRANCH = "bot/1-accept-nine-digits-abc123"


async def test_the_progress_comment_says_so(scene):
    wording = OutgoingText(scene.github.urls, scene.request, scene.redactor)
    progress = Progress(scene.request, "run-1", caution=CAUTION)
    assert f"\n\n{CAUTION}\n\n" in render(progress, wording)
    assert "Caution" not in render(Progress(scene.request, "run-1"), wording)


async def test_the_pull_request_says_so_whatever_its_text_does(scene, mirror):
    publisher = GitHubPublisher(
        scene.github,
        mirror,
        scene.request,
        "run-1",
        scene.redactor,
        settle=0,
        caution=CAUTION,
    )
    base = await mirror.head_of("main")
    tree = (await mirror.git.local("rev-parse", f"{base}^{{tree}}")).decode().strip()
    ref = commit_ref("run-1", tree, base, "Step 1/1")
    who = CommitIdentity("fettle[bot]", "1+fettle[bot]@users.noreply.example")
    commit = await mirror.commit(ref, tree, base, message="Step 1/1", identity=who)
    await publisher.push(BRANCH, commit)
    opened = await publisher.open_pull_request(
        branch=BRANCH,
        commit=commit,
        title="Accept nine digits",
        body="### Why\n\nBecause.\n\n```text\n<!-- ",
        draft=False,
    )
    before, _, after = opened.body.partition(f"\n\n{CAUTION}\n\n")
    assert after.startswith("<!-- fettle")
    assert before.count("```") == 2, "what the text left open swallows the caution"
