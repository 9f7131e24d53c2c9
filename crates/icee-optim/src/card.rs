//! The model card beside every checkpoint: what it is, its training data, how to use it.

use crate::config::Config;

/// A short card, in Markdown, of a model of functions after `step` updates.
pub(crate) fn of_functions(config: &Config, step: u64, weights: usize) -> String {
    let summary = config.method().map_or("a method of this project", |method| method.summary);
    let (layers, width, heads) = (config.model.layers, config.model.width, config.model.attention_heads);
    let (functions, rate, updates) = (config.train.batch, config.train.lr, config.train.steps);
    let (world, method, seed) = (&config.world, &config.method, config.seed);
    format!(
        "# {world}, {method}\n\n\
         {summary}.\n\n\
         | | |\n|---|---|\n\
         | functions | {world} |\n\
         | method | {method} |\n\
         | network | {layers} layers, {width} wide, {heads} heads |\n\
         | weights | {weights} |\n\
         | training | {step} of {updates} updates of {functions} fresh functions, learning rate {rate} |\n\
         | seed | {seed} |\n\n\
         `icee eval FOLDER` measures it on the benchmark functions.\n\n\
         ## Limits\n\
         It reads tables of {columns}, with numbers scaled to [0, 1], and histories of at most {longest} evaluations. It can be overconfident on \
         functions unlike its prior ({prior}); `icee eval` shows the calibration of its intervals.\n",
        columns = match config.prior() {
            Ok(prior) if prior.mixed => format!("one to {} columns", prior.most_columns),
            Ok(prior) => format!("{} columns", prior.most_columns),
            Err(_) => "columns unknown".to_owned(),
        },
        longest = config.data.longest,
        prior = config.prior().map_or("unknown", |prior| prior.summary),
    )
}
