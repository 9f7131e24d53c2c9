//! What every part of a training step reads and writes.

use super::address::Address;
use super::packing::Shape;
use super::pass::Pass;
use super::plan::Plan;
use std::ops::{Deref, DerefMut};

/// What every part of a step reads.
pub(super) struct Step<'a> {
    pub pass: Pass<'a>,
    pub plan: &'a Plan,
    pub shape: &'a Shape,
    pub gradient: Address<f32>,
}

impl<'a> Deref for Step<'a> {
    type Target = Pass<'a>;

    fn deref(&self) -> &Pass<'a> {
        &self.pass
    }
}

impl<'a> DerefMut for Step<'a> {
    fn deref_mut(&mut self) -> &mut Pass<'a> {
        &mut self.pass
    }
}

impl Step<'_> {
    /// The gradient at a place.
    pub fn gradient(&self, place: usize) -> Address<f32> {
        self.gradient.plus(place)
    }
}
