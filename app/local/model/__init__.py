"""A model that plays a script, behind the Messages API on loopback: for the demo and for tests."""

from app.local.model.faults import Fault
from app.local.model.ledger import Asked
from app.local.model.script import Script, ScriptError, load_script
from app.local.model.server import LocalModel

__all__ = ["Asked", "Fault", "LocalModel", "Script", "ScriptError", "load_script"]
