//! Returns of agents, and intervals of their means.

use icee_base::stats::Estimate;

/// The return of every episode of every game.
#[derive(Clone, Debug, PartialEq)]
pub struct Returns {
    episodes: usize,
    /// `[games, episodes]`
    values: Vec<f32>,
}

impl Returns {
    pub(crate) fn new(games: usize, episodes: usize) -> Self {
        Self { episodes, values: vec![0.0; games * episodes] }
    }

    pub(crate) fn add(&mut self, game: usize, episode: usize, reward: f32) {
        self.values[game * self.episodes + episode] += reward;
    }

    /// The number of games.
    #[must_use]
    pub fn games(&self) -> usize {
        self.values.len() / self.episodes
    }

    /// The number of episodes of each game.
    #[must_use]
    pub fn episodes(&self) -> usize {
        self.episodes
    }

    /// The returns of one game, episode by episode.
    #[must_use]
    pub fn game(&self, game: usize) -> &[f32] {
        &self.values[game * self.episodes..(game + 1) * self.episodes]
    }

    /// The mean over the games at one episode (counted from 0), with its interval.
    #[must_use]
    pub fn estimate(&self, episode: usize) -> Estimate {
        let values = self.values.iter().skip(episode).step_by(self.episodes);
        Estimate::of(&values.map(|&value| f64::from(value)).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn summaries_by_hand() {
        let mut returns = Returns::new(2, 2);
        returns.add(0, 1, 1.0);
        returns.add(1, 1, 1.0);
        returns.add(1, 1, 2.0);
        assert_eq!((returns.games(), returns.episodes(), returns.game(1)), (2, 2, &[0.0, 3.0][..]));
        assert_eq!((returns.estimate(0).mean, returns.estimate(0).half_width), (0.0, 0.0));
        // 1 and 3: variance 2, standard error √(2 / 2); t for one degree of freedom is 12.7.
        assert_eq!((returns.estimate(1).mean, returns.estimate(1).half_width), (2.0, 12.706_205));
    }
}
