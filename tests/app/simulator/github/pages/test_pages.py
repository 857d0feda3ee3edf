"""The pages for people: all is readable, nothing that people write becomes HTML."""

import pytest

from app.simulator.github.pages.diff_view import view_files
from app.simulator.github.pages.markdown import render, render_title
from app.simulator.github.patches import parse_diff
from app.simulator.github.state.reviews import Inline
from tests.app.simulator.github.alerting import advisory
from tests.app.simulator.github.reviewing import open_ten
from tests.app.simulator.github.reviewing import text as forty

EVIL = "<script>alert(1)</script><img src=x onerror=alert(1)> [x](javascript:alert(1))"


@pytest.fixture
def page(scene):
    async def page(path):
        async with scene.session.get(f"{scene.github.url}{path}") as answer:
            assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
            return await answer.text()

    return page


async def test_people_can_read_what_happened(scene, page):
    files = {"main.py": "print('hello & goodbye')\n", "README.md": None}
    await scene.github.commit(
        scene.repository, files, author=scene.ada, message="Say `hello`\n\nWhy", branch="bot/x"
    )
    call = scene.call()
    wanted = {"title": "Mend `main`", "head": "bot/x", "base": "main", "body": "Resolves #1"}
    await call("POST", f"{scene.base}/pulls", {**wanted, "draft": True})
    await call("POST", f"{scene.base}/issues/1/comments", {"body": "- [x] Triage\n- [ ] Checks"})
    await call("POST", f"{scene.base}/issues/1/reactions", {"content": "eyes"})
    new = {"name": "mender", "head_sha": "bot/x", "conclusion": "success"}
    await call("POST", f"{scene.base}/check-runs", new)
    assert "forge/anvil" in await page("/")
    repository = await page("/forge/anvil")
    for text in ("It breaks", "Mend <code>main</code>", "bot/x", "<h1>anvil</h1>"):
        assert text in repository
    issue = await page("/forge/anvil/issues/1")
    for text in ("It breaks", 'title="mender[bot]"', "mentioned this in", 'type="checkbox"'):
        assert text in issue
    pull = await page("/forge/anvil/pull/2")
    for text in ("Draft", 'href="/forge/anvil"', "/forge/anvil/issues/1", "Ada Marsh", "Why"):
        assert text in pull
    assert "hello &amp; goodbye" in pull
    assert "Say <code>hello</code>" in pull
    sha = (await call("GET", f"{scene.base}/commits/bot%2Fx")).json["sha"]
    assert "print" in await page(f"/forge/anvil/commit/{sha}")
    assert (await page("/forge/anvil/pull/2.diff")).startswith("diff --git")
    assert await page("/forge/anvil/pull/2/files") == pull
    assert await page("/style.css")
    assert "<svg" in await page(f"/avatars/{scene.ada.id}")


@pytest.mark.parametrize("path", ["/forge/none", "/forge/anvil/issues/9", "/forge/anvil/pull/1"])
async def test_what_is_not_there_has_no_page(scene, path):
    async with scene.session.get(f"{scene.github.url}{path}") as answer:
        assert answer.status == 404


async def test_nothing_that_people_write_becomes_html(scene, page):
    await scene.github.edit_issue(scene.repository, 1, scene.ada, title=EVIL, body=EVIL)
    await scene.github.commit(
        scene.repository, {EVIL.replace("/", ""): EVIL}, author=scene.ada, message=EVIL
    )
    head = (await scene.call()("GET", f"{scene.base}/commits/main")).json["sha"]
    for path in ("", "/issues/1", f"/commit/{head}"):
        text = await page(f"/forge/anvil{path}")
        assert "<script" not in text
        assert "<img src=x" not in text
        assert 'href="javascript' not in text


def test_markdown_hides_comments_and_keeps_a_few_tags():
    text = "a <!-- fettle run=1 --> b\n\n<!-- block\n-->\n\n<details><summary>Cost</summary>\n\n$1"
    html = render(text, "http://h/o/r")
    assert "fettle" not in html
    assert "block" not in html
    assert "<details><summary>Cost</summary>" in html
    assert "&lt;details onclick" in render("<details onclick=x>", "http://h/o/r")


