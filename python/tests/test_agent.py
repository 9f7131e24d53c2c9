"""Agents: what they take, what they refuse, and that they act as those of the command line."""

import copy
import json
import multiprocessing
import os
import pickle
import shutil
import subprocess
import threading
import warnings
from pathlib import Path

import icee
import numpy as np
import pytest

MODEL = "dark-room__icee"
ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def one() -> icee.Agent:
    return icee.Agent.load(MODEL)


def program() -> str:
    """The command line of the same sources, where it was built."""
    built = [ROOT / "target" / profile / "icee" for profile in ("debug", "release")]
    found = os.environ.get("ICEE_PROGRAM") or next((str(path) for path in built if path.is_file()), shutil.which("icee"))
    if not found:
        pytest.skip("there is no program icee to compare with; cargo build -p icee-cli makes one")
    return found


def moves(agent: icee.Agent, count: int = 12) -> list[int]:
    """Actions in a game in which nothing is earned and every fourth step ends an episode."""
    actions = []
    for step in range(count):
        actions.append(agent.act((7 * step + agent.seed) % 81))
        agent.observe(0.0, False, step % 4 == 3)
    return actions


def test_what_it_knows(one: icee.Agent) -> None:
    assert (one.actions, one.episodes, one.episode_limit, one.games) == (5, 50, 20, 1)
    assert one.remembered_episodes == 50
    assert one.observation_space == {"type": "grid", "width": 9, "height": 9, "n": 81}
    assert one.model["name"] == MODEL and one.model["method"] == "icee"
    assert repr(one) == "Agent('dark-room__icee', games=1, seed=0)"


def test_the_seed_and_the_resets_fix_the_draws() -> None:
    first, again = icee.Agent.load(MODEL, seed=3), icee.Agent.load(MODEL, seed=3)
    begin = moves(first)
    assert begin == moves(again)
    first.reset()
    second_game = moves(first)
    assert second_game != begin
    again.reset()
    assert second_game == moves(again)
    assert begin != moves(icee.Agent.load(MODEL, seed=4))


def test_a_game_among_many_is_that_game_alone() -> None:
    """Game i of many has the draws of a single game after i resets, whatever else is played and however it is cut."""
    many = icee.Agent.load(MODEL, games=3, seed=5)
    alone = icee.Agent.load(MODEL, seed=5)
    columns: list[list[int]] = [[], [], []]
    for turn in range(12):
        # Each game pauses at turns of its own.
        active = np.array([(turn + game) % 3 != 0 for game in range(3)])
        actions = many.act([10, 20, 30], active=active)
        assert actions.shape == (3,) and (actions[~active] == 0).all()
        many.observe(np.zeros(3), np.full(3, False))
        for game in np.flatnonzero(active):
            columns[game].append(int(actions[game]))
    for game, column in enumerate(columns):
        for action in column:
            assert alone.act((game + 1) * 10) == action
            alone.observe(0.0, False)
        alone.reset()


def test_evaluation_is_that_of_the_command_line(tmp_path: Path) -> None:
    table = tmp_path / "returns.csv"
    command = [program(), "eval", MODEL, "--games", "6", "--episodes", "4", "--seed", "3", "--csv", str(table), "--json"]
    report = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=tmp_path).stdout)
    theirs = np.loadtxt(table, delimiter=",", skiprows=1)[:, 2].reshape(6, 4)
    ours = icee.evaluate(MODEL, "icee/DarkRoom-v0", games=6, episodes=4, seed=3)
    np.testing.assert_array_equal(ours, theirs)
    np.testing.assert_allclose(ours.mean(axis=0), [row["mean"] for row in report["episodes"]])


def test_evaluation_is_the_same_however_the_games_are_given() -> None:
    import gymnasium

    def make(game: int) -> gymnasium.Env:
        env = gymnasium.make("icee/DarkRoom-v0", split="evaluation")
        reset = env.unwrapped.reset
        env.unwrapped.reset = lambda *, seed=None, options=None: (  # type: ignore[method-assign]
            reset() if seed is None else reset(seed=2, options={"game": game})
        )
        return env

    expected = icee.evaluate(MODEL, games=3, episodes=3, seed=2)
    np.testing.assert_array_equal(icee.evaluate(MODEL, make, games=3, episodes=3, seed=2), expected)
    room = gymnasium.make("icee/DarkRoom-v0", split="evaluation").unwrapped
    assert icee.evaluate(MODEL, room, games=2, episodes=3, seed=2).shape == (2, 3)


def test_observations(one: icee.Agent) -> None:
    pairs, numbers = one.copy(), one.copy()
    assert pairs.act((4, 3)) == numbers.act(np.int64(31))
    many = one.copy(games=2)
    assert many.act([[4, 3], [0, 0]]).shape == (2,)
    single_list = one.copy().act(np.array([31]))
    assert isinstance(single_list, np.ndarray) and single_list.shape == (1,)


@pytest.mark.parametrize(
    ("observation", "said"),
    [
        (81, "the observation is 81; this model sees a cell of 9 x 9"),
        (-1, "the observation is -1; this model sees"),
        (2.0, "observation has dtype float64; whole numbers are needed"),
        (np.nan, "observation has dtype float64"),
        ((9, 0), "no cell (x, y) of 9 x 9"),
        ([1, 2, 3], "has shape (3,); an agent of 1 game(s) needs one number a game: (1,)"),
        ("left", "observation has dtype"),
    ],
)
def test_wrong_observations_are_named(one: icee.Agent, observation: object, said: str) -> None:
    agent = one
    with pytest.raises(icee.Error) as error:
        agent.act(observation)
    assert said in str(error.value)


