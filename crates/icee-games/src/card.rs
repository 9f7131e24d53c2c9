//! The model card beside every checkpoint: what it is, its training data, how to use it.

use crate::config::{ActionRule, Architecture, Config};
use crate::methods::Span;
use crate::model::LearnedLog;
use crate::task::GameSpec;

/// A short card, in Markdown, of a model of games after `step` updates. How it acts is not in it: `config.json` says so,
/// and `icee tune` changes it.
pub(crate) fn of_games(
    config: &Config,
    task: &GameSpec,
    step: u64,
    weights: usize,
    log: Option<&LearnedLog>,
) -> String {
    let summary = config.method().map_or("a method of this project", |method| method.summary);
    let networks = match (config.model.architecture, config.model.action_rule) {
        (Architecture::Late, ActionRule::Bayes) => "one trunk, returns in its heads, actions by Bayes' rule",
        (Architecture::Late, ActionRule::Weighted) => "one trunk, returns in its heads, a weighted action head",
        (Architecture::Paper, _) => "the paper's two transformers",
    };
    let (layers, width, heads) = (config.model.layers, config.model.width, config.model.attention_heads);
    let bins = config.model.bins;
    let (games, rate) = (config.train.batch, config.train.lr);
    let (novices, searchers) = (config.data.novices, config.data.searchers);
    let updates = config.train.steps;
    let log = log.map_or(String::new(), |LearnedLog { name, checksum }| {
        format!("| log | {name}, checksum {checksum}; {:.0} % of its tasks held out |\n", 100.0 * config.data.held_out)
    });
    format!(
        "# {world}, {method}\n\n\
         {summary}.\n\n\
         | | |\n|---|---|\n\
         | world | {world} |\n\
         | method | {method} |\n\
         | networks | {networks}; layers {layers}, width {width}, heads {heads}, bins of return {bins} |\n\
         | weights | {weights} |\n\
         | training | {step} of {updates} updates of {games} {source} tasks, learning rate {rate}, share of noisy policies {novices}, of exploring policies {searchers} |\n{log}\
         | seed | {seed} |\n\n\
         {usage}\n\n\
         ## Limits\n\
         It was trained on tasks of {world} only: {actions} actions, episodes of at most {limit} steps, returns-to-go from {low} to {high}. {memory}\n",
        world = task.name,
        source = if task.is_of_logs() { "logged" } else { "fresh" },
        usage = match task.is_of_logs() {
            true => {
                "`icee eval FOLDER --logs FILE` judges it by a log (its own: by the held-out tasks), `icee act FOLDER` plays an environment in \
                 any language, `icee.Agent.load(\"FOLDER\")` one in Python."
            }
            false => {
                "`icee eval FOLDER` measures it, `icee play FOLDER` shows a game, `icee tune FOLDER` chooses its acting rules; \
                 `icee act FOLDER` plays an environment in any language."
            }
        },
        actions = task.actions,
        limit = task.episode_limit,
        low = task.return_range.0,
        high = task.return_range.1,
        memory = match config.method().map(|method| method.span) {
            Ok(Span::Episode) => "It forgets everything at the end of an episode.".to_owned(),
            _ => format!(
                "Its memory holds {} episodes. After that it keeps the most recent ones, which it was not trained for.",
                config.remembered_episodes(task).unwrap_or(task.episodes)
            ),
        },
        method = config.method,
        seed = config.seed,
    )
}
