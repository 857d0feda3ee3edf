"""An earlier pull request is brought up to date: what people changed of it stays theirs."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from app.git.mirror.mirror import Mirror
from app.git.ref_names import branch_ref
from app.github.pulls.publisher import GitHubPublisher
from app.github.transport.tokens import Profile, Scope
from app.simulator.github.gitdir import GitDir

BRANCH = "bot/1-accept-nine-digits-abc123"


@pytest.fixture
async def mirror(scene, tmp_path):
    made = Mirror(tmp_path / "mirror.git")
    await made.fetch(scene.github.urls.clone("ada/parse"), await token(scene))
    return made


async def token(scene):
    scope = Scope.for_one(scene.installation.id, scene.repository.id, Profile.READ)
    return (await scene.github.broker.token(scope)).value


@pytest.fixture
def run(scene, mirror):
    """One run of the issue after the other, each as a process of its own."""

    class RepeatedRun:
        def __init__(self, run_id):
            self.run_id = run_id
            self.publisher = GitHubPublisher(
                scene.github, mirror, scene.request, run_id, scene.redactor, settle=0
            )

        async def sees(self, branch=BRANCH):
            """Fetch the branch as the run's source does."""
            url, ref = scene.github.urls.clone("ada/parse"), branch_ref(self.run_id, branch)
            return await mirror.fetch_branch(url, await token(scene), branch, ref)

        async def commit(self, parent, subject="Work"):
            tree = await mirror.git.local("rev-parse", f"{parent}^{{tree}}")
            who = ("-c", "user.name=x", "-c", "user.email=x@x")
            words = ("commit-tree", "-p", parent, "-m", subject, tree.decode().strip())
            return (await mirror.git.local(*who, *words)).decode().strip()

        async def publish(self, commit, *, title="Accept nine digits", body="Why.", draft=False):
            await self.publisher.push(BRANCH, commit)
            return await self.publisher.open_pull_request(
                branch=BRANCH, commit=commit, title=title, body=body, draft=draft, closes=(1,)
            )

    return RepeatedRun


@pytest.fixture
async def first(run, mirror):
    """The pull request of an earlier run, a draft."""
    earlier = run("run-1")
    return await earlier.publish(
        await earlier.commit(await mirror.head_of("main")), title="First words", draft=True
    )


async def publish_again(run, **more):
    later = run("run-2")
    head = await later.sees()
    return await later.publish(await later.commit(head), **more)


def find_pull(scene):
    return scene.repository.issues[2]


async def head(scene):
    return (await GitDir(scene.repository.gitdir).refs()).get(f"refs/heads/{BRANCH}")


# --- the branch -----------------------------------------------------------------------------------


async def test_the_branch_moves_on_and_stays_the_one(scene, run, first):
    pull = await publish_again(run)

    assert pull.number == first.number
    assert await head(scene) == pull.head
    assert len(list(scene.repository.pulls())) == 1
    assert find_pull(scene).pull.head_sha == pull.head


async def test_a_push_in_between_is_left_alone_and_the_work_finds_another_branch(scene, run, first):
    later = run("run-2")
    mine = await later.commit(await later.sees())
    bobs = await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="Mine", branch=BRANCH
    )
    with pytest.raises(RunError) as caught:
        await later.publisher.push(BRANCH, mine)

    said = str(caught.value)
    assert f"is at {bobs[:12]}, not at {first.head[:12]}" in said
    assert "somebody else changed it" in said
    assert "Nothing was overwritten" in said
    assert await head(scene) == bobs
    page = await later.publisher.push("bot/1-unfinished-f00", mine)
    assert page.endswith("/ada/parse/tree/bot/1-unfinished-f00")


async def test_what_somebody_took_away_does_not_come_back(scene, run, first, mirror):
    later = run("run-2")
    mine = await later.commit(await later.sees())
    main = await mirror.head_of("main")
    await GitDir(scene.repository.gitdir).update_ref(f"refs/heads/{BRANCH}", main)

    with pytest.raises(RunError, match="Nothing was overwritten"):
        await later.publisher.push(BRANCH, mine)

    assert await head(scene) == main


async def test_own_work_gives_way_to_what_takes_its_place(scene, run, first, mirror):
    later = run("run-2")
    mine = await later.commit(await mirror.head_of("main"), "Done anew")

    with pytest.raises(RunError, match="Nothing was overwritten"):
        await later.publisher.push(BRANCH, mine)
    await later.publisher.push(BRANCH, mine, replacing=first.head)
    await later.publisher.push(BRANCH, mine, replacing=first.head)

    assert await head(scene) == mine


async def test_what_somebody_pushed_meanwhile_does_not_give_way(scene, run, first, mirror):
    bobs = await scene.server.commit(
        scene.repository, {"a": "b"}, author=scene.people["bob"], message="Mine", branch=BRANCH
    )
    later = run("run-2")
    mine = await later.commit(await mirror.head_of("main"), "Done anew")

    with pytest.raises(RunError, match="Nothing was overwritten"):
        await later.publisher.push(BRANCH, mine, replacing=first.head)

    assert await head(scene) == bobs


