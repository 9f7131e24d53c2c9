//! Exponential, GELU, LayerNorm: everything that touches each number once.

use crate::cpu::simd::{LANES, Simd, kernel};

/// 1.5 · 2²³: adding it leaves the rounded integer in the lowest mantissa bits.
const ROUND: f32 = 12_582_912.0;
/// log₂ e, and what f32 cuts off it.
pub(crate) const LOG2_E: f32 = std::f32::consts::LOG2_E;
const LOG2_E_REST: f32 = 1.925_963e-8;
/// Exponents below give zero to f32's accuracy, and would leave the normal range.
const LOWEST_EXPONENT: f32 = -126.0;
/// Exponents above would leave it at the other end.
const HIGHEST_EXPONENT: f32 = 126.0;
/// 2^r on [−½, ½]: minimax in relative error (9e-8, 1.7e-7 with f32's rounding), the constant term fixed at one, so
/// that 2⁰ = 1 exactly.
#[allow(clippy::approx_constant, reason = "near ln 2, as it must be, but the best value for five terms is another")]
const EXP2: [f32; 5] = [1.326_472_7e-3, 9.671_513e-3, 5.550_733_6e-2, 0.240_222_42, 0.693_147];

/// The largest finite half-precision number.
const LARGEST_HALF: f32 = 65_504.0;

/// √(2/π) and the cubic coefficient of GELU's tanh form.
const GELU_SCALE: f32 = 0.797_884_6;
const GELU_CUBIC: f32 = 0.044_715;
/// LayerNorm's guard against zero variance.
const EPSILON: f32 = 1e-5;

#[inline(always)]
unsafe fn exp2_parts<S: Simd>(fraction: S::F, shifted: S::F) -> S::F {
    unsafe {
        let mut p = S::splat(EXP2[0]);
        for c in &EXP2[1..] {
            p = S::fma(p, fraction, S::splat(*c));
        }
        S::scale_by_exponent(S::fma(p, fraction, S::splat(1.0)), shifted)
    }
}

/// 2ˣ for x ≤ 127, at least 2⁻¹²⁶.
#[inline(always)]
pub(crate) unsafe fn exp2<S: Simd>(x: S::F) -> S::F {
    unsafe {
        // In this order a NaN passes through.
        let x = S::max(S::splat(LOWEST_EXPONENT), x);
        let shifted = S::add(x, S::splat(ROUND));
        let fraction = S::sub(x, S::sub(shifted, S::splat(ROUND)));
        exp2_parts::<S>(fraction, shifted)
    }
}

/// eˣ for x ≤ 88, at least 2⁻¹²⁶.
#[inline(always)]
pub(crate) unsafe fn exp<S: Simd>(x: S::F) -> S::F {
    unsafe {
        let x = S::max(S::splat(LOWEST_EXPONENT / LOG2_E), x);
        let shifted = S::fma(x, S::splat(LOG2_E), S::splat(ROUND));
        let whole = S::sub(shifted, S::splat(ROUND));
        let fraction = S::fma(x, S::splat(LOG2_E), S::sub(S::splat(0.0), whole));
        exp2_parts::<S>(S::fma(x, S::splat(LOG2_E_REST), fraction), shifted)
    }
}

/// ½ (1 + tanh u) = 1 / (1 + 2^t) with u = √(2/π) (x + 0.044715 x³) and t = −2 u log₂ e.
#[inline(always)]
unsafe fn gelu_gate<S: Simd>(x: S::F) -> S::F {
    const LINEAR: f32 = -2.0 * GELU_SCALE * LOG2_E;
    unsafe {
        let slope = S::fma(S::mul(x, x), S::splat(LINEAR * GELU_CUBIC), S::splat(LINEAR));
        // Bounded above so that 2^t stays finite; there the gate is zero to f32's accuracy. A NaN passes through.
        let exponent = S::min(S::splat(HIGHEST_EXPONENT), S::mul(x, slope));
        S::div(S::splat(1.0), S::add(S::splat(1.0), exp2::<S>(exponent)))
    }
}

