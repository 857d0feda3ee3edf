"""A local model for the tests of a module: it plays what the module's SCRIPT says."""

import pytest

from app.simulator.model import LocalModel, load_script


@pytest.fixture
async def local(request, tmp_path):
    """Return the model's server, started; what it was asked is in its `requests`."""
    path = tmp_path / "script.yml"
    path.write_text(request.module.SCRIPT)
    server = await LocalModel.start(load_script(path))
    yield server
    await server.stop()
