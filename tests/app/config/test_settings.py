"""Settings: what is accepted, what is refused, and that a refusal tells no secret."""

from __future__ import annotations

import base64
import os
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
)
from pydantic import ValidationError

from agents.errors import ConfigError
from app.config.settings import load_settings
from app.dependencies.certificate_authority import Authority


def pem(key, shape=PrivateFormat.TraditionalOpenSSL, encryption=None):
    return key.private_bytes(Encoding.PEM, shape, encryption or NoEncryption()).decode()


@pytest.fixture(scope="module")
def key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def environ(key):
    """The least that a server needs."""
    return {
        "FETTLE_APP_ID": "12345",
        "FETTLE_PRIVATE_KEY": pem(key),
        "FETTLE_WEBHOOK_SECRETS": "s3cret",
        "ANTHROPIC_API_KEY": "sk-test",
        "HOME": "/nowhere",
        "PATH": "/bin",
    }


def refuse_settings(environ, **options):
    with pytest.raises(ConfigError) as caught:
        load_settings(environ, **options)
    return str(caught.value)


def test_defaults(environ):
    settings = load_settings(environ)
    assert (settings.host, settings.port) == ("127.0.0.1", 8080)
    assert (settings.model, settings.model_fast) == ("claude-opus-5-5", "claude-haiku-5-5")
    assert settings.toolchains == ()
    data = "/var/lib/fettle" if os.geteuid() == 0 else Path.home() / ".local/share/fettle"
    assert settings.data_dir == Path(data)
    assert settings.database == f"sqlite:///{data}/fettle.db"


def test_the_process_environment_is_the_default(monkeypatch, environ):
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("FETTLE_PORT", "9000")
    assert load_settings().port == 9000


@pytest.mark.parametrize(
    "form",
    [
        lambda text: text,
        lambda text: text.replace("\n", "\\n"),
        lambda text: '"' + text.replace("\n", "\\n") + '"',
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.encodebytes(text.encode()).decode(),
    ],
    ids=["pem", "escaped", "quoted", "base64", "base64 in lines"],
)
@pytest.mark.parametrize("shape", [PrivateFormat.TraditionalOpenSSL, PrivateFormat.PKCS8])
def test_every_form_of_a_key_gives_the_same_key(environ, key, form, shape):
    text = pem(key, shape)
    credentials = load_settings(environ | {"FETTLE_PRIVATE_KEY": form(text)}).credentials
    assert credentials.private_key.get_secret_value() == text
    assert credentials.app_id == "12345"


def test_key_from_a_file(environ, key, tmp_path):
    path = tmp_path / "key.pem"
    path.write_text(pem(key))
    del environ["FETTLE_PRIVATE_KEY"]
    environ["FETTLE_PRIVATE_KEY_FILE"] = str(path)
    credentials = load_settings(environ).credentials
    assert credentials.private_key.get_secret_value() == pem(key)


