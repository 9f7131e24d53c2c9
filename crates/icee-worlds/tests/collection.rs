//! Collected data: its layout, its seeds, its independence of threads, and what is refused.

use icee_worlds::{
    Collection, ExpertLabels, Observation, Registry, SequenceBatch, StepLabel, World, WorldError, collect,
};
use proptest::{prelude::*, test_runner::RngSeed};

fn world(id: &str) -> Box<dyn World> {
    Registry::builtin().make(id).expect("a known world")
}

fn ids() -> Vec<String> {
    Registry::builtin().specs().map(|spec| spec.id.clone()).collect()
}

fn with_threads(threads: usize, world: &dyn World, collection: &Collection) -> SequenceBatch {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().expect("threads");
    pool.install(|| collect(world, collection)).expect("a batch")
}

/// Bit by bit: `==` on floats would let a NaN or a sign of zero pass or fail wrongly.
fn fingerprint(batch: &SequenceBatch) -> (Vec<u32>, Vec<u32>, Vec<u32>, &SequenceBatch) {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect();
    (bits(&batch.rewards), bits(&batch.probabilities), bits(&batch.epsilons), batch)
}

#[test]
fn any_number_of_threads_gives_the_same_bits() {
    for id in ids() {
        let world = world(&id);
        let collection = Collection { novices: 0.4, ..Collection::new(37, 4, 11) };
        let one = with_threads(1, &*world, &collection);
        for threads in [2, 3, 8] {
            assert!(fingerprint(&one) == fingerprint(&with_threads(threads, &*world, &collection)), "{id} {threads}");
        }
        let other_seed = Collection { seed: 12, ..collection };
        assert!(one != with_threads(2, &*world, &other_seed), "{id}: the seed does nothing");
    }
}

