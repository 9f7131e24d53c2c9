//! Labels against a slow, literal reading of the equations, on data of every world.

use icee_games::methods::Method;
use icee_games::{Labels, ReturnBins, Sequences, Weighing};
use icee_worlds::{Collection, Registry, StepLabel, collect};
use proptest::prelude::*;
use std::sync::Arc;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn labels_are_the_equations(
        seed in any::<u64>(), world in 0..Registry::builtin().specs().count(), sorted in any::<bool>(),
        searchers in 0.0f32..1.0, clip in 1.0f32..20.0, search in 0.5f32..8.0, goals_in_turn in any::<bool>(),
    ) {
        let registry = Registry::builtin();
        let id = registry.specs().nth(world).unwrap().id.clone();
        let world = registry.make(&id).unwrap();
        let spec = world.spec();
        let price = spec.idle_price();
        let bins = ReturnBins { low: spec.return_range.0, high: spec.return_range.1, count: 64 };
        let data = Arc::new(collect(&*world, &Collection { searchers, ..Collection::new(2, 5, seed) }).unwrap());
        let method = Method::named(if sorted { "ad-sorted" } else { "icee" }).unwrap();
        let sequences = Sequences::all(method, Arc::clone(&data));
        let labels = Labels::new(&sequences, bins, price, Weighing { clip, search, goals_in_turn });

        let mut row = 0;
        for order in &sequences.order {
            if sorted {
                prop_assert!(order.windows(2).all(|w| data.epsilons[w[0]] >= data.epsilons[w[1]]));
            }
            for (k, &episode) in order.iter().enumerate() {
                let total = |e: usize| data.episode_steps(e).map(|s| data.rewards[s]).sum::<f32>();
                // c̃_k = 1 iff r̄_k > max_{j<k} r̄_j; the first iff r̄ > 0.
                let best = order[..k].iter().map(|&e| total(e)).fold(if k == 0 { 0.0 } else { f32::MIN }, f32::max);
                let improves = total(episode) > best;
                for step in data.episode_steps(episode) {
                    // c = Σ_{t' ≥ t} r', the reward or −1/T.
                    let end = data.episode_steps(episode).end;
                    let shaped = |s: usize| if data.rewards[s] != 0.0 { f64::from(data.rewards[s]) } else { -f64::from(price) };
                    let own = f64::from((step..end).map(shaped).sum::<f64>() as f32);
                    // Where an expert relabelled the step: what it did, earned and made of the episode.
                    let relabel = match data.label(step) {
                        StepLabel::Relabelled(relabel) => Some(relabel),
                        _ => None,
                    };
                    // Steps of a search count `search` times: where nothing was earned yet, or nothing beyond this.
                    let before: f32 = (data.episode_steps(episode).start..step).map(|s| data.rewards[s]).sum();
                    let earlier = order[..k].iter().flat_map(|&e| data.episode_steps(e));
                    let has_paid = earlier.chain(data.episode_steps(episode).start..step).any(|s| data.rewards[s] != 0.0);
                    let searches = if goals_in_turn { before >= best } else { !has_paid };
                    let counts = if searches { search } else { 1.0 };
                    let learned = if data.label(step) == StepLabel::Skipped { 0.0 } else { counts };
                    prop_assert_eq!(labels.learned[row], learned);
                    let c = relabel.map_or(own, |t| f64::from(t.return_to_go));
                    let improves = relabel.map_or(improves, |t| before + t.earned > best);
                    // The expert's first action is drawn from q = (π + U)/2.
                    let even = 1.0 / spec.actions() as f32;
                    let (action, weight, behaviour_weight, reward) = relabel.map_or(
                        (data.actions[step], even / data.taken_probability(step), 1.0, data.rewards[step]),
                        |t| {
                            let drawn = 0.5 * (t.probability + even);
                            (t.action, even / drawn, t.probability / drawn, t.reward)
                        },
                    );
                    let share = (c - f64::from(bins.low)) / f64::from(bins.high - bins.low);
                    let bin = ((share * 64.0 + 1e-4).floor() as i64).clamp(0, 63);
                    prop_assert_eq!(i64::from(labels.step_bins[row]), bin);
                    prop_assert_eq!(labels.episode_rtg[row], u32::from(improves));
                    prop_assert_eq!((labels.actions[row], labels.rewards[row]), (action, reward));
                    prop_assert!((labels.behaviour_weights[row] - learned * behaviour_weight).abs() < 1e-4);
                    prop_assert!((labels.weights[row] - learned * weight.min(clip)).abs() < 1e-4 * weight.min(clip));
                    row += 1;
                }
            }
        }
        prop_assert_eq!(row, labels.weights.len());
        prop_assert!(labels.effective_share > 0.0 && labels.effective_share <= 1.0 + 1e-9);
    }
}

/// E_π[U(a)/π(a|o)] = Σ_a U(a) = 1 wherever the behaviour policy can take every action.
#[test]
fn weights_average_to_one_under_the_behaviour_policy() {
    let world = Registry::builtin().make("DarkRoomTiny-v0").unwrap();
    let data = Arc::new(collect(&*world, &Collection { novices: 1.0, ..Collection::new(600, 16, 3) }).unwrap());
    let mut sequences = Sequences::all(Method::named("icee").unwrap(), Arc::clone(&data));
    // Episodes with little noise have weights of unbounded variance; the mean of the others settles.
    sequences.order.iter_mut().for_each(|o| o.retain(|&e| data.epsilons[e] > 0.3));
    let bins = ReturnBins { low: -1.0, high: 8.0, count: 72 };
    let labels =
        Labels::new(&sequences, bins, 1.0 / 8.0, Weighing { clip: f32::MAX, search: 1.0, goals_in_turn: false });
    let mean = labels.weights.iter().map(|&w| f64::from(w)).sum::<f64>() / labels.weights.len() as f64;
    assert!((mean - 1.0).abs() < 0.02, "{mean}");
    assert_eq!(labels.clipped_share, 0.0);
}