async def test_a_rewritten_branch_is_not_taken_for_the_one_that_was_built_on(
    scene, run, first, mirror
):
    """The other history is in the mirror as well: only what was seen on the branch counts."""
    later = run("run-2")
    seen = await later.sees()
    other = await later.commit(await mirror.head_of("main"), "Another history")
    await later.publisher.push("bot/elsewhere", other)
    await GitDir(scene.repository.gitdir).update_ref(f"refs/heads/{BRANCH}", other)

    with pytest.raises(RunError, match=f"at {other[:12]}, not at {seen[:12]}"):
        await later.publisher.push(BRANCH, await later.commit(seen))

    assert await head(scene) == other


async def test_an_interrupted_update_goes_on(scene, run, first):
    later = run("run-2")
    one = await later.commit(await later.sees())
    await later.publisher.push(BRANCH, one)
    two = await later.commit(one)

    pull = await run("run-2").publish(two)

    assert (await head(scene), pull.number) == (two, first.number)


async def test_a_branch_that_is_gone_is_made_again_with_a_pull_request_of_its_own(
    scene, run, first
):
    later = run("run-2")
    mine = await later.commit(await later.sees())
    await scene.server.close_issue(scene.repository, first.number, scene.people["ada"])
    await GitDir(scene.repository.gitdir).run("update-ref", "-d", f"refs/heads/{BRANCH}")

    pull = await later.publish(mine)

    assert pull.number == 3
    assert find_pull(scene).state == "closed"


# --- its words ------------------------------------------------------------------------------------


async def test_our_words_are_brought_up_to_date(scene, run, first):
    pull = await publish_again(run, title="Second words", body="Another reason.")

    assert (pull.title, find_pull(scene).title) == ("Second words", "Second words")
    assert "Another reason." in find_pull(scene).body
    assert "run=run-2" in find_pull(scene).body
    assert find_pull(scene).comments == []
    third = await publish_again(run, title="Third words")
    assert third.title == "Third words", "our own edits are nobody else's"


async def test_a_description_that_a_person_edited_stays_and_ours_becomes_a_comment(
    scene, run, first
):
    words = f"{find_pull(scene).body}\n\nBob: please look at the lexer."
    await scene.server.edit_issue(scene.repository, 2, scene.people["bob"], body=words)
    before = find_pull(scene).body

    for _ in range(2):  # as after a crash
        pull = await publish_again(run, title="Second words", body="Another reason, fixes #7.")

    assert find_pull(scene).body == before == pull.body
    assert pull.title == "Second words"
    [comment] = find_pull(scene).comments
    assert comment.author.account.login == "fettle[bot]"
    assert "Somebody has edited the description" in comment.body
    assert "Another reason" in comment.body
    assert "`Resolves #1`" in comment.body
    assert "fixes #7" not in comment.body
    assert "key=pull-request -->" not in comment.body


async def test_an_edit_by_somebody_whose_account_is_gone_is_an_edit(scene, run, first):
    await scene.server.edit_issue(scene.repository, 2, scene.people["bob"], body="Bob's")
    find_pull(scene).editor = None

    await publish_again(run)

    assert find_pull(scene).body == "Bob's"


async def test_a_title_that_a_person_gave_stays(scene, run, first):
    await scene.server.edit_issue(scene.repository, 2, scene.people["bob"], title="Bob's title")

    pull = await publish_again(run, title="Second words", body="Another reason.")

    assert pull.title == find_pull(scene).title == "Bob's title"
    assert "Another reason." in find_pull(scene).body


async def test_another_bots_edit_is_not_ours(scene, run, first):
    other = scene.server.create_app("tidy", owner=scene.people["ada"])
    bot = scene.server.world.apps[other.app_id].bot
    await scene.server.edit_issue(scene.repository, 2, bot, body="Tidied")

    await publish_again(run)

    assert find_pull(scene).body == "Tidied"


# --- its draft ------------------------------------------------------------------------------------


async def test_our_draft_is_ended_when_the_work_is_done(scene, run, first):
    pull = await publish_again(run)

    assert not pull.draft
    assert not find_pull(scene).pull.draft
    assert [each.event for each in find_pull(scene).timeline].count("ready_for_review") == 1


async def test_a_draft_stays_one_while_the_work_is_not_done(scene, run, first):
    assert (await publish_again(run, draft=True)).draft
    assert find_pull(scene).pull.draft


async def test_a_draft_that_a_person_made_of_it_is_not_ended(scene, run, first):
    for draft in (False, True):
        await scene.server.set_draft(find_pull(scene).pull, scene.people["bob"], draft=draft)

    assert (await publish_again(run)).draft
    assert find_pull(scene).pull.draft


async def test_what_is_ready_never_becomes_a_draft(scene, run, first):
    await scene.server.set_draft(find_pull(scene).pull, scene.people["bob"], draft=False)

    assert not (await publish_again(run, draft=True)).draft
    assert not find_pull(scene).pull.draft


async def test_a_draft_that_github_will_not_end_is_told_as_one(scene, run, first, monkeypatch):
    def refuse(*_, **__):
        raise ValueError("Draft pull requests are not supported in this repository.")

    monkeypatch.setattr(scene.server.parts.pulls, "set_draft", refuse)

    pull = await publish_again(run, title="Second words")

    assert pull.draft
    assert find_pull(scene).title == "Second words"
