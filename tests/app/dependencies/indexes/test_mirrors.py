"""The operator's mirrors of Maven, Gradle, RubyGems, Packagist, NuGet and Hex, from their files."""

import pytest

from app.dependencies.indexes.composer import PACKAGIST, composer_indexes
from app.dependencies.indexes.finder import READERS
from app.dependencies.indexes.hex import HEX, hex_indexes
from app.dependencies.indexes.jvm import CENTRAL, PLUGINS, gradle_indexes, maven_indexes
from app.dependencies.indexes.nuget import NUGET, nuget_indexes
from app.dependencies.indexes.ruby import PLAIN, RUBYGEMS, ruby_indexes
from tests.app.dependencies.indexes.conftest import MAVEN_SETTINGS, NUGET_SOURCE

MIRROR = "https://mirror.example/all"


def map_served(made):
    """Return what each index stands for, by its URL."""
    return {index.url: index.stands_for for index in made.indexes}


def headers(made):
    return [key.header.get_secret_value() for index in made.indexes for key in index.keys]


# --- Maven ----------------------------------------------------------------------------------------


async def test_an_unconfigured_maven_has_central(machine):
    assert map_served(await maven_indexes(machine.operator())) == dict.fromkeys(CENTRAL, ())


@pytest.mark.parametrize("of", ["central", "*", "external:*", "*,!internal", "a, central"])
async def test_mavens_mirror_stands_for_central(machine, of):
    text = MAVEN_SETTINGS.format(url=MIRROR).replace("<mirrorOf>*<", f"<mirrorOf>{of}<")
    machine.write(".m2/settings.xml", text)
    assert map_served(await maven_indexes(machine.operator())) == {MIRROR: CENTRAL}


@pytest.mark.parametrize("of", ["!central,*", "internal", "external:http:*", "central-too", ""])
async def test_a_mirror_of_something_else_does_not(machine, of):
    text = MAVEN_SETTINGS.format(url=MIRROR).replace("<mirrorOf>*<", f"<mirrorOf>{of}<")
    machine.write(".m2/settings.xml", text)
    assert map_served(await maven_indexes(machine.operator())) == dict.fromkeys(CENTRAL, ())


async def test_mavens_servers_are_keys(machine):
    servers = (
        "<servers><server><id>own</id><username>bot</username>"
        "<password>${env.OWN}</password></server></servers>"
    )
    text = MAVEN_SETTINGS.format(url=MIRROR).replace("</settings>", f"{servers}</settings>")
    machine.write(".m2/settings.xml", text)
    machine.environ["OWN"] = "hunter22"
    made = await maven_indexes(machine.operator())
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]
    assert made.indexes[0].keys[0].path == "/all/"
    assert "hunter22" not in f"{made}"
    assert not made.environment
    assert not made.files


async def test_a_token_of_maven_is_a_key_and_a_locked_password_is_said(machine):
    token = (
        "<server><id>own</id><configuration><httpHeaders><property><name>Authorization</name>"
        "<value>Bearer token-1234567</value></property></httpHeaders></configuration></server>"
    )
    text = MAVEN_SETTINGS.format(url=MIRROR)
    whole = text.replace("</settings>", f"<servers>{token}</servers></settings>")
    machine.write(".m2/settings.xml", whole)
    assert headers(await maven_indexes(machine.operator())) == ["Bearer token-1234567"]
    locked = "<server><id>own</id><username>bot</username><password>{COQ=}</password></server>"
    whole = text.replace("</settings>", f"<servers>{locked}</servers></settings>")
    machine.write(".m2/settings.xml", whole)
    made = await maven_indexes(machine.operator())
    assert headers(made) == []
    assert "is encrypted" in made.notes[0]
    assert "COQ" not in made.notes[0]


