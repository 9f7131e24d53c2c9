//! The acting rules on the command line: they override those of the checkpoint.

use anyhow::Context;
use icee_games::Acting;
use icee_games::config::{EpisodeRule, OutcomeReading};

/// How the agent asks for returns and chooses actions.
#[derive(clap::Args)]
#[command(next_help_heading = "Acting (default: as the checkpoint says)")]
pub struct ActingArgs {
    /// When an episode is asked to beat all before it (c̃ = 1): always-one (every episode), while-possible (until one has
    /// earned all there is), or joint (as likely as the model itself believes in it).
    #[arg(long, value_name = "RULE", value_parser = ["always-one", "while-possible", "joint"])]
    episode_rule: Option<String>,
    /// How strongly high returns are asked for (κ): 0 asks for typical ones, 80 for nearly the best believable one.
    #[arg(long, value_name = "K")]
    kappa: Option<f64>,
    /// Returns so high that the model believes in them with less than this probability (δ) are not asked for.
    #[arg(long, value_name = "D")]
    guard: Option<f64>,
    /// Whether an action must lead to exactly the return that is asked for, or to at-least that much.
    #[arg(long, value_name = "READING", value_parser = ["exactly", "at-least"])]
    outcome: Option<String>,
    /// Sharpens (below 1) or flattens (above 1) the distribution of actions.
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,
    /// Episodes without any reward after which the agent forgets them and begins anew; 0 for never.
    #[arg(long, value_name = "N")]
    patience: Option<usize>,
}

impl ActingArgs {
    /// Whether anything was given.
    pub fn given(&self) -> bool {
        self.episode_rule.is_some()
            || self.outcome.is_some()
            || self.patience.is_some()
            || [self.kappa, self.guard, self.temperature].iter().any(Option::is_some)
    }

    /// Puts what was given over `acting`.
    pub fn apply(&self, acting: &mut Acting) -> anyhow::Result<()> {
        if let Some(rule) = &self.episode_rule {
            acting.episode_rule = match rule.as_str() {
                "joint" => EpisodeRule::Joint,
                "while-possible" => EpisodeRule::WhilePossible,
                _ => EpisodeRule::AlwaysOne,
            };
        }
        if let Some(reading) = &self.outcome {
            acting.outcome = if reading == "exactly" { OutcomeReading::Exactly } else { OutcomeReading::AtLeast };
        }
        acting.kappa = self.kappa.unwrap_or(acting.kappa);
        acting.guard = self.guard.unwrap_or(acting.guard);
        acting.temperature = self.temperature.unwrap_or(acting.temperature);
        acting.patience = self.patience.unwrap_or(acting.patience);
        acting.check().context("acting rules")
    }
}
