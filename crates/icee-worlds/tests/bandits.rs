//! The reference agents of the bandits and of the random processes against what theory says of them.

use icee_worlds::bandit::{Arms, BanditRules, BanditWorld};
use icee_worlds::{
    Collection, Games, Reference, ReferenceAgent, Registry, Split, StepLabel, World, collect, cumulative_regret,
};
use std::collections::HashMap;

/// The mean regret after every episode, over games, beside the oracle on the same games.
fn regret(world: &dyn World, agent: Reference, games: usize) -> Vec<f64> {
    let mut games = Games::deal(world, games, 17, Split::Evaluation).expect("games");
    let episodes = world.spec().episodes;
    let mut curve = |kind| {
        let mut agent = ReferenceAgent::new(kind, &games).expect("an agent");
        let returns = games.play(&mut agent, episodes).expect("returns");
        (0..episodes).map(|episode| returns.estimate(episode).mean).collect::<Vec<f64>>()
    };
    cumulative_regret(&curve(Reference::Oracle), &curve(agent))
}

fn named(id: &str) -> Box<dyn World> {
    Registry::builtin().make(id).expect("a known world")
}

fn last(curve: &[f64]) -> f64 {
    curve[curve.len() - 1]
}

/// Thompson sampling beats UCB1, as is well known (Chapelle and Li 2011); both have learned by the end, and chance never does. The oracle has no regret.
#[test]
fn regrets_of_bandits_are_in_the_known_order() {
    for id in ["BernoulliBandit5-v0", "GaussianBandit5-v0", "LinearBandit-v0"] {
        let world = named(id);
        let of = |agent| regret(&*world, agent, 300);
        let (thompson, ucb, chance) = (of(Reference::Posterior), of(Reference::Ucb), of(Reference::Random));
        assert!(last(&of(Reference::Oracle)).abs() < 1e-9);
        // LinUCB knows the prior as well as linear Thompson sampling does, and need not be worse.
        assert!(last(&thompson) < last(&ucb) || id == "LinearBandit-v0", "{id}");
        assert!(last(&thompson).max(last(&ucb)) < 0.6 * last(&chance), "{id}");
        // Regret flattens: the last fifth of the pulls adds a small part of what the first fifth does.
        let fifth = thompson.len() / 5;
        let late = last(&thompson) - thompson[thompson.len() - 1 - fifth];
        assert!(late < 0.35 * thompson[fifth - 1], "{id}: {late:.2} of {:.2}", thompson[fifth - 1]);
    }
}

/// The Gittins index knows the prior and how many pulls are left, so it loses less than Thompson sampling.
#[test]
fn the_gittins_index_beats_thompson_sampling() {
    let world = named("BernoulliBanditTiny-v0");
    let [gittins, thompson] =
        [Reference::Gittins, Reference::Posterior].map(|agent| last(&regret(&*world, agent, 1_000)));
    assert!(gittins < 0.9 * thompson, "{gittins:.2} {thompson:.2}");
    let missing =
        Reference::Gittins.policy(&*named("GaussianBandit5-v0")).err().expect("not of Gaussian arms").to_string();
    assert!(missing.contains("has no gittins agent"), "{missing}");
}

/// Chance pays 1/2 a pull and the best of n uniform arms n/(n + 1).
#[test]
fn regrets_of_chance_are_those_computed_by_hand() {
    for (id, arms) in [("BernoulliBandit5-v0", 5.0), ("GaussianBandit10-v0", 10.0), ("BernoulliBandit20-v0", 20.0)] {
        let by_hand = 500.0 * (arms / (arms + 1.0) - 0.5);
        let found = last(&regret(&*named(id), Reference::Random, 1_000));
        // The best arm's mean has a deviation below 0.15, chance's below 0.13: both over √1,000 games, at 500 pulls.
        assert!((found - by_hand).abs() < 4.0 * 500.0 * 0.2 / 31.6, "{id}: {found:.1} {by_hand:.1}");
    }
}

