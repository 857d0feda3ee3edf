"""Play other bots: Dependabot and Renovate open, update and close pull requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from app.simulator.github.accounts import WEB_FLOW, Account, Actor
from app.simulator.github.calls import Parts
from app.simulator.github.gitdir import GitDir, Signature, signature
from app.simulator.github.state.world import Pull, Repository

DEPENDABOT = ("dependabot[bot]", 49699333)
RENOVATE = ("renovate[bot]", 29139614)
WEB_FLOW_ID = 19864447


class BotsAdmin:
    """Acts as these bots. Each call that is awaited returns when its webhooks are answered."""

    parts: Parts

    @property
    def dependabot(self) -> Account:
        """Return Dependabot's account."""
        return self._find_or_create(*DEPENDABOT)

    @property
    def renovate(self) -> Account:
        """Return the account of Renovate's App."""
        return self._find_or_create(*RENOVATE)

    @property
    def web_flow(self) -> Account:
        """Return the account that commits whatever GitHub itself commits for others."""
        return self._find_or_create(WEB_FLOW, WEB_FLOW_ID)

    def create_bot(self, login: str, *, id: int | None = None) -> Account:  # noqa: A002 - GitHub's
        """Sign up the bot user of an App that nobody installs here."""
        world = self.parts.world
        if world.account(login):
            raise ValueError(f"There is an account {login!r} already.")
        birth = world.birth() | {"id": id or next(world.ids)}
        bot = Account(**birth, login=login, kind="Bot" if login.endswith("[bot]") else "User")
        world.accounts[login.lower()] = bot
        return bot

    async def bot_pull(
        self,
        repository: Repository,
        bot: Account,
        *,
        branch: str,
        files: Mapping[str, str | None],
        title: str,
        body: str = "",
        message: str | None = None,
        labels: Sequence[str] = (),
    ) -> Pull:
        """Open a pull request of a bot from a new branch here, with one commit by it."""
        await self._commit(repository, bot, branch, files, message or title)
        pull = await self.parts.pulls.open(
            repository,
            Actor(bot),
            title=title,
            body=body,
            head=branch,
            base=repository.default_branch,
        )
        self.parts.issues.add_labels(pull.issue, Actor(bot), labels)
        await self.parts.webhooks.wait_until_settled()
        return pull

    async def _commit(
        self,
        repository: Repository,
        bot: Account,
        branch: str,
        files: Mapping[str, str | None],
        message: str,
    ) -> None:
        git = GitDir(repository.gitdir)
        before = await git.refs()
        parent = before[f"refs/heads/{repository.default_branch}"]
        data = {path: None if text is None else text.encode() for path, text in files.items()}
        author = signature(bot.login, bot.email, self.parts.world.get_time())
        people = (author, self._committer(bot) or author)
        await git.commit_files(branch, parent, data, message, people)
        await self.parts.pulls.follow_push(repository, Actor(bot), before)

    def _committer(self, bot: Account) -> Signature | None:
        """Return who signs for it: Dependabot commits through GitHub, Renovate with git."""
        if bot.id != DEPENDABOT[1]:
            return None
        return signature("GitHub", self.web_flow.email, self.parts.world.get_time())

    def _find_or_create(self, login: str, ident: int) -> Account:
        return self.parts.world.account(login) or self.create_bot(login, id=ident)
