//! What agents ask of a return head and of an outcome head, computed on the card: only what was chosen comes back.

use super::device::int;
use super::network::Network;
use super::plan::WARPS;
use crate::batch::FieldValues;
use crate::{Error, Result};

/// The most values that a posterior has.
const MAX_VALUES: usize = 256;

/// How a return is drawn: q(c) ∝ p(c) · exp(tilt(c)) over the bins in which the model believes.
#[derive(Clone, Copy, Debug)]
pub struct Tilt<'a> {
    /// The logarithm that is added to each bin's.
    pub bins: &'a [f64],
    /// The mass of the upper tail that is not believed.
    pub guard: f64,
}

/// One row's draw. A head of as many classes as bins has one slice; a head of twice as many has two.
#[derive(Clone, Copy, Debug)]
pub struct ReturnDraw {
    /// The slice to draw from; none draws it from the joint tilt, P(slice) ∝ Σ_c p(slice, c) exp(tilt(c)).
    pub slice: Option<u32>,
    /// A number between 0 and 1 that draws the slice.
    pub slice_uniform: f64,
    /// A number between 0 and 1 that draws the bin.
    pub uniform: f64,
}

/// The outcome that is wanted of a row: classes from the first up to the last, which is not among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The first class.
    pub from: u32,
    /// The class behind the last.
    pub to: u32,
}

impl Network {
    /// Draws (slice, bin) for each of the tokens appended last from a head without conditions.
    pub fn draw_returns(&mut self, head: usize, tilt: Tilt<'_>, draws: &[ReturnDraw]) -> Result<Vec<(u32, u32)>> {
        let bins = tilt.bins.len();
        let classes = self.spec.heads.get(head).map_or(0, |h| h.classes);
        if bins == 0 || (classes != bins && classes != 2 * bins) || draws.len() != self.real_rows {
            let (rows, got) = (self.real_rows, draws.len());
            let message = format!("{got} draws from {bins} bins for {rows} tokens and a head of {classes} classes");
            return Err(Error::Batch(message));
        }
        let slices = (classes / bins) as u32;
        if draws.iter().any(|d| d.slice.map_or(slices == 1, |slice| slice >= slices)) {
            return Err(Error::Batch(format!("a draw from a slice that a head of {slices} does not have")));
        }
        // Behind the logits: space for probabilities, and what is chosen.
        let rows = self.real_rows;
        let chosen_at = 8 * rows * classes;
        let logits = self.run_head(head, &[], false, chosen_at + 8 * rows)?;
        self.words.clear();
        let mut push = |x: u64| self.words.extend([x as u32, (x >> 32) as u32]);
        tilt.bins.iter().for_each(|t| push(t.to_bits()));
        for draw in draws {
            push(draw.slice_uniform.to_bits());
            push(draw.uniform.to_bits());
            push(u64::from(draw.slice.unwrap_or(u32::MAX)));
        }
        let sent = self.send_words()?;
        let spare = logits.spare;
        let mut arguments = [
            logits.at,
            int(logits.stride),
            int(classes),
            int(bins),
            sent,
            tilt.guard.to_bits(),
            sent + 8 * bins as u64,
            spare,
            spare + chosen_at as u64,
            int(rows),
        ];
        let grid = (rows.div_ceil(WARPS) as u32, 1);
        self.cuda.launch(&self.kernels.draw_returns, grid, (32 * WARPS as u32, 1), &mut arguments)?;
        let mut chosen = vec![[0u32; 2]; rows];
        self.cuda.read(spare + chosen_at as u64, &mut chosen)?;
        Ok(chosen.into_iter().map(|[slice, bin]| (slice, bin)).collect())
    }

    /// p(value) ∝ p(wanted outcome | value)^(1 / temperature) over the values of a head's only condition, for each of
    /// the tokens appended last: [tokens, values].
    pub fn outcome_posterior(&mut self, head: usize, wanted: &[Outcome], temperature: f64) -> Result<Vec<f32>> {
        let classes = self.spec.heads.get(head).map_or(0, |h| h.classes) as u32;
        if wanted.len() != self.real_rows || wanted.iter().any(|w| w.from >= w.to || w.to > classes) {
            let (rows, got) = (self.real_rows, wanted.len());
            return Err(Error::Batch(format!("{got} outcomes wanted of {classes} classes for {rows} tokens")));
        }
        let rows = self.real_rows;
        let logits = self.run_head(head, &[], true, 4 * rows * MAX_VALUES)?;
        self.words.clear();
        self.words.extend(wanted.iter().flat_map(|w| [w.from, w.to]));
        let sent = self.send_words()?;
        self.posterior(logits.at, logits.stride, logits.classes, logits.values, sent, temperature, logits.spare)
    }

    /// softmax(logits / temperature) of a head for the tokens appended last: [tokens, classes].
    pub fn class_posterior(&mut self, head: usize, conditions: &[FieldValues], temperature: f64) -> Result<Vec<f32>> {
        let rows = self.real_rows;
        let logits = self.run_head(head, conditions, false, 4 * rows * MAX_VALUES)?;
        self.posterior(logits.at, logits.stride, logits.classes, logits.classes, 0, temperature, logits.spare)
    }

    #[allow(clippy::too_many_arguments)]
    fn posterior(
        &self,
        logits: u64,
        stride: usize,
        classes: usize,
        values: usize,
        wanted: u64,
        temperature: f64,
        to: u64,
    ) -> Result<Vec<f32>> {
        if values > MAX_VALUES {
            return Err(Error::Cuda(format!("{values} values, supported are at most {MAX_VALUES}; use the CPU")));
        }
        let rows = self.real_rows;
        let (stride, classes) = (int(stride), int(classes));
        let mut arguments = [logits, stride, classes, wanted, temperature.to_bits(), to, int(rows), int(values)];
        let grid = (rows.div_ceil(WARPS) as u32, 1);
        self.cuda.launch(&self.kernels.posterior, grid, (32 * WARPS as u32, 1), &mut arguments)?;
        let mut out = vec![0.0; rows * values];
        self.cuda.read(to, &mut out)?;
        Ok(out)
    }
}
