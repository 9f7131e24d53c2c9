//! Gradients of linear layers with respect to their weights: dW += Xᵀ dY, db += Σ dY.
//!
//! The sum runs over all rows of a batch, so it cannot be cut by rows without changing the result's rounding; it is
//! cut by output columns and input rows instead, and each piece walks the batch in order.

use crate::cpu::kernels::elementwise::add;
use crate::cpu::kernels::matmul::{Left, Out, Right, product_panel};
use crate::cpu::memory::reserve;
use crate::cpu::packed::PANEL;
use crate::cpu::simd::{Isa, LANES};
use crate::cpu::threads::{Cpu, Shared};
use crate::layout::{Layout, LinearId};
use std::ops::Range;

/// Rows of the batch that are summed in registers before they are added to memory.
const DEPTH: usize = 128;
/// Input rows of one piece.
const INPUTS: usize = 256;

/// One linear layer's inputs and output gradients.
#[derive(Clone, Copy)]
pub(crate) struct LayerGradient<'a> {
    pub id: LinearId,
    /// [rows, inputs].
    pub x: &'a [f32],
    /// [rows, outputs].
    pub dy: &'a [f32],
    pub rows: usize,
}

/// Adds one block of dW = Xᵀ dY into `weight` [inputs, outputs], and the column sums into `bias` unless it is null.
///
/// # Safety
/// The pointers must be valid for the layer's sizes, and nothing else may touch this block's elements.
#[allow(clippy::too_many_arguments)]
unsafe fn piece(
    isa: Isa,
    g: &LayerGradient<'_>,
    (inputs, outputs): (usize, usize),
    input: Range<usize>,
    column: usize,
    weight: *mut f32,
    bias: *mut f32,
    panel: &mut Vec<f32>,
) {
    let columns = PANEL.min(outputs - column);
    let width = columns.next_multiple_of(LANES);
    reserve(panel, DEPTH * PANEL);
    for start in (0..g.rows).step_by(DEPTH) {
        let depth = DEPTH.min(g.rows - start);
        for (r, line) in panel.chunks_exact_mut(width).take(depth).enumerate() {
            line[..columns].copy_from_slice(&g.dy[(start + r) * outputs + column..][..columns]);
            line[columns..].fill(0.0);
        }
        let right = Right { ptr: panel.as_ptr(), step: width, vector: LANES };
        let add_to = |ptr: *mut f32| Out { ptr, row: outputs, start: std::ptr::null(), add: ptr };
        let left = Left { ptr: g.x[start * inputs + input.start..].as_ptr(), row: 1, step: inputs };
        // SAFETY: the caller's contract; X and dY were checked to have all rows.
        unsafe {
            let to = add_to(weight.add(input.start * outputs + column));
            product_panel(isa, input.len(), depth, columns, left, right, to);
            if !bias.is_null() {
                let ones = Left { ptr: &1.0, row: 0, step: 0 };
                product_panel(isa, 1, depth, columns, ones, right, add_to(bias.add(column)));
            }
        }
    }
}

/// Adds the weight and bias gradients of several layers, in parallel. `panels` has one buffer a worker.
pub(crate) fn add_layer_gradients(
    cpu: &Cpu,
    layout: &Layout,
    layers: &[LayerGradient<'_>],
    gradients: &mut [f32],
    panels: &mut [Vec<f32>],
) {
    let pieces = |g: &LayerGradient<'_>| {
        let linear = layout.linear(g.id);
        (linear.inputs.div_ceil(INPUTS), linear.outputs.div_ceil(PANEL))
    };
    for g in layers {
        let linear = layout.linear(g.id);
        assert!(g.x.len() >= g.rows * linear.inputs && g.dy.len() >= g.rows * linear.outputs);
    }
    let total = layers.iter().map(|g| pieces(g).0 * pieces(g).1).sum();
    let gradients = Shared::new(gradients);
    let panels = Shared::new(panels);
    cpu.each(total, |mut index, worker| {
        for g in layers {
            let (down, across) = pieces(g);
            if index >= down * across {
                index -= down * across;
                continue;
            }
            let linear = layout.linear(g.id);
            let sizes = (linear.inputs, linear.outputs);
            let input = (index / across) * INPUTS;
            let block = input..linear.inputs.min(input + INPUTS);
            let weight = gradients.pointer(linear.weight.clone());
            let bias = linear.bias.clone().filter(|_| input == 0);
            let bias = bias.map_or(std::ptr::null_mut(), |range| gradients.pointer(range));
            // SAFETY: tensors do not overlap, pieces of one tensor are disjoint, a worker runs one task at a time.
            unsafe {
                let panel = &mut panels.get(worker..worker + 1)[0];
                piece(cpu.isa(), g, sizes, block, (index % across) * PANEL, weight, bias, panel);
            }
            return;
        }
    });
}

/// Adds one layer's gradients on the calling thread, into a weight block and a bias of its own.
pub(crate) fn add_layer_gradient_here(
    isa: Isa,
    layout: &Layout,
    g: &LayerGradient<'_>,
    (weight, bias): (&mut [f32], &mut [f32]),
    panel: &mut Vec<f32>,
) {
    let linear = layout.linear(g.id);
    let sizes = (linear.inputs, linear.outputs);
    assert!(g.x.len() >= g.rows * sizes.0 && g.dy.len() >= g.rows * sizes.1);
    assert!(weight.len() == sizes.0 * sizes.1 && bias.len() == sizes.1);
    for column in (0..sizes.1).step_by(PANEL) {
        // SAFETY: both slices are whole tensors, owned by this call.
        unsafe { piece(isa, g, sizes, 0..sizes.0, column, weight.as_mut_ptr(), bias.as_mut_ptr(), panel) }
    }
}

/// Adds dY rows into the table entries they came from, in order.
pub(crate) fn add_table_gradient(isa: Isa, values: &[u32], dy: &[f32], outputs: usize, table: &mut [f32]) {
    for (&value, row) in values.iter().zip(dy.chunks_exact(outputs)) {
        // SAFETY: the kernel checks lengths; the instruction set was detected.
        unsafe { add(isa, row, &mut table[value as usize * outputs..][..outputs]) }
    }
}
