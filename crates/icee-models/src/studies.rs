//! The learned models that studies use: those inside the program, so that a study's answers are the same everywhere.

use crate::store::{embedded, model_hash};
use crate::{Embedded, Result};
use icee_bo::BoError;
use icee_optim::{Objective, OptimiserModel, TablePlan, ValuePlan};
use icee_study::{LearnedModel, Models, Reads};
use icee_train::Device;

/// The models' names, the one for new studies first; the others go on where a study has been using them.
const NAMES: [&str; 2] = ["bo__table", "bo__value"];

/// Columns of a table up to which studies trust the model of tables, which has learned from up to 40.
const MOST_COLUMNS: usize = 64;

/// The models that are there. Their weights are read when a study first needs them: most commands do not.
///
/// # Errors
/// Where a description is damaged.
pub fn study_models() -> Result<Models> {
    Ok(learned_models()?.into_iter().fold(Models::default(), Models::with))
}

/// The same one by one, the one to be preferred first.
///
/// # Errors
/// As [`study_models`].
pub fn learned_models() -> Result<Vec<LearnedModel>> {
    NAMES.into_iter().filter_map(embedded).map(learned).collect()
}

fn learned(model: &'static Embedded) -> Result<LearnedModel> {
    let config = OptimiserModel::config_in(model.config)?;
    let (reads, history) = match config.method()?.objective {
        Objective::Table => (Reads::Columns(1..=MOST_COLUMNS), TablePlan::new(&config)?.spec.context),
        _ => {
            let plan = ValuePlan::new(&config)?;
            (Reads::Coordinates(plan.columns()), plan.spec.context)
        }
    };
    let load = || OptimiserModel::parse(model.config, model.tensors)?.surrogate(&Device::cpu(0)?);
    Ok(LearnedModel {
        name: model.name.into(),
        hash: model_hash(model.config, model.tensors),
        reads,
        history,
        rule: config.acting.rule(),
        load: Box::new(move || load().map_err(BoError::from)),
    })
}
