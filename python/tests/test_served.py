"""Studies on a server: the same methods, values and errors as of a file."""

import importlib.util
import pathlib
import pickle
import subprocess
import sys
import threading

import pandas
import pytest

import icee

ROOT = pathlib.Path(__file__).parents[2]
BREAD = {
    "heat": [180, 200, 220, 240] * 3,
    "minutes": [20.5] * 4 + [30] * 4 + [40] * 4,
    "flour": ["rye", "rye", "wheat", "spelt"] * 3,
}


def test_a_server_answers_like_a_file(server, tmp_path):
    here = icee.Study.create(tmp_path / "bread.jsonl", BREAD, direction="maximize", bounds=(0, 20), seed=3)
    there = icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize", bounds=(0, 20), seed=3)
    assert (there.name, there.url) == ("bread", server.url("bread"))

    def both(work):
        one, other = work(here), work(there)
        assert str(one) == str(other)
        return one

    both(lambda study: study.ask(2))
    for at in range(1, 7):
        both(lambda study: study.tell(at, BREAD["heat"][at - 1] / 20))
    both(lambda study: study.tell({"row": [7, 8], "value": [3.5, None]}))
    both(lambda study: study.tell(9, failed=True))
    both(lambda study: study.tell(10, impossible=True))
    both(lambda study: study.ask(more=True, within="2h"))
    both(lambda study: study.ask())
    both(lambda study: study.predict())
    both(lambda study: study.predict(3, sampler="gp-ei"))
    both(lambda study: study.best())
    both(lambda study: study.running()["row"])
    both(lambda study: study.review())
    both(lambda study: study.export())
    both(lambda study: study.goals(bounds=(0, 30)))
    both(lambda study: study.front())
    both(lambda study: study.why(12))
    both(lambda study: study.effects())
    both(lambda study: study.forget(10))
    both(lambda study: study.undo())
    grown = {name: [*cells, cells[0]] for name, cells in BREAD.items()} | {"heat": [*BREAD["heat"], 190]}
    assert both(lambda study: study.update(grown))["rows"] == 13
    both(repr)
    for wrong in [
        lambda study: study.tell(1, 2.0),
        lambda study: study.tell(99, 2.0),
        lambda study: study.tell(2, float("nan")),
        lambda study: study.tell(2, 1.0, repeat="twice"),
        lambda study: study.ask(where="heat <", more=True),
        lambda study: study.predict(sampler="gp"),
        lambda study: study.withdraw(1),
    ]:
        refused = []
        for study in (here, there):
            with pytest.raises(icee.Error) as error:
                wrong(study)
            refused.append((str(error.value), error.value.code, error.value.problem))
        assert refused[0] == refused[1]
    page = there.report(tmp_path / "page.html")
    assert "<svg" in page.read_text()
    assert there._repr_html_() == here._repr_html_() and "<table" in there._repr_html_() and "<svg" in there._repr_html_()
    with pytest.raises(icee.Error, match="no file"):
        there.path
    assert [line["name"] for line in icee.studies(server.base)] == ["bread"] == [line["name"] for line in icee.studies(tmp_path)]
    there.delete()
    assert icee.studies(server.base) == []


def test_columns_have_the_types_of_the_sheet(server, tmp_path):
    icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize")
    opened = icee.Study(url=server.url("bread"))
    asked = opened.ask(3)
    # Numbers are those of the whole column, also where these rows have none with a fraction.
    assert all(isinstance(cell, float) for cell in list(asked["minutes"]))
    assert set(asked["flour"]) <= set(BREAD["flour"])
    opened.tell(opened.answer["suggestions"][0]["row"], 1.5)
    again = pickle.loads(pickle.dumps(opened))
    assert again.best()["value"] == 1.5


def test_answers_are_those_of_the_sheet_as_it_is_now(server):
    table = pandas.DataFrame({"heat": [1, 2, 3], "when": pandas.to_datetime(["2026-01-01"] * 3)}, index=[7, 8, 9])
    study = icee.Study.create(url=server.url("dates"), pool=table, direction="max", ignore=["when"])
    study.tell(8, 2.0)
    grown = pandas.concat([pandas.DataFrame({"heat": [0], "when": table["when"].iloc[0]}, index=[6]), table])
    study.update(grown)
    # As it was given, with the types of the frame.
    asked = study.ask(3)
    assert set(asked.index) == {6, 7, 9} and asked.dtypes["when"] == table.dtypes["when"]
    assert study.best()["row"] == 8
    # Somebody else changes it: then as anybody reads it.
    study.withdraw(6, 7, 9)
    icee.Study(url=server.url("dates")).update(table.assign(heat=[1, 2, 4]))
    asked = study.ask(2)
    assert set(asked.index) == {7, 9} and asked.loc[9, "heat"] == 4 and asked.loc[9, "when"] == "2026-01-01T00:00:00"


def test_no_row_is_called_by_the_name_of_another(server):
    table = pandas.DataFrame({"heat": [180, 200, 180, 220]}, index=list("abcd"))
    study = icee.Study.create(url=server.url("swapped"), pool=table, direction="max")
    study.tell("a", 7.0)
    study.tell("b", 5.0)
    # Rows whose cells are equal change places.
    icee.Study(url=study.url).update(table.loc[["c", "b", "a", "d"]])
    assert study.predict().loc[["a", "b"], "value"].tolist() == [7.0, 5.0] and study.best()["row"] == "a"
    # The study knows another sheet than lies there.
    study = icee.Study.create(url=server.url("undone"), pool=table, direction="max")
    study.tell("d", 7.0)
    study.update(table.iloc[::-1])
    study.undo()
    best = study.best()
    assert (best["row"], best["value"]) == ("d", 7.0) and best["cells"] in ({}, {"heat": 220})
    assert study.front().index.tolist() == ["d"]


