"""REST endpoints of a repository's labels."""

from __future__ import annotations

from pydantic import Field

from app.simulator.github.accounts import Label
from app.simulator.github.answers import Answer, Json, invalid, require_found
from app.simulator.github.calls import Call, Input
from app.simulator.github.routing import Routes
from app.simulator.github.schemas.issues import label_json

routes = Routes()
READ = "issues=read; pull_requests=read"
WRITE = "issues=write; pull_requests=write"
COLOR = r"^[0-9a-fA-F]{6}$"
LONGEST_DESCRIPTION = 100


class NewLabel(Input):
    """Body of a new label."""

    name: str
    color: str = Field(default="ededed", pattern=COLOR)
    description: str | None = Field(default=None, max_length=LONGEST_DESCRIPTION)


class LabelEdit(Input):
    """Body of a change of a label."""

    new_name: str | None = None
    color: str | None = Field(default=None, pattern=COLOR)
    description: str | None = Field(default=None, max_length=LONGEST_DESCRIPTION)


def _label(call: Call) -> Label:
    return require_found(call.repository.labels.get(call.request.match_info["name"].lower()))


@routes.add("GET", "/labels", needs=READ)
async def list_labels(call: Call) -> Answer:
    """Return the labels by name."""
    ordered = sorted(call.repository.labels.values(), key=lambda each: each.name.lower())
    return call.page([label_json(call.world, call.repository, each) for each in ordered])


@routes.add("GET", "/labels/{name}", needs=READ)
async def get_label(call: Call) -> Json:
    """Return a label."""
    return label_json(call.world, call.repository, _label(call))


@routes.add("POST", "/labels", needs=WRITE)
async def create_label(call: Call) -> Answer:
    """Make a label; 422 when there is one of that name."""
    sent = call.parse_body(NewLabel)
    if sent.name.lower() in call.repository.labels:
        raise invalid("Label", "name", "already_exists")
    made = call.parts.issues.label(
        call.repository, sent.name, color=sent.color, description=sent.description
    )
    return Answer(201, label_json(call.world, call.repository, made))


@routes.add("PATCH", "/labels/{name}", needs=WRITE)
async def update_label(call: Call) -> Json:
    """Change a label's name, color or description."""
    label, sent, labels = _label(call), call.parse_body(LabelEdit), call.repository.labels
    if sent.new_name is not None:
        if labels.get(sent.new_name.lower(), label) is not label:
            raise invalid("Label", "name", "already_exists")
        del labels[label.name.lower()]
        label.name = sent.new_name
        labels[label.name.lower()] = label
    label.color = sent.color or label.color
    label.description = label.description if sent.description is None else sent.description
    return label_json(call.world, call.repository, label)
