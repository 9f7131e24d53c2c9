//! The behaviour policy says what it does: its probabilities by hand, and the frequencies of its actions against them,
//! in every kind of cell.

use icee_worlds::grid::{Bias, Goals, GridRules, GridWorld, LEFT, Start, presets};
use icee_worlds::{Collection, Observation, Observations, Purpose, Registry, World, collect, sample_action, stream};

/// A kind of cell: where the agent stands, where the goal is, and which actions bring it closer.
struct Place {
    kind: &'static str,
    at: (u32, u32),
    goal: (u32, u32),
    good: &'static [usize],
}

const LEFTWARD: usize = 0;
const RIGHTWARD: usize = 1;
const UPWARD: usize = 2;
const DOWNWARD: usize = 3;
const STAYING: usize = 4;

const PLACES: [Place; 9] = [
    Place { kind: "inside", at: (4, 4), goal: (7, 1), good: &[RIGHTWARD, UPWARD] },
    Place { kind: "inside, other way", at: (5, 3), goal: (0, 8), good: &[LEFTWARD, DOWNWARD] },
    Place { kind: "in line, same row", at: (4, 4), goal: (1, 4), good: &[LEFTWARD] },
    Place { kind: "in line, same column", at: (4, 4), goal: (4, 8), good: &[DOWNWARD] },
    Place { kind: "corner", at: (0, 0), goal: (8, 8), good: &[RIGHTWARD, DOWNWARD] },
    Place { kind: "corner, goal along the wall", at: (8, 0), goal: (2, 0), good: &[LEFTWARD] },
    Place { kind: "wall", at: (0, 4), goal: (3, 2), good: &[RIGHTWARD, UPWARD] },
    Place { kind: "at the goal", at: (4, 4), goal: (4, 4), good: &[STAYING] },
    Place { kind: "at the goal in a corner", at: (0, 8), goal: (0, 8), good: &[STAYING] },
];

fn room_with(place: &Place, bias: Option<Bias>) -> GridWorld {
    let start = Start::At { x: place.at.0, y: place.at.1 };
    let rules = GridRules { start, bias, ..presets()[0].clone() };
    let mut room = GridWorld::new(rules).expect("rules that work");
    room.place_goals(&[place.goal]).expect("a cell of the room");
    room
}

/// With 1 − ε one of the good, with ε one of the others; with the bias, "left" blindly in two of three steps.
fn by_hand(place: &Place, epsilon: f64, biased: bool) -> [f64; 5] {
    std::array::from_fn(|action| {
        let good = place.good.len() as f64;
        let p = if place.good.contains(&action) { (1.0 - epsilon) / good } else { epsilon / (5.0 - good) };
        if biased { p / 3.0 + if action == LEFT { 2.0 / 3.0 } else { 0.0 } } else { p }
    })
}

/// Pearson's statistic. With 4 degrees of freedom a fair one exceeds 23.5 once in 10,000 times.
fn chi_square(counts: &[u32], expected: &[f64]) -> f64 {
    let total: u32 = counts.iter().sum();
    let term = |(&count, &p): (&u32, &f64)| {
        let expected = p * f64::from(total);
        (f64::from(count) - expected).powi(2) / expected
    };
    counts.iter().zip(expected).map(term).sum()
}

#[test]
fn frequencies_match_probabilities_in_every_kind_of_cell() {
    for (case, place) in PLACES.iter().enumerate() {
        for biased in [false, true] {
            let bias = biased.then_some(Bias { action: LEFT, probability: 2.0 / 3.0 });
            let mut room = room_with(place, bias);
            let mut policy = room.behaviour();
            for epsilon in [0.1, 0.5, 0.9] {
                let mut rng = stream(case as u64, Purpose::Agent, 0);
                let mut counts = [0; 5];
                let mut stated = [0.0; 5];
                for _ in 0..20_000 {
                    policy.begin_episode(epsilon);
                    let observation = room.reset(0);
                    policy.probabilities(observation, &mut rng, &mut stated);
                    counts[sample_action(&stated, &mut rng)] += 1;
                }
                let expected = by_hand(place, f64::from(epsilon), biased);
                for (stated, expected) in stated.iter().zip(expected) {
                    assert!((f64::from(*stated) - expected).abs() < 1e-6, "{}: {stated} {expected}", place.kind);
                }
                let statistic = chi_square(&counts, &expected);
                assert!(statistic < 23.5, "{}, ε {epsilon}, biased {biased}: {statistic:.1} {counts:?}", place.kind);
            }
        }
    }
}

/// The statistic must be able to fail: the reading "ε is any action" is far outside.
#[test]
fn frequencies_of_another_reading_do_not_match() {
    let place = &PLACES[0];
    let other_reading: [f64; 5] = std::array::from_fn(|a| if place.good.contains(&a) { 0.25 + 0.1 } else { 0.1 });
    let counts = by_hand(place, 0.5, false).map(|p| (p * 20_000.0).round() as u32);
    assert!(chi_square(&counts, &other_reading) > 1_000.0);
}

