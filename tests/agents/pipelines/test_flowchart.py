"""The chart of a pipeline function: which box follows which, and how the README keeps it."""

from __future__ import annotations

import re
import textwrap

import pytest

from agents.pipelines.flowchart import BEGIN, END, NotReplayable, draw, find_pipelines, with_charts

BOX = re.compile(r'^    (\w+)[\[{(/]+"(.*)"[\]})/]+$')
ARROW = re.compile(r"^    (\w+) -->(?:\|(\w+)\|)? (\w+)$")


@pytest.fixture
def chart(tmp_path):
    """Write a pipeline, draw it, return its arrows as `from -label-> to` with the boxes' texts."""

    def draw_chart(body: str) -> set[str]:
        place = tmp_path / "sample" / "pipeline.py"
        place.parent.mkdir()
        head = 'async def sample(run: Run, request: Asked) -> Outcome:\n    """Do it."""\n'
        place.write_text(head + textwrap.indent(textwrap.dedent(body), "    "))
        (pipeline,) = find_pipelines(tmp_path)
        lines = draw(pipeline).splitlines()
        assert lines[0] == "flowchart TD"
        boxes = {m[1]: m[2] for line in lines if (m := BOX.match(line))}
        arrows = [m.groups() for line in lines if (m := ARROW.match(line))]
        assert len(boxes) + len(arrows) + 1 == len(lines), "a line is neither box nor arrow"
        return {f"{boxes[a]} -{label or ''}-> {boxes[b]}" for a, label, b in arrows}

    return draw_chart


def test_stages_follow_each_other_from_the_request_to_the_outcome(chart):
    arrows = chart("""
        finding = await run.stage(triage, request)
        await run.answer(finding)
        count = len(finding.steps)
        return await run.stage(publish, finding, count)
    """)
    assert arrows == {
        "Asked --> triage",
        "triage --> finding",
        "finding --> publish",
        "publish --> Outcome",
    }


def test_an_early_return_leaves_on_the_branch_it_stands_in(chart):
    arrows = chart("""
        finding = await run.stage(triage)
        if not finding.ready:
            return await run.stage(answer)
        elif finding.small:
            await run.stage(patch)
        else:
            await run.stage(decompose)
        return await run.stage(publish)
    """)
    assert arrows == {
        "Asked --> triage",
        "triage --> finding.ready?",
        "finding.ready? -no-> answer",
        "answer --> Outcome",
        "finding.ready? -yes-> finding.small?",
        "finding.small? -yes-> patch",
        "finding.small? -no-> decompose",
        "patch --> publish",
        "decompose --> publish",
        "publish --> Outcome",
    }


def test_a_for_loop_comes_back_and_break_and_continue_leave_their_places(chart):
    arrows = chart("""
        for _ in range(3):
            checks = await run.stage(check)
            if checks.passed:
                break
            if checks.odd:
                continue
            await run.stage(fix)
        return await run.stage(publish)
    """)
    assert arrows == {
        "Asked --> 3 times at most",
        "3 times at most -next-> check",
        "check --> checks.passed?",
        "checks.passed? -yes-> publish",
        "checks.passed? -no-> checks.odd?",
        "checks.odd? -yes-> 3 times at most",
        "checks.odd? -no-> fix",
        "fix --> 3 times at most",
        "3 times at most -done-> publish",
        "publish --> Outcome",
    }


def test_loops_name_what_they_go_through(chart):
    arrows = chart("""
        for number, step in enumerate(request.steps, 1):
            for path in step.paths:
                await run.stage(edit, number, path)
        for _ in range(2):
            await run.stage(check)
    """)
    assert arrows == {
        "Asked --> each step of request.steps",
        "each step of request.steps -next-> each path of step.paths",
        "each path of step.paths -next-> edit",
        "edit --> each path of step.paths",
        "each path of step.paths -done-> each step of request.steps",
        "each step of request.steps -done-> 2 times",
        "2 times -next-> check",
        "check --> 2 times",
        "2 times -done-> Outcome",
    }


def test_a_while_loop_asks_its_question_again(chart):
    arrows = chart("""
        checks = await run.stage(check)
        while not checks.passed:
            checks = await run.stage(fix, checks)
        return checks
    """)
    assert arrows == {
        "Asked --> check",
        "check --> checks.passed?",
        "checks.passed? -no-> fix",
        "fix --> checks.passed?",
        "checks.passed? -yes-> Outcome",
    }


@pytest.mark.parametrize(
    "body",
    [
        "write = full if request.green else draft\nreturn await run.stage(write, request)",
        "return await run.stage(full if request.green else draft, request)",
    ],
)
def test_a_stage_chosen_by_a_condition_is_drawn_as_two(chart, body):
    assert chart(body) == {
        "Asked --> request.green?",
        "request.green? -yes-> full",
        "request.green? -no-> draft",
        "full --> Outcome",
        "draft --> Outcome",
    }


def test_marks_that_mermaid_would_read_are_written_as_entities(chart):
    arrows = chart("""
        if request.count < 3 or request.kind == 'a "b" #c':
            await run.stage(small)
    """)
    question = "request.count #lt; 3 or request.kind == 'a #quot;b#quot; #35;c'?"
    assert f"Asked --> {question}" in arrows


def test_what_would_not_replay_is_refused_with_file_and_line(chart, tmp_path):
    with pytest.raises(NotReplayable, match=r"sample/pipeline\.py:4: `time\(\)` may give"):
        chart("await run.stage(triage)\nnow = time()")


def test_the_readme_keeps_its_own_words_and_settles_at_once(tmp_path):
    for name in ("second", "first"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "pipeline.py").write_text(
            f"async def {name}(run: Run, request: Asked) -> Outcome:\n"
            f'    """Do the {name}.\n\n    More."""\n'
            "    return await run.stage(work, request)\n\n\n"
            "async def _private():\n    pass\n\n\ndef plain():\n    pass\n"
        )
    once = with_charts("# Pipelines\n\nOur words.\n", tmp_path)
    assert once.startswith(f"# Pipelines\n\nOur words.\n\n{BEGIN}\n\n### first\n\nDo the first.\n")
    assert once.count("```mermaid") == 2
    assert once.endswith(f"{END}\n")
    assert with_charts(once, tmp_path) == once
    stale = once.replace("work", "rest") + "\nOur last words.\n"
    assert with_charts(stale, tmp_path) == once + "\nOur last words.\n"
