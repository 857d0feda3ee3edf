"""Protected paths: committed as the approved call left them, and only so."""

from __future__ import annotations

import pytest

from tests.agents.loop.consent_scene import FILES, NO, YES, list_results, script


async def test_an_approved_change_of_a_protected_path_may_be_committed(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    write = use("write", path="docs/CODEOWNERS", content="* @jonas\n")
    world = make_world(FILES, script(use, [write]), approvals=approvals)

    await world.resolve(request_)

    commits = [each for tree in world.source.opened for each in tree.permitted]
    assert commits == [{"docs/CODEOWNERS": "* @jonas\n"}]


async def test_a_denied_one_may_not_even_if_it_changed_otherwise(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([NO])
    write = use("write", path="docs/CODEOWNERS", content="* @jonas\n")
    other = use("write", path="calc.py", content="two\n")
    world = make_world(FILES, script(use, [write], [other]), approvals=approvals)

    await world.resolve(request_)

    assert [each for tree in world.source.opened for each in tree.permitted] == [{}]


async def test_what_was_permitted_is_found_again_after_a_kill(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    write = use("write", path="docs/CODEOWNERS", content="* @jonas\n")
    answers = script(use, [write])
    answers[3] = talk.Killed()
    world = make_world(FILES, answers, approvals=approvals)

    with pytest.raises(talk.Killed):
        await world.resolve(request_)
    world.model.answers.insert(0, [use("write", path="calc.py", content="mended\n")])
    await world.resolve(request_)

    commits = [each for tree in world.source.opened for each in tree.permitted]
    assert commits == [{"docs/CODEOWNERS": "* @jonas\n"}]
    assert len(approvals.askings) == 1


def overwrite(files):
    files["docs/CODEOWNERS"] = "* @mallory\n"
    return 0, ""


async def test_a_yes_is_to_the_file_as_the_approved_call_left_it(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    edit = use("edit", path="docs/CODEOWNERS", old="mara", new="jonas")
    later = use("bash", command="later")
    world = make_world(
        FILES,
        script(use, [edit], [later]),
        approvals=approvals,
        commands={"later": overwrite},
    )

    await world.resolve(request_)

    commits = [each for tree in world.source.opened for each in tree.permitted]
    assert commits == [{"docs/CODEOWNERS": "* @jonas\n"}]


async def test_what_nobody_saw_does_not_ride_along_on_a_yes_to_a_part(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    earlier = use("bash", command="earlier")
    edit = use("edit", path="docs/CODEOWNERS", old="*", new="**")
    world = make_world(
        FILES,
        script(use, [earlier], [edit]),
        approvals=approvals,
        commands={"earlier": overwrite},
    )

    await world.resolve(request_)

    assert [each for tree in world.source.opened for each in tree.permitted] == [{}]


async def test_no_command_runs_beside_the_approved_call(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES])
    edit = use("edit", path="docs/CODEOWNERS", old="mara", new="jonas")
    beside = use("bash", command="beside")
    world = make_world(
        FILES,
        script(use, [edit, beside]),
        approvals=approvals,
        commands={"beside": overwrite},
    )

    await world.resolve(request_)

    edited, refused = list_results(world)[0]
    assert "is_error" not in edited
    assert refused["is_error"]
    assert "no command may run beside it" in refused["content"]
    commits = [each for tree in world.source.opened for each in tree.permitted]
    assert commits == [{"docs/CODEOWNERS": "* @jonas\n"}]


async def test_one_yes_after_another_to_the_same_file(make_world, request_, talk):
    use, approvals = talk.use, talk.Approvals([YES, YES])
    first = use("edit", path="docs/CODEOWNERS", old="mara", new="jonas")
    second = use("edit", path="docs/CODEOWNERS", old="jonas", new="jonas @mara")
    world = make_world(FILES, script(use, [first], [second]), approvals=approvals)

    await world.resolve(request_)

    commits = [each for tree in world.source.opened for each in tree.permitted]
    assert commits == [{"docs/CODEOWNERS": "* @jonas @mara\n"}]