/// Calls `step(offset, lanes)` for each group of sixteen, the last with fewer lanes.
#[inline(always)]
fn each_vector(len: usize, mut step: impl FnMut(usize, usize)) {
    let mut at = 0;
    while at < len {
        step(at, LANES.min(len - at));
        at += LANES;
    }
}

#[inline(always)]
unsafe fn gelu_body<S: Simd>(x: &[f32], out: &mut [f32]) {
    assert_eq!(x.len(), out.len());
    unsafe {
        each_vector(x.len(), |at, n| {
            let v = S::load_first(n, x.as_ptr().add(at));
            S::store_first(n, out.as_mut_ptr().add(at), S::mul(v, gelu_gate::<S>(v)));
        });
    }
}

kernel! {
    /// out = GELU(x).
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn gelu(x: &[f32], out: &mut [f32]) = gelu_body
}

#[inline(always)]
unsafe fn gelu_backward_body<S: Simd>(x: &[f32], gradient: &mut [f32], activated: &mut [f32]) {
    assert!(x.len() == gradient.len() && x.len() == activated.len());
    unsafe {
        each_vector(x.len(), |at, n| {
            let v = S::load_first(n, x.as_ptr().add(at));
            let gate = gelu_gate::<S>(v);
            let square = S::mul(v, v);
            // 2u' = 2 √(2/π) (1 + 3 · 0.044715 x²);  GELU' = gate + x · gate (1 − gate) · 2u'
            let two_u = S::fma(square, S::splat(6.0 * GELU_SCALE * GELU_CUBIC), S::splat(2.0 * GELU_SCALE));
            let slope = S::mul(S::mul(gate, S::sub(S::splat(1.0), gate)), two_u);
            let derivative = S::fma(v, slope, gate);
            let g = S::load_first(n, gradient.as_ptr().add(at));
            S::store_first(n, gradient.as_mut_ptr().add(at), S::mul(g, derivative));
            S::store_first(n, activated.as_mut_ptr().add(at), S::mul(v, gate));
        });
    }
}

kernel! {
    /// gradient ×= GELU'(x), and activated = GELU(x) anew.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn gelu_backward(x: &[f32], gradient: &mut [f32], activated: &mut [f32]) = gelu_backward_body
}

/// Mean and 1/standard deviation of one row whose width is a multiple of sixteen.
#[inline(always)]
unsafe fn row_moments<S: Simd>(x: *const f32, width: usize) -> (f32, f32) {
    unsafe {
        let mut sum = S::splat(0.0);
        each_vector(width, |at, _| sum = S::add(sum, S::load(x.add(at))));
        let mean = S::sum(sum) / width as f32;
        let mut squares = S::splat(0.0);
        each_vector(width, |at, _| {
            let d = S::sub(S::load(x.add(at)), S::splat(mean));
            squares = S::fma(d, d, squares);
        });
        let variance = S::sum(squares) / width as f32;
        (mean, 1.0 / (variance + EPSILON).sqrt())
    }
}

#[inline(always)]
unsafe fn layer_norm_body<S: Simd>(x: &[f32], gain: &[f32], bias: &[f32], out: &mut [f32], stats: &mut [[f32; 2]]) {
    let width = gain.len();
    assert!(width.is_multiple_of(LANES) && bias.len() == width);
    assert!(x.len() == stats.len() * width && out.len() == x.len());
    unsafe {
        for (r, stat) in stats.iter_mut().enumerate() {
            let row = x.as_ptr().add(r * width);
            let (mean, scale) = row_moments::<S>(row, width);
            *stat = [mean, scale];
            normalise_row::<S>(row, [mean, scale], gain, bias, out.as_mut_ptr().add(r * width));
        }
    }
}

