"""What GitHub says now of a pull request becomes the facts that the rules judge."""

from __future__ import annotations

import pytest

from agents.errors import RunError
from agents.requests import AddressReview, FixChecks, Person
from app.github.access.pull_request_facts import pull_facts
from app.github.transport.idempotent_comments import make_marker
from app.github.transport.tokens import Profile
from app.simulator.github.accounts import Actor
from app.simulator.github.state.reviews import Inline
from handlers.access.pull_requests import decide
from handlers.pull_request_review import is_praise


class Desk:
    """A pull request, and what would be asked about it."""

    def __init__(self, scene, client, own, pull):
        self.scene, self.client, self.own, self.pull = scene, client, own, pull

    def request(self, kind=AddressReview, who="bob", **changes):
        scene, issue = self.scene, self.pull.issue
        person = scene.people[who]
        about = {
            "installation_id": scene.request.installation_id,
            "repository": scene.request.repository,
            "number": issue.number,
            "title": issue.title,
            "author": Person(id=1, login="whoever"),
            "asked_by": Person(id=person.id, login=person.login),
            "url": f"{scene.server.url}/ada/parse/pull/{issue.number}",
        }
        return kind(**{**about, **changes})

    async def facts(self, request, *, covered=False):
        return await pull_facts(self.client, request, self.own, covered=covered)

    async def review(self, who, body="", **more):
        return await self.scene.server.submit_review(
            self.pull, self.scene.people[who], body, **more
        )

    async def find_rule(self, review, who="bob"):
        """Return the rule that speaks against a review, if one does."""
        request = self.request(who=who, review_id=review.id)
        refusal = decide(request, await self.facts(request))
        return refusal and refusal.rule

    async def label(self, who):
        scene, number = self.scene, self.pull.issue.number
        await scene.server.label_issue(scene.repository, number, "bot:address", scene.people[who])


async def open_pull(scene, author, app=None):
    """Return a pull request with one changed file."""
    server, repository = scene.server, scene.repository
    files = {"a.py": "1\n2\n"}
    ada = scene.people["ada"]
    sha = await server.commit(repository, files, author=ada, message="Fix", branch="bot/9-fix")
    pull = await server.parts.pulls.open(
        repository, Actor(author, app), title="Fix", body="", head="bot/9-fix", base="main"
    )
    assert pull.head_sha == sha
    return pull


@pytest.fixture
async def client(scene):
    return await scene.github.installation(scene.installation.id, scene.repository.id, Profile.READ)


@pytest.fixture
async def desk(scene, client):
    """A desk at Fettle's own pull request."""
    app = scene.server.world.apps[scene.app.app_id]
    pull = await open_pull(scene, app.bot, app)
    return Desk(scene, client, await scene.github.identity(client), pull)


@pytest.fixture
async def foreign(scene, client):
    """A desk at a pull request of somebody who may not write."""
    pull = await open_pull(scene, scene.people["mallory"])
    return Desk(scene, client, await scene.github.identity(client), pull)


async def test_a_review_that_asks_for_changes(desk):
    review = await desk.review("bob", "Not so.", state="CHANGES_REQUESTED")
    request = desk.request(review_id=review.id)
    facts = await desk.facts(request)

    assert (facts.own, facts.pull_open, facts.role_name) == (True, True, "write")
    assert facts.head == desk.pull.head_sha
    assert (facts.review_state, facts.has_substance) == ("changes_requested", True)
    assert decide(request, facts) is None


async def test_one_that_only_comments_has_a_text_or_begins_a_thread(desk):
    said = await desk.review("bob", "Rename it.")
    inline = await desk.review("bob", comments=[Inline("a.py", 1, "Why?")])
    assert await desk.find_rule(said) is None
    assert await desk.find_rule(inline) is None


async def test_a_reply_counts_in_a_thread_in_which_we_have_spoken_and_in_no_other(desk):
    """GitHub wraps each reply into a review of its own."""
    scene, bob = desk.scene, desk.scene.people["bob"]
    inline = await desk.review("bob", comments=[Inline("a.py", 1, "Why?")])
    [remark] = inline.remarks
    reply = await scene.server.reply(remark.thread, bob, "And here?")
    assert reply.review is not inline
    assert await desk.find_rule(reply.review) == "review-has-substance"

    app = scene.server.world.apps[scene.app.app_id]
    await scene.server.reply(remark.thread, app.bot, "Because.")
    for words, rule in (("I see.", "review-has-substance"), ("No.", None)):
        reply = await scene.server.reply(remark.thread, bob, words)
        assert await desk.find_rule(reply.review) == rule


