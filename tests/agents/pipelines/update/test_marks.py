"""The marks of a merge: what git put there is found, what a file says about merging is not."""

from agents.pipelines.update.lost_tests import Versions, find_lost_tests
from agents.pipelines.update.resolve_conflicts import find_remaining_marks, marks

OURS, THEIRS = b"a\nours\n", b"a\ntheirs\n"
MERGED = b"a\n<<<<<<< 1234abc\nours\n=======\ntheirs\n>>>>>>> 5678def\n"


def find_marks(text, merged=MERGED, parents=(OURS, THEIRS)):
    return find_remaining_marks(text, marks(merged, parents), parents)


def test_every_mark_is_found():
    assert find_marks(MERGED) == [2, 4, 6]
    assert find_marks(b"a\nours\n>>>>>>> 5678def\n") == [3]
    assert find_marks(b"a\r\nours\r\n=======\r\n", MERGED.replace(b"\n", b"\r\n")) == [3]


def test_the_base_between_marks_and_longer_marks_are_found():
    merged = b"<<<<<<<<< 1\nours\n||||||||| 0\nold\n=========\ntheirs\n>>>>>>>>> 5\n"

    assert find_marks(merged, merged) == [1, 3, 5, 7]


def test_what_is_settled_has_none():
    assert not find_marks(b"a\nours\ntheirs\n")
    assert not find_marks(None)


def test_a_heading_that_looks_like_a_mark_is_left_alone():
    parents = (b"Title\n=======\nours\n", b"Title\n=======\ntheirs\n")
    merged = b"Title\n=======\n<<<<<<< 1\nours\n=======\ntheirs\n>>>>>>> 5\n"

    assert not find_marks(b"Title\n=======\nours\ntheirs\n", merged, parents)
    assert find_marks(merged, merged, parents) == [3, 7]


def test_what_git_did_not_put_there_is_no_mark():
    assert not find_marks(b"Heading\n=========\n")


def names(*versions, path="test_lib.py"):
    texts = [
        None if each is None else b"".join(b"def test_%s():\n    pass\n" % n for n in each.split())
        for each in versions
    ]
    return [each.text for each in find_lost_tests({path: Versions(*texts)})]


def test_a_test_that_either_side_has_has_to_be_there():
    assert names(b"a", b"a b", b"a c", b"a b") == ["test_c"]
    assert names(None, b"b", b"c", b"c") == ["test_b"]
    assert names(b"a", b"a", b"a", None) == ["test_a"]
    assert not names(b"a", b"a b", b"a c", b"a b c")


def test_a_test_that_a_side_took_away_may_stay_away():
    assert not names(b"a b", b"b", b"a b", b"b")
    assert not names(b"a b", None, b"a b", None)
    assert names(b"a", None, b"a b", None) == ["test_b"]


def test_only_tests_count():
    assert not names(b"a", b"a b", b"a c", b"", path="lib.py")


def test_a_test_may_be_in_another_of_the_files():
    empty, test = b"", b"def test_a():\n    pass\n"
    files = {
        "test_one.py": Versions(test, test, test, empty),
        "test_two.py": Versions(empty, empty, empty, test),
    }

    assert not list(find_lost_tests(files))
