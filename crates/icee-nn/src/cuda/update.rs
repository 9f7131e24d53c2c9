//! AdamW on the GPU, for any number of networks with one gradient norm, without waiting for the device.

use super::address::Address;
use super::kernels::{AdamwStep, ClipNorm, SquareSums};
use super::layers::elements;
use super::learner::Learner;
use super::records::{Clip, Update, int, words};
use crate::optim::{AdamConfig, unbias};
use crate::{Error, Result};

/// Queues one AdamW step of networks that are trained together: the gradient's norm is taken and clipped over all of
/// them. Clears the gradients. Where the norm is not finite, weights and moments stay as they are.
///
/// All learners must be of one [`Cuda`], whose stream puts their work in order.
pub fn step_together(learners: &mut [Learner], rate: f32, clip: f32) -> Result<()> {
    let networks = learners.len();
    let Some((leader, rest)) = learners.split_first_mut() else { return Ok(()) };
    if rest.iter().any(|learner| !learner.cuda.same(&leader.cuda)) {
        return Err(Error::Cuda("networks that are trained together must share one device".into()));
    }
    leader.cuda.bind()?;
    leader.optimiser.make_room(networks)?;
    let (blocks, clip_at) = (leader.optimiser.blocks, leader.optimiser.norm.start::<Clip>());
    let parts: Address<f64> = clip_at.plus(1).cast();
    for (n, learner) in learners.iter_mut().enumerate() {
        learner.steps += 1;
        let AdamConfig { beta1, beta2, epsilon, weight_decay } = learner.config;
        let (unbias1, unbias2) = (unbias(beta1, learner.steps), unbias(beta2, learner.steps));
        let keep = 1.0 - rate * weight_decay;
        let update = Update { rate, beta1, beta2, epsilon, keep, unbias1, unbias2, clip };
        let own = &mut learner.optimiser;
        own.staging[(learner.steps % 2) as usize].send(&[words(&[update])], &own.update)?;
        let (gradient, partial) = (learner.numbers.gradient.start(), parts.plus(n * blocks));
        let arguments = SquareSums { gradient, partial, count: int(learner.places.len) };
        // SAFETY: the gradient has that many numbers, and the leader has made room for each network's blocks.
        unsafe { learner.cuda.launch(&learner.kernels.square_sums, (blocks as u32, 1), arguments) }?;
    }
    let leader = &learners[0];
    let update = leader.optimiser.update.start();
    let arguments = ClipNorm { partial: parts, blocks: int(blocks * networks), update, clip: clip_at };
    // SAFETY: all parts were just queued on the same stream; the kernel is one warp.
    unsafe { leader.cuda.launch(&leader.kernels.clip_norm, (1, 1), arguments) }?;
    for learner in learners.iter() {
        let (n, count) = (&learner.numbers, learner.places.len);
        let arguments = AdamwStep {
            weights: n.weights.start(),
            weights16: n.weights16.start(),
            gradient: n.gradient.start(),
            first: n.first.start(),
            second: n.second.start(),
            decays: n.decays.start(),
            update: learner.optimiser.update.start(),
            clip: clip_at,
            count: int(count),
        };
        // SAFETY: all of them have that many numbers; a thread each.
        unsafe { learner.cuda.launch(&learner.kernels.adamw, elements(count), arguments) }?;
    }
    Ok(())
}

impl Learner {
    /// Queues one AdamW step with learning rate `rate` and gradients clipped to the global norm `clip`, and clears
    /// the gradients. Where the norm is not finite, weights and moments stay as they are.
    pub fn step(&mut self, rate: f32, clip: f32) -> Result<()> {
        step_together(std::slice::from_mut(self), rate, clip)
    }
}
