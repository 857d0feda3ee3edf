"""Pictures of a text are loaded from this GitHub alone, and the token goes nowhere else."""

from __future__ import annotations

import asyncio
import base64
import gzip
import json
import time

import pytest
from aiohttp import web

from agents.ports.issues import Pictures
from app.github.attachments.allowed_hosts import AllowedHosts
from app.github.attachments.images import MOST_BYTES, MOST_SHOWN, MOST_TRIED
from tests.app.github.attachments.image_samples import gif, jpeg, png, webp
from tests.patience import PATIENCE


@pytest.fixture
def attach(scene):
    return lambda data=None, **more: scene.server.attach_file(
        scene.repository, png() if data is None else data, **more
    )


@pytest.fixture
def show(scene):
    """Put a text into the run's issue and return it."""

    def edit(text):
        scene.issue.body = text
        return text

    return edit


class Canary:
    """Another host, which notes what it is asked and with which headers."""

    def __init__(self):
        self.asked = []

    async def answer(self, request):
        self.asked.append(dict(request.headers))
        return web.Response(body=png(), content_type="image/png")


@pytest.fixture
async def canary(aiohttp_server):
    bird = Canary()
    app = web.Application()
    app.router.add_get("/{path:.*}", bird.answer)
    server = await aiohttp_server(app)
    bird.url = str(server.make_url("/")).rstrip("/")
    return bird


def list_paths(scene, part):
    return [each.path for each in scene.server.requests if part in each.path]


# --- what is shown ------------------------------------------------------------------------------


async def test_a_text_without_pictures_costs_nothing(scene, tracker):
    before = len(scene.server.requests)

    assert await tracker.pictures("No picture; `![x](y)` is code.") == Pictures()

    assert len(scene.server.requests) == before


@pytest.mark.parametrize(
    "sample",
    [
        (png(30, 20), "image/png"),
        (jpeg(30, 20), "image/jpeg"),
        (gif(30, 20), "image/gif"),
        (webp(30, 20), "image/webp"),
    ],
)
async def test_an_attached_picture_becomes_a_block(scene, tracker, attach, show, sample):
    data, media_type = sample
    url = attach(data)

    found = await tracker.pictures(show(f"See\n\n![the **error**]({url})"))

    [picture] = found.shown
    assert (picture.width, picture.height, picture.url) == (30, 20, url)
    assert picture.alt == "the **error**"
    assert picture.block["type"] == "image"
    assert picture.block["source"]["media_type"] == media_type
    assert base64.b64decode(picture.block["source"]["data"]) == data
    assert found.left_out == ()


async def test_pictures_in_html_as_github_pastes_them_and_in_their_order(
    scene, tracker, attach, show
):
    one, two, three = attach(png(1, 1)), attach(png(2, 2)), attach(png(3, 3))
    text = (
        f'<img width="5" height="5" alt="Image" src="{one}" />\n\n'
        f"text <img src='{two}'> and ![again]({one})\n\n<p align=center>\n<img src={three}>\n</p>"
    )

    found = await tracker.pictures(show(text))

    assert [each.width for each in found.shown] == [1, 2, 3]
    assert found.shown[0].alt == "Image"


async def test_what_people_do_not_see_is_not_loaded(scene, tracker, attach, show):
    url = attach()
    text = f"<!-- ![x]({url}) -->\n\n`![x]({url})`\n\n```\n<img src='{url}'>\n```\n"

    assert await tracker.pictures(show(text)) == Pictures()


async def test_an_attachment_is_read_by_the_address_that_github_signs(scene, tracker, attach, show):
    text = show(f"![x]({attach()})\n![y]({attach(png(7, 7))})")

    found = await tracker.pictures(text)

    assert [each.width for each in found.shown] == [3, 7]
    assert list_paths(scene, "/user-attachments/") == []
    assert len(list_paths(scene, "/_storage/files/")) == 2
    assert len(scene.calls("GET", "/issues/1")) == 1


async def test_an_attachment_of_another_text_is_read_by_its_own_address(scene, tracker, attach):
    found = await tracker.pictures(f"![x]({attach()})")

    assert len(found.shown) == 1
    [stored] = [each for each in scene.server.requests if "/_storage/files/" in each.path]
    assert stored.status == 200  # with credentials it would be 400, as it is on GitHub's storage


