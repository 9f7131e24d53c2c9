//! Returns-to-go: the remaining return of an episode, with a small price on steps without reward.
//!
//! The price 1/T makes an early find better than a late one. It is paid only where nothing is the least that a step can earn:
//! where a step may cost something, a step that costs nothing must not count as worse ([`WorldSpec::idle_price`]). Rewards
//! that are reals hardly ever are exactly 0, and are left as they are.

use crate::WorldSpec;

/// The return-to-go of T steps without reward, where they have a price.
pub const LEAST_RETURN_TO_GO: f32 = -1.0;

impl WorldSpec {
    /// What a step without reward costs in returns-to-go: 1/T, or 0 where rewards can be negative.
    #[must_use]
    pub fn idle_price(&self) -> f32 {
        idle_price(self.reward_range, self.episode_limit)
    }
}

/// What a step without reward costs where these are the rewards, and T the most steps of an episode.
#[must_use]
pub fn idle_price(reward_range: (f32, f32), episode_limit: usize) -> f32 {
    if reward_range.0 >= 0.0 { 1.0 / episode_limit as f32 } else { 0.0 }
}

/// r': the step's reward, or its cost without one.
#[must_use]
pub fn shaped_reward(reward: f32, idle_price: f32) -> f32 {
    if reward == 0.0 { -idle_price } else { reward }
}

/// c_t = Σ_{t' ≥ t} r'_{t'} for every step of one episode.
#[must_use]
pub fn returns_to_go(rewards: &[f32], idle_price: f32) -> Vec<f32> {
    let mut sum = 0.0f64;
    let mut out: Vec<f32> = rewards
        .iter()
        .rev()
        .map(|&reward| {
            sum += f64::from(shaped_reward(reward, idle_price));
            sum as f32
        })
        .collect();
    out.reverse();
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn returns_to_go_by_hand() {
        // T = 4: rewards 0, 1, 0 are shaped to −¼, 1, −¼.
        assert_eq!(returns_to_go(&[0.0, 1.0, 0.0], 0.25), [0.5, 0.75, -0.25]);
        assert_eq!(returns_to_go(&[0.0; 8], 1.0 / 8.0)[0], LEAST_RETURN_TO_GO);
    }

    /// Where steps can cost something, one that costs nothing is the better one.
    #[test]
    fn nothing_has_no_price_where_rewards_can_be_negative() {
        let spec = |low| WorldSpec { reward_range: (low, 1.0), ..crate::grid::presets()[0].check().expect("a preset") };
        assert_eq!((spec(0.0).idle_price(), spec(-0.01).idle_price()), (1.0 / 20.0, 0.0));
        let price = spec(-0.01).idle_price();
        assert!(returns_to_go(&[0.0], price) > returns_to_go(&[-0.01], price));
    }
}
