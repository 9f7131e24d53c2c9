"""Studies from Python: the same rows and numbers as on the command line."""

import io
import json
import multiprocessing
import pathlib
import pickle
import sys
import threading

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import icee
from icee import frames

ROOT = pathlib.Path(__file__).parents[2]

BREAD = {
    "heat": [180, 200, 220, 240] * 3,
    "minutes": [20.5, 30.0, 40.25, 50.0, 30.0, 40.25, 50.0, 20.5, 40.25, 50.0, 20.5, 30.0],
    "flour": ["rye"] * 4 + ["wheat"] * 4 + ["spelt"] * 4,
}
SCORES = [6.0, 7.5, 4.0, 3.0, 5.5, 8.0, 6.5, 2.0, 5.0, 6.0, 3.5, 2.5]


def bread(folder, pool=None, **options):
    options = {"direction": "maximize", **options}
    return icee.Study.create(folder / "bread.jsonl", BREAD if pool is None else pool, **options)


def codes(error):
    """The code of a problem; of one with several, theirs."""
    parts = (error.value.problem or {}).get("problems", [])
    return [part["problem"]["code"] for part in parts] or [error.value.code]


@pytest.mark.parametrize("sampler", [None, "gp-ei"])
def test_rows_and_numbers_equal_the_command_lines(folder, command, sampler):
    study = bread(folder, pandas.DataFrame(BREAD), sampler=sampler, seed=3)
    words = [] if sampler is None else ["--sampler", sampler]
    (folder / "bread.csv").write_text(frames.to_csv({"index": list(range(12)), **BREAD}))
    command("study", "create", "bread", "--pool", "bread.csv", "--id", "index", "--direction", "maximize", "--seed", 3, *words, folder=folder)
    for _ in range(5):
        asked = study.ask()
        said = json.loads(command("study", "ask", "bread", "--json", folder=folder))["suggestions"][0]
        assert str(asked.index[0]) == said["id"]
        assert asked.iloc[0][["heat", "minutes", "flour"]].tolist() == [
            float(said["cells"]["heat"]),
            float(said["cells"]["minutes"]),
            said["cells"]["flour"],
        ]
        if said["forecast"] is not None:
            assert asked.iloc[0][["mean", "low", "high", "beats_best"]].tolist() == [
                said["forecast"][name] for name in ("mean", "low", "high", "beats_best")
            ]
        value = SCORES[said["row"] - 1]
        study.tell(asked.index[0], value)
        command("study", "tell", "bread", "--row", said["id"], "--value", value, folder=folder)
    mine, theirs = study.predict(), json.loads(command("study", "predict", "bread", "--json", folder=folder))
    assert mine["mean"].tolist() == [row["mean"] for row in theirs["rows"]]
    assert mine["status"].tolist() == [row["status"] for row in theirs["rows"]]
    best = json.loads(command("study", "best", "bread", "--json", folder=folder))
    assert study.best()["value"] == best["best"]["value"]
    # One file for both: what was begun here goes on there.
    lines = (folder / "bread.jsonl").read_text().splitlines()
    assert len(lines) == len((folder / "studies" / "bread.jsonl").read_text().splitlines())


@pytest.mark.parametrize(
    "made, kind",
    [
        (pandas.DataFrame, pandas.DataFrame),
        (polars.DataFrame, polars.DataFrame),
        (pyarrow.table, pyarrow.Table),
        (dict, dict),
        (lambda columns: {name: np.array(column) for name, column in columns.items()}, dict),
    ],
)
def test_answers_come_in_the_kind_of_table_that_was_given(folder, made, kind):
    study = bread(folder, made(BREAD))
    first = 0 if kind is pandas.DataFrame else 1
    study.tell(first, 6.0)
    study.tell(first + 1, 7.5)
    asked, believed = study.ask(2), study.predict()
    assert type(asked) is kind and type(believed) is kind
    columns = frames.columns_of(believed)
    # pandas counts from 0, and its counts are names.
    names = believed.index.tolist() if kind is pandas.DataFrame else columns["row"]
    assert names == list(range(0, 12) if kind is pandas.DataFrame else range(1, 13))
    asked = frames.columns_of(asked)
    assert asked["mean"] != [None, None]
    assert columns["heat"] == BREAD["heat"] and columns["flour"] == BREAD["flour"]
    assert columns["value"][:2] == [6.0, 7.5] and all(np.isfinite(columns["mean"]))