def test_markdown_links_references_outside_code_only():
    html = render("See #7, `#8`, x#9, @ada and mail@example.com", "http://h/o/r")
    assert '<a href="http://h/o/r/issues/7">#7</a>' in html
    assert "<code>#8</code>" in html
    assert "x#9" in html
    assert '<span class="mention">@ada</span>' in html
    assert "mail@example.com" in html


def test_titles_show_code_and_nothing_else():
    assert render_title("`a<b` & <i>") == "<code>a&lt;b</code> &amp; &lt;i&gt;"


DIFF = """\
diff --git a/m.py b/m.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/m.py
+++ b/m.py
@@ -1,3 +1,3 @@ def f():
 '''a
-b'''
+c'''
-x = 1  # <one>
+x = 2  # <one>
\\ No newline at end of file
diff --git a/old.bin b/old.bin
deleted file mode 100644
index 3333333333333333333333333333333333333333..0000000000000000000000000000000000000000
Binary files a/old.bin and /dev/null differ
"""


def test_a_diff_is_numbered_coloured_and_its_changed_words_marked():
    [file, binary] = view_files(parse_diff(DIFF))
    [part] = file.parts
    assert part.heading == "@@ -1,3 +1,3 @@ def f():"
    assert [(row.kind, row.old, row.new) for row in part.rows] == [
        ("same", 1, 1),
        ("removed", 2, None),
        ("added", None, 2),
        ("removed", 3, None),
        ("added", None, 3),
    ]
    assert all("s1" in row.code or "sd" in row.code for row in part.rows[:3])  # one string
    assert "<mark>2</mark>" in part.rows[4].code
    assert "&lt;one&gt;" in part.rows[4].code
    assert (binary.change.status, binary.change.patch, binary.parts) == ("removed", None, [])
    assert binary.change.blob == "3" * 40


async def test_reviews_show_their_threads_settled_lost_and_answered(scene, page):
    github, ada = scene.github, scene.ada
    pull = await open_ten(scene)
    bob = github.create_user("bob")
    github.set_role(scene.repository, bob, "write")
    comments = [
        Inline("ten.txt", 6, f"Why? {EVIL}"),
        Inline("ten.txt", 30, "And why this?"),
        Inline("ten.txt", 7, "```suggestion\nline 7, better\n```", start_line=5),
    ]
    await github.request_review(pull, bob, ada)
    await github.submit_review(
        pull, bob, "Not *yet*.", state="CHANGES_REQUESTED", comments=comments
    )
    await github.reply(pull.threads[0], ada, "Because of `six`.")
    await github.resolve_thread(pull.threads[0], bob)
    files = {"ten.txt": forty(_6="line six", _30="line thirty, again")}
    await github.commit(scene.repository, files, author=ada, message="More", branch="bot/ten")
    await github.submit_review(pull, bob, state="APPROVED")
    await github.merge_pull(pull, bob)

    shown = await page(f"/forge/anvil/pull/{pull.issue.number}")
    for words in (
        "asked for changes",
        "Not <em>yet</em>.",
        "ten.txt:6",
        "settled by bob",
        "Because of <code>six</code>.",
        "outdated",
        "ten.txt:5–7",  # noqa: RUF001 - a range's dash
        "2 of 3 threads still open",
        "approved this",
        "asked <b",
        "merged this",
        "Merged",
    ):
        assert words in shown, words
    assert shown.count('<details class="thread') == 3
    assert "reviewed this" not in shown  # the reply's wrapper says nothing of its own
    assert "<script" not in shown
    assert "<img src=x" not in shown


async def test_an_alert_has_a_page(scene, page):
    weak = advisory(scene, summary=EVIL, description=EVIL, cve_id="CVE-2024-34064")
    alert = await scene.github.raise_alert(scene.repository, weak, manifest_path="poetry.lock")
    await scene.github.dismiss_alert(alert, scene.ada, comment=EVIL)
    address = "/forge/anvil/security/dependabot/1"
    whole, listed = await page(address), await page("/forge/anvil")
    assert address in listed
    for text in ("CVE-2024-34064", "poetry.lock", "3.1.4", "tolerable risk", "dismissed"):
        assert text in whole
    assert "<script" not in whole + listed