async def test_any_answer_to_a_question_of_ours_counts(desk):
    """`OK` is praise elsewhere; where we asked, it decides."""
    scene, bob = desk.scene, desk.scene.people["bob"]
    inline = await desk.review("bob", comments=[Inline("a.py", 1, "Why?")])
    [remark] = inline.remarks
    app = scene.server.world.apps[scene.app.app_id]
    asked = f"{make_marker('run-1', 'thread-needs_human')}\nShall it go?"
    await scene.server.reply(remark.thread, app.bot, asked)
    for words in ("OK", "Great.", "Yes, change it."):
        reply = await scene.server.reply(remark.thread, bob, words)
        assert await desk.find_rule(reply.review) is None

    await scene.server.reply(remark.thread, app.bot, "Done.")
    reply = await scene.server.reply(remark.thread, bob, "Great.")
    assert await desk.find_rule(reply.review) == "review-has-substance"


@pytest.mark.parametrize(
    ("body", "inline", "asks"),
    [
        ("Yes.", None, True),
        ("Fix this.", None, True),
        ("Change it!", None, True),
        ("Go with this.", None, True),
        ("Yes, change it.", None, True),
        ("Okay, go", None, True),
        ("I see the change, fix the rest", None, True),
        ("Nice fix! Good to go.", None, False),
        ("Great work, thank you!", None, False),
        ("Ship it.", "Nice.", False),
        ("LGTM :tada:", None, False),
        ("Vielen Dank!", None, False),
        ("Merci beaucoup \N{PARTY POPPER}", "谢谢\N{FULLWIDTH EXCLAMATION MARK}", False),
        ("Danke, aber nenn es anders.", None, True),
        ("Bien", None, True),
        ("谢谢\N{FULLWIDTH QUESTION MARK}", None, True),
        ("\N{THINKING FACE}", None, True),
        ("\N{THUMBS UP SIGN}", None, False),
        ("\N{THUMBS DOWN SIGN}", None, True),
        (":-1:", None, True),
        (":confused:", None, True),
        ("", None, False),
        ("Please fix this before you merge.", None, True),
        ("Looks good, but rename it.", None, True),
        ("LGTM", "This hides the builtin.", True),
        ("Looks good?", None, True),
    ],
)
@pytest.mark.parametrize("state", ["APPROVED", "COMMENTED"])
async def test_praise_asks_for_nothing_and_a_remark_does(desk, body, inline, asks, state):
    comments = [Inline("a.py", 1, inline)] if inline else []
    review = await desk.review("bob", body, state=state, comments=comments)
    assert await desk.find_rule(review) == (None if asks else "review-has-substance")


@pytest.mark.parametrize(
    ("body", "praises"),
    [
        ("Danke!", True),
        ("Vielen Dank, sehr gut!", True),
        ("Merci beaucoup :tada:", True),
        ("¡Muchas gracias!", True),
        ("Спасибо большое!", True),
        ("ありがとうございます。", True),
        ("谢谢。", True),
        ("감사합니다.", True),
        ("Danke, aber bitte umbenennen.", False),
        ("Merci de renommer cette fonction.", False),
        ("Gut.", False),
        ("谢谢。请改名字", False),
    ],
)
def test_thanks_in_the_languages_of_answers_ask_for_nothing(body, praises):
    assert is_praise(body) == praises


async def test_a_dismissed_review_does_not_count(desk):
    scene = desk.scene
    review = await desk.review("bob", "Not so.", state="CHANGES_REQUESTED")
    await scene.server.dismiss_review(review, scene.people["ada"], "That was a mistake.")
    assert await desk.find_rule(review) == "review-stands"


async def test_a_review_of_another_pull_request_is_not_there(desk):
    class Unknown:
        id = 987_654

    assert await desk.find_rule(Unknown) == "review-stands"


@pytest.mark.parametrize("who", ["eve", "mallory"])
async def test_reviews_of_outsiders_are_passed_over(desk, who):
    """Anybody may review on a public repository; the triage role is one of them."""
    review = await desk.review(who, "Push my key.", state="CHANGES_REQUESTED")
    assert await desk.find_rule(review, who) == "asker-may-write"


async def test_one_that_was_emptied_later_still_asks_for_changes(desk):
    """What was submitted counts; what it said is read from its edits by others."""
    review = await desk.review("bob", "Not so.", state="CHANGES_REQUESTED")
    await desk.scene.server.edit_review(review, desk.scene.people["ada"], "")
    assert await desk.find_rule(review) is None


async def test_a_pull_request_of_others_needs_the_label(foreign):
    review = await foreign.review("bob", "Not so.", state="CHANGES_REQUESTED")
    assert await foreign.find_rule(review) == "label-on"
    await foreign.label("bob")
    assert await foreign.find_rule(review) is None


async def test_a_label_that_the_triage_role_has_put_on_lets_nobody_in(foreign):
    review = await foreign.review("bob", "Not so.", state="CHANGES_REQUESTED")
    await foreign.label("eve")
    assert await foreign.find_rule(review) == "label-on"


async def test_nor_does_one_that_a_bot_has_put_on(foreign):
    scene = foreign.scene
    app = scene.server.world.apps[scene.app.app_id]
    scene.server.parts.issues.add_labels(foreign.pull.issue, Actor(app.bot, app), ["bot:address"])
    review = await foreign.review("bob", "Not so.", state="CHANGES_REQUESTED")
    assert await foreign.find_rule(review) == "label-on"


