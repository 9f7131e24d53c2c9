//! What to try if a model has learned nothing: only settings that are not set already.

use crate::config::{Architecture, Config};

/// What to try, in words, for networks of this config that are those of step `step`.
pub(crate) fn advice(config: &Config, step: u64) -> String {
    let (model, train) = (&config.model, &config.train);
    let mut tries = Vec::new();
    if config.is_of_logs() {
        tries.push("more tasks".to_owned());
        tries.push("more varied tasks".into());
    }
    // If earlier networks were the best, further updates only overfit.
    if step >= train.steps {
        tries.push(format!("more updates (train.steps={})", 2 * train.steps));
    }
    let rate = if (train.lr - 3e-3).abs() < 1e-4 { "1.5e-3" } else { "3e-3" };
    tries.push(format!("another learning rate (train.lr={rate})"));
    let late = model.architecture == Architecture::Late;
    for (is_missing, setting) in [
        (model.reward_head == 0.0, "model.reward_head=1"),
        (!model.tied_keys, "model.tied_keys=true"),
        (model.init_std < 0.05, "model.init_std=0.08"),
        (!model.transitions, "model.transitions=true"),
        (late && model.condition_std == 0.0, "model.condition_std=3"),
    ] {
        if is_missing {
            tries.push(setting.into());
        }
    }
    let last = tries.pop().unwrap_or_default();
    format!("Try {} or {last}", tries.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::presets::CUSTOM;

    #[test]
    fn what_is_done_already_is_not_advised() {
        let config = Config::layered(&[CUSTOM.1], &[]).unwrap();
        let said = advice(&config, config.train.steps);
        assert_eq!(
            said,
            "Try more tasks, more varied tasks, more updates (train.steps=8000) or another learning rate (train.lr=1.5e-3)"
        );
        assert!(!advice(&config, 400).contains("updates"), "the best networks were earlier ones");
        let said = advice(&Config::layered(&[], &["model.tied_keys=true".into()]).unwrap(), 13_000);
        assert!(
            said.contains("model.condition_std=3") && !said.contains("tied_keys") && !said.contains("tasks"),
            "{said}"
        );
    }
}