async def test_a_file_of_the_repository_comes_from_the_api(scene, tracker):
    text = "height = 5\n"
    await scene.server.commit(
        scene.repository, {"docs/a b.svg": text}, author=scene.people["ada"], message="m"
    )
    base = f"{scene.server.url}/ada/parse"

    found = await tracker.pictures(f"![x](<{base}/raw/main/docs/a b.svg>) ![y]({base}/raw/main/no)")

    assert found.shown == ()
    assert "is no PNG, JPEG, GIF or WebP picture" in found.left_out[0]
    assert "is not there any more" in found.left_out[1]
    [call] = [p for p in list_paths(scene, "/contents/") if "docs" in p]
    assert call == "/api/v3/repos/ada/parse/contents/docs/a%20b.svg?ref=main"


# --- what is not --------------------------------------------------------------------------------


async def test_foreign_pictures_are_named_and_nobody_is_asked(scene, tracker, canary):
    text = f"![x]({canary.url}/a.png?secret=1) <img src='{canary.url}/b.png'> ![z](http://[::1]/c)"

    found = await tracker.pictures(text)

    assert found.shown == ()
    assert found.left_out == (
        f"{canary.url}/a.png does not lie on this GitHub",
        f"{canary.url}/b.png does not lie on this GitHub",
        "http://[::1]/c does not lie on this GitHub",
    )
    assert canary.asked == []


@pytest.mark.parametrize("path", ["/user-attachments/", "/_storage/", "/contents/"])
async def test_a_redirect_to_a_foreign_host_is_not_followed(scene, tracker, attach, canary, path):
    text = f"![x]({attach()}) ![y]({scene.server.url}/ada/parse/raw/main/README.md)"
    for status in (301, 302, 303, 307, 308):
        scene.server.faults.redirect("GET", path, f"{canary.url}/a.png", status=status)

        found = await tracker.pictures(text)

        assert [each for each in found.left_out if "outside of this GitHub" in each]
        assert canary.asked == []


async def test_the_token_is_shown_to_github_alone_and_to_no_storage(
    scene, tracker, attach, canary, monkeypatch
):
    """Were the other host allowed, it would still see no credentials."""
    strict = AllowedHosts.allows
    monkeypatch.setattr(
        AllowedHosts,
        "allows",
        lambda self, url: strict(self, url) or str(url).startswith(canary.url),
    )
    scene.server.faults.redirect("GET", "/user-attachments/", f"{canary.url}/a.png", status=302)

    found = await tracker.pictures(f"![x]({attach()})")

    assert len(found.shown) == 1
    [headers] = canary.asked
    assert "Authorization" not in headers
    assert "Cookie" not in headers
    assert "ghs_" not in json.dumps(headers)


async def test_redirects_come_to_an_end(scene, tracker, attach):
    scene.server.faults.redirect("GET", "/user-attachments/", "/_storage/files/x", status=302)
    scene.server.faults.redirect("GET", "/_storage/", "/_storage/files/y", status=302, times=50)

    found = await tracker.pictures(f"![x]({attach()})")

    assert "leads from one place to the next" in found.left_out[0]
    assert len(list_paths(scene, "/_storage/")) <= 4


async def test_pictures_inside_the_text_are_refused(scene, tracker):
    inside = base64.b64encode(png()).decode()

    found = await tracker.pictures(f"<img src='data:image/png;base64,{inside}'>")

    assert found.shown == ()
    assert found.left_out == ("a picture stands in the text itself instead of being attached",)


@pytest.mark.parametrize(
    "sample",
    [
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "is no PNG, JPEG, GIF or WebP"),
        (png()[:8] + b"<html><script>x</script>", "is a broken picture"),
        (png(100_000, 100_000), "measures 100000 x 100000 pixels"),
        (png(idat=b"\x00" * MOST_BYTES), "is larger than 3.9 MB"),
    ],
)
async def test_what_a_model_may_not_get_is_left_out_and_the_rest_stays(
    scene, tracker, attach, show, sample
):
    data, why = sample
    bad, good = attach(data), attach()

    found = await tracker.pictures(show(f"![x]({bad}) ![y]({good})"))

    assert [each.url for each in found.shown] == [good]
    [said] = found.left_out
    assert said.startswith(f"{bad} {why}")


async def test_the_type_that_the_server_claims_does_not_count(scene, tracker, attach, show):
    [picture] = (await tracker.pictures(show(f"![x]({attach(kind='text/html')})"))).shown

    assert picture.media_type == "image/png"


async def test_a_hundred_pictures_are_not_loaded(scene, tracker, attach, show):
    urls = [attach() for _ in range(100)]

    found = await tracker.pictures(show("\n".join(f"![x]({url})" for url in urls)))

    assert [each.url for each in found.shown] == urls[:MOST_SHOWN]
    assert len(list_paths(scene, "/_storage/")) == MOST_SHOWN
    assert len(found.left_out) == 11
    assert found.left_out[-1] == "85 more pictures are left out"