#[inline(always)]
unsafe fn normalise_row<S: Simd>(x: *const f32, [mean, scale]: [f32; 2], gain: &[f32], bias: &[f32], out: *mut f32) {
    unsafe {
        each_vector(gain.len(), |at, _| {
            let standard = S::mul(S::sub(S::load(x.add(at)), S::splat(mean)), S::splat(scale));
            let (g, b) = (S::load(gain.as_ptr().add(at)), S::load(bias.as_ptr().add(at)));
            S::store(out.add(at), S::fma(standard, g, b));
        });
    }
}

kernel! {
    /// out = (x − mean) / std · gain + bias for each row; `stats` receives (mean, 1/std).
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn layer_norm(
        x: &[f32], gain: &[f32], bias: &[f32], out: &mut [f32], stats: &mut [[f32; 2]],
    ) = layer_norm_body
}

/// `gradient` holds dL/d(output) on entry; dL/dx is added to `dx`. `normed` receives the output anew, for the weight
/// gradient of the layer behind; dL/d(gain) and dL/d(bias) are added.
#[inline(always)]
#[allow(clippy::too_many_arguments)]
unsafe fn layer_norm_backward_body<S: Simd>(
    x: &[f32],
    stats: &[[f32; 2]],
    gain: &[f32],
    bias: &[f32],
    gradient: &[f32],
    dx: &mut [f32],
    normed: &mut [f32],
    dgain: &mut [f32],
    dbias: &mut [f32],
) {
    let width = gain.len();
    let rows = stats.len();
    assert!(width.is_multiple_of(LANES) && bias.len() == width && dgain.len() == width && dbias.len() == width);
    assert!([x.len(), gradient.len(), dx.len(), normed.len()].iter().all(|&len| len == rows * width));
    unsafe {
        for (r, &[mean, scale]) in stats.iter().enumerate() {
            let (x, g) = (x.as_ptr().add(r * width), gradient.as_ptr().add(r * width));
            let dx = dx.as_mut_ptr().add(r * width);
            normalise_row::<S>(x, [mean, scale], gain, bias, normed.as_mut_ptr().add(r * width));
            // dx = scale · (ĝ − mean(ĝ) − x̂ · mean(ĝ x̂)), ĝ = g · gain, x̂ the standardised input
            let (mut sum, mut dot) = (S::splat(0.0), S::splat(0.0));
            each_vector(width, |at, _| {
                let standard = S::mul(S::sub(S::load(x.add(at)), S::splat(mean)), S::splat(scale));
                let raw = S::load(g.add(at));
                let scaled = S::mul(raw, S::load(gain.as_ptr().add(at)));
                sum = S::add(sum, scaled);
                dot = S::fma(scaled, standard, dot);
                let (dg, db) = (dgain.as_mut_ptr().add(at), dbias.as_mut_ptr().add(at));
                S::store(dg, S::fma(raw, standard, S::load(dg)));
                S::store(db, S::add(raw, S::load(db)));
            });
            let (sum, dot) = (S::splat(S::sum(sum) / width as f32), S::splat(S::sum(dot) / width as f32));
            each_vector(width, |at, _| {
                let standard = S::mul(S::sub(S::load(x.add(at)), S::splat(mean)), S::splat(scale));
                let scaled = S::mul(S::load(g.add(at)), S::load(gain.as_ptr().add(at)));
                let centred = S::sub(S::sub(scaled, sum), S::mul(standard, dot));
                S::store(dx.add(at), S::fma(centred, S::splat(scale), S::load(dx.add(at))));
            });
        }
    }
}

kernel! {
    /// The gradient of [`layer_norm`]; see the body.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn layer_norm_backward(
        x: &[f32], stats: &[[f32; 2]], gain: &[f32], bias: &[f32], gradient: &[f32],
        dx: &mut [f32], normed: &mut [f32], dgain: &mut [f32], dbias: &mut [f32],
    ) = layer_norm_backward_body
}

