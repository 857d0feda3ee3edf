"""A model that plays a script, behind the Messages API on loopback: for the demo and for tests."""

from app.simulator.model.faults import AnswerFault
from app.simulator.model.ledger import LoggedRequest
from app.simulator.model.limits import ModelLimits
from app.simulator.model.script import Script, ScriptError, load_script
from app.simulator.model.server import LocalModel

__all__ = [
    "AnswerFault",
    "LocalModel",
    "LoggedRequest",
    "ModelLimits",
    "Script",
    "ScriptError",
    "load_script",
]
