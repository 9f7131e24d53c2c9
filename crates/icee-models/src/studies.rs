//! The learned models that studies use: those inside the program, so that a study's answers are the same everywhere.

use crate::Result;
use crate::shelf::embedded;
use icee::Device;
use icee::bo::{self, ValueModel, ValuePlan};
use icee::study::{LearnedModel, Models};
use icee_bo::surrogate::Surrogate;

/// The models' names, the most specialised first.
const NAMES: [&str; 2] = ["bo__value", "bo__value-columns"];

/// The value models that are there. Their weights are read when a study first needs them: most commands do not.
///
/// # Errors
/// Where a description is damaged.
pub fn study_models() -> Result<Models> {
    let mut models = Models::default();
    for model in NAMES.into_iter().filter_map(embedded) {
        let config = bo::Model::config_in(model.config)?;
        let plan = ValuePlan::new(&config)?;
        let load = || {
            let loaded = bo::Model::parse(model.config, model.tensors)?;
            Ok(Box::new(ValueModel::new(&Device::cpu(0)?, &loaded)?) as Box<dyn Surrogate>)
        };
        let (name, columns, history) = (model.name.into(), plan.columns(), plan.spec.context);
        let sharpness = config.acting.sharpness;
        models = models.with(LearnedModel { name, columns, history, sharpness, load: Box::new(load) });
    }
    Ok(models)
}
