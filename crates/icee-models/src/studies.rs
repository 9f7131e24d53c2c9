//! The learned models that studies use: those inside the program, so that a study's answers are the same everywhere.

use crate::{Result, Shelf};
use icee::Device;
use icee::bo::ValueModel;
use icee::study::{LearnedModel, Models};

/// The models' names, the most specialised first.
const NAMES: [&str; 2] = ["bo__value", "bo__value-columns"];

/// The value models that are there.
///
/// # Errors
/// Where one is damaged.
pub fn study_models() -> Result<Models> {
    let mut models = Models::default();
    for name in NAMES {
        let Ok(found) = Shelf::inside().find(name) else { continue };
        let model = found.load_optimiser()?;
        let ready = ValueModel::new(&Device::cpu(1)?, &model)?;
        let (columns, history) = (ready.columns(), ready.longest_history());
        let load = Box::new(move || {
            let ready = ValueModel::new(&Device::cpu(0)?, &model)?;
            Ok(Box::new(ready) as Box<dyn icee_bo::surrogate::Surrogate>)
        });
        models = models.with(LearnedModel { name: name.into(), columns, history, load });
    }
    Ok(models)
}
