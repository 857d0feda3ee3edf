"""Run the demo and photograph its pull request page with headless Chromium, for the README.

Usage: .venv/bin/python deploy/screenshot.py [FILE]
"""

from __future__ import annotations

import asyncio
import shutil
import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

from rich.console import Console

from app.cli.progress import TerminalProgress
from app.demo.scene import Scene
from app.demo.story import Demo
from app.demo.view import TerminalView

TARGET = Path(__file__).with_name("pull-request.png")
FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    *("--hide-scrollbars", "--window-size=1280,1500", "--force-device-scale-factor=1"),
)


class _Remembering(TerminalView):
    """The usual view; it remembers where the pages are."""

    page = ""

    def scene(self, scene: Scene, *rest: object) -> None:
        self.page = scene.page
        super().scene(scene, *rest)  # type: ignore[arg-type] # whatever the demo hands on


async def main(target: Path) -> None:
    """Make the picture."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("Chromium is not installed. Run `apt-get install chromium`, then try again.")
    async with AsyncExitStack() as stack:
        view = _Remembering(Console(stderr=True), TerminalProgress)
        result = await Demo(view, stack).run()
        page = f"{view.page}/pull/{result.pull_requests[0]['number']}"
        with tempfile.TemporaryDirectory() as profile:
            shot = await asyncio.create_subprocess_exec(
                *(chromium, *FLAGS, f"--user-data-dir={profile}", f"--screenshot={target}", page)
            )
            await shot.wait()
    sys.stdout.write(f"{target} shows {page}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET))