#[inline(always)]
unsafe fn add_body<S: Simd>(x: &[f32], sum: &mut [f32]) {
    assert_eq!(x.len(), sum.len());
    unsafe {
        each_vector(x.len(), |at, n| {
            let v = S::add(S::load_first(n, sum.as_ptr().add(at)), S::load_first(n, x.as_ptr().add(at)));
            S::store_first(n, sum.as_mut_ptr().add(at), v);
        });
    }
}

kernel! {
    /// sum += x.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn add(x: &[f32], sum: &mut [f32]) = add_body
}

#[inline(always)]
unsafe fn widen_body<S: Simd>(halves: &[u16], out: &mut [f32]) {
    assert!(halves.len() == out.len() && halves.len().is_multiple_of(LANES));
    unsafe {
        each_vector(out.len(), |at, _| S::store(out.as_mut_ptr().add(at), S::load_f16(halves.as_ptr().add(at))));
    }
}

kernel! {
    /// Widens half-precision numbers, a multiple of sixteen of them.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn widen(halves: &[u16], out: &mut [f32]) = widen_body
}

#[inline(always)]
unsafe fn narrow_body<S: Simd>(x: &[f32], halves: &mut [u16]) {
    assert!(halves.len() == x.len() && x.len().is_multiple_of(LANES));
    unsafe {
        each_vector(x.len(), |at, _| {
            // In this order a NaN passes through.
            let low = S::max(S::splat(-LARGEST_HALF), S::load(x.as_ptr().add(at)));
            S::store_f16(halves.as_mut_ptr().add(at), S::min(S::splat(LARGEST_HALF), low));
        });
    }
}

kernel! {
    /// Rounds to half precision, a multiple of sixteen numbers; what is too large becomes the largest, not infinity.
    ///
    /// # Safety
    /// None beyond the instruction set.
    pub(crate) unsafe fn narrow(x: &[f32], halves: &mut [u16]) = narrow_body
}

/// Rows that lie `stride` apart.
#[derive(Clone, Copy)]
pub(crate) struct Strided<P> {
    pub ptr: P,
    pub stride: usize,
}

#[inline(always)]
unsafe fn scale_rows_body<S: Simd>(
    rows: usize,
    width: usize,
    x: Strided<*const f32>,
    scale: f32,
    out: Strided<*mut f32>,
) {
    assert!(width.is_multiple_of(LANES));
    unsafe {
        for r in 0..rows {
            let (from, to) = (x.ptr.add(r * x.stride), out.ptr.add(r * out.stride));
            each_vector(width, |at, _| S::store(to.add(at), S::mul(S::load(from.add(at)), S::splat(scale))));
        }
    }
}

kernel! {
    /// out[r] = x[r] · scale, for rows of `width`, a multiple of sixteen.
    ///
    /// # Safety
    /// Both pointers must be valid for all rows, and must not overlap.
    pub(crate) unsafe fn scale_rows(
        rows: usize, width: usize, x: Strided<*const f32>, scale: f32, out: Strided<*mut f32>,
    ) = scale_rows_body
}

#[inline(always)]
unsafe fn row_products_body<S: Simd>(width: usize, x: Strided<*const f32>, y: &[f32], out: &mut [f32]) {
    assert!(width.is_multiple_of(LANES) && y.len() >= out.len() * width);
    unsafe {
        for (r, out) in out.iter_mut().enumerate() {
            let (a, b) = (x.ptr.add(r * x.stride), y.as_ptr().add(r * width));
            let mut sum = S::splat(0.0);
            each_vector(width, |at, _| sum = S::fma(S::load(a.add(at)), S::load(b.add(at)), sum));
            *out = S::sum(sum);
        }
    }
}

kernel! {
    /// out[r] = x[r] · y[r], for rows of `width`, a multiple of sixteen.
    ///
    /// # Safety
    /// `x` must be valid for all rows.
    pub(crate) unsafe fn row_products(width: usize, x: Strided<*const f32>, y: &[f32], out: &mut [f32])
        = row_products_body
}