def test_bad_keys_name_the_variable_and_never_the_content(environ, key):
    curve = ec.generate_private_key(ec.SECP256R1())
    locked = pem(key, encryption=BestAvailableEncryption(b"pass"))
    public = "-----BEGIN PUBLIC KEY-----\nQUJDREVG\n-----END PUBLIC KEY-----"
    broken = pem(key)[:200]
    numbers = key.private_numbers()
    fields = {name: getattr(numbers, name) for name in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
    fields |= {"d": numbers.d - 2, "dmp1": numbers.dmp1 - 2}
    fields["public_numbers"] = numbers.public_numbers
    unfit = pem(rsa.RSAPrivateNumbers(**fields).private_key(unsafe_skip_rsa_key_validation=True))
    for text in ("tiptop+secret", "äöü", pem(curve), locked, public, broken, unfit):
        said = refuse_settings(environ | {"FETTLE_PRIVATE_KEY": text})
        assert "- FETTLE_PRIVATE_KEY: is" in said
        assert "BEGIN RSA PRIVATE KEY" in said
        assert text[30:60] not in said or not text[30:60]
        assert "tiptop" not in said


def test_key_file_that_cannot_be_read(environ, tmp_path):
    del environ["FETTLE_PRIVATE_KEY"]
    said = refuse_settings(environ | {"FETTLE_PRIVATE_KEY_FILE": str(tmp_path / "none")})
    assert "FETTLE_PRIVATE_KEY_FILE" in said
    assert "No such file" in said
    (tmp_path / "bin").write_bytes(b"\xff\xfe\x00")
    said = refuse_settings(environ | {"FETTLE_PRIVATE_KEY_FILE": str(tmp_path / "bin")})
    assert "not a text file" in said


def test_key_twice_is_refused(environ, tmp_path, key):
    path = tmp_path / "key.pem"
    path.write_text(pem(key))
    assert "Take one away" in refuse_settings(environ | {"FETTLE_PRIVATE_KEY_FILE": str(path)})


@pytest.mark.parametrize(
    ("text", "secrets"),
    [
        ("one", ["one"]),
        ("one, two", ["one", "two"]),
        ('["one, with comma", "two"]', ["one, with comma", "two"]),
    ],
)
def test_one_or_more_secrets(environ, text, secrets):
    credentials = load_settings(environ | {"FETTLE_WEBHOOK_SECRETS": text}).credentials
    assert [s.get_secret_value() for s in credentials.webhook_secrets] == secrets


@pytest.mark.parametrize("text", ["", "  ", ",", "one,,two", "one,", '[""]', "[]", "[one]", '["a"'])
def test_empty_or_broken_secrets_are_refused(environ, text):
    said = refuse_settings(environ | {"FETTLE_WEBHOOK_SECRETS": text})
    assert "FETTLE_WEBHOOK_SECRETS" in said
    assert "one" not in said.split("Expected")[0].replace("without one", "")


def test_every_problem_is_told_at_once(key):
    said = refuse_settings(
        {
            "FETTLE_PORT": "eighty",
            "FETTLE_HOSTS": "0.0.0.0",
            "FETTLE_GITHUB_URL": "https://api.github.com",
            "FETTLE_LOG_FORMAT": "xml",
            "FETTLE_RUN_BUDGET_USD": "0",
            "FETTLE_SANDBOX_UID": "0",
            "ANTHROPIC_BASE_URL": "localhost:1",
        }
    )
    for variable in (
        "APP_ID",
        "PRIVATE_KEY",
        "WEBHOOK_SECRETS",
        "PORT",
        "HOSTS",
        "GITHUB_URL",
        "LOG_FORMAT",
        "RUN_BUDGET_USD",
        "SANDBOX_UID",
    ):
        assert f"\n- FETTLE_{variable}: " in said, variable
    assert "\n- ANTHROPIC_BASE_URL: " in said
    assert "Did you mean FETTLE_HOST?" in said


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("FETTLE_WEBHOOK_SECRET", "FETTLE_WEBHOOK_SECRETS"),
        ("FETTLE_PRIVAT_KEY", "FETTLE_PRIVATE_KEY"),
        ("fettle_port", "FETTLE_PORT"),
        ("FETTLE_DATA_DIRECTORY", "FETTLE_DATA_DIR"),
    ],
)
def test_slips_of_the_pen_are_found(environ, name, meant):
    assert f"{name}: is no setting of Fettle. Did you mean {meant}?" in refuse_settings(
        environ | {name: "x"}
    )


def test_a_local_run_needs_no_app():
    settings = load_settings({"HOME": "/nowhere"}, serving=False)
    assert settings.app_id is None
    with pytest.raises(ConfigError, match="FETTLE_APP_ID"):
        _ = settings.credentials


def test_a_server_without_any_model_is_refused(environ):
    del environ["ANTHROPIC_API_KEY"]
    assert "ANTHROPIC_API_KEY: is missing" in refuse_settings(environ)
    url = "http://127.0.0.1:9"
    assert load_settings(environ | {"ANTHROPIC_BASE_URL": url}).anthropic_base_url == url


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("sqlite:////data/x.db", "sqlite:////data/x.db"),
        ("postgresql://me:pw@host/db", "postgresql+psycopg://me:pw@host/db"),
        ("postgres://host/db", "postgresql+psycopg://host/db"),
        ("postgresql+psycopg://host/db", "postgresql+psycopg://host/db"),
    ],
)
def test_databases(environ, text, url):
    assert load_settings(environ | {"FETTLE_DATABASE_URL": text}).database == url


@pytest.mark.parametrize(
    "text", ["mysql://me:hush@h/d", "sqlite://", "sqlite:///x.db", "hush", "sqlite:///:memory:"]
)
def test_other_databases_are_refused_without_telling_the_password(environ, text):
    said = refuse_settings(environ | {"FETTLE_DATABASE_URL": text})
    assert "- FETTLE_DATABASE_URL: " in said
    assert "hush" not in said


