//! Regret: the oracle's return minus the agent's.

/// The regret after every pull, or every episode: the sum so far of what the best earns on average, less what was earned.
///
/// By pull in a bandit: `best` is the mean of the best arm, again and again. By episode in any world: `best` are the returns of
/// the oracle on the same games. Of a mean curve over games it is the mean regret.
///
/// ```
/// assert_eq!(icee_worlds::cumulative_regret(&[0.5; 3], &[0.0, 1.0, 0.25]), [0.5, 0.0, 0.25]);
/// ```
#[must_use]
pub fn cumulative_regret(best: &[f64], earned: &[f64]) -> Vec<f64> {
    let mut sum = 0.0;
    let differences = best.iter().zip(earned).map(|(best, earned)| best - earned);
    differences
        .map(|difference| {
            sum += difference;
            sum
        })
        .collect()
}
