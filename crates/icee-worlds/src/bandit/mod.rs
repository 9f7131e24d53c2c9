//! Bandits: arms whose payments are hidden, and nothing to be seen.
//!
//! # 500 pulls as episodes
//! A game has 500 pulls, cut into K = 25 episodes of T = 20. ICEE asks for returns, of the rest of an episode (c) and in
//! comparison with earlier episodes (c̃), and an action is as likely as the return that is asked for makes it. So the return
//! must say something about the arm:
//!
//! - With one pull an episode it says next to nothing. P(r = 1 | arm) is the arm's expected mean, whatever one knows of the arm:
//!   there is no reason to explore; and once an arm has paid, no later episode can beat it.
//! - With one episode of 500 pulls there is no earlier one to beat, and one action hardly matters.
//! - With T pulls of the *same* arm the return is T times its mean, but for noise. Then P(c | arm, history) is the posterior of
//!   the mean, an arm of which little is known has a fat upper tail, and asking for a high return explores as Thompson
//!   sampling does. The best two of five arms differ by 1/6 in the mean: in T pulls that is one standard deviation, √T/2, at T = 9. Twice
//!   that tells them apart.
//!
//! Hence the behaviour policy keeps to its arm ([`Committed`]): it chooses one at the start of an episode, and seldom
//! anew. The expert that relabels exploring policies chooses once, and keeps to that or to the action that was drawn for it.
//! A context of 500 tokens is half of the Dark Room's.
//!
//! c̃ = 1 becomes impossible once an episode has paid by luck what no mean can promise, so agents should draw c̃ with c
//! (`acting.episode_rule = "joint"`, the default).
//!
//! # Regret
//! [`cumulative_regret`](crate::cumulative_regret) of what the best arm would have paid and what was earned: by pull (rewards
//! as [`Games::play_watched`](crate::Games::play_watched) shows them), or by episode (returns).

mod arms;
mod gittins;
mod linear;
mod policies;
mod regression;
mod world;

pub use arms::Arms;
pub use linear::LinearBandit;
pub use policies::Committed;
pub use world::{BanditRules, BanditWorld, presets};
