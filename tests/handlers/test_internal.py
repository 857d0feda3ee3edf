"""What Fettle asks of itself by the clock: only that, and never from outside."""

from __future__ import annotations

import handlers
from handlers.ignored import Ignored
from tests.handlers.test_dependabot_alert import route


def route_request(request):
    return handlers.route("fettle.schedule", {"request": request.model_dump(mode="json")})


def test_what_is_due_is_asked_for():
    request = route().model_copy(update={"via": "schedule"})
    assert route_request(request) == request


def test_nothing_else_comes_by_this_way():
    for via in ("alert", "terminal"):
        assert isinstance(route_request(route().model_copy(update={"via": via})), Ignored)


def test_the_door_does_not_know_it():
    assert not handlers.is_handled("fettle.schedule", "due")