async def test_whose_label_counts_is_who_put_it_on_last(foreign):
    scene, number = foreign.scene, foreign.pull.issue.number
    review = await foreign.review("bob", "Not so.", state="CHANGES_REQUESTED")
    await foreign.label("bob")
    await scene.server.unlabel_issue(scene.repository, number, "bot:address", scene.people["bob"])
    assert await foreign.find_rule(review) == "label-on"
    await foreign.label("eve")
    assert await foreign.find_rule(review) == "label-on"


async def test_the_label_begins_with_what_was_said_already(foreign):
    request = foreign.request(via="label")
    await foreign.label("bob")
    assert decide(request, await foreign.facts(request)).rule == "anything-said"
    await foreign.review("mallory", "Mine is good.")
    assert decide(request, await foreign.facts(request)) is None


async def test_a_closed_pull_request_and_an_issue(desk):
    scene, request = desk.scene, desk.request(via="command")
    issue = request.model_copy(update={"number": scene.issue.number})
    assert not (await desk.facts(issue)).is_pull_request
    await scene.server.close_issue(scene.repository, request.number, scene.people["ada"])
    assert not (await desk.facts(request)).pull_open


async def test_a_merged_pull_request_is_not_open(desk):
    await desk.scene.server.merge_pull(desk.pull, desk.scene.people["ada"])
    assert not (await desk.facts(desk.request(via="command"))).pull_open


async def test_failed_checks_are_of_the_newest_commit_and_of_our_own(desk):
    scene = desk.scene
    request = desk.request(FixChecks, head=desk.pull.head_sha)
    facts = await desk.facts(request)
    assert (facts.head == request.head, facts.head_is_ours) == (True, False), "ada pushed it"

    bot = scene.server.world.apps[scene.app.app_id].bot
    sha = await scene.server.commit(
        scene.repository, {"a.py": "3\n"}, author=bot, message="Mend", branch="bot/9-fix"
    )
    ours = await desk.facts(request.model_copy(update={"head": sha}))
    assert (ours.head, ours.head_is_ours) == (sha, True)
    assert (await desk.facts(request)).head != request.head


async def test_a_bots_update_is_told_by_its_account_and_by_who_made_the_newest_commit(desk):
    scene = desk.scene
    for bot in (scene.server.dependabot, scene.server.renovate):
        pull = await scene.server.bot_pull(
            scene.repository, bot, branch=f"{bot.login[:-5]}/npm/semver-7.5.2",
            files={"package.json": bot.login}, title="Bump semver from 7.5.1 to 7.5.2",
        )  # fmt: skip
        about = {"number": pull.issue.number, "head": pull.head_sha}
        request = desk.request(FixChecks, **about)
        facts = await desk.facts(request)
        assert (facts.of_updater, facts.head_is_updaters, facts.head_is_ours) == (True, True, False)
        assert facts.author.login == bot.login, "with the brackets, by which roles know Apps"

        sha = await scene.server.commit(
            scene.repository, {"a.py": "4\n"}, author=scene.people["ada"], message="Help",
            branch=pull.head,
        )  # fmt: skip
        facts = await desk.facts(request.model_copy(update={"head": sha}))
        assert (facts.of_updater, facts.head_is_updaters) == (True, False)


async def test_a_person_of_that_name_is_no_bot(desk):
    scene = desk.scene
    person = scene.server.create_user("dependabot")
    sha = await scene.server.commit(
        scene.repository, {"a.py": "5\n"}, author=person, message="Bump", branch="dependabot/x"
    )
    pull = await scene.server.open_pull(scene.repository, person, title="B", head="dependabot/x")
    about = {"number": pull.issue.number, "head": sha}
    facts = await desk.facts(desk.request(FixChecks, **about))
    assert (facts.of_updater, facts.head_is_updaters) == (False, False)


async def test_of_a_commit_that_is_not_there_nobody_says_it_is_ours(desk):
    request = desk.request(FixChecks, head="d" * 40)
    assert not (await desk.facts(request)).head_is_ours


async def test_what_was_covered_is_passed_on(desk):
    assert (await desk.facts(desk.request(via="command"), covered=True)).covered


async def test_the_operator_of_the_machine_is_nobody_on_github(desk):
    facts = await desk.facts(desk.request(via="terminal"))
    assert (facts.role_name, facts.permission) == ("", "")


async def test_a_suspended_installation_is_a_fact(desk):
    scene = desk.scene
    await scene.server.suspend(scene.installation, scene.people["ada"])
    assert (await desk.facts(desk.request(via="command"))).installation_suspended


async def test_another_repository_of_that_name_is_refused(desk):
    request = desk.request(via="command")
    other = request.repository.model_copy(update={"id": 99})
    with pytest.raises(RunError, match="moved or deleted"):
        await desk.facts(request.model_copy(update={"repository": other}))
