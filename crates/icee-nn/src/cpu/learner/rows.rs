//! Attention among the cells of a row in training: spans of rows as tasks, for tables whose cells are tokens.

use crate::cpu::kernels::cells::{CellGradients, attend_cells, attend_cells_backward};
use crate::cpu::spans::Span;
use crate::cpu::threads::{Cpu, Shared};
use crate::cpu::view::View;

pub(super) fn attend(
    cpu: &Cpu,
    view: &View<'_>,
    spans: &[Span],
    (query, key_value): (&[f32], &[f32]),
    attended: &mut [f32],
) {
    let attended = Shared::new(attended);
    cpu.each(spans.len(), |at, _| {
        let span = &spans[at];
        let cells = span.cells(view, query, key_value);
        // SAFETY: spans share no cell, and all ranges were checked.
        unsafe { attend_cells(view.isa, &cells, attended.pointer(span.range(view.spec.width))) }
    });
}

pub(super) fn attend_backward(
    cpu: &Cpu,
    view: &View<'_>,
    spans: &[Span],
    (query, key_value): (&[f32], &[f32]),
    dattended: &[f32],
    (dquery, dkey_value): (&mut [f32], &mut [f32]),
) {
    let (dquery, dkey_value) = (Shared::new(dquery), Shared::new(dkey_value));
    cpu.each(spans.len(), |at, _| {
        let span = &spans[at];
        let cells = span.cells(view, query, key_value);
        let (one, two) = (span.range(view.spec.width), span.range(2 * view.spec.width));
        let gradients = CellGradients {
            dout: dattended[one.clone()].as_ptr(),
            dquery: dquery.pointer(one),
            dkey_value: dkey_value.pointer(two),
        };
        // SAFETY: spans share no cell, and all ranges were checked.
        unsafe { attend_cells_backward(view.isa, &cells, &gradients) }
    });
}