def test_the_wrong_order_and_wrong_outcomes_are_named(one: icee.Agent) -> None:
    agent = one.copy()
    with pytest.raises(icee.Error, match="observe was called before act"):
        agent.observe(0.0, False)
    agent.act(40)
    with pytest.raises(icee.Error, match="act was called twice; call observe in between"):
        agent.act(40)
    for reward, terminated, said in [
        (float("nan"), False, "the reward is NaN"),
        (0.0, 0.5, "terminated has dtype float64; True or False are needed"),
        ([0.0, 1.0], False, r"reward has shape \(2,\)"),
    ]:
        with pytest.raises(icee.Error, match=said):
            agent.observe(reward, terminated)
    agent.observe(1.0, True)
    many = one.copy(games=2)
    with pytest.raises(icee.Error, match="the observation in game 1 is 99"):
        many.act([3, 99])
    # Nothing has changed: both games can act.
    many.act([3, 4])
    with pytest.raises(icee.Error, match="active has shape"):
        many.observe([0.0, 0.0], [False, False], active=[True])
    with pytest.raises(icee.Error, match="one a game"):
        many.observe(0.0, False)


def test_unknown_models_and_absurd_numbers_are_named() -> None:
    with pytest.raises(icee.Error, match='did you mean "?dark-room__icee'):
        icee.Agent.load("dark-room__ice")
    with pytest.raises(icee.Error, match="functions, not on games"):
        icee.Agent.load("bo__value")
    with pytest.raises(icee.Error, match="games is 0"):
        icee.Agent.load(MODEL, games=0)


def test_thoughts(one: icee.Agent) -> None:
    agent = one.copy()
    assert agent.thought == {}
    agent.act(40)
    thought = agent.thought
    assert thought["actions"].shape == (5,) and thought["actions"].sum() == pytest.approx(1)
    assert thought["returns"].shape == thought["return_values"].shape
    assert thought["return_values"].min() <= thought["wanted"] <= thought["return_values"].max()
    assert thought["better"] in (True, False)
    assert [sorted(one) for one in one.copy(games=2).thought] == [[], []]


def test_it_pickles_between_games_only(one: icee.Agent) -> None:
    agent = one.copy(seed=8)
    agent.reset()
    twin = pickle.loads(pickle.dumps(agent))
    assert moves(twin) == moves(agent)
    for copied in (pickle.dumps, copy.deepcopy):
        with pytest.raises(icee.Error, match=r"reset\(\)"):
            copied(agent)
    agent.reset()
    assert moves(copy.deepcopy(agent)) == moves(agent)


def test_what_is_forgotten_is_said_once(one: icee.Agent) -> None:
    agent = one.copy()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2 * agent.episodes):
            agent.act(0)
            agent.observe(1.0, True)
    assert [str(warning.message)[:10] for warning in caught] == ["the oldest"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks here")
def test_forks() -> None:
    agent = icee.Agent.load(MODEL, games=2, seed=1)
    expected = agent.copy().act([3, 4]).tolist()

    def child(pipe: multiprocessing.connection.Connection, began: bool) -> None:
        try:
            pipe.send(agent.act([3, 4]).tolist())
        except icee.Error as error:
            agent.reset()
            pipe.send([str(error), agent.act([3, 4]).tolist()])

    context = multiprocessing.get_context("fork")

    def answer(began: bool) -> list:
        ours, theirs = context.Pipe()
        process = context.Process(target=child, args=(theirs, began))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            process.start()
        assert ours.poll(30), "the child does not answer"
        result = ours.recv()
        process.join(30)
        return result

    assert answer(False) == expected
    agent.act([3, 4])
    said, _ = answer(True)
    assert "belongs to another process" in said


def test_threads_take_turns(one: icee.Agent) -> None:
    agent = one.copy()
    taken = {"act": 0, "observe": 0}
    refused: list[str] = []
    lock = threading.Lock()

    def call(name: str, *words: object) -> None:
        try:
            getattr(agent, name)(*words)
            with lock:
                taken[name] += 1
        except icee.Error as error:
            refused.append(str(error))

    def play() -> None:
        for _ in range(20):
            call("act", 40)
            call("observe", 0.0, False)

    threads = [threading.Thread(target=play) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    # Every call is either done whole or refused for its order, and acts and outcomes take turns.
    assert sum(taken.values()) + len(refused) == 80
    assert all("act was called twice" in words or "observe was called before act" in words for words in refused)
    assert taken["act"] - taken["observe"] in (0, 1) and taken["act"] >= 20
    if taken["act"] > taken["observe"]:
        agent.observe(0.0, True)
    agent.act(40)


def test_an_environment_that_does_not_fit_is_named() -> None:
    with pytest.raises(icee.Error, match="25 observations and 5 actions; the model dark-room__icee knows 81"):
        icee.evaluate(MODEL, "icee/DarkRoomTiny-v0", games=1)
    with pytest.raises(icee.Error, match="vectors of 4 and 2 actions"):
        icee.evaluate(MODEL, "CartPole-v1", games=1)
    with pytest.raises(icee.Error, match=r"Box\(.* agents choose among Discrete"):
        icee.evaluate(MODEL, "Pendulum-v1", games=1)
