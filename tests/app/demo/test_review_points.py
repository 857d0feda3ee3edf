"""Where a reviewer's points belong: on the first new line that fits, whatever a model wrote."""

from pathlib import Path

import app.demo.case
from app.demo.review_points import ReviewPoint, inlines, read_points

DIFF = """diff --git a/README.rst b/README.rst
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/README.rst
+++ b/README.rst
@@ -1,2 +1,3 @@
 Title
-old %f
+new
+more
diff --git a/parse.py b/parse.py
index 1111111111111111111111111111111111111111..2222222222222222222222222222222222222222 100644
--- a/parse.py
+++ b/parse.py
@@ -7,2 +7,3 @@
 a = 1
-    "%f": 6,
+    "%S": 2,
+    "%f": 1,"""


def places(*points):
    return [(each.path, each.line, each.body) for each in inlines(points, DIFF)]


def test_a_point_stands_on_the_first_new_line_that_fits():
    suggestion = ReviewPoint(kind="suggestion", path="parse.py", line='"%f"', words="{line}  # six")
    assert places(suggestion) == [("parse.py", 9, '```suggestion\n    "%f": 1,  # six\n```')]


def test_a_word_finds_another_place_and_a_suggestion_is_left_out():
    wish = ReviewPoint(kind="wish", path="README*", line="%f", words="Please.")
    question = ReviewPoint(kind="question", path="tests/*", line="def", words="Why?")
    suggestion = ReviewPoint(kind="suggestion", path="parse.py", line="%H", words="{line}  # six")
    assert places(suggestion, wish, question) == [
        ("README.rst", 2, "Please."),
        ("README.rst", 2, "Why?"),
    ]


def test_nothing_new_is_nothing_to_say():
    assert list(inlines([ReviewPoint(kind="wish", path="*", line="", words="Hm.")], "")) == []


def test_the_demo_has_one_of_each_kind():
    points = read_points(Path(app.demo.case.__file__).with_name("cases") / "parse/review.yml")
    assert [point.kind for point in points] == ["suggestion", "wish", "question"]
