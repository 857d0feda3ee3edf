"""Ruby: gems by Bundler; RSpec, Rake's tests and RuboCop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agents.analysis.languages.recipe import (
    InstallRecipe,
    Language,
    SuggestedCheck,
    make_recipe,
    suggest,
)
from agents.analysis.repository_files import RepositoryFiles

_MINITEST = (
    'ruby -Ilib -Itest -e \'Dir.glob("test/**/{test_*,*_test}.rb").sort.each'
    ' { |each| require "./#{each}" }\''
)


def make_ruby_recipe(files: RepositoryFiles) -> InstallRecipe | None:
    """Return how to install the gems of a Ruby project."""
    if "Gemfile" not in files.paths:
        return None
    decides = files.match_paths(r"Gemfile(\.lock)?|[^/]*\.gemspec|\.ruby-version")
    free = make_recipe("Ruby", "bundle", ["bundle install"], decides)
    if "Gemfile.lock" not in files.paths:
        return free
    frozen = replace(free, commands=("BUNDLE_FROZEN=true bundle install",), locked=True)
    return replace(frozen, otherwise=free)


def list_ruby_checks(files: RepositoryFiles) -> Sequence[SuggestedCheck]:
    """Return the tests of a Ruby project, and its linter."""
    found = []
    bundled = "bundle exec " if "Gemfile" in files.paths else ""
    if files.match_paths(r"spec/(.*/)?[^/]*_spec\.rb"):
        found.append(suggest("ruby tests", f"{bundled}rspec", f"{bundled}rspec --version"))
    if files.match_paths(r"test/(.*/)?(test_[^/]*|[^/]*_test)\.rb"):
        if "Rakefile" in files.paths:
            has_task = f"{bundled}rake --tasks --all | grep -q '^rake test'"
            found.append(suggest("ruby tests", f"{bundled}rake test", has_task))
        found.append(suggest("ruby tests", f"{bundled}{_MINITEST}", f"{bundled}ruby --version"))
    if ".rubocop.yml" in files.paths:
        run = f"{bundled}rubocop"
        found.append(suggest("ruby lint", f"{run} --cache false", f"{run} --version"))
    return found


RUBY = Language("Ruby", r"Gemfile|[\w.-]+\.gemspec", "", make_ruby_recipe, list_ruby_checks)