async def test_repositories_of_active_profiles_are_indexes(machine):
    one = "<repositories><repository><id>{id}</id><url>https://{id}.example/r</url></repository></repositories>"
    machine.write(
        ".m2/settings.xml",
        "<settings><profiles>"
        f"<profile><id>a</id>{one.format(id='mine')}</profile>"
        f"<profile><id>b</id>{one.format(id='never')}</profile>"
        f"<profile><activation><activeByDefault>true</activeByDefault></activation>"
        f"{one.format(id='mirrored')}</profile></profiles>"
        "<activeProfiles><activeProfile>a</activeProfile></activeProfiles>"
        f"<mirrors><mirror><id>m</id><url>{MIRROR}</url><mirrorOf>mirrored</mirrorOf></mirror>"
        "</mirrors></settings>",
    )
    made = await maven_indexes(machine.operator())
    assert map_served(made) == {
        "https://mine.example/r": (),
        MIRROR: ("https://mirrored.example/r/",),
        **dict.fromkeys(CENTRAL, ()),
    }


async def test_the_machines_settings_come_after_the_users(machine, tmp_path):
    conf = tmp_path / "maven/conf/settings.xml"
    conf.parent.mkdir(parents=True)
    conf.write_text(MAVEN_SETTINGS.format(url="https://second.example/m"))
    machine.environ["MAVEN_HOME"] = str(tmp_path / "maven")
    assert map_served(await maven_indexes(machine.operator())) == {
        "https://second.example/m": CENTRAL
    }
    machine.write(".m2/settings.xml", MAVEN_SETTINGS.format(url=MIRROR))
    assert map_served(await maven_indexes(machine.operator())) == {MIRROR: CENTRAL}


@pytest.mark.parametrize("url", ["file:///srv/maven", "/srv/maven", "s3://bot:hunter22@bucket/m"])
async def test_whoever_has_a_mirror_that_is_no_server_gets_no_other_way_out(machine, url):
    machine.write(".m2/settings.xml", MAVEN_SETTINGS.format(url=url))
    made = await maven_indexes(machine.operator())
    assert map_served(made) == {}
    assert "left out" in made.notes[0]
    assert "hunter22" not in made.notes[0]


@pytest.mark.parametrize("text", ["", "<settings>", "no XML", "<settings><mirrors/></settings>"])
async def test_settings_that_say_nothing(machine, text):
    machine.write(".m2/settings.xml", text)
    assert map_served(await maven_indexes(machine.operator())) == dict.fromkeys(CENTRAL, ())


# --- Gradle ---------------------------------------------------------------------------------------


async def test_an_unconfigured_gradle_has_its_plugins(machine):
    made = await gradle_indexes(machine.operator())
    assert list(map_served(made)) == [PLUGINS, "https://plugins-artifacts.gradle.org/"]
    assert READERS["gradle"] == (maven_indexes, gradle_indexes)


async def test_mavens_mirror_of_everything_is_gradles(machine):
    machine.write(".m2/settings.xml", MAVEN_SETTINGS.format(url=MIRROR))
    assert map_served(await gradle_indexes(machine.operator())) == {MIRROR: (PLUGINS,)}


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("init.gradle", f"maven {{ url '{MIRROR}' }}"),
        ("init.d/own.gradle", f'maven {{ url = "{MIRROR}" }}'),
        ("init.d/own.gradle.kts", f'maven {{ url = uri("{MIRROR}") }}'),
        ("init.gradle.kts", f'maven {{ setUrl("{MIRROR}") }}'),
    ],
)
async def test_one_server_of_gradles_init_scripts_stands_for_everything(machine, name, line):
    comment = "// maven { url 'https://old.example' }\n/* url 'https://older.example' */\n"
    machine.write(f".gradle/{name}", f"{comment}allprojects {{ repositories {{ {line} }} }}\n")
    assert map_served(await gradle_indexes(machine.operator())) == {MIRROR: (*CENTRAL, PLUGINS)}


async def test_several_servers_stand_for_nothing_and_that_is_said(machine):
    lines = [f"maven {{ url 'https://{name}.example/m'; credentials {{ }} }}" for name in "ab"]
    machine.write(".gradle/init.gradle", "\n".join(lines))
    made = await gradle_indexes(machine.operator())
    assert set(map_served(made).values()) == {()}
    assert "several servers" in made.notes[1]
    assert ".netrc" in made.notes[0]


