//! AdamW on the GPU, for any number of networks with one gradient norm, without waiting for the device.

use super::device::{Cuda, Memory, Staging, int};
use super::learner::{Learner, THREADS};
use crate::optim::{AdamConfig, unbias};
use crate::{Error, Result};

/// Numbers of a step that the device reads.
const UPDATE: usize = 8;

/// What a step needs besides weights and moments.
pub(super) struct Optimiser {
    cuda: Cuda,
    /// The numbers of an update.
    update: Memory,
    staging: [Staging; 2],
    /// (norm, scale), then each block's sum of squares, network after network.
    norm: Memory,
    /// Blocks that sum the squares of one network.
    blocks: usize,
}

impl Optimiser {
    pub fn new(cuda: &Cuda) -> Result<Optimiser> {
        let blocks = 4 * cuda.multiprocessors() as usize;
        Ok(Optimiser {
            cuda: cuda.clone(),
            update: cuda.allocate("the optimiser", 4 * UPDATE)?,
            staging: [Staging::new(cuda, UPDATE)?, Staging::new(cuda, UPDATE)?],
            norm: cuda.allocate("the optimiser", norm_bytes(blocks, 1))?,
            blocks,
        })
    }

    /// The last norm, once it is there.
    pub fn norm(&self) -> Result<f64> {
        let mut norm = [0.0f64];
        self.cuda.read(self.norm.ptr, &mut norm)?;
        Ok(norm[0])
    }

    fn make_room(&mut self, networks: usize) -> Result<()> {
        let bytes = norm_bytes(self.blocks, networks);
        if self.norm.bytes < bytes {
            self.norm = self.cuda.allocate("the optimiser", bytes)?;
        }
        Ok(())
    }
}

fn norm_bytes(blocks: usize, networks: usize) -> usize {
    8 * (2 + blocks * networks)
}

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
    let (blocks, norm) = (leader.optimiser.blocks, leader.optimiser.norm.ptr);
    let parts = norm + 16;
    let threads = (THREADS as u32, 1);
    for (n, learner) in learners.iter_mut().enumerate() {
        learner.steps += 1;
        let AdamConfig { beta1, beta2, epsilon, weight_decay } = learner.config;
        let (unbias1, unbias2) = (unbias(beta1, learner.steps), unbias(beta2, learner.steps));
        let keep = 1.0 - rate * weight_decay;
        let update = [rate, beta1, beta2, epsilon, keep, unbias1, unbias2, clip].map(f32::to_bits);
        let own = &mut learner.optimiser;
        own.staging[(learner.steps % 2) as usize].send(&update, own.update.ptr)?;
        let part = parts + (8 * n * blocks) as u64;
        let mut arguments = [learner.numbers.gradient.ptr, part, int(learner.places.len)];
        learner.cuda.launch(&learner.kernels.square_sums, (blocks as u32, 1), threads, &mut arguments)?;
    }
    let leader = &learners[0];
    let mut arguments = [parts, int(blocks * networks), leader.optimiser.update.ptr, norm];
    leader.cuda.launch(&leader.kernels.clip_norm, (1, 1), (32, 1), &mut arguments)?;
    for learner in learners.iter() {
        let (n, count) = (&learner.numbers, learner.places.len);
        let mut arguments = [
            n.weights.ptr,
            n.weights16.ptr,
            n.gradient.ptr,
            n.first.ptr,
            n.second.ptr,
            n.decays.ptr,
            learner.optimiser.update.ptr,
            norm,
            int(count),
        ];
        let grid = (count.div_ceil(THREADS) as u32, 1);
        learner.cuda.launch(&learner.kernels.adamw, grid, threads, &mut arguments)?;
    }
    Ok(())
}