/// What a layout must be for an engine to read it without asking.
fn assert_layout(batch: &SequenceBatch, world: &dyn World, games: usize, episodes: usize) {
    let spec = world.spec();
    let steps = batch.steps();
    assert_eq!((batch.sequences(), batch.episodes()), (games, games * episodes));
    assert_eq!((batch.observations.len(), batch.rewards.len()), (steps, steps));
    assert_eq!(batch.probabilities.len(), steps * spec.actions());
    assert_eq!(batch.episode_offsets.len(), games * episodes + 1);
    assert_eq!((batch.episode_offsets[0], *batch.episode_offsets.last().expect("offsets")), (0, steps));
    assert_eq!((batch.sequence_offsets[0], *batch.sequence_offsets.last().expect("offsets")), (0, steps));
    for sequence in 0..games {
        let own = batch.sequence_episodes(sequence);
        assert_eq!(own.len(), episodes);
        let first = batch.episode_steps(own.start).start;
        let last = batch.episode_steps(own.end - 1).end;
        assert_eq!(first..last, batch.sequence_steps(sequence));
    }
    for episode in 0..batch.episodes() {
        let length = batch.episode_steps(episode).len();
        assert!((1..=spec.episode_limit).contains(&length));
        assert!(batch.terminated[episode] || length == spec.episode_limit, "an episode ends early only by terminating");
        assert!((0.0..1.0).contains(&batch.epsilons[episode]));
    }
    for step in 0..steps {
        let probabilities = batch.step_probabilities(step);
        assert!(probabilities.iter().all(|p| (0.0..=1.0).contains(p)));
        assert!((probabilities.iter().sum::<f32>() - 1.0).abs() < 1e-5);
        assert!(batch.taken_probability(step) > 0.0, "what cannot be taken was taken");
        assert!(spec.observation_space.contains(batch.observations.get(step).expect("an observation")));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, rng_seed: RngSeed::Fixed(4), failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_batch_is_well_formed(
        which in 0..ids().len(), games in 1_usize..20, episodes in 1_usize..6, seed: u64, first_game: u64, novices in 0.0_f32..=1.0,
        searchers in 0.0_f32..=1.0,
    ) {
        let world = world(&ids()[which]);
        let expert_labels = ExpertLabels::default();
        let collection = Collection { games, episodes, seed, first_game, novices, searchers, expert_labels };
        let batch = collect(&*world, &collection).expect("a batch");
        assert_layout(&batch, &*world, games, episodes);
    }

    /// Two batches that follow each other are one: fresh games for every batch, under one seed.
    #[test]
    fn batches_that_follow_each_other_are_one(which in 0..ids().len(), first in 1_usize..12, second in 1_usize..12, seed: u64) {
        let world = world(&ids()[which]);
        let part = |games, first_game| {
            collect(&*world, &Collection { first_game, ..Collection::new(games, 2, seed) }).expect("a batch")
        };
        let whole = part(first + second, 0);
        let (head, tail) = (part(first, 0), part(second, first as u64));
        prop_assert_eq!(&whole.actions, &[head.actions, tail.actions].concat());
        prop_assert_eq!(&whole.probabilities, &[head.probabilities, tail.probabilities].concat());
        prop_assert_eq!(&whole.rewards, &[head.rewards, tail.rewards].concat());
    }

    /// Episodes in the batch are episodes of the world: within one, cells that follow each other are neighbours by the
    /// action that was taken.
    #[test]
    fn observations_follow_from_actions(seed: u64) {
        let world = world("DarkKeyToDoor-v0");
        let batch = collect(&*world, &Collection::new(2, 3, seed)).expect("a batch");
        let cell = |step| match batch.observations.get(step) {
            Some(Observation::Discrete(cell)) => (i64::from(cell % 9), i64::from(cell / 9)),
            other => panic!("{other:?}"),
        };
        for episode in 0..batch.episodes() {
            let steps = batch.episode_steps(episode);
            for step in steps.start..steps.end - 1 {
                let (x, y) = cell(step);
                let (dx, dy) = [(-1, 0), (1, 0), (0, -1), (0, 1), (0, 0)][batch.actions[step] as usize];
                prop_assert_eq!(cell(step + 1), ((x + dx).clamp(0, 8), (y + dy).clamp(0, 8)));
            }
        }
    }
}

#[test]
fn novices_come_first_in_their_share_of_the_sequences() {
    let world = world("DarkRoom-v0");
    let (games, episodes) = (2_000, 10);
    let mean = |batch: &SequenceBatch, episode: usize| {
        let epsilons = (0..games).map(|game| f64::from(batch.epsilons[game * episodes + episode]));
        epsilons.sum::<f64>() / games as f64
    };
    let plain = collect(&*world, &Collection::new(games, episodes, 5)).expect("a batch");
    let novices =
        collect(&*world, &Collection { novices: 0.5, ..Collection::new(games, episodes, 5) }).expect("a batch");
    // U(0, 1): mean 0.5, standard error 0.289 / √2,000 = 0.0065.
    assert!((mean(&plain, 0) - 0.5).abs() < 0.026 && (mean(&plain, 9) - 0.5).abs() < 0.026);
    // Episode k (from 0) is a novice's with share × P(m > k) = 0.5 · (10 − k) / 11, with a mean of 0.75.
    for episode in [0, 5, 9] {
        let share = 0.5 * (10 - episode) as f64 / 11.0;
        let expected = 0.5 + 0.25 * share;
        assert!((mean(&novices, episode) - expected).abs() < 0.026, "{episode}: {}", mean(&novices, episode));
    }
}

#[test]
fn what_cannot_be_collected_is_an_error() {
    let world = world("DarkRoom-v0");
    let error = |collection: Collection| collect(&*world, &collection).expect_err("an error");
    assert!(matches!(error(Collection::new(0, 1, 0)), WorldError::Zero { what: "games" }));
    assert!(matches!(error(Collection::new(1, 0, 0)), WorldError::Zero { what: "episodes" }));
    assert!(matches!(error(Collection::new(usize::MAX, usize::MAX, 0)), WorldError::TooMany { .. }));
    for searchers in [-0.1, 1.1, f32::NAN] {
        let collection = Collection { searchers, ..Collection::new(1, 1, 0) };
        assert!(matches!(collect(&*world, &collection), Err(WorldError::InvalidShare { what: "searchers", .. })));
    }
    for novices in [-0.1, 1.1, f32::NAN] {
        let collection = Collection { novices, ..Collection::new(1, 1, 0) };
        assert!(matches!(error(collection), WorldError::InvalidShare { .. }));
    }
}

/// An expert relabels every step of a searcher's history from which something is learned, and plays on to the
/// end of the episode. Nothing is learned from a beginning that was chosen, in which no episode earned more than was asked for.
#[test]
fn relabellings_play_each_episode_to_its_end() {
    for id in ["DarkRoom-v0", "DarkRoomHard-v0", "DarkKeyToDoor-v0"] {
        let world = Registry::builtin().make(id).expect("a world");
        let (limit, most) = (world.spec().episode_limit as u32, world.spec().return_range.1);
        let collection = Collection { searchers: 1.0, ..Collection::new(80, 6, 3) };
        let batch = collect(&*world, &collection).expect("a batch");
        assert_eq!(batch.labels.len(), batch.steps());
        let (mut earned, mut forgone) = (0.0, 0);
        for episode in 0..batch.episodes() {
            let steps = batch.episode_steps(episode);
            if batch.label(steps.start) == StepLabel::Skipped {
                assert!(steps.clone().all(|step| batch.label(step) == StepLabel::Skipped));
                assert!(episode % 6 < 3 && batch.episode_return(episode) <= 1.0);
                assert!(
                    episode % 6 == 0 || batch.label(steps.start - 1) == StepLabel::Skipped,
                    "only at the beginning"
                );
                forgone += 1;
                continue;
            }
            for (t, step) in steps.clone().enumerate() {
                let StepLabel::Relabelled(relabel) = batch.label(step) else { panic!("no relabel at {step}") };
                let before: f32 = batch.rewards[steps.start..step].iter().sum();
                let idle = (relabel.earned - relabel.return_to_go) * limit as f32;
                let exact = relabel.earned - idle.round() / limit as f32;
                assert!((relabel.return_to_go - exact).abs() < 1e-6, "{id}: {relabel:?}");
                let played = relabel.earned as u32 + idle.round() as u32;
                assert!(t as u32 + played <= limit && played > 0, "{id}: {relabel:?} at {t}");
                // Dark Room's episodes have a fixed length; the others end once all is earned.
                let ends_early = id != "DarkRoom-v0" && before + relabel.earned == most;
                assert!(t as u32 + played == limit || ends_early, "{id}: {relabel:?} at {t}");
                assert!(before + relabel.earned <= most);
                assert!((0.0..=1.0).contains(&relabel.probability) && relabel.reward <= relabel.earned);
                earned += relabel.earned;
            }
        }
        assert!(earned > 0.0 && forgone > 10, "{earned} {forgone}");
        // Weights that turn draws of q into those of another policy have a mean of one.
        let labels = (0..batch.steps()).map(|step| batch.label(step));
        let relabellings = labels.filter_map(|label| if let StepLabel::Relabelled(t) = label { Some(t) } else { None });
        let weights: Vec<f32> = relabellings.map(|t| t.probability / t.drawn(batch.action_count)).collect();
        let mean = weights.iter().sum::<f32>() / weights.len() as f32;
        assert!(weights.len() > 3_000 && (mean - 1.0).abs() < 0.05, "{id}: {} of mean {mean}", weights.len());
    }
}

/// Given that nothing was found, the goal is uniform over what was not visited: dealing games until nothing is found gives
/// exactly that, so what follows can be learned from.
#[test]
fn chosen_games_are_as_likely_as_what_was_seen_says() {
    let world = Registry::builtin().make("DarkRoomHardTiny-v0").expect("a world");
    let batch = collect(&*world, &Collection { searchers: 1.0, ..Collection::new(8_000, 2, 5) }).expect("a batch");
    // Of the second episodes that follow an empty first one, by whether the first was chosen: the share that finds the goal.
    let (mut chosen, mut plain) = ((0, 0), (0, 0));
    for sequence in 0..batch.sequences() {
        let first = batch.sequence_episodes(sequence).start;
        if batch.episode_return(first) > 0.0 {
            continue;
        }
        let asked = batch.label(batch.episode_steps(first).start) == StepLabel::Skipped;
        let counts = if asked { &mut chosen } else { &mut plain };
        *counts = (counts.0 + u32::from(batch.episode_return(first + 1) > 0.0), counts.1 + 1);
    }
    let share = |(found, of): (u32, u32)| f64::from(found) / f64::from(of);
    // About 1,000 and 2,300 episodes with a chance of a quarter: the difference has a standard error of 0.016.
    assert!(chosen.1 > 800 && plain.1 > 1_500, "{chosen:?} {plain:?}");
    assert!((share(chosen) - share(plain)).abs() < 0.06, "{chosen:?} {plain:?}");
}

/// A searcher does not know the goal: in the first episode it earns no more than one who searches.
#[test]
fn searchers_do_not_know_the_game() {
    let world = Registry::builtin().make("DarkRoomHard-v0").expect("a world");
    let first = |searchers: f32| {
        let batch = collect(&*world, &Collection { searchers, ..Collection::new(600, 1, 8) }).expect("a batch");
        (0..batch.episodes()).map(|e| batch.episode_return(e)).sum::<f32>() / 600.0
    };
    // 20 steps rule out at most a quarter of 81 cells; who knows the goal and errs half the time finds it far more often.
    assert!(first(1.0) < 0.25 && first(0.0) > 0.4, "{} {}", first(1.0), first(0.0));
}

/// An expert who tells the best action: one of at most two that lead closer, or to stay on the goal; and it tells one at every
/// step that is learned from.
#[test]
fn best_actions_are_the_oracles() {
    let world = world("DarkRoomTiny-v0");
    let expert_labels = ExpertLabels::BestActions;
    let collection = Collection { searchers: 1.0, expert_labels, ..Collection::new(8, 16, 5) };
    let batch = collect(&*world, &collection).expect("a world that can be searched");
    let (mut told, mut stays) = (0, 0);
    for step in 0..batch.steps() {
        match batch.label(step) {
            StepLabel::Relabelled(label) => {
                assert!(label.probability == 0.5 || label.probability == 1.0, "{label:?}");
                stays += usize::from(label.action as usize == icee_worlds::grid::STAY);
                told += 1;
            }
            StepLabel::Skipped => {}
            StepLabel::Own => panic!("step {step} has no label of an expert"),
        }
    }
    assert!(told > batch.steps() / 2 && stays > 0 && stays < told, "{told} told, {stays} of them to stay");
}