@pytest.mark.parametrize("missing, kind", [((), pyarrow.Table), (("pyarrow",), polars.DataFrame)])
def test_anything_with_an_arrow_stream_is_read(folder, monkeypatch, missing, kind):
    class Elsewhere:
        def __arrow_c_stream__(self, requested_schema=None):
            return pyarrow.table(BREAD).__arrow_c_stream__(requested_schema)

    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    study = bread(folder, Elsewhere())
    assert study.summary()["rows"] == 12
    assert type(study.ask()) is kind


def test_without_a_reader_of_arrow_streams_it_says_what_to_install(folder, monkeypatch):
    class Elsewhere:
        def __arrow_c_stream__(self, requested_schema=None):
            raise AssertionError("nobody can read it")

    for name in ("pyarrow", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(icee.Error, match="install pyarrow or polars"):
        bread(folder, Elsewhere())


def test_an_index_of_ones_own_names_the_rows(folder):
    pool = pandas.DataFrame(BREAD, index=[f"loaf {at}" for at in range(12)])
    study = bread(folder, pool)
    study.tell("loaf 3", 7.0)
    assert study.best()["row"] == "loaf 3"
    asked = study.ask()
    assert asked.index[0] in pool.index
    assert pool.loc[asked.index[0], "heat"] == asked.iloc[0]["heat"]
    again = icee.Study(study.path)
    assert again.best()["row"] == "loaf 3"


def test_a_table_that_has_grown(folder):
    table = pandas.DataFrame({"heat": [1, 2, 3], "kind": ["a", "b", "a"]}, index=["x", "y", "z"])
    study = icee.Study.create(folder / "grown.jsonl", table, direction="max")
    study.tell("y", 2.5)
    table.loc["w"] = [4, "b"]
    table = table.loc[["w", "z", "y", "x"]]
    assert study.update(table)["rows"] == 4
    assert study.best()["row"] == "y"
    assert set(study.ask(3).index) == {"w", "z", "x"}
    assert icee.Study(folder / "grown.jsonl").summary()["rows"] == 4
    # A row that has a result is gone: nothing is written.
    before = (folder / "grown.jsonl").read_bytes()
    with pytest.raises(icee.Error) as error:
        study.update(table.drop("y"))
    assert error.value.code == "sheet-conflicts" and "y" in [row["row"] for row in error.value.problem["conflicts"]]
    assert (folder / "grown.jsonl").read_bytes() == before
    study.forget("y")
    study.withdraw("w", "z", "x")
    assert study.update(table.drop("y"))["rows"] == 3
    # A file of one's own is followed, not replaced by a table.
    table.to_csv(folder / "mine.csv")
    mine = icee.Study.create(folder / "of-file.jsonl", folder / "mine.csv", direction="max")
    with pytest.raises(icee.Error) as error:
        mine.update(table.drop("x"))
    assert error.value.code == "sheet-is-file" and error.value.problem["path"].endswith("mine.csv")
    # It may be another file from now on.
    (folder / "mine.csv").rename(folder / "moved.csv")
    assert mine.update(folder / "moved.csv")["rows"] == 4
    table.drop("x").to_csv(folder / "moved.csv")
    assert mine.update()["rows"] == 3


def test_tables_of_results(folder):
    study = bread(folder, pandas.DataFrame(BREAD))
    plate = study.ask(3)
    plate["score"] = [SCORES[row] for row in plate.index]
    study.tell(plate, "score")
    told = {int(row["id"]): row["value"] for row in study.summary()["told"]}
    assert told == {row: SCORES[row] for row in plate.index}
    # By their cells, and from a file.
    left = [row for row in range(12) if row not in told]
    frame = pandas.DataFrame(BREAD).iloc[[left[0]]].reset_index(drop=True).assign(value=[1.5])
    study.tell(frame)
    (folder / "more.csv").write_text(f"index,value\n{left[1]},failed\n")
    study.tell(folder / "more.csv")
    # By the index of a series.
    study.tell(pandas.Series([4.25, 5.25], index=left[2:4]))
    told = study.summary()["told"][-4:]
    assert [int(row["id"]) for row in told] == left[:4]
    assert [row["value"] for row in told] == [1.5, None, 4.25, 5.25] and told[1]["status"] == "failed"
    with pytest.raises(icee.Error) as error:
        study.tell({"index": [99], "value": [1.0]})
    assert codes(error) == ["row-unknown"] and error.value.problem["problems"][0]["line"] == 2


def test_rows_of_a_frame_are_found_however_it_was_filtered_or_sorted(folder):
    table = pandas.DataFrame({"heat": [180, 200, 220, 240] * 2, "flour": ["rye"] * 4 + ["wheat"] * 4})
    some = {"some": [2, 4, 5], "evenly": [3, 5], "a slice": [2, 3, 4], "shuffled": [6, 0, 3]}
    for number, (name, rows) in enumerate(some.items()):
        study = icee.Study.create(folder / f"{number}.jsonl", table, direction="max")
        values = [float(10 * row) for row in rows]
        study.tell(table.loc[rows].assign(value=values))
        believed = study.predict()
        assert {row: believed.loc[row, "value"] for row in rows} == dict(zip(rows, values)), name
    # As people fill in a sheet of theirs.
    sheet = table.assign(score=np.nan)
    study = icee.Study.create(folder / "sheet.jsonl", sheet, direction="max", value="score")
    plate = study.ask(3)
    sheet.loc[plate.index, "score"] = [1.0, 2.0, 3.0]
    study.update(sheet)
    assert [row["id"] for row in study.summary()["told"]] == [str(row) for row in sorted(plate.index)]
    assert study.predict().loc[plate.index, "value"].tolist() == [1.0, 2.0, 3.0]


def test_a_pool_that_is_a_part_keeps_its_names(folder):
    table = pandas.DataFrame({"heat": range(100, 200, 10), "flour": list("ab") * 5})
    for number, part in enumerate([table.iloc[2:6], table[table.heat > 150], table[::2]]):
        study = icee.Study.create(folder / f"{number}.jsonl", part, direction="max")
        asked = study.ask(2)
        assert part.loc[asked.index, "heat"].tolist() == asked["heat"].tolist()
        study.tell(asked.assign(value=[1.0, 2.0]))
        # Opened anew, they are still called so.
        assert icee.Study(study.path).best()["row"] == pickle.loads(pickle.dumps(study)).best()["row"] == asked.index[1]
    named = table.assign(nr=range(5, 15))[table.heat > 150]
    study = icee.Study.create(folder / "named.jsonl", named, direction="max", id="nr")
    assert set(study.ask(4).index) == set(named["nr"])
    assert {name for name, _ in study.summary()["columns"]} == {"heat", "flour"}
    study.tell(named.assign(value=range(4)))
    with pytest.raises(icee.Error, match="twice"):
        icee.Study.create(folder / "twice.jsonl", pandas.concat([table, table.assign(flour="c")]), direction="max")


def test_rows_that_are_alike_are_told_apart_by_their_names(folder):
    table = pandas.DataFrame({"who": ["Ada", "Ada", "Bob", "Bob"], "heat": [180, 200, 180, 200]})
    study = icee.Study.create(folder / "alike.jsonl", table, direction="max", ignore=["who"])
    sheet = table.assign(score=[np.nan, np.nan, np.nan, 9.0])
    study.tell(sheet, "score")
    assert study.best()["row"] == 3
    # Cells alone name neither of them.
    with pytest.raises(icee.Error) as error:
        study.tell(pandas.DataFrame({"heat": [180], "value": [5.0]}, index=["x"]).rename_axis("other"))
    assert codes(error) == ["rows-alike"]
    twins = pandas.DataFrame({"heat": [1, 2, 1]})
    study = icee.Study.create(folder / "twins.jsonl", twins, direction="max")
    plate = study.ask(3)
    assert twins.loc[plate.index, "heat"].tolist() == plate["heat"].tolist() and set(plate.index) == {0, 1, 2}
    # Where nothing names rows, identical ones are one experiment.
    study = icee.Study.create(folder / "once.jsonl", {"heat": [1, 2, 1], "score": [3.0, None, 5.0]}, direction="max", value="score")
    assert study.best()["row"] == 1 and study.best()["value"] == 4.0


def test_an_index_that_names_nothing_is_not_believed(folder):
    table = pandas.DataFrame({"heat": [180, 200, 220, 240], "salt": [1, 5, 2, 4]})
    study = icee.Study.create(folder / "s.jsonl", table, direction="max")
    with pytest.raises(icee.Error):
        study.tell(pandas.DataFrame({"row": [3, 4], "value": [7.0, 8.0]}))
    # That of a whole table does.
    study.tell(table.assign(score=[np.nan, 7.0, np.nan, np.nan])[["score"]], "score")
    assert study.best()["row"] == 1
    named = table.assign(recipe=[1, 2, 3, 4], score=[np.nan, np.nan, 7.0, np.nan])
    study = icee.Study.create(folder / "named.jsonl", named.drop(columns="score"), direction="max", id="recipe")
    for results in (named[["score"]].dropna(), named[["score"]].dropna().rename_axis("pos")):
        with pytest.raises(icee.Error):
            study.tell(results, "score")
    with pytest.raises(icee.Error):
        study.tell(named["score"].dropna())
    study.tell(named, "score")
    assert study.best()["row"] == 3
    # Nor is it one of names where the table is given anew.
    with pytest.raises(icee.Error, match='no column is called "recipe"'):
        study.update(named.drop(columns=["recipe", "score"]))
    # An index without a name has names all the same.
    words = table.set_axis(list("abcd"))
    study = icee.Study.create(folder / "words.jsonl", words, direction="max")
    study.tell(words.assign(value=[np.nan, 3.0, np.nan, np.nan])[["value"]].dropna())
    assert study.update(words)["rows"] == 4 and study.best()["row"] == "b"
    # A column with the name of an index is the one that pandas makes of it.
    study = icee.Study.create(folder / "reset.jsonl", table, direction="max")
    study.tell(table.loc[[2]].assign(value=6.0).reset_index())
    assert study.best()["row"] == 2
    taken = table.assign(index=[5, 6, 7, 8])
    study = icee.Study.create(folder / "taken.jsonl", taken, direction="max")
    study.tell(taken.loc[[1]].assign(value=6.0))
    assert study.best()["row"] == 1
    for wrong in (study.withdraw, study.forget, study.why):
        with pytest.raises(icee.Error, match="is no row"):
            wrong(taken.index)


def test_a_column_may_be_called_row(folder):
    plates = {"row": [1, 1, 2, 2], "col": [1, 2, 1, 2], "conc": [0.1, 0.2, 0.4, 0.8]}
    for kind in (dict, pandas.DataFrame):
        study = icee.Study.create(folder / f"{kind.__name__}.jsonl", kind(plates), direction="max")
        asked = study.ask(2)
        rows = asked["row_number"] if kind is dict else asked.index
        first = 1 if kind is dict else 0
        assert [plates["conc"][row - first] for row in rows] == list(asked["conc"])
        assert [plates["row"][row - first] for row in rows] == list(asked["row"])
        study.tell(rows[1], 5.0)
        assert study.best()["cells"]["conc"] == list(asked["conc"])[1]


def kept(folder):
    """The sheet that a study keeps."""
    [sheet] = folder.iterdir()
    return sheet.read_text()


def test_missing_values_of_pandas_are_empty_cells(folder):
    table = pandas.DataFrame(
        {
            "a": pandas.array([1, None, 3], dtype="Int64"),
            "b": pandas.array([True, None, False], dtype="boolean"),
            "c": pandas.array(["x", None, "y"], dtype="string"),
            "d": [1, pandas.NA, "z"],
            "e": [1, 2, 3],
        }
    )
    study = icee.Study.create(folder / "gaps.jsonl", table, direction="max")
    assert kept(folder / "gaps.sheets").splitlines()[2] == "1,,,,,2"
    plate = study.ask(3)
    study.tell(plate.assign(value=pandas.array([1, None, 2], dtype="Int64")))
    assert len(study.summary()["told"]) == 2


def test_what_was_given_is_not_believed_once_the_sheet_is_another(folder):
    table = pandas.DataFrame({"heat": [1.0, 2.0, 3.0]}, index=["p", "q", "r"])
    study = icee.Study.create(folder / "shared.jsonl", table, direction="max")
    study.tell("p", 1.0)
    study.tell("q", 0.5)
    # Somebody else adds a row above all others.
    other = icee.Study(folder / "shared.jsonl")
    other.update(pandas.concat([pandas.DataFrame({"heat": [4.0]}, index=["s"]), table]))
    assert study.best()["row"] == "p" and study.best()["cells"] == {"heat": 1}
    assert study.predict().loc["s", "heat"] == 4 and len(study.predict()) == 4


def test_tables_of_replies_take_no_further_requests(folder, monkeypatch):
    study = bread(folder)
    opened = icee.Study(folder / "bread.jsonl")
    opened.ask()
    sent, send = [], icee._places.Place.send

    def counted(self, verb, *words, **request):
        sent.append(verb)
        return send(self, verb, *words, **request)

    monkeypatch.setattr(icee._places.Place, "send", counted)
    for one in (study, opened):
        one.ask(2, more=True)
        for row in one.answer["suggestions"]:
            one.tell(row["id"], 7.5)
        one.ask()
        assert len(one.predict()) and len(one.front()) and len(one.running()) and one.best()["value"] == 7.5
    # Predictions have a request of their own kind.
    assert sent == ["ask", "tell", "tell", "ask", "best", "running", "best"] * 2


def test_gaps_dates_and_odd_numbers_survive(folder):
    pool = pandas.DataFrame(
        {
            "rate": [1e-5, 0.1, 1 / 3, 2.5e10],
            "gap": [1.0, None, float("nan"), 4.0],
            "when": pandas.to_datetime(["2026-01-01", "2026-01-02", "2026-01-03", None]),
            "yes": [True, False, True, False],
        }
    )
    study = icee.Study.create(folder / "odd.jsonl", pool, direction="minimize")
    cells = frames.columns_of(pandas.read_csv(io.StringIO(kept(folder / "odd.sheets"))))
    assert cells["rate"] == pool["rate"].tolist()
    assert np.isnan(cells["gap"][1]) and cells["when"][0] == "2026-01-01T00:00:00"
    assert study.summary()["rows"] == 4


def test_several_objectives_and_constraints(folder):
    study = bread(folder, bounds=(0, 10), also=["price min", "crust >= 2"], cost="minutes")
    for row in range(1, 5):
        study.tell(row, SCORES[row - 1], also={"price": row * 1.5, "crust": 3.0})
    front = frames.columns_of(study.front())
    assert sorted(zip(front["row"], front["value"], front["price"])) == [(1, 6.0, 1.5), (2, 7.5, 3.0)]
    believed = study.predict(top=3)
    assert {"price_mean", "crust_holds"} <= set(believed) and len(believed["row"]) == 3
    assert "price: lower is better" in repr(study)
    with pytest.raises(icee.Error) as error:
        study.tell(5, 11.0)
    assert codes(error) == ["out-of-range"]
    with pytest.raises(icee.Error) as error:
        study.tell(5, 4.0, also={"prise": 1.0})
    assert codes(error) == ["unknown"]


def test_goals_can_change(folder):
    study = bread(folder, bounds=(0, 10), also=["crust >= 2"])
    study.tell(1, "7,5", also={"crust": "2,5"})
    near = icee.Study.create(folder / "near.jsonl", BREAD, target="7,5")
    assert near.summary()["goals"][0]["words"] == "the nearer to 7.5 the better"
    assert study.best()["value"] == 7.5
    now = study.goals(bounds="0..20", also=["crust >= 2.2", "price min"])
    assert now["bounds"] == {"low": 0.0, "high": 20.0}
    assert [(goal["name"], goal["wanted"]) for goal in now["goals"]][1:] == [("crust", "at-least"), ("price", "minimize")]
    study.tell(2, 15, also={"crust": 3, "price": 1})
    assert study.best()["value"] == 15.0
    with pytest.raises(icee.Error) as error:
        study.goals(bounds=(None, 10))
    assert error.value.code == "results-outside"
    with pytest.raises(icee.Error) as error:
        study.goals()
    assert error.value.code == "nothing-to-change"


def test_undo_looking_and_a_page(folder):
    study = bread(folder)
    row = study.ask()["row"][0]
    study.withdraw(row)
    study.tell(row, 3.0)
    study.tell(row, 4.0, repeat="again")
    study.forget(row)
    assert study.undo() == f"deletion of the results of row {row}"
    assert study.best()["value"] == 3.5
    for at in range(1, 6):
        if at != row:
            study.tell(at, SCORES[at - 1])
    assert study.why(12)["forecast"]["mean"] > 0
    assert {effect["column"] for effect in study.effects()} == set(BREAD)
    page = study.report()
    assert page == folder / "bread.html" and "<svg" in page.read_text()
    shown = study._repr_html_()
    assert "<svg" in shown and "<table" in shown
    review = study.review()
    assert len(review["steps"]) == 5 and review["checked"] >= len(review["held"])


def test_rows_in_progress_and_studies_come_and_go(folder):
    study = bread(folder)
    asked = study.ask(2, by="Ada", within="1h")
    running = study.running()
    assert running["row"] == asked["row"] and running["by"] == ["Ada", "Ada"] and min(running["until"]) > 1.7e9
    for row, value in zip(asked["row"], [6.5, 5.0]):
        study.tell(row, value)
    another = icee.Study.create(folder / "rye.jsonl", BREAD, direction="maximize", like=study.path, sampler="random")
    assert [(line["name"], line["told"], line["running"]) for line in icee.studies(folder)] == [("bread", 2, 0), ("rye", 0, 0)]
    # What is exported can be recorded.
    (folder / "results.csv").write_text(study.export())
    another.tell(folder / "results.csv")
    assert another.best()["value"] == 6.5
    place = study.delete()
    assert pathlib.Path(place).is_dir() and [line["name"] for line in icee.studies(folder)] == ["rye"]
    with pytest.raises(FileNotFoundError) as error:
        study.ask()
    assert error.value.code == "no-study"


def test_everybody_has_rows_of_their_own(folder):
    study = bread(folder)
    adas, bobs = study.ask(by="Ada"), study.ask(2, by="Bob")
    assert set(adas["row"]).isdisjoint(bobs["row"])
    assert (study.ask(by="Ada"), study.ask(2, by="Bob")) == (adas, bobs)
    assert [row["by"] for row in study.answer["suggestions"]] == ["Bob", "Bob"]
    with pytest.raises(icee.Error) as error:
        study.ask(by="")
    assert error.value.code == "person-name"


def test_notes_are_warnings(folder):
    with pytest.warns(icee.Note) as said:
        icee.Study.create(folder / "s.jsonl", {**BREAD, "score": SCORES}, direction="maximize")
    suspects = [warning.message.note for warning in said if warning.message.code == "suspect"]
    assert [note["column"] for note in suspects] == ["score"]
    # It is said where the caller is, in Python's words.
    assert {warning.filename for warning in said} == {__file__}
    assert any('value="score"' in str(warning.message) for warning in said)


def test_a_study_can_be_pickled_and_shared_by_threads(folder):
    study = bread(folder)
    again = pickle.loads(pickle.dumps(study))
    study.tell(1, 6.0)
    assert again.best()["value"] == 6.0, "it is the same file"
    asked, lock = [], threading.Lock()

    def work(own):
        for _ in range(2):
            rows = own.ask(more=True)["row"]
            with lock:
                asked.extend(rows)

    workers = [threading.Thread(target=work, args=(own,)) for own in (study, study, again)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    assert len(asked) == 6 and len(set(asked)) == 6, "no row is suggested twice"


def _in_a_fork(study, results):
    study.tell(3, 4.0)
    results.put((study.ask()["row"][0], study.best()["value"]))


@pytest.mark.parametrize("way", ["fork", "spawn"])
def test_a_study_works_in_another_process(folder, way):
    study = bread(folder)
    study.tell(1, 6.0)
    study.tell(2, 7.5)
    study.predict()
    context = multiprocessing.get_context(way)
    results = context.Queue()
    process = context.Process(target=_in_a_fork, args=(study, results))
    process.start()
    row, best = results.get(timeout=60)
    process.join(timeout=60)
    assert best == 7.5 and row == study.ask()["row"][0], "what is running there is known here"
    assert len(study.summary()["told"]) == 3
