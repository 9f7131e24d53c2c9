//! What an agent sees: one of a number of things, or a vector of reals. One observation borrows from its world; many
//! lie in one flat buffer.

/// The observations that a world can give.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservationSpace {
    /// One of `size` things, numbered from 0.
    Discrete {
        /// How many there are.
        size: usize,
    },
    /// A cell of a grid, seen as its number, row by row from 0.
    Grid {
        /// Columns.
        width: usize,
        /// Rows.
        height: usize,
    },
    /// A vector of reals within bounds (which may be infinite).
    Vector {
        /// The least value of each coordinate.
        low: Vec<f32>,
        /// The greatest value of each coordinate.
        high: Vec<f32>,
    },
}

impl ObservationSpace {
    /// Whether the observation is one of this space.
    #[must_use]
    pub fn contains(&self, observation: Observation<'_>) -> bool {
        match (self, observation) {
            (Self::Discrete { size }, Observation::Discrete(index)) => (index as usize) < *size,
            (Self::Grid { width, height }, Observation::Discrete(index)) => (index as usize) < width * height,
            (Self::Vector { low, high }, Observation::Vector(values)) => {
                values.len() == low.len()
                    && values.iter().zip(low.iter().zip(high)).all(|(v, (low, high))| low <= v && v <= high)
            }
            _ => false,
        }
    }
}

/// One observation, borrowed from the world that gave it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Observation<'a> {
    /// One of a number of things.
    Discrete(u32),
    /// A vector of reals.
    Vector(&'a [f32]),
}

/// Many observations of one space, end to end.
#[derive(Clone, Debug, PartialEq)]
pub enum Observations {
    /// One index an observation.
    Discrete(Vec<u32>),
    /// `width` values an observation.
    Vector {
        /// Values in one observation.
        width: usize,
        /// All values, observation after observation.
        values: Vec<f32>,
    },
}

impl Observations {
    /// An empty buffer for observations of `space`.
    #[must_use]
    pub fn new(space: &ObservationSpace) -> Self {
        match space {
            ObservationSpace::Discrete { .. } | ObservationSpace::Grid { .. } => Self::Discrete(Vec::new()),
            ObservationSpace::Vector { low, .. } => Self::Vector { width: low.len(), values: Vec::new() },
        }
    }

    /// Makes room for `count` more.
    pub fn reserve(&mut self, count: usize) {
        match self {
            Self::Discrete(indices) => indices.reserve(count),
            Self::Vector { width, values } => values.reserve(count.saturating_mul(*width)),
        }
    }

    /// Appends one; `false`, and nothing appended, where it is of another kind or width.
    #[must_use]
    #[inline]
    pub fn push(&mut self, observation: Observation<'_>) -> bool {
        match (self, observation) {
            (Self::Discrete(indices), Observation::Discrete(index)) => indices.push(index),
            (Self::Vector { width, values }, Observation::Vector(new)) if new.len() == *width => {
                values.extend_from_slice(new);
            }
            _ => return false,
        }
        true
    }

    /// Appends all of `other`; `false`, and nothing appended, where it is of another kind or width.
    #[must_use]
    pub fn append(&mut self, other: &Self) -> bool {
        match (self, other) {
            (Self::Discrete(indices), Self::Discrete(new)) => indices.extend_from_slice(new),
            (Self::Vector { width, values }, Self::Vector { width: other_width, values: new })
                if width == other_width =>
            {
                values.extend_from_slice(new);
            }
            _ => return false,
        }
        true
    }

    /// Empties the buffer and keeps its memory.
    pub fn clear(&mut self) {
        match self {
            Self::Discrete(indices) => indices.clear(),
            Self::Vector { values, .. } => values.clear(),
        }
    }

    /// The number of observations.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Discrete(indices) => indices.len(),
            Self::Vector { width: 0, .. } => 0,
            Self::Vector { width, values } => values.len() / width,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The observation at `index`, where there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Observation<'_>> {
        match self {
            Self::Discrete(indices) => indices.get(index).map(|&i| Observation::Discrete(i)),
            Self::Vector { width, values } => {
                let start = index.checked_mul(*width)?;
                values.get(start..start.checked_add(*width)?).map(Observation::Vector)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_space_knows_its_own() {
        let cells = ObservationSpace::Discrete { size: 81 };
        assert!(cells.contains(Observation::Discrete(80)));
        assert!(!cells.contains(Observation::Discrete(81)));
        assert!(!cells.contains(Observation::Vector(&[0.0])));

        let square = ObservationSpace::Vector { low: vec![-1.0, 0.0], high: vec![1.0, f32::INFINITY] };
        assert!(square.contains(Observation::Vector(&[0.5, 1e30])));
        assert!(!square.contains(Observation::Vector(&[0.5])));
        assert!(!square.contains(Observation::Vector(&[1.5, 0.0])));
        assert!(!square.contains(Observation::Vector(&[f32::NAN, 0.0])));
    }

    #[test]
    fn vectors_lie_end_to_end_and_come_back() {
        let space = ObservationSpace::Vector { low: vec![0.0; 2], high: vec![9.0; 2] };
        let mut buffer = Observations::new(&space);
        assert!(buffer.push(Observation::Vector(&[1.0, 2.0])));
        assert!(buffer.push(Observation::Vector(&[3.0, 4.0])));
        assert!(!buffer.push(Observation::Vector(&[3.0])), "another width is refused");
        assert!(!buffer.push(Observation::Discrete(3)), "another kind is refused");
        let copy = buffer.clone();
        assert!(buffer.append(&copy));
        assert_eq!(buffer.len(), 4);
        assert_eq!(buffer.get(3), Some(Observation::Vector(&[3.0, 4.0])));
        assert_eq!(buffer.get(4), None);
        assert!(!buffer.append(&Observations::Discrete(vec![1])));
        buffer.clear();
        assert!(buffer.is_empty());
    }
}
