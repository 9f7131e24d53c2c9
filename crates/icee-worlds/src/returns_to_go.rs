//! Returns-to-go: what is still to be earned in an episode, with a small price on steps that earn nothing.
//!
//! The price −1/T makes an early find better than a late one. It lives here and nowhere else.

/// The return-to-go of T steps that earn nothing.
pub const LEAST_RETURN_TO_GO: f32 = -1.0;

/// r': what the step earned, or −1/T where it earned nothing.
#[must_use]
pub fn shaped_reward(reward: f32, episode_limit: usize) -> f32 {
    if reward == 0.0 { LEAST_RETURN_TO_GO / episode_limit as f32 } else { reward }
}

/// c_t = Σ_{t' ≥ t} r'_{t'} for every step of one episode.
#[must_use]
pub fn returns_to_go(rewards: &[f32], episode_limit: usize) -> Vec<f32> {
    let mut sum = 0.0f64;
    let mut out: Vec<f32> = rewards
        .iter()
        .rev()
        .map(|&reward| {
            sum += f64::from(shaped_reward(reward, episode_limit));
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
        assert_eq!(returns_to_go(&[0.0, 1.0, 0.0], 4), [0.5, 0.75, -0.25]);
        assert_eq!(returns_to_go(&[0.0; 8], 8)[0], LEAST_RETURN_TO_GO);
    }
}
