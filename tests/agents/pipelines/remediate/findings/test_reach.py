"""How far a package reaches into the code: imports, names of advisories, and what stays unclear."""

import pytest

from agents.pipelines.remediate.findings.alert_group import FoundCopy
from agents.pipelines.remediate.findings.reach import (
    Reach,
    find_imports,
    find_uses,
    guess_modules,
    list_source_files,
    list_symbols,
    triage,
)
from tests.agents.pipelines.remediate.conftest import alert

COPY = FoundCopy(version="3.1.3", vulnerable=True, paths=(("flask", "jinja2"),))


@pytest.mark.parametrize(
    ("path", "text", "name", "lines"),
    [
        ("a.py", "import yaml", "yaml", [1]),
        ("a.py", "\nfrom yaml.nodes import Node", "yaml", [2]),
        ("a.py", "import os, yaml as y", "yaml", [1]),
        ("a.py", "from . import yaml", "yaml", []),
        ("a.py", "import yamlish\nx = 'import yaml'\n# import yaml", "yaml", []),
        ("a.py", "def f():\n    import google.protobuf.message", "google.protobuf", [2]),
        ("a.py", "from google.cloud import bigquery", "google.cloud.bigquery", [1]),
        ("a.py", "from google.cloud import bigquery_v2", "google.cloud.bigquery", []),
        ("a.py", "this is ( no python", "yaml", []),
        ("a.py", "(" * 100_000, "yaml", []),
        ("a.js", "const m = require('minimist')", "minimist", [1]),
        ("a.ts", "import m from \"minimist\"\nimport 'minimist/lib/x'", "minimist", [1, 2]),
        ("a.mjs", "await import( 'minimist' )", "minimist", [1]),
        ("a.js", "require('minimist-options'); require('./minimist')", "minimist", []),
        ("a.ts", "import { x } from '@scope/pkg/deep'", "@scope/pkg", [1]),
        ("a.go", 'import "example.com/codec"', "example.com/codec", [1]),
        ("a.go", 'import (\n\tc "example.com/codec/v"\n\t_ "x"\n)', "example.com/codec", [2]),
        ("a.go", 'import "example.com/codecs"\n// "example.com/codec"', "example.com/codec", []),
        ("a.rs", "use codec::{a, b};\nfn f() { codec::run() }", "codec", [1, 2]),
        ("a.rs", "pub use ::codec;\nextern crate codec;", "codec", [1, 2]),
        ("a.rs", "use crate::codec::x;\nuse codecs::y;", "codec", []),
    ],
)
def test_imports_are_found_where_they_stand(path, text, name, lines):
    assert [place.line for place in find_imports(path, text, [name])] == lines


@pytest.mark.parametrize(
    ("ecosystem", "package", "expected"),
    [
        ("pip", "PyYAML", ("yaml",)),
        ("pip", "typing-extensions", ("typing_extensions",)),
        ("pip", "python-slugify", ("python_slugify", "slugify")),
        ("pip", "GitPython", ("git",)),
        ("pip", "grpcio", ("grpc",)),
        ("pip", "google-cloud-storage", ("google.cloud.storage",)),
        (
            "pip",
            "google-cloud-x-y",
            ("google.cloud.x_y", "google.cloud.xy", "google.cloud.x.y"),
        ),
        ("npm", "@scope/pkg", ("@scope/pkg",)),
        ("go", "example.com/my-codec", ("example.com/my-codec",)),
        ("rust", "my-codec", ("my_codec",)),
    ],
)
def test_packages_by_the_names_they_are_imported_as(ecosystem, package, expected):
    assert guess_modules(ecosystem, package) == expected


def test_what_is_searched():
    paths = ["a.py", "b.js", "node_modules/x/i.js", "web/dist/x.js", "README.md", "sub/c.tsx"]

    assert list_source_files("pip", paths) == ["a.py"]
    assert list_source_files("npm", paths) == ["b.js", "sub/c.tsx"]
    assert list_source_files("go", ["main.go", "vendor/x/y.go", "a.rs"]) == ["main.go"]
    assert list_source_files("rust", ["src/main.rs"]) == ["src/main.rs"]
    assert list_source_files("maven", ["Main.java"]) == []


def test_names_that_an_advisory_gives_away():
    advisory = alert(description="`jinja2.filters.xmlattr` and do_thing() but not `jinja2` or 3.1")

    assert list_symbols(advisory, ("jinja2",)) == ("xmlattr", "do_thing")
    assert [str(p) for p in find_uses("a.py", "x\nxmlattr(1)\nxmlattrs", ["xmlattr"])] == [
        "a.py:2 has `xmlattr`"
    ]


def test_a_hostile_advisory_takes_no_time():
    advisory = alert(description="`" * 50_000 + "a" * 50_000 + "(" * 50_000)

    assert len(list_symbols(advisory, ())) <= 30


def look(text, **more):
    reach = Reach("pip", "jinja2", searchable=True)
    reach.look("a.py", text)
    return triage([alert(**more)], [COPY], reach, located=True)[0]


@pytest.mark.parametrize(
    ("text", "description", "affected", "risk"),
    [
        ("import jinja2\nx = xmlattr", "`xmlattr()` is bad", "yes", "high"),
        ("import jinja2", "`xmlattr()` is bad", "unsure", "medium"),
        ("import jinja2", "it is bad", "yes", "high"),
        ("import flask", "`xmlattr()` is bad", "unsure", "medium"),
    ],
)
def test_what_code_can_tell_and_what_stays_unsure(text, description, affected, risk):
    result = look(text, description=description)

    assert (result.affected, result.risk) == (affected, risk)
    assert "3.1.3 by flask → jinja2" in result.evidence


def test_what_was_not_found_is_not_called_absent():
    """Files beyond a limit are not read, and names that nobody guessed are not searched for."""
    assert look("import flask").why == (
        "No import of it was found in the code; it comes in through flask."
    )


def test_a_package_that_only_development_needs_is_a_step_less_risky():
    assert look("import jinja2", scope="development").risk == "medium"


def test_no_copy_in_a_range_means_no_one_is_affected():
    safe = COPY.model_copy(update={"vulnerable": False})
    reach = Reach("pip", "jinja2", searchable=True)

    assert triage([alert()], [safe], reach, located=True)[0].affected == "no"


@pytest.mark.parametrize(
    ("ecosystem", "said"),
    [("maven", "cannot search the code"), ("pip", "no code that could import")],
)
def test_where_nothing_can_be_searched_that_is_said(ecosystem, said):
    reach = Reach(ecosystem, "jinja2", searchable=False)

    [result] = triage([alert()], [], reach, located=False)

    assert result.affected == "unsure"
    assert said in result.why
