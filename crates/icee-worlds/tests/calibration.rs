//! The numbers that pin the worlds down: the level of the behaviour policy, and the ceilings beside every learned
//! curve.
//!
//! A published number is itself a mean over as many games as are played here, and is rounded. So the allowed
//! difference is four standard errors of a difference of two such means, and half a unit of the last digit.

use icee_base::stats::Estimate;
use icee_worlds::{Games, Reference, ReferenceAgent, Registry, Returns, Split};

fn play(id: &str, agent: Reference, games: usize, episodes: usize) -> Returns {
    let world = Registry::builtin().make(id).expect("a known world");
    let mut games = Games::deal(&*world, games, 20_240_311, Split::Evaluation).expect("games");
    let mut agent = ReferenceAgent::new(agent, &games).expect("an agent");
    games.play(&mut agent, episodes).expect("returns")
}

/// `digit` is one unit of the published number's last digit.
fn assert_near(what: &str, measured: Estimate, published: f64, digit: f64) {
    let error = measured.half_width / 1.96;
    let allowed = 4.0 * std::f64::consts::SQRT_2 * error + digit / 2.0;
    let difference = (measured.mean - published).abs();
    assert!(difference <= allowed, "{what}: {:.4}, published {published} ± {allowed:.4}", measured.mean);
}

/// One episode of each of 20,000 games, so that all are independent.
fn assert_source(id: &str, published: f64, digit: f64) {
    let source = play(id, Reference::Source, 20_000, 1).estimate(0);
    assert_near(&format!("{id} source"), source, published, digit);
}

#[test]
fn source_is_at_the_papers_level() {
    assert_source("DarkRoom-v0", 5.30, 0.01);
    assert_source("DarkRoomHard-v0", 0.529, 0.001);
    assert_source("DarkKeyToDoor-v0", 1.108, 0.001);
    assert_source("DarkRoomBiased-v0", 0.018, 0.001);
}

/// Readings of the paper that its own numbers rule out must be ruled out here too.
#[test]
fn source_is_not_at_the_level_of_the_readings_that_were_ruled_out() {
    for (id, ruled_out) in [("DarkRoom-v0", 7.06), ("DarkRoomHard-v0", 0.75), ("DarkKeyToDoor-v0", 1.60)] {
        let source = play(id, Reference::Source, 20_000, 1).estimate(0);
        let error = source.half_width / 1.96;
        assert!((source.mean - ruled_out).abs() > 20.0 * error, "{id}: {:.3}", source.mean);
    }
}

/// Mean returns over 1,000 games at three episodes (counted from 1).
fn assert_row(id: &str, agent: Reference, at: [usize; 3], published: [f64; 3]) {
    let returns = play(id, agent, 1_000, at[2]);
    for (episode, published) in at.into_iter().zip(published) {
        let what = format!("{id} {} at episode {episode}", agent.name());
        assert_near(&what, returns.estimate(episode - 1), published, 0.01);
    }
}

#[test]
fn posterior_sampling_is_at_its_published_level() {
    assert_row("DarkRoom-v0", Reference::Posterior, [10, 30, 50], [16.27, 16.59, 16.59]);
    assert_row("DarkRoomHard-v0", Reference::Posterior, [10, 30, 50], [0.98, 1.00, 1.00]);
    assert_row("DarkKeyToDoor-v0", Reference::Posterior, [5, 10, 20], [1.92, 2.00, 2.00]);
}

#[test]
fn the_sweep_is_at_its_published_level() {
    assert_row("DarkRoom-v0", Reference::Sweep, [10, 30, 50], [16.46, 16.46, 16.46]);
    assert_row("DarkRoomHard-v0", Reference::Sweep, [10, 30, 50], [1.00, 1.00, 1.00]);
    assert_row("DarkKeyToDoor-v0", Reference::Sweep, [5, 10, 20], [2.00, 2.00, 2.00]);
}

#[test]
fn the_oracle_is_at_its_published_level() {
    assert_row("DarkRoom-v0", Reference::Oracle, [10, 30, 50], [16.54, 16.54, 16.54]);
    assert_row("DarkRoomHard-v0", Reference::Oracle, [10, 30, 50], [1.00, 1.00, 1.00]);
    assert_row("DarkKeyToDoor-v0", Reference::Oracle, [5, 10, 20], [2.00, 2.00, 2.00]);
}

/// Computed by hand: from the centre at distance d ≥ 1 the goal is reached at step d and pays 21 − d; at d = 0 it pays
/// 20. The mean distance is 2 · 20/9, so the mean return is 21 − 40/9 − 1/81.
#[test]
fn the_oracle_is_at_the_level_computed_by_hand() {
    let oracle = play("DarkRoom-v0", Reference::Oracle, 20_000, 1).estimate(0);
    let by_hand = 21.0 - 40.0 / 9.0 - 1.0 / 81.0;
    let allowed = 2.0 * oracle.half_width;
    assert!((oracle.mean - by_hand).abs() < allowed, "{:.4}, by hand {by_hand:.4}", oracle.mean);
}

#[test]
fn agents_that_search_learn_and_the_others_do_not_in_every_world() {
    for spec in Registry::builtin().specs() {
        let oracle = play(&spec.id, Reference::Oracle, 200, 4);
        let best = (0..4).map(|episode| oracle.estimate(episode).mean).sum::<f64>() / 4.0;
        // Ten states take PSRL more than 50 episodes, twenty arms UCB1 more than 500 pulls.
        let share = if spec.id.contains("Dark") { 0.9 } else { 0.77 };
        let world = Registry::builtin().make(&spec.id).expect("a known world");
        for (agent, learns) in [
            (Reference::Random, false),
            (Reference::Source, false),
            (Reference::Posterior, true),
            (Reference::Sweep, true),
            (Reference::Ucb, true),
            (Reference::Gittins, true),
        ] {
            if agent.policy(&*world).is_err() {
                continue;
            }
            let returns = play(&spec.id, agent, 200, spec.episodes);
            // The mean over the last fifth: where payments are noisy, one episode says little.
            let late = spec.episodes - spec.episodes.div_ceil(5)..spec.episodes;
            let last = late.clone().map(|episode| returns.estimate(episode).mean).sum::<f64>() / late.len() as f64;
            assert_eq!(last > share * best, learns, "{} {}: {last:.2}, oracle {best:.2}", spec.id, agent.name());
        }
    }
}