def test_toolchains_are_folders(environ, tmp_path):
    two = f"{tmp_path},{tmp_path}"
    assert load_settings(environ | {"FETTLE_TOOLCHAINS": two}).toolchains == (tmp_path, tmp_path)
    for bad in ("relative", str(tmp_path / "none")):
        assert "FETTLE_TOOLCHAINS" in refuse_settings(environ | {"FETTLE_TOOLCHAINS": bad})


def test_the_way_out_is_read_from_the_usual_variables(environ, tmp_path):
    (tmp_path / "company.pem").write_text(Authority().pem)
    way = {"https_proxy": "http://me:s3cret@proxy.example:3128", "NO_PROXY": "corp.example"}
    settings = load_settings({**environ, **way, "FETTLE_CA_FILE": str(tmp_path / "company.pem")})
    outbound = settings.outbound
    assert outbound.find_proxy("https://github.com").address == "http://proxy.example:3128"
    assert outbound.find_proxy("https://git.corp.example") is None
    assert outbound.authorities.startswith("-----BEGIN CERTIFICATE")
    assert "s3cret" not in repr(settings)


@pytest.mark.parametrize(
    "wrong",
    [
        {"HTTPS_PROXY": "socks5://proxy:1080"},
        {"HTTP_PROXY": "proxy:3128"},
        {"FETTLE_CA_FILE": __file__},
    ],
)
def test_a_way_out_that_cannot_be_is_refused(environ, wrong):
    [name] = wrong
    said = refuse_settings(environ | wrong)
    assert f"- {name}: " in said
    assert "must be an HTTP proxy" in said or "holds no certificates" in said


def test_secrets_are_never_printed(environ):
    environ["FETTLE_DATABASE_URL"] = "postgresql://me:hushhush@host/db"
    settings = load_settings(environ)
    for shown in (repr(settings), str(settings), repr(settings.credentials)):
        for hidden in ("s3cret", "sk-test", "hushhush", "PRIVATE KEY"):
            assert hidden not in shown


def test_settings_do_not_change(environ):
    settings = load_settings(environ)
    with pytest.raises(ValidationError):
        settings.port = 1


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("/src,/code", (Path("/src"), Path("/code"))),
        ('["/src"]', (Path("/src"),)),
        ('{"octo/lib": "~/lib"}', {"octo/lib": Path("~/lib").expanduser()}),
    ],
)
def test_where_clones_are(environ, said, meant):
    assert load_settings({**environ, "FETTLE_CLONES": said}).clones == meant


def test_where_clones_are_in_no_way_that_can_be_read(environ):
    assert "FETTLE_CLONES: begins with { but" in refuse_settings(
        {**environ, "FETTLE_CLONES": "{octo"}
    )


def test_an_allowlist_that_names_nobody_is_refused_instead_of_letting_everybody_in(environ):
    said = refuse_settings(environ | {"FETTLE_OWNERS": "[]"})

    assert "FETTLE_OWNERS: names nobody" in said


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("", ()),
        ("ghcr.io/acme/*, python:3.*", ("ghcr.io/acme/*", "python:3.*")),
        ('["ghcr.io/acme/ci"]', ("ghcr.io/acme/ci",)),
    ],
)
def test_images_that_repositories_may_name(environ, said, meant):
    assert load_settings({**environ, "FETTLE_ENVIRONMENT_IMAGES": said}).environment_images == meant


@pytest.mark.parametrize(
    "wrong", ["ghcr.io/acme/*,--privileged", "python:3,a b", "docker://python,A"]
)
def test_what_is_no_pattern_of_images_is_refused(environ, wrong):
    with pytest.raises(ConfigError, match="FETTLE_ENVIRONMENT_IMAGES: has something in place"):
        load_settings({**environ, "FETTLE_ENVIRONMENT_IMAGES": wrong})


def test_the_engine_is_a_program_whose_name_says_which(environ, tmp_path):
    program = tmp_path / "podman"
    for wrong in (program, tmp_path, Path("podman"), Path("/bin/sh")):
        with pytest.raises(ConfigError, match="FETTLE_CONTAINER_ENGINE: names"):
            load_settings({**environ, "FETTLE_CONTAINER_ENGINE": str(wrong)})
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    found = load_settings({**environ, "FETTLE_CONTAINER_ENGINE": str(program)}).container_engine
    assert found == program