async def test_a_hundred_broken_pictures_are_not_loaded_either(scene, tracker, attach, show):
    urls = [attach(b"nothing") for _ in range(100)]

    await tracker.pictures(show("\n".join(f"![x]({url})" for url in urls)))

    assert len(list_paths(scene, "/_storage/")) == MOST_TRIED


async def test_many_large_pictures_are_too_much_together(scene, tracker, attach, show):
    urls = [attach(png(idat=b"\x00" * 3_500_000)) for _ in range(4)]

    found = await tracker.pictures(show("\n".join(f"![x]({url})" for url in urls)))

    assert len(found.shown) == 2
    assert "too large together" in found.left_out[0]


async def test_a_file_without_end_is_left(scene, tracker, attach):
    async def endless(request, _go_on):
        response = web.StreamResponse()
        await response.prepare(request)
        try:
            while True:
                await response.write(b"\x89" * 65_536)
        except ConnectionError:
            return response

    scene.server.faults.add("GET", "/_storage/", endless)

    async with asyncio.timeout(PATIENCE):
        found = await tracker.pictures(f"![x]({attach()})")

    assert "is larger than" in found.left_out[0]


async def test_a_packed_file_is_not_unpacked(scene, tracker, attach):
    async def bomb(_request, _go_on):
        body = gzip.compress(b"\x00" * 50_000_000)
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    scene.server.faults.add("GET", "/_storage/", bomb)

    found = await tracker.pictures(f"![x]({attach()})")

    assert "comes packed" in found.left_out[0]


async def test_a_place_that_says_nothing_is_waited_for_a_while(scene, tracker, attach, monkeypatch):
    monkeypatch.setattr("app.github.attachments.images.SECONDS", 0.2)
    scene.server.faults.delay("GET", "/_storage/", 1)

    found = await tracker.pictures(f"![x]({attach()})")

    assert "did not come within" in found.left_out[0]


# --- GitHub's own refusals ----------------------------------------------------------------------


async def test_what_the_app_may_not_see_is_left_out(scene, tracker):
    vault = await scene.server.create_repository(scene.people["ada"], "vault")
    scene.installation.repositories.append(vault)
    url = scene.server.attach_file(vault, png())

    found = await tracker.pictures(f"![x]({url})")

    assert found.shown == ()
    assert "is not there any more, or GitHub does not show it" in found.left_out[0]


async def test_a_refused_token_is_made_anew(scene, tracker, attach):
    scene.server.faults.status("GET", "/user-attachments/", 401, times=5)

    assert len((await tracker.pictures(f"![x]({attach()})")).shown) == 1


async def test_githubs_pauses_are_kept_and_failures_repeated(scene, tracker, attach):
    url = attach()
    scene.server.faults.status("GET", "/user-attachments/", 502, times=2)
    scene.server.faults.secondary_limit("GET", "/user-attachments/", retry_after=3)

    found = await tracker.pictures(f"![x]({url})")

    assert len(found.shown) == 1
    assert [round(each) for each in scene.slept] == [1, 2, 3]


async def test_a_storage_in_trouble_holds_nobody_else_up(scene, tracker, attach):
    scene.server.faults.rate_limit("GET", "/_storage/", retry_after=600, times=5)

    found = await tracker.pictures(f"![x]({attach()})")

    assert "its place answers with status 429" in found.left_out[0]
    assert scene.slept == []
    assert await tracker.sub_issues() == ()


async def test_a_github_that_stays_down_costs_the_picture_not_the_run(scene, tracker, attach):
    scene.server.faults.status("GET", "/user-attachments/", 503, times=50)

    found = await tracker.pictures(f"![x]({attach()})")

    assert "GitHub does not answer as it should" in found.left_out[0]


async def test_no_seal_and_no_token_is_in_what_comes_out(scene, tracker, attach, show):
    url = f"{scene.server.url}/_storage/files/x?jwt=SEAL"
    found = await tracker.pictures(
        show(f"![x]({attach()}) ![y]({url}) ![z]({attach(b'-')}?jwt=SEAL)")
    )

    told = found.model_dump_json()
    seals = [each.seal for each in scene.server.world.attachments.values()]
    assert not [each for each in (*seals, "SEAL", "ghs_") if each in told]


@pytest.mark.parametrize(
    "text", ["<!--" * 16_000, "<img " * 13_000, "![" * 8_000, "<a href='" * 7_000, "[](" * 5_000]
)
async def test_hostile_texts_take_a_moment(scene, tracker, text):
    began = time.process_time()

    await tracker.pictures(text)
    await tracker.find_linked(text, limit=5)

    assert time.process_time() - began < 5
