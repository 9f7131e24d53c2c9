//! `icee worlds`: lists the worlds and their rules.

use icee_worlds::{ObservationSpace, Registry, WorldSpec};
use serde_json::{Value, json};
use std::io::Write;

/// List the worlds and their rules.
#[derive(clap::Args)]
pub struct Args {
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

pub fn run(args: &Args, registry: &Registry) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    if args.json {
        let worlds: Vec<Value> = registry.specs().map(to_json).collect();
        writeln!(out, "{}", serde_json::to_string_pretty(&worlds)?)?;
        return Ok(());
    }
    // Two lines a world, so that it also reads well in a narrow window.
    for spec in registry.specs() {
        let (low, high) = spec.return_range;
        let WorldSpec { id, rules, episode_limit, episodes, .. } = spec;
        writeln!(out, "{id:22} T = {episode_limit:<4} K = {episodes:<3} returns {low} to {high}")?;
        writeln!(out, "    {rules}")?;
    }
    Ok(())
}

fn to_json(spec: &WorldSpec) -> Value {
    let observations = match &spec.observation_space {
        ObservationSpace::Discrete { size } => json!({ "kind": "discrete", "size": size }),
        ObservationSpace::Grid { width, height } => {
            json!({ "kind": "discrete", "size": width * height, "width": width, "height": height })
        }
        ObservationSpace::Vector { low, high } => json!({ "kind": "vector", "low": low, "high": high }),
    };
    json!({
        "id": spec.id,
        "rules": spec.rules,
        "observations": observations,
        "actions": spec.action_names,
        "episode_limit": spec.episode_limit,
        "episodes": spec.episodes,
        "return_range": [spec.return_range.0, spec.return_range.1],
        "reward_range": [spec.reward_range.0, spec.reward_range.1],
        "reward_levels": spec.reward_levels,
    })
}
