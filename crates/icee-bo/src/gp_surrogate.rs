//! The Gaussian process as a [`Surrogate`], with a cost that does not grow without end.
//!
//! Hyperparameters are fitted to [`FITTED_HISTORY`] results at most and the process is conditioned on
//! [`KNOWN_HISTORY`] at most; longer histories are thinned by [`thinned`]. The prediction is about the function, without the
//! noise of a single measurement.

use crate::acquisition::Rule;
use crate::belief::{Belief, Range};
use crate::error::BoResult;
use crate::gp::assumptions::Assumptions;
use crate::gp::fit::fit;
use crate::gp::{GaussianProcess, Hyperparameters};
use crate::history::{kept, thinned};
use crate::normal::Prediction;
use crate::pool::{Pool, Told};
use crate::standard::{Standard, Variance};
use crate::surrogate::{Joint, Surrogate};
use crate::surrogate_sampler::SurrogateSampler;
use rand::Rng;

/// Values that hyperparameters are fitted to, at most: a fit takes hundreds of factorisations.
pub const FITTED_HISTORY: usize = 64;
/// Values that predictions rest on, at most.
pub const KNOWN_HISTORY: usize = 256;

/// Candidates whose joint distribution is looked at, and paths through it.
const JOINT_CANDIDATES: usize = 64;
const JOINT_PATHS: usize = 64;

/// GP-EI, the usual rival: a Gaussian process fitted to what is known, and the candidate of the greatest expected improvement.
#[must_use]
pub fn gp_ei() -> SurrogateSampler {
    SurrogateSampler::new(Box::new(GpSurrogate::default()), Rule::Greatest)
}

/// The same for tables: a length scale for each column, also of a category, and priors that suit many columns.
#[must_use]
pub fn table_gp_ei() -> SurrogateSampler {
    SurrogateSampler::new(Box::new(GpSurrogate::for_tables()), Rule::Greatest)
}

/// A Gaussian process with MAP hyperparameters, fitted anew to every history.
#[derive(Default)]
pub struct GpSurrogate {
    /// Whether it assumes what suits tables; else it is the paper's rival.
    for_tables: bool,
    /// The latest fit, for when the same history comes again; it changes no answer.
    latest: Option<Fitted>,
    /// Hyperparameters that are held on to.
    held: Option<Hyperparameters>,
}

struct Fitted {
    inputs: Vec<f64>,
    values: Vec<f64>,
    scale: Standard,
    process: GaussianProcess,
}

impl GpSurrogate {
    /// A process that assumes what suits tables.
    #[must_use]
    pub fn for_tables() -> Self {
        Self { for_tables: true, ..Self::default() }
    }

    fn assumptions(&self, pool: &Pool) -> Assumptions {
        if self.for_tables { Assumptions::of_table(pool.widths()) } else { Assumptions::former(pool.dimension()) }
    }

    /// The process for `told`.
    fn fitted(&mut self, pool: &Pool, told: &[Told]) -> BoResult<&Fitted> {
        let told = kept(told, KNOWN_HISTORY);
        let inputs = pool.gather(told.iter().map(|told| told.candidate));
        let values: Vec<f64> = told.iter().map(|told| told.value).collect();
        let known = self.latest.take().filter(|latest| latest.inputs == inputs && latest.values == values);
        let fitted = match known {
            Some(latest) => latest,
            None => {
                let scale = Standard::of(values.iter().copied(), Variance::Sample);
                let standard: Vec<f64> = values.iter().map(|&value| scale.apply(value)).collect();
                let assumptions = self.assumptions(pool);
                let profile = assumptions.profile();
                let given = |hyperparameters: &Hyperparameters| {
                    GaussianProcess::with_profile(&inputs, &standard, hyperparameters.clone(), profile)
                };
                let process = match &self.held {
                    Some(held) => given(held)?,
                    None => {
                        let fitted = fit_some(&told, &inputs, &standard, assumptions)?;
                        if told.len() > FITTED_HISTORY { given(fitted.hyperparameters())? } else { fitted }
                    }
                };
                Fitted { inputs, values, scale, process }
            }
        };
        Ok(self.latest.insert(fitted))
    }
}

