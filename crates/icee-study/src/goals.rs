//! The goals of the results, in the user's unit.

use icee_protocol as protocol;
use serde::{Deserialize, Serialize};

/// Which results are good.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Direction {
    /// Low ones.
    #[default]
    Minimize,
    /// High ones.
    Maximize,
    /// Results near this one.
    Target(f64),
}

impl Direction {
    /// 1 or −1: the factor for results as models see them.
    pub(crate) fn sign(self) -> f64 {
        match self {
            Direction::Minimize | Direction::Target(_) => 1.0,
            Direction::Maximize => -1.0,
        }
    }

    /// How bad a result is: the lower, the better.
    pub fn loss(self, value: f64) -> f64 {
        match self {
            Direction::Minimize | Direction::Maximize => self.sign() * value,
            Direction::Target(target) => (value - target).abs(),
        }
    }
}

/// The range of possible results.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bounds {
    /// The lower end, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// The upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
}

impl Bounds {
    /// Both ends, infinite where there is none.
    pub(crate) fn ends(self) -> [f64; 2] {
        [self.low.unwrap_or(f64::NEG_INFINITY), self.high.unwrap_or(f64::INFINITY)]
    }

    /// Whether a result is possible.
    pub fn hold(self, value: f64) -> bool {
        let [low, high] = self.ends();
        (low..=high).contains(&value)
    }
}

impl From<Bounds> for protocol::Range {
    fn from(Bounds { low, high }: Bounds) -> protocol::Range {
        protocol::Range { low, high }
    }
}

/// An additional objective or constraint.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Further {
    /// Its name; that of the column, if the sheet has one.
    pub name: String,
    /// Its goal.
    pub wanted: Wanted,
}

/// The goal of an additional result.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Wanted {
    /// As good as possible, beside the others.
    Best(Direction),
    /// At least this; more is not better.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

impl Wanted {
    /// Whether it is an objective, rather than a constraint.
    pub fn is_objective(self) -> bool {
        matches!(self, Wanted::Best(_))
    }

    /// Whether a result keeps it; every result keeps an objective.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Wanted::Best(_) => true,
            Wanted::AtLeast(least) => value >= least,
            Wanted::AtMost(most) => value <= most,
        }
    }

    pub(crate) fn number(self) -> Option<f64> {
        match self {
            Wanted::Best(Direction::Target(number)) | Wanted::AtLeast(number) | Wanted::AtMost(number) => Some(number),
            Wanted::Best(_) => None,
        }
    }
}

impl From<Wanted> for protocol::Wanted {
    fn from(wanted: Wanted) -> protocol::Wanted {
        match wanted {
            Wanted::Best(Direction::Minimize) => protocol::Wanted::Minimize,
            Wanted::Best(Direction::Maximize) => protocol::Wanted::Maximize,
            Wanted::Best(Direction::Target(number)) => protocol::Wanted::Target { number },
            Wanted::AtLeast(number) => protocol::Wanted::AtLeast { number },
            Wanted::AtMost(number) => protocol::Wanted::AtMost { number },
        }
    }
}

/// The goal of each outcome of a study, the main one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Goals {
    /// The direction of the main one, and its bounds.
    pub direction: Direction,
    /// See `direction`.
    pub bounds: Bounds,
    /// The others.
    pub further: Vec<Further>,
}

impl Goals {
    /// The goal of each outcome, in order.
    pub fn wanted(&self) -> impl Iterator<Item = Wanted> {
        std::iter::once(Wanted::Best(self.direction)).chain(self.further.iter().map(|further| further.wanted))
    }

    /// The same as replies have it, with the names of the columns.
    pub fn named(&self, value: Option<&str>) -> Vec<protocol::Goal> {
        let names = std::iter::once(value.map(str::to_owned));
        let names = names.chain(self.further.iter().map(|further| Some(further.name.clone())));
        names.zip(self.wanted()).map(|(name, wanted)| protocol::Goal::new(name, wanted.into())).collect()
    }

    /// The number of objectives.
    pub fn objectives(&self) -> usize {
        self.wanted().filter(|wanted| wanted.is_objective()).count()
    }

    /// The losses of a row with these outcomes, objective by objective; none if one is missing or a constraint does not
    /// hold.
    pub fn losses(&self, outcomes: &[Option<f64>]) -> Option<Vec<f64>> {
        let mut losses = Vec::new();
        for (wanted, value) in self.wanted().zip(outcomes) {
            let value = (*value)?;
            match wanted {
                Wanted::Best(direction) => losses.push(direction.loss(value)),
                limit if limit.holds(value) => {}
                _ => return None,
            }
        }
        Some(losses)
    }
}

/// Whether losses are at least as low everywhere, and lower in one objective.
pub fn dominates(one: &[f64], other: &[f64]) -> bool {
    one.iter().zip(other).all(|(one, other)| one <= other) && one != other
}

/// The Pareto-optimal rows, in their order.
pub fn undominated<T>(rows: impl Iterator<Item = (Vec<f64>, T)>) -> Vec<(Vec<f64>, T)> {
    let mut front: Vec<(Vec<f64>, T)> = Vec::new();
    for (losses, row) in rows {
        if !front.iter().any(|(other, _)| dominates(other, &losses)) {
            front.retain(|(other, _)| !dominates(&losses, other));
            front.push((losses, row));
        }
    }
    front
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goals_in_words_and_as_losses() {
        let purity = Further { name: "purity".into(), wanted: Wanted::AtLeast(95.0) };
        let price = Further { name: "price".into(), wanted: Wanted::Best(Direction::Minimize) };
        let goals =
            Goals { direction: Direction::Target(7.0), bounds: Bounds::default(), further: vec![purity, price] };
        let words: Vec<String> = goals.named(None).into_iter().map(|goal| goal.words).collect();
        assert_eq!(words, ["the nearer to 7 the better", "at least 95", "lower is better"]);
        assert_eq!(goals.objectives(), 2);
        assert_eq!(goals.losses(&[Some(5.0), Some(95.0), Some(3.0)]), Some(vec![2.0, 3.0]));
        assert_eq!(goals.losses(&[Some(5.0), Some(94.0), Some(3.0)]), None);
        assert_eq!(goals.losses(&[Some(5.0), Some(99.0), None]), None);
        assert!(dominates(&[1.0, 2.0], &[1.0, 3.0]));
        assert!(!dominates(&[1.0, 2.0], &[1.0, 2.0]) && !dominates(&[0.0, 2.0], &[1.0, 1.0]));
    }

    #[test]
    fn bounds_are_said_and_kept() {
        let percent = Bounds { low: Some(0.0), high: Some(100.0) };
        assert!(percent.hold(0.0) && percent.hold(100.0) && !percent.hold(100.1) && !percent.hold(f64::NAN));
        let shown = |bounds: Bounds| protocol::Range::from(bounds).to_string();
        assert_eq!(shown(percent), "0 to 100");
        assert_eq!(shown(Bounds { low: Some(0.0), high: None }), "0 or more");
        let line = serde_json::to_string(&(Direction::Maximize, Direction::Target(7.5), percent)).unwrap();
        assert_eq!(line, r#"["maximize",{"target":7.5},{"low":0.0,"high":100.0}]"#);
    }
}