/// What the best policy earns in `left` pulls of two Bernoulli arms with uniform chances, after these successes and failures.
fn bayes_optimal(left: u8, seen: [u8; 4], known: &mut HashMap<[u8; 4], f64>) -> f64 {
    if left == 0 {
        return 0.0;
    }
    if let Some(&value) = known.get(&seen) {
        return value;
    }
    let arms = [0, 2].map(|arm| {
        let pays = f64::from(seen[arm] + 1) / f64::from(seen[arm] + seen[arm + 1] + 2);
        let mut after = |outcome: usize| {
            let mut seen = seen;
            seen[arm + outcome] += 1;
            bayes_optimal(left - 1, seen, known)
        };
        pays * (1.0 + after(0)) + (1.0 - pays) * after(1)
    });
    let value = arms[0].max(arms[1]);
    known.insert(seen, value);
    value
}

/// Two arms and 30 pulls, where the best that anybody can do without knowing the arms is known exactly.
#[test]
fn nobody_beats_the_bayes_optimal_policy() {
    let optimum = |pulls| bayes_optimal(pulls, [0; 4], &mut HashMap::new());
    // By hand: the first pull pays 1/2; after a success the same arm pays 2/3, after a failure the other one 1/2.
    assert!((optimum(2) - (0.5 + 0.5 * 2.0 / 3.0 + 0.5 * 0.5)).abs() < 1e-12);
    let rules =
        BanditRules { id: "TwoArms-v0".into(), arms: Arms::Bernoulli, count: 2, episode_limit: 10, episodes: 3 };
    let world = BanditWorld::new(rules).expect("rules that work");
    let mut games = Games::deal(&world, 20_000, 3, Split::Evaluation).expect("games");
    let best = optimum(30);
    for (kind, least) in [(Reference::Posterior, 0.95), (Reference::Ucb, 0.9), (Reference::Oracle, 1.0)] {
        let mut agent = ReferenceAgent::new(kind, &games).expect("an agent");
        let returns = games.play(&mut agent, 3).expect("returns");
        let earned: f64 = (0..3).map(|episode| returns.estimate(episode).mean).sum();
        let error = (0..3).map(|episode| returns.estimate(episode).half_width).sum::<f64>();
        if kind != Reference::Oracle {
            assert!(earned < best + error, "{}: {earned:.3}, optimum {best:.3}", kind.name());
        }
        assert!(earned > least * best, "{}: {earned:.3}, optimum {best:.3}", kind.name());
    }
}

/// PSRL's regret flattens: later episodes add less than half of what the first ones do.
#[test]
fn the_regret_of_posterior_sampling_in_random_processes_flattens() {
    let curve = regret(&*named("TabularMdp-v0"), Reference::Posterior, 300);
    let (first, late) = (curve[9], last(&curve) - curve[39]);
    assert!(late < 0.5 * first, "{late:.1} of {first:.1}");
    let chance = regret(&*named("TabularMdp-v0"), Reference::Random, 300);
    assert!(last(&curve) < 0.6 * last(&chance));
}

#[test]
fn rules_that_cannot_work_are_refused() {
    let rules = BanditRules { id: "None-v0".into(), arms: Arms::Gaussian, count: 0, episode_limit: 1, episodes: 1 };
    assert!(BanditWorld::new(rules).expect_err("no arms").to_string().contains("at least one arm"));
}

/// What an expert tells of a pull is what that arm pays to the episode's end: as much a pull as the history has it.
#[test]
fn relabellings_say_what_the_arm_is_worth() {
    let world = named("BernoulliBandit5-v0");
    let batch = collect(&*world, &Collection { searchers: 1.0, ..Collection::new(60, 25, 4) }).expect("a batch");
    let (mut squares, mut count) = (0.0, 0.0);
    for sequence in 0..batch.sequences() {
        let mut seen = [(0.0_f64, 0.0_f64); 5];
        for step in batch.sequence_steps(sequence) {
            let (pulls, earned) = &mut seen[batch.actions[step] as usize];
            *pulls += 1.0;
            *earned += f64::from(batch.rewards[step]);
        }
        for episode in batch.sequence_episodes(sequence) {
            let first = batch.episode_steps(episode).start;
            let StepLabel::Relabelled(label) = batch.label(first) else { panic!("no label at {first}") };
            let (pulls, earned) = seen[label.action as usize];
            if pulls >= 30.0 {
                squares += (f64::from(label.earned) / 20.0 - earned / pulls).powi(2);
                count += 1.0;
            }
        }
    }
    // Two binomial shares of 20 and at least 30 pulls: at most 1/80 + 1/120 = 0.021. Chances by themselves vary by 1/12 = 0.083.
    assert!(count > 500.0 && squares / count < 0.022, "{count}: {}", squares / count);
}
