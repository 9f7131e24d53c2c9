//! Replicates: how far measurements of one row differ, the estimated mean of each row, and whether to
//! measure one again. In the models' unit, lower is better.
//!
//! Rows are treated as draws of one normal distribution and measurements as their true results with noise; so the mean of a
//! few lucky measurements counts less than that of many. Without replicates there is no estimate.

use icee_bo::belief::Belief;
use icee_bo::normal::Prediction;
use icee_bo::pool::Told;

/// Points at which an integral is evaluated, and how many standard deviations it reaches.
const POINTS: usize = 200;
const REACH: f64 = 6.0;
/// The least variances that count, in units of the variance of all results: below it nothing differs.
const LEAST: f64 = 1e-9;
/// The least share of the apparent variance between rows that counts as more than noise.
const LEAST_SIGNAL: f64 = 0.05;

/// The posterior of the measured rows.
#[derive(Debug)]
pub struct Replicates {
    /// The variance of a measurement.
    noise: f64,
    /// Row and posterior of its mean.
    rows: Vec<(usize, Prediction)>,
    best: usize,
}

impl Replicates {
    /// From the results; none if no row has replicates.
    pub fn of(history: &[Told]) -> Option<Replicates> {
        let mut by_row = history.to_vec();
        by_row.sort_by_key(|told| told.candidate);
        let rows = || by_row.chunk_by(|one, other| one.candidate == other.candidate);
        let degrees = history.len() - rows().count();
        if degrees == 0 {
            return None;
        }
        let values: Vec<(usize, Vec<f64>)> =
            rows().map(|row| (row[0].candidate, row.iter().map(|told| told.value).collect())).collect();
        let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
        let squares = |values: &[f64]| values.iter().map(|value| (value - mean(values)).powi(2)).sum::<f64>();
        let noise = (values.iter().map(|(_, values)| squares(values)).sum::<f64>() / degrees as f64).max(LEAST);
        let means: Vec<f64> = values.iter().map(|(_, values)| mean(values)).collect();
        let spread = squares(&means) / (means.len() as f64 - 1.0).max(1.0);
        let by_noise = values.iter().map(|(_, values)| noise / values.len() as f64).sum::<f64>() / means.len() as f64;
        let signal = (spread - by_noise).max(LEAST_SIGNAL * spread).max(LEAST);
        let centre = mean(&means);
        let believed = |(row, values): &(usize, Vec<f64>)| {
            let (prior, data) = (signal.recip(), values.len() as f64 / noise);
            let variance = (prior + data).recip();
            (*row, Prediction { mean: variance * (prior * centre + data * mean(values)), variance })
        };
        let rows: Vec<(usize, Prediction)> = values.iter().map(believed).collect();
        let best = (1..rows.len()).fold(0, |best, at| if rows[at].1.mean < rows[best].1.mean { at } else { best });
        Some(Replicates { noise, rows, best })
    }

    /// The row with the best posterior mean, and its posterior.
    pub fn best(&self) -> (usize, Prediction) {
        self.rows[self.best]
    }

    /// The probability that it is the best of the measured rows.
    pub fn sure(&self) -> f64 {
        let (_, Prediction { mean, variance }) = self.best();
        let deviation = variance.sqrt();
        let others = || self.rows.iter().enumerate().filter(|(at, _)| *at != self.best);
        let (mut sum, mut total) = (0.0, 0.0);
        for point in 0..=POINTS {
            let z = REACH * (2.0 * point as f64 / POINTS as f64 - 1.0);
            let weight = icee_base::math::exp(-0.5 * z * z);
            let x = mean + z * deviation;
            let all_above: f64 = others().map(|(_, (_, other))| 1.0 - Belief::Normal(*other).below(x)).product();
            sum += weight * all_above;
            total += weight;
        }
        sum / total
    }

