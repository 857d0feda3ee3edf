"""Maven, Gradle, Bundler, Composer and Cargo in real sandboxes, with the operator's mirror of each.

The sandbox asks for the public index by its name; the mirror answers, with a password that only the
proxy has. A repository's own configuration of each tool names somebody else, who hears nothing.
"""

import hashlib
import io
import json
import shutil
import subprocess
import tarfile
import zipfile
from pathlib import Path

import pytest

from app.dependencies.indexes.finder import IndexFinder
from app.dependencies.indexes.operator_config import Operator
from app.dependencies.origins import OriginKey
from tests.app.dependencies.indexes.conftest import MAVEN_SETTINGS
from tests.app.dependencies.scene import Names
from tests.app.dependencies.test_real_tools import open_way

PASSWORD = "hunter22-hunter22"
LEAKS = "{ env; cat /run/fettle/* /proc/*/environ; find ~ -type f -exec cat {} +; } 2>/dev/null"


def needs(name):
    """Skip where sandboxes do not see the tool, which is what they see below /usr."""
    found = str(shutil.which(name, path="/usr/bin"))
    return pytest.mark.skipif(not found.startswith("/usr/"), reason=f"sandboxes see no {name} here")


def knows_sparse_indexes():
    if not Path("/usr/bin/cargo").exists():
        return False
    command = ["/usr/bin/cargo", "--version"]
    told = subprocess.run(command, capture_output=True, text=True, check=True)
    return tuple(map(int, told.stdout.split()[1].split(".")[:2])) >= (1, 68)


class MirrorScene:
    """A mirror with a password, its operator, and a repository that names a host of its own."""

    def __init__(self, index, evil, folder, command, sandbox):
        self.index, self.evil, self.sandbox, self.command = index, evil, sandbox, command
        self.home = folder / "home"
        self.home.mkdir()
        bundle = self.write(self.home, "authority.pem", index.authority.pem)
        self.environ = {
            "PATH": "/nonexistent",
            "HOME": str(self.home),
            "SSL_CERT_FILE": str(bundle),
        }
        netrc = f"machine {index.host} login bot password {PASSWORD}\n"
        self.write(self.home, ".netrc", netrc).chmod(0o600)

    def write(self, folder, name, text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o644)
        return path

    def lay(self, **files):
        for name, text in files.items():
            self.write(self.command.tree, name, text).parent.chmod(0o777)

    async def run(self, tool, script):
        """Run the script with the tool's indexes; return what it said, and the refusals."""
        said = []
        finder = IndexFinder(
            Operator(self.environ), self.sandbox.owner, conceal=said.append, resolver=Names()
        )
        indexes = await finder.find({tool: ""})
        assert PASSWORD in said
        async with open_way(self.sandbox, self.command, indexes, resolver=Names()) as run:
            result = await run(f"{script}\necho LEAKS $({LEAKS} | grep -ac {PASSWORD})")
            assert result.output.rstrip().endswith("LEAKS 0"), result.output[-3000:]
            assert self.evil.visits == 0
            return result.output, [str(each) for each in run.proxy.refused]

    @property
    def paths(self):
        """Return what the mirror was asked for, each time with the password."""
        assert {"Basic" in h.get("Authorization", "") for _, _, h in self.index.asked} == {True}
        return [path for _, path, _ in self.index.asked]


@pytest.fixture
async def scene(index, canary, tmp_path, command, sandbox):
    return MirrorScene(await index("mirror.example"), canary, tmp_path, command, sandbox)


POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>org.example</groupId><artifactId>{name}</artifactId><version>1</version>
<packaging>pom</packaging>{more}</project>"""


@needs("mvn")
async def test_maven_reads_central_from_the_operators_mirror(scene):
    url = f"{scene.index.url}/team/maven"
    scene.write(scene.home, ".m2/settings.xml", MAVEN_SETTINGS.format(url=url))
    pom = POM.format(name="above", more="")
    for end, body in (("", pom), (".sha1", hashlib.sha1(pom.encode()).hexdigest())):
        scene.index.page(f"/team/maven/org/example/above/1/above-1.pom{end}", body)
    parent = "<parent><groupId>org.example</groupId><artifactId>{}</artifactId>"
    parent += "<version>1</version><relativePath/></parent>"
    there = f"http://localhost:{scene.evil.port}/m2"
    evil = f"<repositories><repository><id>evil</id><url>{there}</url></repository></repositories>"
    scene.lay(
        **{
            "pom.xml": POM.format(name="own", more=parent.format("above")),
            "evil/pom.xml": POM.format(name="own", more=parent.format("nowhere") + evil),
            "evil/.mvn/maven.config": "-s\n.mvn/settings.xml\n-gs\n.mvn/settings.xml\n",
            "evil/.mvn/settings.xml": MAVEN_SETTINGS.format(url=there),
        }
    )
    maven = "mvn -B -ntp validate"
    quick = "export MAVEN_OPTS='-XX:TieredStopAtLevel=1 -XX:+UseSerialGC'"
    output, refused = await scene.run("mvn", f"{quick}; {maven}; cd evil && {maven}")
    assert output.count("BUILD SUCCESS") == 1, output
    assert "/team/maven/org/example/above/1/above-1.pom" in scene.paths
    assert f"localhost:{scene.evil.port} is not a package index" in str(refused)


JAR = """apply plugin: 'java'
repositories {{ {repository} }}
dependencies {{ compile 'org.example:above:1' }}
task list {{ doLast {{ configurations.compileClasspath.each {{ println 'GOT ' + it.name }} }} }}
"""


@needs("gradle")
async def test_gradle_reads_central_from_the_operators_mirror(scene):
    url = f"{scene.index.url}/team/maven"
    scene.write(scene.home, ".gradle/init.gradle", f"repositories {{ maven {{ url '{url}' }} }}")
    pom = POM.format(name="above", more="").replace("<packaging>pom</packaging>", "")
    jar = io.BytesIO()
    zipfile.ZipFile(jar, "w").close()
    base = "/team/maven/org/example/above/1/above-1"
    scene.index.page(f"{base}.pom", pom)
    scene.index.page(f"{base}.jar", jar.getvalue(), Content_Type="application/java-archive")
    there = f"http://localhost:{scene.evil.port}/m2"
    scene.lay(
        **{
            "build.gradle": JAR.format(repository="mavenCentral()"),
            "settings.gradle": "",
            "evil/build.gradle": JAR.format(repository=f"maven {{ url '{there}' }}"),
            "evil/settings.gradle": "",
        }
    )
    gradle = "gradle --no-daemon --console=plain -q list"
    output, refused = await scene.run("gradle", f"{gradle} && cd evil && {gradle}")
    assert "GOT above-1.jar" in output, output
    assert f"{base}.jar" in scene.paths
    assert f"localhost:{scene.evil.port} is not a package index" in str(refused)


GEMSPEC = """Gem::Specification.new do |s|
  s.name = "fettle_probe"; s.version = "1.0"; s.summary = "x"; s.authors = ["x"]
  s.files = ["lib/fettle_probe.rb"]
