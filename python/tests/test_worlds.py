"""The worlds in Gymnasium: its own checks, seeds, many rooms as one, and the games of the command line."""

import subprocess
import sys
import textwrap
import warnings

import gymnasium
import icee
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode

WORLDS = icee.worlds.ids()


@pytest.mark.parametrize("world", WORLDS)
def test_gymnasium_approves(world: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(gymnasium.make(world, render_mode="ansi").unwrapped)
    assert gymnasium.spec(world).vector_entry_point is not None


@pytest.mark.parametrize("order", ["import icee, gymnasium", "import gymnasium, icee", "import gymnasium"])
def test_the_order_of_imports_does_not_matter(order: str) -> None:
    world = "icee/DarkRoom-v0" if "icee" in order else "icee:icee/DarkRoom-v0"
    code = f"{order}; print(gymnasium.make({world!r}).reset(seed=1)[0])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True).stdout.strip().isdigit()


MAKE = "assert gymnasium.make('icee/DarkRoom-v0')"
GONE = "assert not [finder for finder in sys.meta_path if type(finder).__module__.startswith('icee')]"


@pytest.mark.parametrize(
    "code",
    [
        # To look for it is no import.
        "util.find_spec('gymnasium'); util.find_spec('gymnasium'); import gymnasium",
        # An import that fails is none, either.
        """
        loader = util.find_spec('gymnasium').loader
        def fail(module): raise KeyError('not today')
        machinery.SourceFileLoader.exec_module, right = lambda self, module: fail(module), machinery.SourceFileLoader.exec_module
        try: import gymnasium
        except KeyError: pass
        else: raise SystemExit('imported')
        machinery.SourceFileLoader.exec_module = right
        import gymnasium
        """,
        # Another who waits for it in the same way, and asks all others.
        """
        class Other:
            asked = 0
            def find_spec(self, name, path, target=None):
                if name == 'gymnasium' and not Other.asked:
                    Other.asked += 1
                    return util.find_spec(name)
        sys.meta_path.insert(0, Other())
        import gymnasium
        assert Other.asked == 1
        """,
        # Several threads at once.
        """
        import threading
        def look(): util.find_spec('gymnasium'); import gymnasium; gymnasium.make('icee/DarkRoom-v0')
        failures = []
        threading.excepthook = failures.append
        threads = [threading.Thread(target=look) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        assert not failures, failures
        import gymnasium
        """,
    ],
    ids=["looked for", "failed", "another", "threads"],
)
def test_the_worlds_are_there_once_gymnasium_is(code: str) -> None:
    own = "assert type(gymnasium.__spec__.loader) is type(gymnasium.__loader__) is machinery.SourceFileLoader"
    program = "\n".join(["import icee, sys", "from importlib import machinery, util", textwrap.dedent(code), MAKE, GONE, own])
    subprocess.run([sys.executable, "-c", program], check=True)


def test_importing_icee_imports_nothing_slow() -> None:
    code = "import sys, icee; print([m for m in ('gymnasium', 'pandas', 'minari', 'icee.agent') if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert out.strip() == "[]"


@pytest.mark.parametrize("world", WORLDS)
def test_many_rooms_are_as_one_each(world: str) -> None:
    """The same observations, rewards and ends as rooms of their own, stepped by Gymnasium."""
    count = 5
    ours = gymnasium.make_vec(world, num_envs=count)
    theirs = gymnasium.make_vec(world, num_envs=count, vectorization_mode="sync")
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(ours.reset(seed=4)[0], theirs.reset(seed=4)[0])
    for _ in range(3 * icee.worlds.spec(world).episode_limit):
        actions = rng.integers(ours.single_action_space.n, size=count)
        for mine, other in zip(ours.step(actions)[:4], theirs.step(actions)[:4], strict=True):
            np.testing.assert_array_equal(mine, other)
            assert mine.dtype == other.dtype
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space


@pytest.mark.parametrize("mode", ["SameStep", "Disabled"])
def test_other_ways_to_begin_anew(mode: str) -> None:
    world, count = "icee/DarkRoomHard-v0", 4
    ours = gymnasium.make_vec(world, num_envs=count, autoreset_mode=mode)
    theirs = gymnasium.make_vec(
        world, num_envs=count, vectorization_mode="sync", vector_kwargs={"autoreset_mode": AutoresetMode(mode)}
    )
    assert ours.metadata["autoreset_mode"] is AutoresetMode(mode)
    rng = np.random.default_rng(1)
    ours.reset(seed=2)
    theirs.reset(seed=2)
    for _ in range(60):
        actions = rng.integers(5, size=count)
        *mine, my_info = ours.step(actions)
        *others, other_info = theirs.step(actions)
        for a, b in zip(mine, others, strict=True):
            np.testing.assert_array_equal(a, b)
        done = mine[2] | mine[3]
        if mode == "SameStep":
            assert ("final_obs" in my_info) == done.any() == ("final_obs" in other_info)
            if done.any():
                np.testing.assert_array_equal(my_info["final_obs"], other_info["final_obs"])
                np.testing.assert_array_equal(my_info["_final_obs"], other_info["_final_obs"])
        elif done.any():
            with pytest.raises(icee.Error, match=r"no episode is running in environment \d; reset\(\)"):
                ours.step(actions)
            mask = done.copy()
            a, _ = ours.reset(options={"reset_mask": mask})
            b, _ = theirs.reset(options={"reset_mask": mask})
            np.testing.assert_array_equal(a, b)


def test_seeds_and_episodes() -> None:
    env = gymnasium.make("icee/DarkRoomAnyStart-v0", render_mode="ansi")
    goal = lambda: env.render().replace("@", ".").replace("X", "G")  # noqa: E731

    env.reset(seed=5)
    first = goal()
    starts = [env.reset()[0] for _ in range(6)]
    assert goal() == first, "reset() stays in the same game"
    assert len(set(starts)) > 1, "starts are drawn anew"
    env.reset(seed=6)
    assert goal() != first
    env.reset(seed=5)
    assert goal() == first and [env.reset()[0] for _ in range(6)] == starts
    # Without any seed the game is drawn by the environment's own generator.
    fresh = [gymnasium.make("icee/DarkRoomAnyStart-v0", render_mode="ansi") for _ in range(6)]
    assert len({env.reset()[0] for env in fresh}) > 1


def test_games_by_number() -> None:
    one = gymnasium.make("icee/DarkRoom-v0", render_mode="ansi")
    many = gymnasium.make_vec("icee/DarkRoom-v0", num_envs=4, split="evaluation", render_mode="ansi")
    many.reset(seed=9, options={"game": 2})
    for room, text in enumerate(many.render()):
        one.reset(seed=9, options={"game": 2 + room, "split": "evaluation"})
        assert one.render() == text
    assert len(set(many.render())) > 1
    # The first game of a seed is the game of that seed.
    one.reset(seed=9)
    first = one.render()
    one.reset(seed=9, options={"game": 0})
    assert one.render() == first


def test_held_out_goals_are_those_of_evaluation() -> None:
    def goals(split: str) -> set[int]:
        rooms = gymnasium.make_vec("icee/DarkRoomHeldOut-v0", num_envs=400, split=split, render_mode="ansi")
        rooms.reset(seed=0)
        cells = ["".join(text.split("agent")[0].split()) for text in rooms.render()]
        return {next(i for i, sign in enumerate(text) if sign in "GX") for text in cells}

    assert not goals("training") & goals("evaluation")


def test_mistakes_are_named() -> None:
    rooms = gymnasium.make_vec("icee/DarkRoom-v0", num_envs=2)
    rooms.reset(seed=0)
    with pytest.raises(icee.Error, match="the action of environment 1 is 5; DarkRoom-v0 has 0 to 4"):
        rooms.step(np.array([0, 5]))
    with pytest.raises(icee.Error, match="2 whole numbers are needed"):
        rooms.step(np.array([0.5, 1.0]))
    with pytest.raises(icee.Error, match=r"3 action\(s\) for 2"):
        rooms.step(np.array([0, 1, 2]))
    with pytest.raises(icee.Error, match="options has 'gmae'"):
        rooms.reset(options={"gmae": 1})
    with pytest.raises(icee.Error, match="split is 'training' or 'evaluation', not 'test'"):
        gymnasium.make("icee/DarkRoom-v0", split="test")
    with pytest.raises(icee.Error, match="there is no world 'DarkRom-v0'"):
        icee.worlds.spec("DarkRom-v0")
    room = gymnasium.make("icee/DarkRoom-v0").unwrapped
    room.reset(seed=0)
    with pytest.raises(icee.Error, match="the action of environment 0 is -1"):
        room.step(-1)
    for odd in (1.7, "1", None, np.array([1])):
        with pytest.raises(icee.Error, match="the action is .*, which is none of Discrete"):
            room.step(odd)
    assert room.step(np.array(1))[2:4] == (False, False)
    for _ in range(19):
        room.step(4)
    with pytest.raises(icee.Error, match="no episode is running"):
        room.step(4)


@pytest.mark.parametrize("mode", ["NextStep", "SameStep", "Disabled"])
def test_no_game_is_played_that_was_not_dealt(mode: str) -> None:
    rooms = gymnasium.make_vec("icee/DarkRoom-v0", num_envs=3, autoreset_mode=mode)
    with pytest.raises(icee.Error, match=r"no episode is running in environment 0; reset\(\) begins one"):
        rooms.step(np.zeros(3, dtype=int))
    rooms.reset(seed=1, options={"reset_mask": np.array([True, False, True])})
    with pytest.raises(icee.Error, match="no episode is running in environment 1"):
        rooms.step(np.zeros(3, dtype=int))
    rooms.reset()
    rooms.step(np.zeros(3, dtype=int))


def test_seeds_of_other_types_and_seeds_that_are_none() -> None:
    world = "icee/DarkRoomAnyStart-v0"
    rooms = gymnasium.make_vec(world, num_envs=2, render_mode="ansi")
    room = gymnasium.make(world, render_mode="ansi").unwrapped
    rooms.reset(seed=5)
    expected = rooms.render()
    for seed in (np.int64(5), np.array([5, 6]), [np.int32(5), 6]):
        rooms.reset(seed=0)
        rooms.reset(seed=seed)
        assert rooms.render() == expected
    room.reset(seed=np.int64(5))
    assert room.render() == expected[0]
    for wrong in (-1, 2**64, 1.5, "1"):
        for reset in (room.reset, rooms.reset):
            with pytest.raises(icee.Error, match="seed is .*; a whole number from 0 on"):
                reset(seed=wrong)
        with pytest.raises(icee.Error, match="seed is"):
            rooms.reset(seed=[1, wrong])
        with pytest.raises(icee.Error, match="game is"):
            room.reset(options={"game": wrong})
    for count in (0, -1):
        with pytest.raises(icee.Error, match=f"num_envs is {count}; at least 1"):
            gymnasium.make_vec(world, num_envs=count)
