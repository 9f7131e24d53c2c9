//! Weight updates and gradient norms, cut into fixed stretches so that threads do not matter.

use super::kernels::adam::adam;
use super::threads::{Cpu, Shared, chunk};
use super::{Gradients, kernels};
use crate::Model;

pub(crate) use kernels::adam::AdamStep;

/// Numbers of one stretch.
const STRETCH: usize = 1 << 15;

/// One AdamW update; `decaying` is the step for tensors that decay.
pub(crate) fn adam_update(
    cpu: &Cpu,
    model: &mut Model,
    gradients: &Gradients,
    first: &mut [f32],
    second: &mut [f32],
    step: AdamStep,
    decaying: AdamStep,
) {
    let len = model.weights().len();
    assert!(gradients.values.len() == len && first.len() == len && second.len() == len);
    let (layout, weights) = model.parts_mut();
    let (weights, first, second) = (Shared::new(weights), Shared::new(first), Shared::new(second));
    cpu.each(len.div_ceil(STRETCH), |c, _| {
        let stretch = chunk(c, STRETCH, len);
        let from = layout.tensors.partition_point(|t| t.range.end <= stretch.start);
        for tensor in layout.tensors[from..].iter().take_while(|t| t.range.start < stretch.end) {
            let range = tensor.range.start.max(stretch.start)..tensor.range.end.min(stretch.end);
            let step = if tensor.decays { decaying } else { step };
            // SAFETY: stretches are disjoint; the kernel checks lengths.
            unsafe {
                let (w, m, v) = (weights.get(range.clone()), first.get(range.clone()), second.get(range.clone()));
                adam(cpu.isa(), step, w, &gradients.values[range], m, v);
            }
        }
    });
}

impl Gradients {
    /// The sum of squares, in f64. The square root over all models of an optimiser is their global norm.
    pub fn square_sum(&mut self, cpu: &Cpu) -> f64 {
        let len = self.values.len();
        self.parts.resize(len.div_ceil(STRETCH), 0.0);
        let shared = Shared::new(&mut self.parts);
        cpu.each(len.div_ceil(STRETCH), |c, _| {
            let mut sums = [0.0f64; 8];
            for eight in self.values[chunk(c, STRETCH, len)].chunks(8) {
                eight.iter().zip(&mut sums).for_each(|(&g, sum)| *sum += f64::from(g) * f64::from(g));
            }
            // SAFETY: each task has its own part.
            unsafe { shared.get(c..c + 1)[0] = sums.iter().sum() }
        });
        self.parts.iter().sum()
    }
}
