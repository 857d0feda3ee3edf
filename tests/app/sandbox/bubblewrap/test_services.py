"""The servers that tests need, started for real in the sandbox, for one command alone."""

import shutil
from pathlib import Path

import pytest

from agents.analysis.service_start import UNAVAILABLE, explain_unavailable, wrap_with_services
from agents.analysis.services import Service
from app.sandbox.port import Mount, SandboxCommand

EVERYWHERE = "/usr/bin:/usr/sbin:/bin:/sbin"

needs_postgres = pytest.mark.skipif(
    not list(Path("/usr/lib/postgresql").glob("*/bin/initdb")),
    reason="no PostgreSQL server: install Debian's package `postgresql`",
)
needs_redis = pytest.mark.skipif(
    shutil.which("redis-server", path=EVERYWHERE) is None,
    reason="no Redis server: install Debian's package `redis-server`",
)
needs_mysql = pytest.mark.skipif(
    shutil.which("mariadbd", path=EVERYWHERE) is None,
    reason="no MariaDB server: install Debian's package `mariadb-server`",
)


def service(kind, port, user="", password="", database=""):
    return Service(
        kind=kind,
        port=port,
        user=user,
        password=password,
        database=database,
        source=".github/workflows/ci.yml",
    )


@pytest.fixture
def run(sandbox, open_folder):
    """Run a bash script with these services, and with a /tmp that outlives it."""
    for name in ("tree", "tmp"):
        (open_folder / name).mkdir()
        (open_folder / name).chmod(0o777)
    mounts = (
        Mount(open_folder / "tree", "/workspace", writable=True),
        Mount(open_folder / "tmp", "/tmp", writable=True),
    )

    async def run_script(script, *services, without="", **options):
        argv = wrap_with_services(["bash", "-c", script], services)
        if without:
            argv[2] = argv[2].replace(without, "no-such-program")
        return await sandbox.run(SandboxCommand(tuple(argv), mounts=mounts, **options))

    run_script.tmp = open_folder / "tmp"
    return run_script


@needs_postgres
async def test_postgresql_with_the_workflows_user_password_and_database(run, none_left):
    needed = service("postgres", 5433, "ada", "s3-cret", "shop")
    query = "psql -At -h {} -p 5433 -U ada shop -c 'SELECT current_user, current_database()'"
    result = await run(
        f"PGPASSWORD=s3-cret {query.format('localhost')}; PGPASSWORD=s3-cret {query.format('db')};"
        f"PGPASSWORD=wrong {query.format('localhost')} 2>/dev/null; exit 7",
        needed,
        timeout=120,
    )
    assert (result.exit_code, result.output) == (7, "ada|shop\n" * 2)
    assert explain_unavailable(result, [needed]) == ""
    assert not list(run.tmp.iterdir())
    assert await none_left("port=5433")


@needs_postgres
async def test_a_password_that_only_github_knows_is_any_password(run):
    query = "PGPASSWORD=whatever psql -At -h 127.0.0.1 -U postgres postgres -c 'SELECT 1'"
    result = await run(query, service("postgres", 5432, "postgres", "", "postgres"), timeout=120)
    assert (result.exit_code, result.output) == (0, "1\n")


@needs_redis
async def test_redis_and_what_the_command_reads_and_writes(run):
    needed = [service("redis", 6379), service("redis", 6380, password="pass")]
    result = await run(
        "redis-cli set a 1; redis-cli -h redis get a; redis-cli -p 6380 get a;"
        "redis-cli -p 6380 -a pass ping 2>/dev/null; cat; echo out;"
        "echo err >&2; echo $PATH; umask",
        *needed,
    )
    assert result.output.split("\n") == [
        "OK",
        "1",
        "NOAUTH Authentication required.",
        "",
        "PONG",
        "out",
        "err",
        "/usr/local/bin:/usr/bin:/bin",
        "0022",
        "",
    ]


@needs_mysql
async def test_mysql_with_a_user_of_its_own(run):
    needed = service("mysql", 3307, "ada", "s3-cret", "shop")
    query = "mariadb --no-defaults -h 127.0.0.1 -P 3307 -N -u ada -p{} shop -e 'SELECT DATABASE()'"
    result = await run(
        f"{query.format('s3-cret')}; {query.format('wrong')} 2>/dev/null; exit 0",
        needed,
        timeout=120,
    )
    assert (result.exit_code, result.output) == (0, "shop\n")


@needs_postgres
@needs_redis
async def test_servers_end_with_a_command_that_is_stopped_and_start_again(run, none_left):
    needed = [service("postgres", 5499, "a", "b", "c"), service("redis", 6399)]
    slow = await run("sleep 600.7", *needed, timeout=10)
    assert slow.why == "timeout"
    assert await none_left("port=5499")
    again = await run("redis-cli -p 6399 ping", *needed, timeout=120)
    assert (again.exit_code, again.output) == (0, "PONG\n")


@needs_redis
async def test_a_server_is_reached_by_nobody_else(run):
    first = await run("redis-cli -p 6398 set secret 1", service("redis", 6398))
    assert first.output == "OK\n"
    other = await run("redis-cli -p 6398 get secret", service("redis", 6397))
    assert "Connection refused" in other.output


async def test_a_program_that_the_machine_lacks_is_named_and_the_command_not_run(run):
    missing = service("redis", 6379)
    result = await run("echo ran", missing, without="redis-server")
    assert result.exit_code == UNAVAILABLE
    assert "ran" not in result.output.split()
    assert "`redis-server`" in explain_unavailable(result, [missing])


@needs_postgres
async def test_a_server_that_cannot_start_says_why(run):
    refused = service("postgres", 5432, "pg_of_the_system", "b", "c")
    result = await run("echo ran", refused, timeout=60)
    assert result.exit_code == UNAVAILABLE
    assert "pg_of_the_system" in explain_unavailable(result, [refused])
    assert not list(run.tmp.iterdir())


@needs_redis
async def test_hostile_values_reach_no_shell(run):
    evil = service("redis", 6379, password="x;touch</workspace/pwned;$(touch/workspace/pwned)")
    result = await run("ls /workspace; redis-cli ping", evil)
    assert result.output == "NOAUTH Authentication required.\n\n"
