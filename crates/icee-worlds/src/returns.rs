//! What agents earned, and how sure one can be of the mean.

/// The return of every episode of every game.
#[derive(Clone, Debug, PartialEq)]
pub struct Returns {
    episodes: usize,
    /// `[games, episodes]`
    values: Vec<f32>,
}

/// The mean of a number of returns.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// The mean's standard error; none for fewer than two.
    pub standard_error: Option<f64>,
}

impl Summary {
    /// Of any values.
    pub fn of(values: impl Iterator<Item = f32> + Clone) -> Self {
        let count = values.clone().count();
        let n = count as f64;
        let mean = values.clone().map(f64::from).sum::<f64>() / n;
        let squares: f64 = values.map(|value| (f64::from(value) - mean).powi(2)).sum();
        let standard_error = (count > 1).then(|| (squares / (n - 1.0) / n).sqrt());
        Self { count, mean, standard_error }
    }

    /// Half the width of the mean's 95 % interval (normal approximation).
    #[must_use]
    pub fn half_width_95(&self) -> Option<f64> {
        self.standard_error.map(|error| 1.96 * error)
    }
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

    /// Over the games, at one episode (counted from 0).
    #[must_use]
    pub fn summary(&self, episode: usize) -> Summary {
        Summary::of(self.values.iter().skip(episode).step_by(self.episodes).copied())
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
        assert_eq!(returns.summary(0), Summary { count: 2, mean: 0.0, standard_error: Some(0.0) });
        // 1 and 3: variance 2, standard error √(2 / 2).
        assert_eq!(returns.summary(1), Summary { count: 2, mean: 2.0, standard_error: Some(1.0) });
        assert_eq!(returns.summary(1).half_width_95(), Some(1.96));
        assert_eq!(Summary::of([5.0].into_iter()).standard_error, None);
    }
}
