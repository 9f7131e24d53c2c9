//! Candidates and what is known of them.

use crate::error::{BoError, BoResult};
use crate::kernel::count_points;

/// Candidate locations: [size, dimension], row-major, scaled to [0, 1].
#[derive(Debug, Clone, PartialEq)]
pub struct Pool {
    dimension: usize,
    points: Vec<f64>,
}

impl Pool {
    /// A pool of at least one candidate with finite coordinates.
    pub fn new(points: Vec<f64>, dimension: usize) -> BoResult<Self> {
        if count_points("the pool", &points, dimension)? == 0 {
            return Err(BoError::setting("the number of candidates", 0, "at least 1"));
        }
        Ok(Self { dimension, points })
    }

    /// The number of coordinates.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The number of candidates.
    pub fn size(&self) -> usize {
        self.points.len() / self.dimension
    }

    /// The coordinates of one candidate.
    pub fn point(&self, candidate: usize) -> &[f64] {
        &self.points[candidate * self.dimension..(candidate + 1) * self.dimension]
    }

    /// The coordinates of several candidates, one after another.
    pub fn gather(&self, candidates: impl IntoIterator<Item = usize>) -> Vec<f64> {
        let candidates = candidates.into_iter();
        let mut points = Vec::with_capacity(candidates.size_hint().0 * self.dimension);
        candidates.for_each(|candidate| points.extend_from_slice(self.point(candidate)));
        points
    }
}

/// One evaluated candidate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Told {
    /// Its position in the pool.
    pub candidate: usize,
    /// Its value; lower is better.
    pub value: f64,
}