async def test_a_login_from_the_netrc_opens_gradles_server(machine):
    machine.write(".netrc", "machine mirror.example login bot password hunter22\n").chmod(0o600)
    machine.write(".gradle/init.gradle", f"maven {{ url '{MIRROR}' }}")
    assert headers(await gradle_indexes(machine.operator())) == ["Basic Ym90Omh1bnRlcjIy"]


# --- Ruby -----------------------------------------------------------------------------------------


PUBLIC_GEMS = {RUBYGEMS[0]: (PLAIN[0],), RUBYGEMS[1]: (PLAIN[1],)}


async def test_an_unconfigured_bundler_has_rubygems(machine):
    assert map_served(await ruby_indexes(machine.operator())) == PUBLIC_GEMS


@pytest.mark.parametrize("name", ["BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/", "BUNDLE_MIRROR__ALL"])
async def test_bundlers_mirror_stands_for_rubygems(machine, name):
    text = f'---\n{name}: "{MIRROR}"\nBUNDLE_MIRROR__EXAMPLE: "bot:hunter22"\n'
    machine.write(".bundle/config", text)
    assert map_served(await ruby_indexes(machine.operator()))[MIRROR] == (*RUBYGEMS, *PLAIN)
    machine.environ[name] = "https://env.example/"
    assert map_served(await ruby_indexes(machine.operator()))["https://env.example/"] == (
        *RUBYGEMS,
        *PLAIN,
    )


async def test_a_mirror_of_another_source_and_its_login(machine):
    machine.write(
        ".bundle/config",
        "---\nBUNDLE_MIRROR__HTTPS://GEMS__ONE-TWO__EXAMPLE/: https://a-b.example/m\n"
        'BUNDLE_A___B__EXAMPLE: "bot:hunter22"\n',
    )
    made = await ruby_indexes(machine.operator())
    assert map_served(made)["https://a-b.example/m"] == ("https://gems.one-two.example/",)
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]
    assert "hunter22" not in f"{made}"


async def test_sources_of_rubygems_are_used_where_bundler_has_no_mirror(machine):
    machine.write(".gemrc", f":sources:\n- {MIRROR}\n- https://more.example/\n")
    made = await ruby_indexes(machine.operator())
    assert map_served(made) == {MIRROR: (*RUBYGEMS, *PLAIN), "https://more.example/": ()}
    machine.write(".gemrc", f":sources:\n- https://rubygems.org\n- {MIRROR}\n")
    made = await ruby_indexes(machine.operator())
    assert map_served(made) == {**PUBLIC_GEMS, MIRROR: ()}


# --- Composer -------------------------------------------------------------------------------------


async def test_an_unconfigured_composer_has_packagist(machine):
    assert map_served(await composer_indexes(machine.operator())) == {PACKAGIST[0]: ()}


@pytest.mark.parametrize(
    "text",
    [
        f'[{{"type": "composer", "url": "{MIRROR}"}}, {{"packagist.org": false}}]',
        f'{{"packagist": false, "own": {{"type": "composer", "url": "{MIRROR}/packages.json"}}}}',
    ],
)
async def test_composers_repository_stands_for_packagist_where_that_is_off(machine, text):
    machine.write(".config/composer/config.json", f'{{"repositories": {text}}}')
    made = await composer_indexes(machine.operator())
    assert [(u.rstrip("/"), p) for u, p in map_served(made).items()] == [(MIRROR, PACKAGIST)]
    assert not made.files


async def test_other_repositories_go_in_without_their_passwords(machine):
    machine.write(
        ".config/composer/config.json",
        '{"repositories": [{"type": "composer", "url": "https://bot:hunter22@own.example/c"},'
        ' {"type": "vcs", "url": "https://git.example/x"}]}',
    )
    made = await composer_indexes(machine.operator())
    assert map_served(made) == {"https://own.example/c": (), PACKAGIST[0]: ()}
    assert "own.example/c" in made.files["config.json"]
    assert "hunter22" not in f"{made}"
    assert "`vcs`" in made.notes[0]


