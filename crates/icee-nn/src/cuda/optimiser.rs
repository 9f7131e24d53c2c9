//! What AdamW needs on the GPU besides weights and moments.

use super::device::{Cuda, Memory, Staging};
use super::records::{Clip, Update};
use crate::Result;

/// What a step needs besides weights and moments.
pub(super) struct Optimiser {
    cuda: Cuda,
    /// An [`Update`].
    pub update: Memory,
    pub staging: [Staging; 2],
    /// A [`Clip`], then each block's sum of squares, network after network.
    pub norm: Memory,
    /// Blocks that sum the squares of one network.
    pub blocks: usize,
}

impl Optimiser {
    pub fn new(cuda: &Cuda) -> Result<Optimiser> {
        let blocks = 4 * cuda.multiprocessors() as usize;
        let words = size_of::<Update>() / 4;
        Ok(Optimiser {
            cuda: cuda.clone(),
            update: cuda.allocate("the optimiser", size_of::<Update>())?,
            staging: [Staging::new(cuda, words)?, Staging::new(cuda, words)?],
            norm: cuda.allocate("the optimiser", norm_bytes(blocks, 1))?,
            blocks,
        })
    }

    /// The last norm, once it is there.
    pub fn norm(&self) -> Result<f64> {
        let mut clip = [Clip::default()];
        self.cuda.read(&self.norm, self.norm.start(), &mut clip)?;
        Ok(clip[0].norm)
    }

    /// Makes room for the sums of so many networks.
    pub fn make_room(&mut self, networks: usize) -> Result<()> {
        let bytes = norm_bytes(self.blocks, networks);
        if self.norm.bytes < bytes {
            self.norm = self.cuda.allocate("the optimiser", bytes)?;
        }
        Ok(())
    }
}

fn norm_bytes(blocks: usize, networks: usize) -> usize {
    size_of::<Clip>() + size_of::<f64>() * blocks * networks
}
