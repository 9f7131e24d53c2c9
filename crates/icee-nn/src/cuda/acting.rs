//! The quantities that agents need from return and outcome heads, computed on the GPU: only the chosen values come back.

use super::address::Address;
use super::heads::Logits;
use super::kernels::{DrawReturns, Posterior};
use super::layers::by_row;
use super::network::Network;
use super::packing::Packer;
use super::records::{Draw, Drawn, Wanted, int};
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
pub struct ClassRange {
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
        let space = rows * classes;
        let logits = self.run_head(head, &[], false, space * size_of::<f64>() + rows * size_of::<Drawn>())?;
        let draws: Vec<Draw> = draws
            .iter()
            .map(|draw| Draw {
                slice_uniform: draw.slice_uniform,
                uniform: draw.uniform,
                slice: draw.slice.map_or(-1, |slice| slice as i32),
                unused: 0,
            })
            .collect();
        let (tilt_at, draws_at) = self.pack(|packer| (packer.records(tilt.bins), packer.records(&draws)));
        let sent = self.send_words()?;
        let scratch: Address<f64> = logits.spare.cast();
        let chosen: Address<Drawn> = scratch.plus(space).cast();
        let arguments = DrawReturns {
            logits: logits.at,
            stride: int(logits.stride),
            classes: int(classes),
            bins: int(bins),
            tilt: sent.section(tilt_at),
            guard: tilt.guard,
            draws: sent.section(draws_at),
            scratch,
            chosen,
            rows: int(rows),
        };
        // SAFETY: logits, draws, space and choices have a line for each row; there is a tilt for each bin, and one or two
        // slices of bins are the classes, to which the draws' own slices belong; a warp a row.
        unsafe { self.cuda.launch(&self.kernels.draw_returns, by_row(rows), arguments) }?;
        let mut drawn = vec![Drawn::default(); rows];
        self.read_head(chosen, &mut drawn)?;
        Ok(drawn.into_iter().map(|d| (d.slice as u32, d.bin as u32)).collect())
    }

    /// p(value) ∝ p(wanted outcome | value)^(1 / temperature) over the values of a head's only condition, for each of
    /// the tokens appended last: [tokens, values].
    pub fn outcome_posterior(&mut self, head: usize, wanted: &[ClassRange], temperature: f64) -> Result<Vec<f32>> {
        let classes = self.spec.heads.get(head).map_or(0, |h| h.classes) as u32;
        if wanted.len() != self.real_rows || wanted.iter().any(|w| w.from >= w.to || w.to > classes) {
            let (rows, got) = (self.real_rows, wanted.len());
            return Err(Error::Batch(format!("{got} outcomes requested from {classes} classes for {rows} tokens")));
        }
        let logits = self.run_head(head, &[], true, 4 * self.real_rows * MAX_VALUES)?;
        let wanted: Vec<Wanted> = wanted.iter().map(|w| Wanted { from: w.from as i32, to: w.to as i32 }).collect();
        let section = self.pack(|packer| packer.records(&wanted));
        let wanted = self.send_words()?.section(section);
        self.posterior(logits, logits.values, wanted, temperature)
    }

    /// softmax(logits / temperature) of a head for the tokens appended last: [tokens, classes].
    pub fn class_posterior(&mut self, head: usize, conditions: &[FieldValues], temperature: f64) -> Result<Vec<f32>> {
        let logits = self.run_head(head, conditions, false, 4 * self.real_rows * MAX_VALUES)?;
        self.posterior(logits, logits.classes, Address::NONE, temperature)
    }

    /// Of the values by what is wanted of each or, where nothing is, by logits of their own.
    fn posterior(&self, logits: Logits, values: usize, wanted: Address<Wanted>, temperature: f64) -> Result<Vec<f32>> {
        if values > MAX_VALUES {
            return Err(Error::Cuda(format!("{values} values, supported are at most {MAX_VALUES}; use the CPU")));
        }
        let rows = self.real_rows;
        let to: Address<f32> = logits.spare.cast();
        let arguments = Posterior {
            logits: logits.at,
            stride: int(logits.stride),
            classes: int(logits.classes),
            wanted,
            temperature,
            out: to,
            rows: int(rows),
            values: int(values),
        };
        // SAFETY: there are logits for each row and value, or for each row those of the values; what is wanted are
        // classes of the head; behind the logits is room for the most values of all rows; a warp a row.
        unsafe { self.cuda.launch(&self.kernels.posterior, by_row(rows), arguments) }?;
        let mut out = vec![0.0; rows * values];
        self.read_head(to, &mut out)?;
        Ok(out)
    }

    /// Writes `words` anew.
    fn pack<T>(&mut self, write: impl FnOnce(&mut Packer<'_>) -> T) -> T {
        self.words.clear();
        write(&mut Packer::new(&mut self.words))
    }
}