async def test_composers_logins_open_its_repositories_and_no_other_host(machine):
    machine.write(
        ".config/composer/config.json",
        f'{{"repositories": [{{"type": "composer", "url": "{MIRROR}"}}, {{"packagist": false}}]}}',
    )
    machine.write(
        ".config/composer/auth.json",
        '{"http-basic": {"mirror.example": {"username": "bot", "password": "hunter22"}},'
        ' "github-oauth": {"github.com": "ghp_canary"}}',
    )
    made = await composer_indexes(machine.operator())
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]
    assert "not used" in made.notes[0]
    machine.environ["COMPOSER_AUTH"] = '{"http-basic": {}, "bearer": {"mirror.example": "tok-9"}}'
    assert headers(await composer_indexes(machine.operator())) == ["Bearer tok-9"]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"repositories": 1}', '{"repositories": [1, {}]}']
)
async def test_configurations_of_composer_that_say_nothing(machine, text):
    machine.write(".config/composer/config.json", text)
    machine.write(".config/composer/auth.json", text)
    assert map_served(await composer_indexes(machine.operator())) == {PACKAGIST[0]: ()}


# --- NuGet ----------------------------------------------------------------------------------------


async def test_an_unconfigured_nuget_has_its_public_source(machine):
    assert map_served(await nuget_indexes(machine.operator())) == {NUGET: ()}


async def test_nugets_source_stands_for_the_public_one_that_is_not_listed(machine):
    text = NUGET_SOURCE.format(name="Own", url=MIRROR)
    more = '<add key="two" value="https://two.example/v3/index.json"/><add key="off" value="https://off.example"/>'
    text = text.replace(
        "</packageSources>",
        f"{more}</packageSources><disabledPackageSources><add key='off' value='true'/>"
        "</disabledPackageSources><packageSourceCredentials><own><add key='Username' value='bot'/>"
        "<add key='ClearTextPassword' value='%PW%'/></own></packageSourceCredentials>",
    )
    machine.write(".nuget/NuGet/NuGet.Config", text)
    machine.environ["PW"] = "hunter22"
    made = await nuget_indexes(machine.operator())
    assert map_served(made) == {MIRROR: (NUGET,), "https://two.example/v3/index.json": ()}
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]


async def test_nugets_login_from_a_variable_and_one_that_is_locked(machine):
    machine.write(".config/NuGet/NuGet.Config", NUGET_SOURCE.format(name="Own", url=MIRROR))
    machine.environ["NuGetPackageSourceCredentials_Own"] = "Username=bot;Password=hunter22"
    assert headers(await nuget_indexes(machine.operator())) == ["Basic Ym90Omh1bnRlcjIy"]
    del machine.environ["NuGetPackageSourceCredentials_Own"]
    login = "<Own><add key='Password' value='AQAA'/></Own>"
    locked = f"<packageSourceCredentials>{login}</packageSourceCredentials>"
    text = NUGET_SOURCE.format(name="Own", url=MIRROR)
    machine.write(
        ".config/NuGet/NuGet.Config", text.replace("</configuration>", f"{locked}</configuration>")
    )
    made = await nuget_indexes(machine.operator())
    assert headers(made) == []
    assert "is encrypted" in made.notes[0]


# --- Hex ------------------------------------------------------------------------------------------


async def test_an_unconfigured_hex_has_its_public_index(machine):
    assert map_served(await hex_indexes(machine.operator())) == dict.fromkeys(HEX, ())


async def test_hexs_mirror_stands_for_both_hosts(machine):
    machine.write(".hex/hex.config", f'{{api_key,<<"canary">>}}.\n{{mirror_url,<<"{MIRROR}">>}}.\n')
    made = await hex_indexes(machine.operator())
    assert map_served(made) == {MIRROR: HEX}
    assert "canary" not in f"{made}"
    machine.environ["HEX_MIRROR"] = "https://bot:hunter22@env.example"
    made = await hex_indexes(machine.operator())
    assert map_served(made) == {"https://env.example": HEX}
    assert headers(made) == ["Basic Ym90Omh1bnRlcjIy"]