    /// The row whose replicate is worth most, and the expected improvement of the best posterior mean.
    pub fn worth_repeating(&self) -> (usize, f64) {
        let best = self.rows[self.best].1.mean;
        let others = self.rows.iter().enumerate().filter(|(at, _)| *at != self.best);
        let second = others.map(|(_, (_, other))| other.mean).fold(f64::INFINITY, f64::min);
        let gain = |at: usize| {
            let belief = self.after_a_measurement(self.rows[at].1);
            match at == self.best {
                false => belief.improvement(best),
                // The best may turn out to be worse than the second.
                true if second.is_finite() => belief.improvement(second) - (second - best),
                true => 0.0,
            }
        };
        let gains = (0..self.rows.len()).map(|at| (self.rows[at].0, gain(at)));
        gains.fold((self.rows[self.best].0, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }

    /// The expected improvement of the best posterior mean if a row with this posterior is measured.
    pub fn worth_of(&self, belief: &Belief) -> f64 {
        // Half the distance between these quantiles is a normal distribution's standard deviation.
        let deviation = 0.5 * (belief.quantile(0.8413) - belief.quantile(0.1587));
        let belief = Prediction { mean: belief.mean(), variance: (deviation * deviation).max(LEAST) };
        self.after_a_measurement(belief).improvement(self.rows[self.best].1.mean)
    }

    /// A row's posterior mean after one more measurement.
    fn after_a_measurement(&self, Prediction { mean, variance }: Prediction) -> Belief {
        Belief::Normal(Prediction { mean, variance: variance * variance / (variance + self.noise) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(rows: &[&[f64]]) -> Vec<Told> {
        let told = |(candidate, values): (usize, &&[f64])| {
            values.iter().map(move |&value| Told { candidate, value }).collect::<Vec<_>>()
        };
        rows.iter().enumerate().flat_map(told).collect()
    }

    #[test]
    fn without_a_repeated_row_nothing_is_said() {
        assert!(Replicates::of(&history(&[&[1.0], &[2.0]])).is_none());
        assert!(Replicates::of(&[]).is_none());
    }

    #[test]
    fn many_measurements_are_believed_more_than_a_lucky_one() {
        let noisy = history(&[&[-1.1], &[-1.0, -0.9, -1.1, -1.0], &[0.0, 0.9, -0.8], &[1.0, 1.8]]);
        let replicates = Replicates::of(&noisy).unwrap();
        assert_eq!(replicates.best().0, 1);
        let sure = replicates.sure();
        assert!((0.4..0.95).contains(&sure), "{sure}");
        // Worth repeating is the one that might be better still.
        assert_eq!(replicates.worth_repeating().0, 0);
        // Noise as by hand: squares .02 + 1.4467 + .32 over 3 + 2 + 1 degrees.
        assert!((replicates.noise - (0.02 + 1.446_667 + 0.32) / 6.0).abs() < 1e-4);
    }

    #[test]
    fn without_noise_the_best_is_sure_and_new_rows_are_worth_more() {
        let exact = history(&[&[-1.0, -1.0], &[0.0], &[1.0, 1.0]]);
        let replicates = Replicates::of(&exact).unwrap();
        assert_eq!(replicates.best().0, 0);
        assert!(replicates.sure() > 0.999);
        let promising = Belief::Normal(Prediction { mean: -0.9, variance: 0.04 });
        assert!(replicates.worth_of(&promising) > 10.0 * replicates.worth_repeating().1);
        // A worthless row is not measured because of it.
        let hopeless = Belief::Normal(Prediction { mean: 3.0, variance: 0.04 });
        assert!(replicates.worth_of(&hopeless) < 1e-9);
    }

    /// P(first of two equals) = ½, and of three ⅓.
    #[test]
    fn how_sure_one_can_be_of_equals() {
        for count in [2, 3] {
            let rows: Vec<&[f64]> = std::iter::repeat_n(&[-1.0, 1.0][..], count).collect();
            let sure = Replicates::of(&history(&rows)).unwrap().sure();
            assert!((sure - 1.0 / count as f64).abs() < 1e-6, "{sure}");
        }
    }
}
