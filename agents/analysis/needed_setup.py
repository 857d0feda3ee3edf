"""Plan a set-up, and tell which parts of it no check of the repository needs.

A repository of one language often has a manifest of another for something else: the gems of its
site, what formats its documentation. Where these cannot be installed, no check says less of a
change for that, so people are told and nothing is held against it.
"""

from __future__ import annotations

from agents.analysis.languages import InstallPlan, find_folder, make_plan, name_language
from agents.analysis.languages.projects import Project
from agents.analysis.repository_files import RepositoryFiles
from agents.analysis.workflows.checks import list_ci_checks
from agents.policy import Policy


def plan_setup(files: RepositoryFiles, policy: Policy) -> InstallPlan:
    """Return how the repository is set up; what no check needs is marked.

    A check counts for its language and folder, whether it can run here or not.
    """
    if policy.setup.run is not None:
        return make_plan(files, policy)
    checked = {
        (name_language(each.subject), find_folder(each.check.run)) for each in list_ci_checks(files)
    }

    def is_needed(project: Project) -> bool:
        start = f"{project.folder}/" if project.folder else ""
        of_ci = (
            name == project.language.name and f"{folder}/".startswith(start)
            for name, folder in checked
        )
        return bool(project.language.checks(project.files)) or any(of_ci)

    return make_plan(files, policy, is_needed)
