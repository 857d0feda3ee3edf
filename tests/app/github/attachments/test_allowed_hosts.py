"""Which addresses in a text are pictures of this GitHub, and which of them see the token."""

from __future__ import annotations

import pytest
from yarl import URL

from app.github.attachments.allowed_hosts import AllowedHosts
from app.github.attachments.image_header import UnusableImage
from app.github.transport.urls import Urls
from tests.fakes.requests import build_repository

HERE = build_repository(id=1, owner="ada", name="parse")
ID = "9c8f2f6e-1c1c-4f0e-8e0b-0123456789ab"
COM, SERVER, RESIDENT = (
    AllowedHosts(Urls.from_web_url(f"https://{host}"), HERE)
    for host in ("github.com", "git.corp.example", "octo.ghe.com")
)
LOCAL = AllowedHosts(Urls.from_web_url("http://127.0.0.1:8123"), HERE)


@pytest.mark.parametrize(
    ("places", "address", "token"),
    [
        (COM, f"https://github.com/user-attachments/assets/{ID}", True),
        (COM, f"https://github.com/ada/parse/assets/12/{ID}", True),
        (COM, f"https://private-user-images.githubusercontent.com/1/2-{ID}.png?jwt=x", False),
        (COM, "https://user-images.githubusercontent.com/1/2.png", False),
        (COM, "https://camo.githubusercontent.com/abc/def", False),
        (SERVER, f"https://git.corp.example/user-attachments/assets/{ID}", True),
        (SERVER, f"https://git.corp.example/storage/user/5/files/{ID}?token=x", False),
        (SERVER, f"https://media.git.corp.example/user/5/files/{ID}", False),
        (RESIDENT, f"https://octo.ghe.com/user-attachments/assets/{ID}", True),
        (RESIDENT, "https://private-user-images.octo.ghe.com/1.png", False),
        (LOCAL, f"http://127.0.0.1:8123/user-attachments/assets/{ID}", True),
    ],
)
def test_places_of_pictures(places, address, token):
    place = places.find(address)

    assert str(place.url) == address
    assert places.takes_token(place.url) is token


@pytest.mark.parametrize(
    ("places", "address", "path", "ref"),
    [
        (COM, "https://github.com/ada/parse/raw/main/docs/a.png", "docs/a.png", "main"),
        (COM, "https://github.com/Ada/Parse/blob/v1/a.png?raw=true", "a.png", "v1"),
        (COM, "https://raw.githubusercontent.com/ada/parse/main/a b.png", "a b.png", "main"),
        (COM, "https://github.com/ada/parse/raw/refs/heads/x/a.png", "a.png", "refs/heads/x"),
        (SERVER, "https://git.corp.example/raw/ada/parse/main/a.png", "a.png", "main"),
        (SERVER, "https://raw.git.corp.example/ada/parse/main/a.png", "a.png", "main"),
    ],
)
def test_files_of_the_repository_come_from_the_api(places, address, path, ref):
    place = places.find(address)

    assert place.url.path.endswith(f"/repos/ada/parse/contents/{path}")
    assert place.url.query["ref"] == ref
    assert place.url.host in {"api.github.com", "git.corp.example"}
    assert places.takes_token(place.url)


FOREIGN = [
    "https://evil.example/a.png",
    "http://github.com/user-attachments/assets/" + ID,
    "https://github.com:444/user-attachments/assets/" + ID,
    "https://github.com.evil.example/user-attachments/assets/" + ID,
    "https://github.com@evil.example/user-attachments/assets/" + ID,
    "https://token@github.com/user-attachments/assets/" + ID,
    "https://github.com\\@evil.example/user-attachments/assets/" + ID,
    "https://evil.example/https://github.com/user-attachments/assets/" + ID,
    "https://githubusercontent.com/a.png",
    "https://evil-camo.githubusercontent.com.evil.example/a.png",
    "https://gist.githubusercontent.com/a.png",
    "https://api.github.com/repos/ada/parse/contents/a.png",
    "https://github.com/logout",
    "https://github.com/ada/parse/archive/main.zip",
    f"https://github.com/user-attachments/assets/{ID}/../../../settings",
    f"https://github.com/user-attachments/assets/{ID}%2f..%2f..",
    "https://github.com/ada/vault/raw/main/a.png",
    "https://raw.githubusercontent.com/ada/vault/main/a.png",
    "https://github.com/ada/parse/raw/main/%2e%2e/%2e%2e/%2e%2e/user",
    "https://github.com/ada/parse/raw/main/..%2f..%2f..%2fuser",
    "http://127.0.0.1/a.png",
    "http://localhost:8080/a.png",
    "http://[::1]/a.png",
    "http://169.254.169.254/latest/meta-data/",
    "//evil.example/a.png",
    "/user-attachments/assets/" + ID,
    "docs/a.png",
    "file:///etc/passwd",
    "javascript:alert(1)",
    "data:image/png;base64,iVBORw0KGgo=",
    "DATA:image/svg+xml,<svg/>",
    "https://",
    "https://github.com:99999/a.png",
    "https://[/a.png",
    "http://exa mple/a.png",
    "",
    "\x00",
]


@pytest.mark.parametrize("address", FOREIGN)
def test_other_addresses_are_not_asked(address):
    with pytest.raises(UnusableImage):
        COM.find(address)


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8124/user-attachments/assets/" + ID,
        "http://127.0.0.1/user-attachments/assets/" + ID,
        "http://localhost:8123/user-attachments/assets/" + ID,
        "https://127.0.0.1:8123/user-attachments/assets/" + ID,
        "http://127.1:8123/user-attachments/assets/" + ID,
    ],
)
def test_another_port_of_the_same_machine_is_another_place(address):
    with pytest.raises(UnusableImage):
        LOCAL.find(address)


def test_a_server_of_ones_own_is_asked_for_no_address_of_its_api():
    for address in ("https://api.octo.ghe.com/user", "https://api.octo.ghe.com/repos/ada/parse"):
        with pytest.raises(UnusableImage):
            RESIDENT.find(address)


@pytest.mark.parametrize("places", [COM, SERVER, RESIDENT, LOCAL])
@pytest.mark.parametrize("address", [each for each in FOREIGN if each.startswith("http")])
def test_the_token_goes_to_no_foreign_host(places, address):
    try:
        url = URL(address)
    except ValueError:
        return
    hosts = {"github.com", "api.github.com", "git.corp.example", "octo.ghe.com", "127.0.0.1"}
    assert url.host in hosts or not places.takes_token(url)
