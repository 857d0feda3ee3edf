"""Scripts: which turn comes next, and how faults in the file are told."""

import textwrap

import pytest

from app.simulator.model import ScriptError, load_script
from app.simulator.model.refusal import ErrorAnswer


@pytest.fixture
def script(tmp_path):
    def write(text: str):
        path = tmp_path / "script.yml"
        path.write_text(textwrap.dedent(text))
        return load_script(path)

    return write


def user(text: str, *results: str) -> dict:
    blocks = [{"type": "tool_result", "tool_use_id": r, "content": r} for r in results]
    return {
        "role": "user",
        "content": [*blocks, *([{"type": "text", "text": text}] if text else [])],
    }


SAID = {"role": "assistant", "content": [{"type": "text", "text": "x"}]}

TWO_PARTS = """
    - when: "# One"
      turns:
        - say: one a
        - say: one b
          repeat: 2
    - when: {regex: "^# Two \\\\d+$"}
      turns:
        - call: [{read: {path: a}}]
"""


def test_the_turn_follows_from_the_conversation_alone(script):
    play = script(TWO_PARTS).cue
    assert play([user("# One\nmore")]).turn.say == "one a"
    assert play([user("# One"), SAID, user("", "r1")]).turn.say == "one b"
    assert play([user("# One"), SAID, user("", "r1"), SAID, user("", "r2")]).number == 3
    later = [user("# One"), SAID, user("# Two 7", "r1")]
    assert play(later).part == "/^# Two \\d+$/"
    assert play(later).turn.call == ({"read": {"path": "a"}},)


def test_reminders_do_not_start_a_new_part(script):
    play = script(TWO_PARTS).cue
    assert play([user("# One"), SAID, user("Please submit.", "r1")]).number == 2
    assert play([{"role": "user", "content": "# One"}, SAID, user("Go on")]).number == 2


def test_the_match_nearest_the_beginning_of_the_prompt_counts(script):
    play = script(TWO_PARTS).cue
    assert play([user("# Two 1\n\nThe issue:\n# One")]).part == "/^# Two \\d+$/"
    assert play([user("# One\n\n# Two 1")]).part == "# One"
    with pytest.raises(ErrorAnswer):
        play([user("the text # One inside a line")])


def test_what_the_script_does_not_know_is_refused_in_plain_words(script):
    play = script(TWO_PARTS).cue
    with pytest.raises(ErrorAnswer, match="no part for the prompt that begins '# Three"):
        play([user("# Three blind mice")])
    with pytest.raises(ErrorAnswer, match="'# One' has only 3 turns"):
        play([user("# One"), *[SAID, user("", "r")] * 3])


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("- when: a\n  turns:\n    - say: x\n      shout: y\n", 4, "Extra inputs"),
        ("- when: a\n  turns:\n    - say: x\n    - think: y\n", 4, "needs `say`, `call` or both"),
        ("- when: a\n  turns: []\n", 2, "at least 1 item"),
        ("- when: {regex: '('}\n  turns: [{say: x}]\n", 1, "not a regular expression"),
        ("- when: a\n  turns:\n  - call:\n    - {a: {}, b: {}}\n", 4, "one `tool: {arguments}`"),
        ("- turns: [{say: x}]\n", 1, "Field required"),
        ("when: a\n", 1, "script"),
    ],
)
def test_faults_name_file_and_line(script, text, line, words):
    with pytest.raises(ScriptError) as caught:
        script(text)
    assert f"script.yml:{line}: " in str(caught.value)
    assert words in str(caught.value)


def test_broken_and_missing_files_are_script_errors(script, tmp_path):
    with pytest.raises(ScriptError, match="not YAML"):
        script("- when: [\n")
    with pytest.raises(ScriptError, match="cannot be read"):
        load_script(tmp_path / "absent.yml")