/// In collected data, over all cells and ε: what was taken as often as what was stated (z-scores of every action).
#[test]
fn collected_actions_match_collected_probabilities() {
    for spec in Registry::builtin().specs() {
        let world = Registry::builtin().make(&spec.id).expect("a known world");
        let batch = collect(&*world, &Collection::new(40, spec.episodes, 3)).expect("a batch");
        for action in 0..spec.actions() {
            let (mut taken, mut expected, mut variance) = (0.0, 0.0, 0.0);
            for step in 0..batch.steps() {
                let p = f64::from(batch.step_probabilities(step)[action]);
                taken += f64::from(u8::from(batch.actions[step] as usize == action));
                expected += p;
                variance += p * (1.0 - p);
            }
            let z = (taken - expected) / f64::sqrt(variance);
            assert!(z.abs() < 4.0, "{} {}: z = {z:.2}", spec.id, spec.action_names[action]);
        }
    }
}

/// Key first, then the door, then (in an episode of fixed length) stay there.
#[test]
fn behaviour_goes_to_the_key_and_then_to_the_door() {
    let rules = presets().into_iter().find(|rules| rules.id == "DarkKeyToDoorDicp-v0").expect("a preset");
    assert_eq!((rules.goals, rules.ends_early), (Goals::KeyThenDoor, false));
    let mut room = GridWorld::new(rules).expect("a preset");
    room.place_goals(&[(2, 4), (2, 6)]).expect("cells of the room");
    let mut policy = room.behaviour();
    let mut rng = stream(1, Purpose::Agent, 0);
    policy.begin_episode(0.0);
    let mut observation = match room.reset(1) {
        Observation::Discrete(cell) => cell,
        Observation::Vector(_) => unreachable!("rooms are discrete"),
    };
    let (mut cells, mut rewards) = (Vec::new(), Vec::new());
    for _ in 0..6 {
        let mut probabilities = [0.0; 5];
        policy.probabilities(Observation::Discrete(observation), &mut rng, &mut probabilities);
        let action = sample_action(&probabilities, &mut rng);
        let step = room.step(action).expect("a running episode");
        policy.observe(action, step.reward);
        rewards.push(step.reward);
        if let Observation::Discrete(cell) = step.observation {
            observation = cell;
            cells.push((cell % 9, cell / 9));
        }
    }
    assert_eq!(cells, [(3, 4), (2, 4), (2, 5), (2, 6), (2, 6), (2, 6)]);
    assert_eq!(rewards, [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]);
}

/// The ad-eps variant never starts on the key; the others sometimes do.
#[test]
fn starts_are_where_the_rules_say() {
    for (id, may_start_on_key) in [("DarkKeyToDoor-v0", true), ("DarkKeyToDoorAdEps-v0", false)] {
        let rules = presets().into_iter().find(|rules| rules.id == id).expect("a preset");
        let mut room = GridWorld::new(rules).expect("a preset");
        room.place_goals(&[(3, 5), (0, 0)]).expect("cells of the room");
        let mut visits = [0_u32; 81];
        for seed in 0..8_100 {
            if let Observation::Discrete(cell) = room.reset(seed) {
                visits[cell as usize] += 1;
            }
        }
        let key = 5 * 9 + 3;
        assert_eq!(visits[key] > 0, may_start_on_key, "{id}");
        // 100 expected in each; five standard deviations are 50.
        let rest = visits.iter().enumerate().filter(|(cell, _)| *cell != key);
        assert!(rest.clone().all(|(_, &count)| (50..=155).contains(&count)), "{id} {visits:?}");
    }
}

#[test]
fn evaluation_goals_lie_where_the_rules_say() {
    let mut room = GridWorld::new(presets().swap_remove(2)).expect("a preset");
    for (split, columns) in [(icee_worlds::Split::Training, 0..9), (icee_worlds::Split::Evaluation, 6..9)] {
        let mut seen = [0_u32; 9];
        for seed in 0..900 {
            room.new_game(seed, split);
            room.reset(0);
            let goal = room.render().lines().find_map(|row| row.find(['G', 'X'])).expect("a goal");
            seen[goal / 2] += 1;
        }
        for (column, &count) in seen.iter().enumerate() {
            assert_eq!(count > 0, columns.contains(&column), "{split:?} {seen:?}");
        }
    }
}

/// Observations are the agent's cell and nothing else: two games look alike until something pays.
#[test]
fn the_goal_cannot_be_seen() {
    let mut rooms = [(0, 0), (8, 8)].map(|goal| room_with(&Place { goal, ..PLACES[0] }, None));
    let observations = rooms.each_mut().map(|room| {
        let mut seen = Observations::new(&room.spec().observation_space);
        assert!(seen.push(room.reset(0)));
        for action in [0, 2, 1, 3, 4, 0, 2, 1] {
            assert!(seen.push(room.step(action).expect("a running episode").observation));
        }
        seen
    });
    assert_eq!(observations[0], observations[1]);
}
