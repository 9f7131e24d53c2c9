//! The model card that lies beside every checkpoint: what it is, what it learned from, how to use it.

use crate::config::{ActionRule, Architecture};
use crate::model::TrainedModel;

/// A short model card in Markdown. How it acts is not in it: `config.json` says so, and `icee tune` changes it.
#[must_use]
pub fn card(model: &TrainedModel) -> String {
    let TrainedModel { config, task, step, .. } = model;
    let summary = config.method().map_or("a method of this project", |method| method.summary);
    let networks = match (config.model.architecture, config.model.action_rule) {
        (Architecture::Late, ActionRule::Bayes) => "one trunk, returns in its heads, actions by Bayes' rule",
        (Architecture::Late, ActionRule::Weighted) => "one trunk, returns in its heads, a weighted action head",
        (Architecture::Paper, _) => "the paper's two transformers",
    };
    let (layers, width, heads) = (config.model.layers, config.model.width, config.model.attention_heads);
    let bins = config.model.bins;
    let (games, novices, rate) = (config.train.batch, config.data.novices, config.train.lr);
    let updates = config.train.steps;
    format!(
        "# {world}, {method}\n\n\
         {summary}.\n\n\
         | | |\n|---|---|\n\
         | world | {world} |\n\
         | method | {method} |\n\
         | networks | {networks}; layers {layers}, width {width}, heads {heads}, bins of return {bins} |\n\
         | weights | {weights} |\n\
         | training | {step} of {updates} updates of {games} fresh games, learning rate {rate}, novice histories {novices} |\n\
         | seed | {seed} |\n\n\
         `icee eval FOLDER` measures it, `icee play FOLDER` shows a game, `icee tune FOLDER` picks how it acts.\n",
        world = task.name,
        method = config.method,
        weights = model.parameters(),
        seed = config.seed,
    )
}
