//! The learned models that studies use: those inside the program, so that a study's answers are the same everywhere.

use crate::Result;
use crate::store::{embedded, model_hash};
use icee_bo::BoError;
use icee_bo::surrogate::Surrogate;
use icee_optim::{OptimiserModel, ValueModel, ValuePlan};
use icee_study::{LearnedModel, Models};
use icee_train::Device;

/// The models' names, the most specialised first.
const NAMES: [&str; 2] = ["bo__value", "bo__value-columns"];

/// The value models that are there. Their weights are read when a study first needs them: most commands do not.
///
/// # Errors
/// Where a description is damaged.
pub fn study_models() -> Result<Models> {
    let mut models = Models::default();
    for model in NAMES.into_iter().filter_map(embedded) {
        let config = OptimiserModel::config_in(model.config)?;
        let plan = ValuePlan::new(&config)?;
        let load = || -> icee_optim::Result<Box<dyn Surrogate>> {
            let loaded = OptimiserModel::parse(model.config, model.tensors)?;
            Ok(Box::new(ValueModel::new(&Device::cpu(0)?, &loaded)?))
        };
        models = models.with(LearnedModel {
            name: model.name.into(),
            hash: model_hash(model.config, model.tensors),
            columns: plan.columns(),
            history: plan.spec.context,
            sharpness: config.acting.sharpness,
            load: Box::new(move || load().map_err(BoError::from)),
        });
    }
    Ok(models)
}
