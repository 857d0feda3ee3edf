"""The look at which permissions are used sees what is too much and what is too little."""

from tests.flows.used import fault

MANIFEST = {"default_permissions": {"metadata": "read", "issues": "write"}}


def test_what_is_used_and_asked_for_is_right():
    assert fault({("metadata", "read"), ("issues", "read"), ("issues", "write")}, MANIFEST) == ""


def test_what_nothing_uses_is_seen_and_what_is_used_unasked():
    said = fault({("metadata", "read"), ("issues", "read"), ("contents", "read")}, MANIFEST)

    assert fault({*MANIFEST["default_permissions"].items(), ("workflows", "write")}, MANIFEST) == ""
    assert "issues: app.yml asks for write, the flows' calls took read" in said
    assert "contents: app.yml asks for None, the flows' calls took read" in said
