"""The settings of this machine's toolchains inside: enough to start them, and no secret."""

import shutil
from pathlib import Path

import pytest

from app.sandbox.bubblewrap.profile import (
    build_command_options,
    build_etc_files,
    build_system_options,
)
from app.sandbox.port import OperatorLimits, SandboxCommand, build_environment
from tests.patience import PATIENCE

SECRET = "hunter2-of-the-operator"
JDKS = [folder for folder in Path("/etc").glob("java-*") if (folder / "management").is_dir()]

needs_jdk = pytest.mark.skipif(
    not JDKS or shutil.which("java", path="/usr/bin") is None,
    reason="no JDK of Debian's: install `openjdk-17-jdk-headless`",
)
needs_maven = pytest.mark.skipif(
    not Path("/etc/maven/m2.conf").is_file(), reason="no Maven of Debian's: install `maven`"
)


@pytest.fixture
def etc(tmp_path):
    """A machine's /etc whose operator keeps secrets where the tools look for them."""
    texts = {
        "maven/m2.conf": "main is org.apache.maven.cli.MavenCli",
        "maven/logging/simplelogger.properties": "org.slf4j.simpleLogger.showDateTime=false",
        "maven/settings.xml": f"<server><password>{SECRET}</password></server>",
        "maven/toolchains.xml": f"<token>{SECRET}</token>",
        "gradle/init.d/company.gradle": f"credentials {{ password '{SECRET}' }}",
        "java-17-openjdk/security/java.security": "security.provider.1=SUN",
        "java-17-openjdk/management/jmxremote.password": f"controlRole {SECRET}",
        "php/8.2/cli/php.ini": f"mysqli.default_pw = {SECRET}",
        "php/8.2/cli/conf.d/10-mbstring.ini": "; enable\nextension=mbstring.so\n",
        "php/8.2/cli/conf.d/20-newrelic.ini": (
            f"extension=newrelic.so\nnewrelic.license = {SECRET}\nzend_extension = x.so"
        ),
        "ssl/certs/java/cacerts": "certificates",
        "ssl/private/key.pem": SECRET,
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_copied_settings_hold_no_secret(etc):
    files = build_etc_files(etc)
    assert SECRET.encode() not in b"".join(files.values())
    assert files["/etc/maven/m2.conf"] == b"main is org.apache.maven.cli.MavenCli"
    assert files["/etc/php/8.2/cli/conf.d/extensions.ini"] == (
        b"extension=mbstring.so\nextension=newrelic.so\nzend_extension = x.so\n"
    )


def test_no_folder_that_is_shown_holds_a_secret(etc):
    options = build_system_options(etc)
    shown = [Path(options[at + 1]) for at, word in enumerate(options) if word == "--ro-bind-try"]
    hidden = [options[at + 1] for at, word in enumerate(options) if word == "--tmpfs"]
    assert hidden == ["/etc/java-17-openjdk/management"]
    assert etc / "java-17-openjdk" in shown
    for folder in shown:
        for path in folder.rglob("*"):
            if path.is_file() and f"/etc/{path.parent.relative_to(etc)}" not in hidden:
                assert SECRET not in path.read_text()


@needs_jdk
async def test_an_installed_jdk_compiles_and_runs(bash):
    result = await bash(
        "cd /workspace && printf 'class A { public static void main(String[] a) throws Exception {"
        ' java.security.SecureRandom.getInstanceStrong(); System.out.print("works"); } }\''
        " >A.java && java A.java",
        timeout=120,
    )
    assert (result.exit_code, result.output[-5:]) == (0, "works")


@needs_jdk
async def test_a_jdks_passwords_are_out_of_reach(bash):
    result = await bash(
        "for jdk in /etc/java-*; do ls -A $jdk/management; done; "
        f"touch {JDKS[0]}/management/x || touch {JDKS[0]}/x || echo held"
    )
    assert result.output.split("\n")[-2] == "held"
    assert "jmxremote" not in result.output


@needs_jdk
@needs_maven
async def test_an_installed_maven_starts_and_shows_no_settings_of_the_machine(bash):
    result = await bash("mvn --version; cat /etc/maven/settings.xml", timeout=120)
    assert "Apache Maven" in result.output
    assert "No such file" in result.output


GROW = """class Grow {
    public static void main(String[] given) {
        System.out.println("most " + Runtime.getRuntime().maxMemory() / 1_000_000);
        for (int round = 0; round < 4_000; round++) {
            byte[] dropped = new byte[1_000_000];
        }
        System.out.println("done");
    }
}
"""


@needs_jdk
async def test_java_takes_the_memory_of_its_command_for_the_machines(bash):
    result = await bash(
        f"cd ~ && cat >Grow.java <<'END'\n{GROW}END\njava Grow.java && java -Xmx300m Grow.java",
        environment={"JAVA_TOOL_OPTIONS": "-Dmine=1"},
        timeout=PATIENCE,
    )
    told = [int(line.split()[1]) for line in result.output.splitlines() if line[:5] == "most "]
    assert result.output.count("done") == 2, result.output
    assert told[0] <= OperatorLimits.memory / 4 / 1_000_000 + 1  # a quarter, as Java does it
    assert told[1] <= 330  # whoever says how much is heard
    assert "-Dmine=1 -XX:MaxRAM=" in result.output


def test_each_sandbox_tells_java_what_the_operator_gives_a_command():
    told = build_environment({"JAVA_TOOL_OPTIONS": "-Da=b"}, (), memory=1_000)
    assert told["JAVA_TOOL_OPTIONS"] == "-Da=b -XX:MaxRAM=1000"
    options = build_command_options(SandboxCommand(("true",)), (), 2_000)
    assert options[options.index("JAVA_TOOL_OPTIONS") + 1] == "-XX:MaxRAM=2000"
