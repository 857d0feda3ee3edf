"""A GitHub that runs on this machine: `LocalGitHub.start(root)`."""

from app.simulator.github.server import LocalGitHub

__all__ = ["LocalGitHub"]
