//! Acting rules on the command line; they override those of the checkpoint.

use anyhow::Context;
use icee_games::Acting;
use icee_games::config::{EpisodeRule, OutcomeReading};

/// How the agent conditions on returns and chooses actions.
#[derive(clap::Args)]
#[command(next_help_heading = "Acting (default: the checkpoint's rules)")]
pub struct ActingArgs {
    /// Choose c̃: always 1, 1 until the maximum is reached, or drawn from the model.
    #[arg(long, value_name = "RULE", value_parser = ["always-one", "while-possible", "joint"])]
    episode_rule: Option<String>,
    /// Set optimism κ: 0 conditions on typical returns, 80 on nearly the highest.
    #[arg(long, value_name = "K")]
    kappa: Option<f64>,
    /// Ignore the top δ of the predicted return distribution.
    #[arg(long, value_name = "D")]
    guard: Option<f64>,
    /// Require exactly the chosen return from an action, or at least that much.
    #[arg(long, value_name = "READING", value_parser = ["exactly", "at-least"])]
    outcome: Option<String>,
    /// Sharpen (below 1) or flatten (above 1) the distribution of actions.
    #[arg(long, value_name = "T")]
    temperature: Option<f64>,
    /// Clear the memory after this many episodes without reward; 0 for never.
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

    /// Overrides `acting` with the given options.
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
