//! How good a map of the goal an agent's expectations are, beside the exact posterior, in a room of 9 × 9 cells. A cell is believed to be the goal
//! as far as all moves into it promise a reward, as on the page of `icee serve`.
//!
//!     cargo run --release -p icee-games --example room_map -- models/dark-room__icee DarkRoom-v0 10 10
#![allow(clippy::print_stdout)]

use icee_games::{LiveAgent, TrainedModel};
use icee_train::Device;
use icee_worlds::grid::GridWorld;
use icee_worlds::{Observation, Split, World};
use std::time::Instant;

type Failed = Box<dyn std::error::Error>;

const COLUMNS: u32 = 9;
const CELLS: usize = 81;

/// Sums over maps; the first of each is their number.
#[derive(Default)]
struct Sums {
    /// Before the goal is found: beliefs of cells not visited, what they are exactly, of visited ones, of all together, their distance from
    /// the exact ones, and how well they tell visited cells from others (area under the curve).
    before: [f64; 7],
    /// After it: belief of the goal, and whether it is the greatest.
    after: [f64; 3],
    seconds: f64,
}

fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [model, room, games, episodes] = &words[..] else { return Err("say model, room, games and episodes".into()) };
    let model = TrainedModel::load(model.as_ref())?;
    let mut world = GridWorld::preset(room)?;
    let mut sums = Sums::default();
    for seed in 0..games.parse()? {
        play(&model, &mut world, seed, episodes.parse()?, &mut sums)?;
    }
    let mean = |sums: &[f64]| sums[1..].iter().map(|sum| sum / sums[0]).collect::<Vec<f64>>();
    let Sums { before, after, seconds } = sums;
    println!("before, {} maps: not visited, exact, visited, sum, distance, auc: {:.4?}", before[0], mean(&before));
    println!("after, {} maps: goal, on top: {:.3?}", after[0], mean(&after));
    println!("{:.1} ms a map", 1e3 * seconds / (before[0] + after[0]));
    Ok(())
}

fn play(model: &TrainedModel, world: &mut GridWorld, seed: u64, episodes: u64, sums: &mut Sums) -> Result<(), Failed> {
    world.new_game(seed, Split::Evaluation);
    let goal = world.goals().first().map_or(0, |&(x, y)| (y * COLUMNS + x) as usize);
    let mut agent = LiveAgent::new(&Device::cpu(1)?, model, seed)?;
    let (mut visited, mut found) = (vec![false; CELLS], false);
    for episode in 0..episodes {
        let mut cell = place(&world.reset(seed + episode));
        loop {
            let action = agent.act(Observation::Discrete(cell))?;
            let begun = Instant::now();
            let expected = agent.expected_rewards()?;
            let seconds = begun.elapsed().as_secs_f64();
            let beliefs = beliefs(world, &expected);
            // Before anything was visited there is nothing to tell from it.
            if found || visited.contains(&true) {
                sums.seconds += seconds;
                if found { sums.found(&beliefs, goal) } else { sums.searching(&beliefs, &visited) }
            }
            let step = world.step(action as usize)?;
            let (reward, done) = (step.reward, step.done());
            cell = place(&step.observation);
            found |= reward > 0.0;
            visited[cell as usize] |= !found;
            agent.observe(reward, done)?;
            if done {
                break;
            }
        }
    }
    Ok(())
}

/// The least that the moves into each cell promise.
fn beliefs(world: &GridWorld, expected: &[f64]) -> Vec<f64> {
    let mut beliefs = vec![1.0f64; CELLS];
    let actions = world.spec().actions();
    for (at, promised) in expected.iter().enumerate() {
        let (from, action) = ((at / actions) as u32, at % actions);
        if let Some(to) = world.leads_to(from, action).filter(|&to| to != from) {
            beliefs[to as usize] = beliefs[to as usize].min(*promised);
        }
    }
    beliefs
}

fn place(observation: &Observation<'_>) -> u32 {
    if let Observation::Discrete(cell) = observation { *cell } else { 0 }
}

impl Sums {
    fn found(&mut self, beliefs: &[f64], goal: usize) {
        let on_top = beliefs.iter().enumerate().all(|(cell, &p)| cell == goal || p < beliefs[goal]);
        add(&mut self.after, [1.0, beliefs[goal], f64::from(u8::from(on_top))]);
    }

    fn searching(&mut self, beliefs: &[f64], visited: &[bool]) {
        let of = |was: bool| beliefs.iter().zip(visited).filter(move |(_, visited)| **visited == was).map(|(p, _)| *p);
        let (left, seen): (Vec<f64>, Vec<f64>) = (of(false).collect(), of(true).collect());
        let (exact, sum) = (1.0 / left.len() as f64, |all: &[f64]| all.iter().sum::<f64>());
        let told_apart = left.iter().flat_map(|p| seen.iter().map(move |q| p > q)).filter(|apart| *apart).count();
        let distance = left.iter().map(|p| (p - exact).abs()).sum::<f64>() + sum(&seen);
        let auc = told_apart as f64 / (left.len() * seen.len()) as f64;
        let means = [sum(&left) * exact, exact, sum(&seen) / seen.len() as f64];
        add(&mut self.before, [1.0, means[0], means[1], means[2], sum(beliefs), distance, auc]);
    }
}

fn add<const N: usize>(sums: &mut [f64; N], more: [f64; N]) {
    sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}
