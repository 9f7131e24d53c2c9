"""What studies refuse from Python: problems have codes, and what cannot be an argument is named."""

import numpy as np
import pandas
import pytest
from test_study import BREAD, bread, codes

import icee


def test_errors_say_what_is_wrong(folder):
    def refuses(code, work, error=icee.Error):
        with pytest.raises(error) as refused:
            work()
        assert codes(refused) == [code] and str(refused.value)

    def create(pool=BREAD, **options):
        return icee.Study.create(folder / "a.jsonl", pool, **options)

    refuses("direction-missing", create)
    refuses("not-a-direction", lambda: create(direction="best"))
    refuses("direction-and-target", lambda: create(direction="max", target=3))
    refuses("not-a-number", lambda: create(target="x"))
    refuses("not-finite", lambda: create(target=float("nan")))
    refuses("not-a-range", lambda: create(direction="max", bounds="low"))
    refuses("scale-twice", lambda: create(direction="max", log=["heat"], linear=["heat"]))
    refuses("unknown", lambda: create(direction="max", sampler="icee"))
    refuses("file-missing", lambda: create(folder / "nowhere.csv", direction="max"), FileNotFoundError)
    refuses("name-unusable", lambda: icee.Study.create(folder / "a b.jsonl", BREAD, direction="max"))
    assert list(folder.iterdir()) == [], "nothing is left behind"
    refuses("no-study", lambda: icee.Study(folder / "nothing.jsonl"), FileNotFoundError)
    study = bread(folder)
    refuses("study-exists", lambda: bread(folder), FileExistsError)
    for row in (0, 13, -1, "nobody"):
        refuses("row-unknown", lambda: study.tell(row, 1.0))
    refuses("value-not-finite", lambda: study.tell(1, float("nan")))
    refuses("not-a-number", lambda: study.tell(1, "good"))
    refuses("word-for-value", lambda: study.tell(1, "failed"))
    refuses("which-result", lambda: study.tell(1))
    refuses("count", lambda: study.ask(0))
    refuses("not-a-time", lambda: study.ask(within="soon"))
    refuses("top-zero", lambda: study.predict(top=0))
    study.tell(1, 1.0)
    refuses("already-measured", lambda: study.tell(1, 2.0))
    refuses("no-rows", lambda: study.withdraw())
    (folder / "broken.jsonl").write_text("{}\n")
    with pytest.raises(icee.Error):
        icee.Study(folder / "broken.jsonl")
    assert issubclass(icee.Error, ValueError) and icee.Error("words").code is None


def test_what_cannot_be_an_argument_is_named(folder):
    study = bread(folder)
    for n in (1.5, None, float("nan"), 10**30, True):
        with pytest.raises(icee.Error, match="n is .*; a whole number from 0 on"):
            study.ask(n)
    for within in (0, -1, True, float("inf"), [1]):
        with pytest.raises(icee.Error, match="a time is"):
            study.ask(within=within)
    wrong = [
        (lambda: study.tell([1, 2], [3.0, 4.0]), "is no row"),
        (lambda: study.tell(1, [3.0]), "the result is a number"),
        (lambda: study.tell(1, 2.0, repeat="twice"), "repeat is"),
        (lambda: study.ask(same="heat"), "list of names"),
        (lambda: study.ask(more="yes"), "request is not as expected: .*yes"),
        (lambda: study.predict(sampler=5), "request is not as expected: .*5"),
        (lambda: icee.Study("a", token="t"), "give its url, too"),
        (lambda: icee.Study(), "Which study"),
    ]
    options = [
        ({"seed": -1}, "seed is -1; a whole number"),
        ({"bounds": 5}, "bounds are two numbers"),
        ({"target": [7]}, "target is a number"),
        ({"direction": 5}, "request is not as expected: .*5"),
        ({"sampler": object}, "is a type, which no request takes"),
        ({"like": "/elsewhere/old.jsonl"}, "another folder"),
        ({"pool": {"heat": list(range(12)), "flour": ["a", "b", "c"]}}, "heat: 12.*flour: 3"),
        ({"pool": [1, 2, 3]}, "a table is a path"),
        ({"pool": {"heat": np.zeros((3, 2))}}, "one dimension, not the shape"),
        ({"pool": {"heat": [1.0, float("inf")]}}, "inf cannot stand in a table"),
        ({"pool": pandas.Series([1, 2])}, r"to_frame\(\)"),
    ]
    for option, words in options:
        create = {"pool": BREAD, "direction": "max", **option}
        wrong.append((lambda create=create: icee.Study.create(folder / "wrong.jsonl", **create), words))
    for work, words in wrong:
        with pytest.raises(icee.Error, match=words):
            work()
