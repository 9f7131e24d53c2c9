"""Logs from everywhere, and runs: watched, stopped, interrupted, resumed."""

import importlib.util
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import icee
import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
SMALL = {"train": {"batch": 2, "eval_games": 2, "eval_every": 0, "warmup": 1}, "model": {"width": 16, "layers": 1, "attention_heads": 1}}


@pytest.fixture(scope="module")
def logs() -> icee.Logs:
    return icee.collect("icee/DarkRoomTiny-v0", "random", games=6, episodes=3, seed=1)


class Walk(gymnasium.Env):
    """Sees two numbers; its actions are numbered from 1."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1, 2), np.float64)
    action_space = gymnasium.spaces.Discrete(3, start=1)

    def __init__(self, game: int = 0) -> None:
        self.game = game

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.at = np.zeros((1, 2))
        return self.at.copy(), {}

    def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in (1, 2, 3)
        self.at += action - 2
        return self.at.copy(), float(self.at[0, 0]), False, abs(self.at[0, 0]) >= 2 or action == 2, {}


def same(a: icee.Logs, b: icee.Logs) -> None:
    ours, theirs = a.to_dict(), b.to_dict()
    assert ours.keys() == theirs.keys()
    for name, column in ours.items():
        np.testing.assert_allclose(column, theirs[name], rtol=1e-6)
        assert column.dtype == theirs[name].dtype


def test_collecting(logs: icee.Logs) -> None:
    assert repr(logs) == "Logs(144 steps, 18 episodes, 6 games, with probabilities)"
    assert logs.observation.dtype == np.int64 and set(logs.action) == set(range(5))
    assert (logs.probability == 0.2).all()
    same(logs, icee.collect("icee/DarkRoomTiny-v0", "random", games=6, episodes=3, seed=1))
    # An action alone has no known probability; with one it has.
    vectors = icee.collect(Walk, lambda observation: 3, games=2, episodes=2)
    assert vectors.observation.shape == (8, 2) and vectors.probability is None
    assert (vectors.action == 2).all() and vectors.reward.tolist() == [1.0, 2.0] * 4
    known = icee.collect(Walk(), lambda observation: (1, 0.5), games=2, episodes=1)
    assert known.probability is not None and (known.probability == 0.5).all()
    with pytest.raises(icee.Error, match="the policy chose 4, which is none of the 3 actions"):
        icee.collect(Walk, lambda observation: 4, games=1, episodes=1)
    with pytest.raises(icee.Error, match="games is 0"):
        icee.collect(Walk, "random", games=0, episodes=1)


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        (lambda seen: 1.7, "the policy chose 1.7, which is none of the 3 actions"),
        (lambda seen: "2", "the policy chose '2', which is none of the 3 actions"),
        (lambda seen: (2, 7.0), "the policy chose 2 with the probability 7.0; above 0 and up to 1"),
        (lambda seen: (2, 0.0), "with the probability 0.0"),
        (lambda seen: (2, float("nan")), "with the probability nan"),
    ],
)
def test_slips_of_policies_are_named_where_they_occur(policy: Any, said: str) -> None:
    with pytest.raises(icee.Error, match=said):
        icee.collect(Walk, policy, games=1, episodes=1)
    assert icee.collect(Walk, lambda seen: np.int64(3), games=1, episodes=1).action.tolist() == [2, 2]


def test_slips_of_environments_are_named_where_they_occur() -> None:
    class Odd(Walk):
        def step(self, action: int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
            seen, reward, *over = super().step(action)
            return seen, float("nan") if abs(seen[0, 0]) > 1 else reward, *over

    with pytest.raises(icee.Error, match=r"gave the reward nan \(game 0, episode 0, step 1\)"):
        icee.collect(Odd, lambda seen: 3, games=1, episodes=1)

    class Between(Walk):
        observation_space = gymnasium.spaces.Discrete(5)

        def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
            super().reset(**options)
            return 1.7, {}

    with pytest.raises(icee.Error, match="gave the observation 1.7; a whole number"):
        icee.collect(Between, "random", games=1, episodes=1)


class Door(Walk):
    """Knows how many are open."""

    opened: list[Any] = []
    most = 0

    def __init__(self, game: int = 0) -> None:
        super().__init__(game)
        Door.opened.append(self)
        Door.most = max(Door.most, len(Door.opened))

    def close(self) -> None:
        Door.opened.remove(self)


@pytest.fixture
def doors() -> Any:
    Door.opened, Door.most = [], 0
    gymnasium.register("Door-v0", entry_point=Door, max_episode_steps=9)
    yield
    del gymnasium.registry["Door-v0"]


def wrong(observation: Any) -> int:
    return 0


@pytest.mark.parametrize("env", [Door, lambda game: Door(game), "Door-v0"], ids=["class", "function", "id"])
def test_environments_that_were_made_are_closed(doors: None, env: Any, tmp_path: Path) -> None:
    logs = icee.collect(env, "random", games=5, episodes=2)
    assert not Door.opened and Door.most <= 2
    with pytest.raises(icee.Error, match="the policy chose 0"):
        icee.collect(env, wrong, games=5, episodes=2)
    assert not Door.opened
    agent = icee.train(logs, steps=1, settings=SMALL, out=tmp_path).agent()
    icee.evaluate(agent, env, games=5, episodes=2)
    assert not Door.opened and Door.most == 5
    with pytest.raises(icee.Error, match="knows 25 observations|knows 81 observations"):
        icee.evaluate("dark-room__icee", env, games=5)
    assert not Door.opened


def test_the_callers_environment_stays_open(doors: None) -> None:
    env = Door()
    icee.collect(env, "random", games=3, episodes=1)
    assert Door.opened == [env]
    # The same for all games is closed after the last.
    icee.collect(lambda game: env, "random", games=3, episodes=1)
    assert not Door.opened


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl"])
def test_files_come_back(logs: icee.Logs, tmp_path: Path, name: str) -> None:
    logs.save(tmp_path / name)
    same(icee.Logs.of(tmp_path / name), logs)
    vectors = icee.collect(Walk, lambda observation: 3, games=2, episodes=2)
    vectors.save(tmp_path / name)
    same(icee.Logs.of(str(tmp_path / name)), vectors)


def test_frames_and_dicts(logs: icee.Logs) -> None:
    import pandas

    columns = logs.to_dict()
    same(icee.Logs.of(columns), logs)
    same(icee.Logs.of(pandas.DataFrame(columns)), logs)
    vectors = icee.collect(Walk, "random", games=2, episodes=2)
    lists = {**vectors.to_dict(), "observation": vectors.observation.tolist()}
    same(icee.Logs.of(pandas.DataFrame(lists)), vectors)


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_other_frames(logs: icee.Logs, library: str) -> None:
    frames = pytest.importorskip(library)
    vectors = icee.collect(Walk, "random", games=2, episodes=2)
    for each in (logs, vectors):
        columns = {name: column.tolist() for name, column in each.to_dict().items()}
        same(icee.Logs.of(frames.DataFrame(columns) if library == "polars" else frames.table(columns)), each)


def test_minari(logs: icee.Logs) -> None:
    minari = pytest.importorskip("minari")
    episodes = [
        minari.EpisodeData(
            id=number,
            observations=np.arange(4),
            actions=np.array([0, 1, 0]),
            rewards=np.ones(3),
            terminations=np.zeros(3, dtype=bool),
            truncations=np.array([False, False, True]),
            infos={},
        )
        for number in range(3)
    ]
    one = icee.Logs.of(episodes)
    assert repr(one) == "Logs(9 steps, 3 episodes, 1 game, without probabilities)"
    assert one.observation.tolist() == [0, 1, 2] * 3 and one.episode.tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    two = icee.Logs.of(SimpleNamespace(iterate_episodes=lambda: iter(episodes)), games=[0, 1, 0])
    assert two.game.tolist() == [0] * 6 + [1] * 3
    with pytest.raises(icee.Error, match="games has 2 entries"):
        icee.Logs.of(episodes, games=[0, 1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"reward": None}, "the log has no column reward"),
        ({"action": [0.5]}, "the column action holds 0.5 in row 1; whole numbers from 0"),
        ({"action": [float("nan")]}, "the column action holds nan in row 1"),
        ({"action": ["0"]}, "the column action holds <U1"),
        ({"game": [-1]}, "the column game holds -1 in row 1; whole numbers from 0"),
        ({"action": [0, 1]}, "one length"),
        ({"observation": ["x"]}, "the column observation holds"),
        ({"observation": [-1]}, "the column observation holds -1 in row 1; things are numbered from 0"),
        ({"observation": [[0.0, float("nan")]]}, "the column observation holds .*nan.* in row 1; finite numbers"),
        ({"reward": [float("nan")]}, "the column reward holds nan in row 1; finite numbers"),
        ({"reward": [1e300]}, r"the column reward holds 1e\+300 in row 1; finite numbers"),
        ({"probability": [7.0]}, "the column probability holds 7.0 in row 1; above 0 and up to 1"),
        ({name: [] for name in ("game", "episode", "step", "observation", "action", "reward")}, "the log has no steps"),
        ({"step": [1]}, r"row 1 \(game 0, episode 0, step 1\) does not follow .* step 0"),
    ],
)
def test_wrong_tables_are_named(change: dict[str, Any], said: str) -> None:
    table = {"game": [0], "episode": [0], "step": [0], "observation": [0], "action": [0], "reward": [0.0]} | change
    with pytest.raises(icee.Error, match=said):
        icee.Logs.of({name: column for name, column in table.items() if column is not None})


def test_whole_numbers_may_be_floats(logs: icee.Logs) -> None:
    import pandas

    frame = pandas.DataFrame(logs.to_dict())
    same(icee.Logs.of(frame.astype({name: float for name in ("game", "episode", "step", "action")})), logs)


def test_rows_in_disorder_are_named() -> None:
    import pandas

    def table(*rows: tuple[int, int, int]) -> Any:
        return pandas.DataFrame(rows, columns=["game", "episode", "step"]).assign(observation=0, action=0, reward=0.0)

    # Games side by side, numbers that are left out, and logs that were joined, as in files.
    for fine in (
        [(0, 0, 0), (1, 0, 0), (0, 0, 1), (1, 0, 1), (0, 1, 0), (1, 4, 0)],
        [(7, 2, 0), (7, 2, 1), (3, 0, 0), (7, 2, 0), (7, 3, 0)],
        [(0, 0, 0), (1, 0, 0), (0, 0, 0), (1, 0, 0)],
    ):
        assert len(icee.Logs.of(table(*fine))) == len(fine)
    for row, rows in (
        (2, [(0, 0, 0), (0, 0, 2)]),
        (2, [(0, 0, 0), (0, 1, 1)]),
        (3, [(0, 1, 0), (1, 0, 0), (0, 0, 1)]),
        (3, [(0, 0, 0), (0, 0, 1), (0, 0, 1)]),
        (2, [(0, 1, 0), (0, 0, 0)]),
        # Back from its middle: joined, or shuffled?
        (5, [(0, 0, 0), (0, 1, 0), (0, 2, 0), (1, 0, 0), (0, 1, 0)]),
    ):
        with pytest.raises(icee.Error, match=rf"row {row} \(game .*\) does not follow"):
            icee.Logs.of(table(*rows))


def test_a_shuffled_frame_is_refused(logs: icee.Logs, tmp_path: Path) -> None:
    import pandas

    frame = pandas.DataFrame(logs.to_dict()).sample(frac=1, random_state=0)
    for take in (icee.Logs.of, lambda frame: icee.train(frame, out=tmp_path)):
        with pytest.raises(icee.Error, match=r"^row \d+ .* Sort by game, episode and step"):
            take(frame)
    same(icee.Logs.of(frame.sort_values(["game", "episode", "step"])), logs)
    bandit = pandas.DataFrame({"game": np.repeat(range(9), 9), "episode": list(range(9)) * 9, "step": 0})
    bandit = bandit.assign(observation=0, action=0, reward=0.0)
    assert len(icee.Logs.of(bandit)) == 81
    with pytest.raises(icee.Error, match="does not follow"):
        icee.Logs.of(bandit.sample(frac=1, random_state=0))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_whatever_offers_arrow(logs: icee.Logs, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pyarrow = pytest.importorskip("pyarrow")

    class Stream:
        # Those of duckdb have it, too.
        columns = list(logs.to_dict())

        def __arrow_c_stream__(self, schema: Any = None) -> Any:
            return pyarrow.table(logs.to_dict()).__arrow_c_stream__(schema)

    other = {"polars": "pyarrow", "pyarrow": "polars"}[library]
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == other else found(name))
    same(icee.Logs.of(Stream()), logs)


def test_a_run_on_logs(logs: icee.Logs, tmp_path: Path) -> None:
    events: list[dict[str, Any]] = []
    run = icee.train(logs, steps=3, settings=SMALL, out=tmp_path, callback=events.append, progress=False)
    assert run.path.parent == tmp_path and run.summary["finished"] and run.summary["step"] == 3
    assert [event["event"] for event in events] == ["start", "step", "step", "step", "saved"]
    assert events[1]["loss"] == pytest.approx(run.metrics()["loss"][0], rel=1e-6)
    agent = run.agent(games=2)
    assert agent.observation_space == {"type": "discrete", "n": 25} and agent.actions == 5
    assert icee.evaluate(agent, "icee/DarkRoomTiny-v0", games=2, episodes=2).shape == (2, 2)
    with pytest.raises(icee.Error, match="learned from logs"):
        icee.evaluate(agent)
    # The log lies beside the run, once.
    icee.train(logs, steps=1, settings=SMALL, out=tmp_path)
    assert len(list(tmp_path.glob("log-*.csv"))) == 1


def test_a_run_on_vectors_without_probabilities(tmp_path: Path) -> None:
    vectors = icee.collect(Walk, lambda observation: 3, games=2, episodes=2)
    run = icee.train(vectors.to_dict(), steps=1, settings=SMALL, out=tmp_path, method="ad")
    assert icee.evaluate(run.agent(), Walk, games=2, episodes=2).shape == (2, 2)
    with pytest.warns(UserWarning, match="no probability of every action"):
        icee.train(vectors, steps=1, settings=SMALL, out=tmp_path, method="icee-weighted")


def test_stopped_and_resumed_is_as_never_stopped(tmp_path: Path) -> None:
    whole = icee.train(preset="dark-room-tiny", steps=4, settings=SMALL, seed=2, out=tmp_path)
    stopped = icee.train(
        preset="dark-room-tiny",
        steps=4,
        settings=SMALL,
        seed=2,
        out=tmp_path,
        callback=lambda event: event["event"] == "step" and event["step"] == 2,
    )
    assert stopped.summary["step"] == 2 and not stopped.summary["finished"]
    assert icee.resume(stopped).summary["finished"]
    weights, theirs = (next((run.path / "checkpoint").glob("*.safetensors")) for run in (whole, stopped))
    assert weights.read_bytes() == theirs.read_bytes()
    assert "evaluation" in whole.summary and whole.summary["evaluation"]["games"] == 2
    np.testing.assert_array_equal(whole.metrics()["loss"], stopped.metrics()["loss"])


def test_time_and_errors(tmp_path: Path, logs: icee.Logs) -> None:
    run = icee.train(preset="dark-room-tiny", steps=1000, settings=SMALL, out=tmp_path, max_minutes=0)
    assert run.summary["step"] == 1
    for arguments, said in [
        ({"preset": "dark-rom"}, "did you mean"),
        ({"settings": {"train.lrr": 1}}, 'did you mean "train.lr"'),
        ({"device": "gpu"}, 'device is "cpu", "cuda" or "auto"'),
        ({"max_minutes": float("nan")}, "max_minutes"),
        ({"logs": {**logs.to_dict(), "step": logs.step + 1}}, "the first step of an episode is step 0"),
        ({"seed": -1}, "seed is -1; a whole number from 0 on"),
        ({"threads": -1}, "threads is -1; a whole number from 0 on"),
        ({"steps": -1}, "steps"),
    ]:
        with pytest.raises(icee.Error, match=said):
            icee.train(**({"preset": "dark-room-tiny"} | arguments), out=tmp_path)
    with pytest.raises(icee.Error, match="give logs to learn from"):
        icee.train(out=tmp_path)
    with pytest.raises(OSError, match="gone.csv"):
        icee.train("gone.csv", out=tmp_path)
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file/runs: "):
        icee.train(logs, out=tmp_path / "file" / "runs")
    # What only the engine finds wrong is not said of a file that is nowhere.
    with pytest.raises(icee.Error, match=r"(?s)^the log, as CSV:.*line.* action 4100 is not below 4096"):
        icee.train({**logs.to_dict(), "action": logs.action + 4096 * (logs.action == 4)}, out=tmp_path)
    for play in (icee.collect, icee.evaluate):
        what = ("icee/DarkRoomTiny-v0", "random", 1, 1) if play is icee.collect else ("dark-room__icee", None, 1, 1)
        with pytest.raises(icee.Error, match="seed is -1; a whole number from 0 on"):
            play(*what, seed=-1)

    def fail(event: dict[str, Any]) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        icee.train(preset="dark-room-tiny", steps=1000, settings=SMALL, out=tmp_path, callback=fail)


def test_the_seed_is_the_presets_unless_one_is_given(tmp_path: Path) -> None:
    preset = tmp_path / "mine.toml"
    preset.write_text("seed = 7\n" + (ROOT / "presets" / "worlds" / "dark-room-tiny.toml").read_text())

    def seed(**arguments: Any) -> str:
        run = icee.train(preset=str(preset), steps=1, out=tmp_path, **{"settings": SMALL, **arguments})
        (line,) = [line for line in (run.path / "config.toml").read_text().splitlines() if line.startswith("seed")]
        return line

    assert seed() == "seed = 7"
    assert seed(settings={**SMALL, "seed": 3}) == "seed = 3"
    assert seed(seed=0) == "seed = 0"
    assert seed(settings={**SMALL, "seed": 3}, seed=4) == "seed = 4"


def test_notes_point_at_the_caller(logs: icee.Logs, tmp_path: Path) -> None:
    with pytest.warns(icee.Note) as notes:
        run = icee.train(logs, steps=2, settings=SMALL, out=tmp_path, callback=lambda event: event["event"] == "step")
        icee.resume(run)
    assert len(notes) > 2 and {note.filename for note in notes} == {__file__}


def test_metrics_of_a_run_that_is_still_writing(tmp_path: Path) -> None:
    (tmp_path / "metrics.csv").write_text("step,loss,held_out/loss\n1,0.5,\n2,0.25,0.5\n3,0.1")
    run = icee.Run(tmp_path)
    assert run.metrics()["loss"].tolist() == [0.5, 0.25]
    (tmp_path / "metrics.csv").write_text("step,loss\n")
    assert run.metrics()["loss"].shape == (0,)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of another kind there")
def test_ctrl_c_hides_no_save_that_failed(tmp_path: Path) -> None:
    def interrupt(event: dict[str, Any]) -> None:
        if event["event"] == "step":
            (run,) = tmp_path.iterdir()
            shutil.rmtree(run)
            run.touch()
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises((OSError, KeyboardInterrupt)) as failed:
        icee.train(preset="dark-room-tiny", steps=10**6, settings=SMALL, out=tmp_path, callback=interrupt)
    assert isinstance(failed.value, OSError) and isinstance(failed.value.__cause__, KeyboardInterrupt)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_a_fork_of_a_trainer_says_that_it_cannot(tmp_path: Path) -> None:
    icee.train(preset="dark-room-tiny", steps=1, settings=SMALL, out=tmp_path)
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()

    def child() -> None:
        try:
            icee.train(preset="dark-room-tiny", steps=1, settings=SMALL, out=tmp_path)
        except icee.Error as error:
            theirs.send(str(error))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        process = context.Process(target=child)
        process.start()
    assert ours.poll(30) and "spawn" in ours.recv()
    process.join(30)


@pytest.mark.skipif(sys.platform == "win32", reason="signals are of another kind there")
def test_ctrl_c_saves_and_is_resumable(tmp_path: Path) -> None:
    code = f"""
        import icee, sys
        def started(event):
            if event["event"] == "step" and event["step"] == 2:
                print("going", flush=True)
        try:
            icee.train(preset="dark-room-tiny", steps=10**6, settings={SMALL!r}, out={str(tmp_path)!r}, callback=started, progress=True)
        except KeyboardInterrupt as stopped:
            print(stopped)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "going\n"
    time.sleep(0.2)
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert "saved; go on with icee.resume(" in out, err
    assert "run folder" in err
    (run,) = (path for path in tmp_path.iterdir() if path.is_dir())
    assert json.loads((run / "summary.json").read_text())["finished"] is False
    again = icee.resume(run, max_minutes=0)
    assert again.summary["step"] > 2
