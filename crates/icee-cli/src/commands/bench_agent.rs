//! `icee bench agent`: measures the time of one decision with a long history.

use anyhow::Result;
use clap::Args;
use icee_games::{Blueprint, Config, LiveAgent, Source, TrainedModel, presets};
use icee_train::Device;
use icee_worlds::{Observation, Registry, Split};
use serde::Serialize;
use std::io::Write;
use std::time::Instant;

#[derive(Args)]
pub struct AgentArgs {
    /// Take model and world from this preset; the weights are untrained.
    #[arg(value_name = "PRESET", default_value = "dark-room")]
    preset: String,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report {
    preset: String,
    device: String,
    steps_of_history: usize,
    median_ms: f64,
    slowest_ms: f64,
}

/// One game of the world's full length on one core; the decisions of the last tenth are timed.
pub fn run(args: &AgentArgs, registry: &Registry) -> Result<()> {
    let device = Device::cpu(1)?;
    let config = Config::layered(&[presets::world(&args.preset)?], &[])?;
    let source = Source::of_config(&config, registry)?;
    let task = source.task();
    let models = Blueprint::new(&config, &task)?.fresh_models(config.seed)?;
    let mut agent =
        LiveAgent::new(&device, &TrainedModel { config, task: task.clone(), step: 0, models, log: None }, 0)?;
    let Source::World(mut world) = source else { unreachable!("a preset has a world") };
    world.new_game(0, Split::Evaluation);

    let length = task.tokens(task.episodes);
    let mut times = Vec::new();
    let mut steps = 0;
    for episode in 0..task.episodes {
        let Observation::Discrete(mut cell) = world.reset(episode as u64) else {
            anyhow::bail!("bench agent needs a world with discrete observations");
        };
        loop {
            let start = Instant::now();
            let action = agent.act(Observation::Discrete(cell))?;
            let step = world.step(action as usize)?;
            let (reward, done) = (step.reward, step.done());
            if let Observation::Discrete(next) = step.observation {
                cell = next;
            }
            agent.observe(reward, done)?;
            steps += 1;
            if steps * 10 > length * 9 {
                times.push(start.elapsed().as_secs_f64() * 1e3);
            }
            if done {
                break;
            }
        }
    }
    times.sort_by(f64::total_cmp);
    let (Some(&median), Some(&slowest)) = (times.get(times.len() / 2), times.last()) else {
        anyhow::bail!("the episodes of {} end too early to fill the history", args.preset);
    };
    let report = Report {
        preset: args.preset.clone(),
        device: device.describe(),
        steps_of_history: steps,
        median_ms: median,
        slowest_ms: slowest,
    };
    let mut out = std::io::stdout().lock();
    if args.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&report)?)?;
    } else {
        let Report { preset, device, .. } = &report;
        writeln!(
            out,
            "{preset}, {device}: {median:.3} ms a decision (slowest {slowest:.3}) up to {steps} steps of history"
        )?;
    }
    Ok(())
}