/// The process fitted to as many of the values as a fit may take.
fn fit_some(told: &[Told], inputs: &[f64], standard: &[f64], assumptions: Assumptions) -> BoResult<GaussianProcess> {
    let (kept, dimension) = (thinned(told, FITTED_HISTORY), assumptions.dimension());
    let point = |&place: &usize| &inputs[place * dimension..(place + 1) * dimension];
    let some_inputs: Vec<f64> = kept.iter().flat_map(point).copied().collect();
    let some_values: Vec<f64> = kept.iter().map(|&place| standard[place]).collect();
    fit(&some_inputs, &some_values, assumptions)
}

impl Surrogate for GpSurrogate {
    fn name(&self) -> &'static str {
        "gp-ei"
    }

    fn least_history(&self) -> usize {
        2
    }

    fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
        let Fitted { scale, process, .. } = self.fitted(pool, told)?;
        let predictions = process.predict(&pool.gather(candidates.iter().copied()))?;
        let unit = scale.unit();
        let belief = |Prediction { mean, variance }| {
            Belief::Normal(Prediction { mean: scale.undo(mean), variance: variance * unit * unit })
        };
        Ok(predictions.into_iter().map(belief).collect())
    }

    fn hold(&mut self, pool: &Pool, told: Option<&[Told]>) -> BoResult<()> {
        self.held = match told {
            Some(told) => Some(self.fitted(pool, told)?.process.hyperparameters().clone()),
            None => None,
        };
        self.latest = None;
        Ok(())
    }

    fn joint(&self) -> Joint {
        Joint { candidates: JOINT_CANDIDATES, paths: JOINT_PATHS, history: KNOWN_HISTORY }
    }

    /// By their joint distribution.
    fn any_below(
        &mut self,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        bound: f64,
        rng: &mut dyn Rng,
    ) -> BoResult<f64> {
        let Fitted { scale, process, .. } = self.fitted(pool, told)?;
        let points = pool.gather(candidates.iter().copied());
        process.any_below(&points, scale.locate(bound), JOINT_PATHS, rng)
    }

    fn any_within(
        &mut self,
        pool: &Pool,
        told: &[Told],
        candidates: &[usize],
        range: Range,
        rng: &mut dyn Rng,
    ) -> BoResult<f64> {
        let Fitted { scale, process, .. } = self.fitted(pool, told)?;
        let points = pool.gather(candidates.iter().copied());
        let range = Range { low: scale.locate(range.low), high: scale.locate(range.high) };
        process.any_within(&points, range, JOINT_PATHS, rng)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::columns::Column;
    use crate::search::Search;
    use icee_base::random;
    use rand::RngExt;

    fn pool(size: usize) -> Pool {
        let mut rng = random::path(21, &[]);
        Pool::new((0..2 * size).map(|_| rng.random()).collect(), 2).unwrap()
    }

    fn told(pool: &Pool, count: usize, scale: f64, offset: f64) -> Vec<Told> {
        let value = |candidate: usize| offset + scale * (5.0 * pool.point(candidate)[0]).sin();
        (0..count).map(|candidate| Told { candidate, value: value(candidate) }).collect()
    }

    /// Solvents that differ, by a category and by a number: the process for tables finds out which matter.
    #[test]
    fn categories_are_learned_from() {
        let mut rng = random::path(8, &[]);
        let levels: Vec<usize> = (0..120).map(|row| row % 12).collect();
        let (useful, useless): (Vec<f64>, Vec<f64>) =
            (0..120).map(|_| (rng.random::<f64>(), rng.random::<f64>())).unzip();
        let effect = |level: usize| ((level * 7) % 12) as f64 / 3.0;
        let values: Vec<f64> = levels.iter().zip(&useful).map(|(&level, x)| effect(level) + 2.0 * x).collect();
        let columns = vec![
            Column::categories(1, (0..12).collect(), levels.into_iter().map(Some)),
            Column::numbers(2, &useful),
            Column::numbers(3, &useless),
        ];
        let pool = Pool::of_columns(columns).unwrap();
        let told: Vec<Told> = (0..60).map(|candidate| Told { candidate, value: values[candidate] }).collect();
        let asked: Vec<usize> = (60..120).collect();
        let error = |mut surrogate: GpSurrogate| {
            let beliefs = surrogate.predict(&pool, &told, &asked).unwrap();
            let squares = beliefs.iter().zip(&asked).map(|(b, &row)| (b.mean() - values[row]).powi(2));
            (squares.sum::<f64>() / asked.len() as f64).sqrt()
        };
        let found = error(GpSurrogate::for_tables());
        // The values' own standard deviation is 1.3.
        assert!(found < 0.3, "{found}");
    }

    #[test]
    fn a_smooth_function_is_learned_in_the_units_it_was_told_in() {
        let pool = pool(400);
        let mut surrogate = GpSurrogate::default();
        let told = told(&pool, 300, 20.0, 1000.0);
        for (belief, candidate) in
            surrogate.predict(&pool, &told, &[300, 350, 399]).unwrap().iter().zip([300, 350, 399])
        {
            let truth = 1000.0 + 20.0 * (5.0 * pool.point(candidate)[0]).sin();
            assert!((belief.mean() - truth).abs() < 1.0, "{} {truth}", belief.mean());
            assert!(belief.quantile(0.001) < truth && truth < belief.quantile(0.999));
        }
    }

    #[test]
    fn an_answer_does_not_depend_on_what_was_asked_before() {
        let pool = pool(60);
        let (few, many) = (told(&pool, 5, 1.0, 0.0), told(&pool, 20, 1.0, 0.0));
        let mut used = GpSurrogate::default();
        used.predict(&pool, &many, &[30]).unwrap();
        let again = used.predict(&pool, &few, &[30, 31]).unwrap();
        assert_eq!(again, GpSurrogate::default().predict(&pool, &few, &[30, 31]).unwrap());
        assert_eq!(again, used.predict(&pool, &few, &[30, 31]).unwrap());
    }

    #[test]
    fn what_is_held_is_not_fitted_anew_until_it_is_let_go() {
        let pool = pool(60);
        let (few, many) = (told(&pool, 9, 1.0, 0.0), told(&pool, 30, 1.0, 0.0));
        let fresh = |told: &[Told]| GpSurrogate::default().predict(&pool, told, &[40, 41]).unwrap();
        let mut surrogate = GpSurrogate::default();
        surrogate.hold(&pool, Some(&few)).unwrap();
        assert_eq!(surrogate.predict(&pool, &few, &[40, 41]).unwrap(), fresh(&few));
        assert_ne!(surrogate.predict(&pool, &many, &[40, 41]).unwrap(), fresh(&many));
        let hyperparameters = |surrogate: &mut GpSurrogate, told: &[Told]| {
            let fitted = surrogate.fitted(&pool, told).unwrap();
            fitted.process.hyperparameters().clone()
        };
        assert_eq!(hyperparameters(&mut surrogate, &many), hyperparameters(&mut GpSurrogate::default(), &few));
        surrogate.hold(&pool, None).unwrap();
        assert_eq!(surrogate.predict(&pool, &many, &[40, 41]).unwrap(), fresh(&many));
    }

    #[test]
    fn candidates_stand_and_fall_together() {
        // Thirty copies of one point are one chance, not thirty.
        let mut points = vec![0.1, 0.5, 0.9];
        points.extend([0.7; 30]);
        let pool = Pool::new(points, 1).unwrap();
        let told: Vec<Told> =
            [0.0, 1.0, 0.4].into_iter().enumerate().map(|(candidate, value)| Told { candidate, value }).collect();
        let copies: Vec<usize> = (3..33).collect();
        let mut surrogate = GpSurrogate::default();
        let beliefs = surrogate.predict(&pool, &told, &copies).unwrap();
        let single = beliefs[0].below(0.0);
        let any = surrogate.any_below(&pool, &told, &copies, 0.0, &mut random::path(1, &[])).unwrap();
        let independent = 1.0 - (1.0 - single).powi(30);
        assert!(
            single > 0.01 && (any - single).abs() < 0.05 && any < 0.6 * independent,
            "{single} {any} {independent}"
        );
    }

    #[test]
    fn joint_and_step_by_step_agree() {
        let pool = pool(40);
        let told = told(&pool, 12, 1.0, 0.0);
        let best = told.iter().fold(f64::INFINITY, |best, told| told.value.min(best));
        let candidates: Vec<usize> = (12..20).collect();
        // The same process without its own joint distribution.
        struct Stepwise(GpSurrogate);
        impl Surrogate for Stepwise {
            fn name(&self) -> &'static str {
                "stepwise"
            }
            fn least_history(&self) -> usize {
                2
            }
            fn predict(&mut self, pool: &Pool, told: &[Told], candidates: &[usize]) -> BoResult<Vec<Belief>> {
                self.0.predict(pool, told, candidates)
            }
        }
        let range = Range { low: best + 0.2, high: best + 0.5 };
        let within = |surrogate: &mut dyn Surrogate, seed: u64| {
            surrogate.any_within(&pool, &told, &candidates, range, &mut random::path(seed, &[])).unwrap()
        };
        let (joint, steps) = (within(&mut GpSurrogate::default(), 4), within(&mut Stepwise(GpSurrogate::default()), 5));
        assert!((joint - steps).abs() < 0.12 && (0.05..0.95).contains(&joint), "within a range: {joint} {steps}");
        let joint =
            GpSurrogate::default().any_below(&pool, &told, &candidates, best, &mut random::path(2, &[])).unwrap();
        let steps = Stepwise(GpSurrogate::default())
            .any_below(&pool, &told, &candidates, best, &mut random::path(3, &[]))
            .unwrap();
        assert!((joint - steps).abs() < 0.12, "{joint} {steps}");
    }

    #[test]
    fn a_smooth_bowl_is_solved_quickly() {
        let mut rng = random::path(11, &[]);
        let pool = Pool::new((0..600).map(|_| rng.random()).collect(), 2).unwrap();
        let value = |c: usize| (pool.point(c)[0] - 0.3).powi(2) + 2.0 * (pool.point(c)[1] - 0.6).powi(2);
        let lowest = (0..pool.size()).map(value).fold(f64::INFINITY, f64::min);
        let mut sampler = gp_ei();
        let mut search = Search::new(&pool, &mut sampler, 2);
        for _ in 0..20 {
            let candidate = search.ask().unwrap();
            search.tell(candidate, value(candidate)).unwrap();
        }
        assert_eq!(search.best().unwrap().value, lowest);
    }

    #[test]
    fn scale_and_offset_of_the_values_do_not_matter() {
        let mut rng = random::path(12, &[]);
        let pool = Pool::new((0..120).map(|_| rng.random()).collect(), 2).unwrap();
        let path = |scale: f64, offset: f64| {
            let mut sampler = gp_ei();
            let mut search = Search::new(&pool, &mut sampler, 2);
            for _ in 0..12 {
                let candidate = search.ask().unwrap();
                search.tell(candidate, offset + scale * (9.0 * pool.point(candidate)[0]).sin()).unwrap();
            }
            search.told().iter().map(|told| told.candidate).collect::<Vec<_>>()
        };
        assert_eq!(path(1.0, 0.0), path(4096.0, 0.0));
        assert_eq!(path(1.0, 0.0), path(0.5, 8.0));
    }
}
