//! The Gaussian process against BoTorch and GPyTorch: cases made by `tools/golden/gp.py`.

use icee_bo::gp::fit::{LEAST_NOISE, fit_hyperparameters};
use icee_bo::gp::objective::{Evaluation, Objective};
use icee_bo::gp::{GaussianProcess, Hyperparameters};
use icee_bo::normal::log_improvement;
use serde::Deserialize;

#[derive(Deserialize)]
struct Case {
    inputs: Vec<Vec<f64>>,
    values: Vec<f64>,
    test: Vec<Vec<f64>>,
    given: Reference,
    fitted: Option<Reference>,
}

#[derive(Deserialize)]
struct Reference {
    parameters: Parameters,
    log_likelihood: f64,
    log_prior: f64,
    gradient: Parameters,
    posterior_mean: Vec<f64>,
    posterior_variance: Vec<f64>,
}

#[derive(Deserialize)]
struct Parameters {
    mean: Vec<f64>,
    length_scales: Vec<f64>,
    output_scale: Vec<f64>,
    noise: Vec<f64>,
}

impl Parameters {
    fn to_hyperparameters(&self) -> Hyperparameters {
        Hyperparameters {
            mean: self.mean[0],
            length_scales: self.length_scales.clone(),
            output_scale: self.output_scale[0],
            noise: self.noise[0],
        }
    }

    fn flat(&self) -> Vec<f64> {
        flat(&self.to_hyperparameters())
    }
}

fn flat(parameters: &Hyperparameters) -> Vec<f64> {
    let mut all = vec![parameters.mean, parameters.output_scale, parameters.noise];
    all.extend(&parameters.length_scales);
    all
}

fn cases() -> Vec<Case> {
    serde_json::from_str(include_str!("golden/gp.json")).unwrap()
}

fn assert_close(what: &str, found: f64, expected: f64) {
    assert!((found - expected).abs() <= 1e-6 * expected.abs().max(1.0), "{what}: {found} instead of {expected}");
}

fn check(reference: &Reference, evaluation: &Evaluation, process: &GaussianProcess, test: &[Vec<f64>]) {
    assert_close("log likelihood", evaluation.log_likelihood, reference.log_likelihood);
    assert_close("log prior", evaluation.log_prior, reference.log_prior);
    for (found, expected) in flat(&evaluation.gradient).into_iter().zip(reference.gradient.flat()) {
        assert_close("gradient", found, expected);
    }
    let predictions = process.predict(&test.concat()).unwrap();
    for (k, prediction) in predictions.iter().enumerate() {
        assert_close("posterior mean", prediction.mean, reference.posterior_mean[k]);
        assert_close("posterior variance", prediction.variance, reference.posterior_variance[k]);
    }
}

#[test]
fn likelihood_gradient_and_posterior_agree_with_gpytorch() {
    let mut checked = 0;
    for case in cases() {
        let (inputs, dimension) = (case.inputs.concat(), case.inputs[0].len());
        let objective = Objective::new(&inputs, &case.values, dimension).unwrap();
        for reference in std::iter::once(&case.given).chain(&case.fitted) {
            let at = reference.parameters.to_hyperparameters();
            let process = GaussianProcess::new(&inputs, &case.values, at.clone()).unwrap();
            check(reference, &objective.evaluate(&at).unwrap(), &process, &case.test);
            checked += 1;
        }
    }
    assert_eq!(checked, 11);
}

#[test]
fn the_fit_is_no_worse_than_botorchs() {
    for case in cases() {
        let Some(reference) = &case.fitted else { continue };
        let inputs = case.inputs.concat();
        let objective = Objective::new(&inputs, &case.values, case.inputs[0].len()).unwrap();
        let found = fit_hyperparameters(&objective).unwrap();
        assert!(found.noise >= LEAST_NOISE * (1.0 - 1e-12));
        let evaluation = objective.evaluate(&found).unwrap();
        let (ours, theirs) =
            (evaluation.log_likelihood + evaluation.log_prior, reference.log_likelihood + reference.log_prior);
        assert!(ours > theirs - 1e-5, "{ours} < {theirs}: {found:?}");
        // The mean was set in closed form: its derivative must vanish.
        assert!(evaluation.gradient.mean.abs() < 1e-6, "{}", evaluation.gradient.mean);
    }
}

#[test]
fn the_best_mean_is_stationary_and_the_rest_of_the_gradient_is_kept() {
    let case = &cases()[1];
    let inputs = case.inputs.concat();
    let objective = Objective::new(&inputs, &case.values, 2).unwrap();
    let mut at = case.given.parameters.to_hyperparameters();
    let profiled = objective.evaluate_with_best_mean(&mut at).unwrap();
    let plain = objective.evaluate(&at).unwrap();
    assert!(profiled.gradient.mean.abs() < 1e-8);
    assert_eq!(profiled, plain);
}

#[test]
fn log_improvement_agrees_with_many_digits_from_tail_to_tail() {
    let rows: Vec<[f64; 2]> = serde_json::from_str(include_str!("golden/log_ei.json")).unwrap();
    assert!(rows.len() > 20);
    for [z, expected] in rows {
        let found = log_improvement(z);
        assert!((found - expected).abs() <= 2e-13 * expected.abs().max(1.0), "{z}: {found} instead of {expected}");
    }
}

#[test]
fn impossible_data_and_settings_are_refused() {
    let good = Hyperparameters { mean: 0.0, length_scales: vec![0.3], output_scale: 1.0, noise: 0.1 };
    assert!(GaussianProcess::new(&[0.1, 0.2], &[1.0], good.clone()).is_err());
    assert!(GaussianProcess::new(&[], &[], good.clone()).is_err());
    assert!(GaussianProcess::new(&[0.1], &[f64::NAN], good.clone()).is_err());
    assert!(GaussianProcess::new(&[0.1], &[1.0], Hyperparameters { noise: 0.0, ..good.clone() }).is_err());
    assert!(GaussianProcess::new(&[0.1], &[1.0], Hyperparameters { length_scales: vec![], ..good.clone() }).is_err());
    assert!(GaussianProcess::new(&[0.1], &[1.0], good).unwrap().predict(&[f64::INFINITY]).is_err());
}