def test_who_may_what_and_what_is_there(server, tmp_path, monkeypatch):
    for wrong in ["http://127.0.0.1:1", "bread", "http://a/studies/"]:
        with pytest.raises(icee.Error, match="Write http://HOST:PORT/studies/NAME"):
            icee.Study(url=wrong)
    for wrong, code in [("ftp://a/studies/b", "address"), (server.url("x%20y"), "name-unusable")]:
        with pytest.raises(icee.Error) as error:
            icee.Study(url=wrong)
        assert error.value.code == code
    with pytest.raises(icee.Error, match="Which study"):
        icee.Study("a.jsonl", url=server.url("bread"))
    with pytest.raises(FileNotFoundError) as missing:
        icee.Study(url=server.url("nobody"))
    assert missing.value.code == "no-study"
    icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize")
    with pytest.raises(FileExistsError):
        icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize")
    with pytest.raises(icee.Error) as error:
        icee.Study.create(url=server.url("rye"), pool=BREAD)
    assert error.value.code == "direction-missing" and 'direction="maximize"' in str(error.value)
    # The same names as in a folder.
    assert icee.Study.create(url=server.url("käse.v2"), pool=BREAD, direction="max").name == "käse.v2"
    reader, writer = server.token("ada", "read"), server.token("bob", "write")
    with pytest.raises(PermissionError):
        icee.Study(url=server.url("bread"))
    study = icee.Study(url=server.url("bread"), token=reader)
    with pytest.raises(PermissionError):
        study.ask()
    monkeypatch.setenv("ICEE_TOKEN", writer)
    assert len(icee.Study(url=server.url("bread")).ask()) == 1
    server.process.kill()
    server.process.wait()
    with pytest.raises(ConnectionError) as unreachable:
        icee.Study(url=server.url("bread"), token=writer)
    assert unreachable.value.code == "unreachable"


@pytest.fixture
def worker():
    spec = importlib.util.spec_from_file_location("worker", ROOT / "examples" / "workers" / "worker.py")
    worker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(worker)
    return worker


def test_the_worker_of_the_examples(server, worker):
    url = server.url("bread")
    study = icee.Study.create(url=url, pool=BREAD, direction="maximize", sampler="random")
    tried = []
    worker.PAUSE = 0.2
    # One has died with a row, which the others wait for.
    study.ask(more=True, within="3s", by="gone")
    workers = [threading.Thread(target=lambda: tried.append(worker.work(url))) for _ in range(3)]
    [thread.start() for thread in workers]
    [thread.join() for thread in workers]
    assert sum(count for count, _ in tried) == 12 == len(study.summary()["told"])


def test_a_worker_whose_results_are_refused_ends_without_success(server, worker, monkeypatch):
    study = icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize", sampler="random", bounds=(0, 10))
    monkeypatch.setattr(worker, "experiment", lambda cells: 11.0)
    tried, refused = worker.work(server.url("bread"))
    assert (tried, len(refused), study.summary()["running"], study.summary()["told"]) == (0, 3, [], [])
    # What is no number has failed, which can be recorded.
    monkeypatch.setattr(worker, "experiment", lambda cells: float("nan"))
    assert worker.work(server.url("bread")) == (12, [])
    assert {row["status"] for row in study.summary()["told"]} == {"failed"}


def test_a_worker_goes_on_whatever_a_server_answers(server, worker, monkeypatch, capsys):
    study = icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize", sampler="random")
    tell, told = icee.Study.tell, []

    def troubled(self, row, **outcome):
        told.append(row)
        if len(told) == 1:
            raise ConnectionError("the server is busy; try again in a moment")
        if len(told) == 2:
            tell(self, row, **outcome)
            raise ConnectionError("the connection was closed")
        if len(told) == 4:
            raise icee.Error("the result is outside of the range")
        return tell(self, row, **outcome)

    monkeypatch.setattr(icee.Study, "tell", troubled)
    monkeypatch.setattr(worker, "PAUSE", 0)
    assert worker.work(server.url("bread")) == (10, [told[3]])
    assert told[0] == told[1] == told[2] != told[3]
    # The first was recorded before, the other is not, and both are printed.
    said = capsys.readouterr().err
    assert all(f"not recorded: row {row}, " in said for row in (told[0], told[3]))
    assert len(study.summary()["told"]) == 11


def test_the_shortest_worker(server):
    study = icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize", sampler="random")
    subprocess.run([sys.executable, ROOT / "examples" / "workers" / "short.py", study.url], check=True, timeout=60)
    assert len(study.summary()["told"]) == 12 and study.best()["value"] == 2.4


def test_rows_are_released_by_the_one_who_has_them(server):
    study = icee.Study.create(url=server.url("bread"), pool=BREAD, direction="maximize", sampler="random")
    study.ask(by="ada", within="1h")
    row = study.answer["suggestions"][0]["id"]
    with pytest.raises(icee.Error) as error:
        study.withdraw(row, by="bob")
    assert error.value.code == "held-by-other" and error.value.problem["holder"] == "ada"
    study.withdraw(row, by="ada")
    assert study.summary()["running"] == []
