"""Views of the payloads about installations of the App: on whom, and which repositories.

https://docs.github.com/webhooks/webhook-events-and-payloads#installation
"""

from __future__ import annotations

from handlers.payloads.common import Id, Installation, Login, RepositoryView, View


class Holder(View):
    """The account that the App is installed on. An enterprise has no login."""

    id: Id
    login: Login | None = None


class InstallationView(View):
    """An installation as deliveries about it show it."""

    id: Id
    account: Holder | None = None


class InstallationEvent(View):
    """`installation` and `installation_repositories` with any action."""

    installation: InstallationView


class TargetRenamed(View):
    """`installation_target` with action `renamed`."""

    account: Holder
    installation: Installation | None = None


class RepositoryEvent(View):
    """`repository` with any action."""

    repository: RepositoryView
    installation: Installation | None = None