end
"""


@needs("bundle")
async def test_bundler_reads_rubygems_from_the_operators_mirror(scene, tmp_path):
    mirror = f'BUNDLE_MIRROR__HTTPS://RUBYGEMS__ORG/: "{scene.index.url}/team/gems"\n'
    scene.write(scene.home, ".bundle/config", f"---\n{mirror}")
    source = tmp_path / "gem"
    scene.write(source, "lib/fettle_probe.rb", "VALUE = 4711\n")
    scene.write(source, "fettle_probe.gemspec", GEMSPEC)
    subprocess.run(["/usr/bin/gem", "build", "-q", "fettle_probe.gemspec"], cwd=source, check=True)
    gem = (source / "fettle_probe-1.0.gem").read_bytes()
    info = f"---\n1.0 |checksum:{hashlib.sha256(gem).hexdigest()}\n"
    digest = hashlib.md5(info.encode()).hexdigest()
    listed = f"created_at: 2020-01-01T00:00:00Z\n---\nfettle_probe 1.0 {digest}\n"
    scene.index.page("/team/gems/versions", listed, Content_Type="text/plain")
    scene.index.page("/team/gems/info/fettle_probe", info, Content_Type="text/plain")
    scene.index.page("/team/gems/gems/fettle_probe-1.0.gem", gem, Content_Type="application/gzip")
    there = f"http://localhost:{scene.evil.port}/"
    gemfile = 'source "{}"\ngem "fettle_probe"\n'
    scene.lay(
        **{
            "Gemfile": gemfile.format("https://rubygems.org"),
            "old/Gemfile": gemfile.format("http://rubygems.org"),
            "evil/Gemfile": gemfile.format(there),
            "evil/.bundle/config": f'---\nBUNDLE_MIRROR__ALL: "{there}"\n',
        }
    )
    script = "export BUNDLE_PATH=gems; bundle install --quiet && bundle exec ruby"
    script += " -e 'require %q(fettle_probe); puts VALUE'"
    script += f" && (cd old && {script})"
    output, refused = await scene.run("bundle", f"{script}; cd evil && bundle install --quiet")
    assert output.startswith("4711\n4711\n"), (output, refused)
    assert "/team/gems/gems/fettle_probe-1.0.gem" in scene.paths
    assert f"localhost:{scene.evil.port} is not a package index" in str(refused)


@needs("composer")
async def test_composer_reads_packagist_from_the_operators_mirror(scene):
    url = f"{scene.index.url}/team/php"
    listed = [{"type": "composer", "url": url}, {"packagist.org": False}]
    scene.write(scene.home, ".config/composer/config.json", json.dumps({"repositories": listed}))
    packed = io.BytesIO()
    own = {"name": "fettle/probe", "autoload": {"files": ["probe.php"]}}
    with zipfile.ZipFile(packed, "w") as made:
        made.writestr("composer.json", json.dumps(own))
        made.writestr("probe.php", "<?php echo 4711, PHP_EOL;")
    version = {
        **own,
        "version": "1.0.0",
        "dist": {"type": "zip", "url": f"{url}/files/probe.zip"},
    }
    pages = {
        "packages.json": {"packages": [], "metadata-url": "/team/php/p2/%package%.json"},
        "p2/fettle/probe.json": {"packages": {"fettle/probe": [version]}},
    }
    for path, content in pages.items():
        body = json.dumps(content)
        scene.index.page(f"/team/php/{path}", body, Content_Type="application/json")
    # Packagist's own page says where packages are below its root.
    scene.index.page(
        "/team/php/team/php/p2/fettle/probe.json", json.dumps(pages["p2/fettle/probe.json"])
    )
    packed_type = {"Content_Type": "application/zip"}
    scene.index.page("/team/php/files/probe.zip", packed.getvalue(), **packed_type)
    there = f"http://localhost:{scene.evil.port}"
    wanted = {"require": {"fettle/probe": "^1.0"}}
    evil = {"repositories": [{"type": "composer", "url": there}], "config": {"secure-http": False}}
    scene.lay(
        **{
            "composer.json": json.dumps(wanted),
            "evil/composer.json": json.dumps({**wanted, **evil}),
        }
    )
    script = "composer install -q --no-interaction && php -r 'require \"vendor/autoload.php\";'"
    output, refused = await scene.run("composer", f"{script}; cd evil && composer install -n")
    assert "4711" in output, (output, refused)
    assert "/team/php/files/probe.zip" in scene.paths
    assert f"localhost:{scene.evil.port} is not a package index" in str(refused)


@needs("cargo")
@pytest.mark.skipif(not knows_sparse_indexes(), reason="Cargo before 1.68 knows no sparse index")
async def test_cargo_fetches_from_the_operators_sparse_index(scene):
    url = f"{scene.index.url}/team/cargo/"
    source = f'[source.crates-io]\nreplace-with = "own"\n[source.own]\nregistry = "sparse+{url}"\n'
    scene.write(scene.home, ".cargo/config.toml", source)
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as made:
        manifest = '[package]\nname = "probe"\nversion = "1.0.0"\n'
        for name, text in (("Cargo.toml", manifest), ("src/lib.rs", "pub fn value() {}\n")):
            member = tarfile.TarInfo(f"probe-1.0.0/{name}")
            member.size = len(text)
            made.addfile(member, io.BytesIO(text.encode()))
    crate = packed.getvalue()
    about = {
        "name": "probe",
        "vers": "1.0.0",
        "deps": [],
        "cksum": hashlib.sha256(crate).hexdigest(),
        "features": {},
        "yanked": False,
    }
    where = json.dumps({"dl": f"{url}files/{{crate}}-{{version}}"})
    scene.index.page("/team/cargo/config.json", where, Content_Type="application/json")
    scene.index.page("/team/cargo/pr/ob/probe", json.dumps(about), Content_Type="text/plain")
    scene.index.page("/team/cargo/files/probe-1.0.0", crate, Content_Type="application/gzip")
    there = f"http://localhost:{scene.evil.port}/"
    manifest = '[package]\nname = "own"\nversion = "1.0.0"\n[dependencies]\nprobe = "1"\n'
    elsewhere = manifest.replace('"1"', '{ version = "1", registry = "evil" }')
    scene.lay(
        **{
            "Cargo.toml": manifest,
            "src/lib.rs": "",
            "evil/Cargo.toml": f"{elsewhere}[workspace]\n",
            "evil/src/lib.rs": "",
            "evil/.cargo/config.toml": f'[registries.evil]\nindex = "sparse+{there}"\n',
        }
    )
    script = "cargo fetch && ls ~/.cargo/registry/cache/*; cd evil && cargo fetch"
    output, refused = await scene.run("cargo", script)
    assert "probe-1.0.0.crate" in output, (output, refused)
    assert "/team/cargo/files/probe-1.0.0" in scene.paths
    assert f"localhost:{scene.evil.port} is not a package index" in str(refused)


# --- without a tool -------------------------------------------------------------------------------


async def test_a_mirror_answers_for_its_paths_alone_and_its_own_moves_lead_to_it(scene):
    url = f"{scene.index.url}/team/maven"
    scene.write(scene.home, ".m2/settings.xml", MAVEN_SETTINGS.format(url=url))
    scene.index.page("/team/maven/a.pom", "found")
    scene.index.page("/team/maven/moved", "", status=302, Location="/team/maven/a.pom")
    scene.index.page("/team/secret", "never")
    central = "https://repo.maven.apache.org"
    ask = "curl -sS -o /dev/stdout -w ' %{http_code} %{redirect_url}\\n'"
    script = "\n".join(
        f"{ask} {option} {central}{path}"
        for option, path in (
            ("", "/maven2/a.pom"),
            ("", "/maven2/moved"),
            ("", "/team/secret"),
            ("--path-as-is", "/maven2/../secret"),
            ("--path-as-is", "/maven2/%2e%2e/secret"),
            ("-d x", "/maven2/a.pom"),
            ("-L", "/maven2/moved"),
        )
    )
    output, refused = await scene.run("mvn", script)
    lines = output.splitlines()
    assert lines[0] == "found 200 "
    assert lines[1] == f" 302 {scene.index.url}/team/maven/a.pom"
    assert "never" not in output
    assert "found 200 " in lines[-2], output
    assert "is served by a mirror, which has nothing of that path" in str(refused)
    assert "was sent a POST" in str(refused)
    told = {p: "Authorization" in h for _, p, h in scene.index.asked}
    assert told.pop("/team/maven/../secret", False) is False  # what climbs gets no password
    assert told.pop("/team/maven/%2e%2e/secret", False) is False
    assert set(told.values()) == {True}


async def test_what_a_mirror_stands_for_is_not_asked_even_where_the_operator_allows_it(scene):
    url = f"{scene.index.url}/team/maven"
    scene.write(scene.home, ".m2/settings.xml", MAVEN_SETTINGS.format(url=url))
    operator = Operator(scene.environ, hosts=("repo.maven.apache.org",))
    names = Names()
    finder = IndexFinder(operator, scene.sandbox.owner, conceal=lambda _: None, resolver=names)
    found = await finder.find({"mvn": ""})
    place = OriginKey("https", "repo.maven.apache.org", 443)
    [central, *_] = [each for each in found.allowed if each.place == place]
    assert central.served
    async with open_way(scene.sandbox, scene.command, found, resolver=Names()) as run:
        scene.index.page("/team/maven/a.pom", "found")
        result = await run("curl -sS https://repo.maven.apache.org/maven2/a.pom")
    assert result.output == "found"
    assert Path(scene.home).exists()
