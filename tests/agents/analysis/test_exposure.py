"""What a change lets out or in: secrets by their form, hosts by name, protection by pattern."""

from __future__ import annotations

import base64
import difflib
import json

import pytest

from agents.analysis.exposure import LONGEST, NO_DIFF, find_exposures, find_secrets

LETTERS = "Ab3dEfGh1jKlMn0pQrStUvWx2zAb3dEfGh1jKlMn0pQrStUvWx2z"


def patch(path, before, after):
    """Return the diff of one file as git writes it."""
    names = ("/dev/null" if not before else f"a/{path}", f"b/{path}")
    lines = difflib.unified_diff(
        before.splitlines(keepends=True), after.splitlines(keepends=True), *names
    )
    return f"diff --git a/{path} b/{path}\n" + "".join(lines)


def jwt():
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890"})
    encoded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*encoded, LETTERS[:43]])


SECRETS = {
    "AWS Access Key": f"AKIA{LETTERS[:16].upper()}",
    "GitHub Token": f"ghp_{LETTERS[:36]}",
    "fine-grained GitHub token": f"github_pat_{LETTERS[:30]}",
    "GitLab Token": f"glpat-{LETTERS[:20]}",
    "Slack Token": f"xoxb-{'1' * 12}-{LETTERS[:24]}",
    "Stripe Access Key": f"sk_live_{LETTERS[:24]}",
    "PyPI Token": f"pypi-AgEIcHlwaS5vcmc{LETTERS + LETTERS}",
    "Private Key": f"-----BEGIN {'OPENSSH'} PRIVATE KEY-----",
    "JSON Web Token": jwt(),
    "Google API key": f"AIza{LETTERS[:35]}",
    "Anthropic API key": f"sk-ant-{LETTERS[:30]}",
}


@pytest.mark.parametrize(("kind", "secret"), SECRETS.items(), ids=SECRETS)
def test_a_secret_is_named_by_kind_and_place_and_never_shown(kind, secret):
    [finding] = find_secrets(patch("conf.py", "A = 1\n", f"A = 1\nKEY = '{secret}'\n"))
    assert (finding.place, finding.text, finding.grave) == ("conf.py:2", kind, True)
    assert finding.what == "looks like a secret"


@pytest.mark.parametrize(
    "line",
    [
        "password = os.environ['PASSWORD']",
        "token: ${{ secrets.GITHUB_TOKEN }}",
        '"integrity": "sha512-' + LETTERS * 2 + '==",',
        "0123456789abcdef0123456789abcdef01234567",
        "postgresql://postgres:postgres@localhost:5432/test",
        "-----BEGIN CERTIFICATE-----",
    ],
)
def test_what_has_no_vendors_form_is_no_secret(line):
    assert find_secrets(patch("a.yml", "", f"{line}\n")) == ()


def test_what_was_there_or_only_moved_is_not_new():
    line = f"KEY = '{SECRETS['GitHub Token']}'\n"
    stays = patch("a.py", f"{line}A = 1\n", f"{line}A = 2\n")
    moved = patch("a.py", line, "") + patch("b.py", "", line)
    assert find_secrets(stays) == ()
    assert find_secrets(moved) == ()


def test_a_secret_far_out_on_a_line_and_across_a_part_is_found():
    for filler in (LONGEST - 20, LONGEST + 3000):
        [finding] = find_secrets(
            patch("min.js", "", "x" * filler + f" {SECRETS['GitHub Token']}\n")
        )
        assert finding.text == "GitHub Token"


def test_a_diff_that_cannot_be_read_is_not_called_clean():
    [finding] = find_secrets("--- a/a.py\n+++ b/a.py\n@@ -1,9 +1,9 @@\n+x\n")
    assert finding.text == NO_DIFF


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("requests.get(url, verify=False)", "certificates are not checked"),
        ("const a = {rejectUnauthorized: false}", "certificates are not checked"),
        ("tls.Config{InsecureSkipVerify: true}", "certificates are not checked"),
        ("RUN curl -k $URL -o x", "certificates are not checked"),
        ("DEBUG = True", "errors are shown to everybody"),
        ('cidr = "0.0.0.0/0"', "every address may come in"),
        ("ALLOWED_HOSTS = ['*']", "every address may come in"),
        ("chmod -R 777 /srv", "everybody on the machine may write"),
        ("    privileged: true", "a container may do all"),
        ("curl -fsSL $URL | sudo bash", "what is loaded is run unseen"),
        ("yaml.load(text)", "data becomes code"),
        ("subprocess.run(line, shell=True)", "data becomes code"),
        ("@csrf_exempt", "requests are not checked for their origin"),
    ],
)
def test_protection_that_is_switched_off_is_pointed_out(line, words):
    (finding,), hosts = find_exposures(patch("src/app.py", "", f"{line}\n"))
    assert (finding.what, finding.grave) == ("protection switched off", False)
    assert finding.text.startswith(f"{words}: ")
    assert hosts == ()


@pytest.mark.parametrize(
    "line",
    [
        "requests.get(url, verify=True)",
        "yaml.load(text, Loader=yaml.SafeLoader)",
        "yaml.safe_load(text)",
        "# never use verify=False",
        "model.eval()",
        "os.chmod(path, 0o755)",
        "curl -fsSL $URL -o install.sh",
    ],
)
def test_what_is_safe_is_passed_over(line):
    assert find_exposures(patch("src/app.py", "", f"{line}\n")) == ((), ())


def test_new_hosts_are_those_of_code_that_nobody_reserved():
    text = (
        "A = 'https://api.acme.dev/v1'\nB = 'https://user:word@api.acme.dev/v2'\n"
        "C = 'http://example.com/x'\nD = 'http://127.0.0.1:8080/'\nE = 'http://www.w3.org/2000/svg'\n"
        "F = 'https://old.acme.dev'\nG = 'wss://live.acme.dev'\n"
    )
    before = "X = 'https://old.acme.dev/a'\n"
    unsafe, hosts = find_exposures(patch("src/a.py", before, before + text))
    assert unsafe == ()
    assert [(each.name, each.line) for each in hosts] == [("api.acme.dev", 2), ("live.acme.dev", 8)]
    assert hosts[0].finding.place == "src/a.py:2"
    for path in ("README.md", "tests/test_a.py", "package-lock.json", "uv.lock"):
        assert find_exposures(patch(path, "", text)) == ((), ())


def test_a_huge_line_takes_no_longer_than_its_length():
    text = "verify" * 20_000 + "curl " * 20_000 + "\n"
    assert find_exposures(patch("a.py", "", text)) == ((), ())
    assert find_secrets(patch("a.py", "", text)) == ()
