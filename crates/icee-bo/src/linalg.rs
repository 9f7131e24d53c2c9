//! Dense Cholesky factors and triangular products in double precision.
//!
//! A general linear algebra library would cost half of the whole build, and two operations are all that is needed: a
//! factor of a few hundred to a few thousand rows, and its product with many vectors at once. Both are one kernel,
//! `subtract_product`, on panels small enough for the cache.
//!
//! Every entry is a sum over k in ascending order, whatever the vector width and without fused multiply-add. So the
//! result has the same bits on every processor and for any number of threads.

use crate::error::{BoError, BoResult};
use icee_base::math::ln;

/// Columns of a panel: 64 columns of 1,024 rows fit the second-level cache.
const PANEL: usize = 64;
/// Rows and columns that one pass of the kernel keeps in registers.
const TILE_ROWS: usize = 4;
const TILE_COLUMNS: usize = 8;

/// The lower triangular factor L of a symmetric positive definite matrix A = L Lᵀ, row-major; zero above the diagonal.
#[derive(Debug, Clone)]
pub struct Cholesky {
    size: usize,
    factor: Vec<f64>,
}

impl Cholesky {
    /// Factorises the matrix of `size` rows whose lower triangle stands in `matrix`, row-major.
    pub fn new(mut matrix: Vec<f64>, size: usize) -> BoResult<Self> {
        if matrix.len() != size * size {
            return Err(BoError::Size { what: "the matrix", found: matrix.len(), expected: size * size });
        }
        factorise(&mut matrix, size)?;
        for row in 0..size {
            matrix[row * size + row + 1..(row + 1) * size].fill(0.0);
        }
        Ok(Self { size, factor: matrix })
    }

    /// Row `i` of the factor.
    pub fn row(&self, i: usize) -> &[f64] {
        &self.factor[i * self.size..(i + 1) * self.size]
    }

    /// log det A.
    pub fn log_determinant(&self) -> f64 {
        (0..self.size).map(|i| 2.0 * ln(self.row(i)[i])).sum()
    }

    /// Overwrites the `columns` vectors in `right` ([size, columns], row-major) with L⁻¹ times them.
    pub fn solve_lower(&self, right: &mut [f64], columns: usize) {
        self.forward_substitute(right, columns, |_| columns);
    }

    /// L⁻¹ times `right`; the first `used(end)` columns hold all that is not zero in the first `end` rows of the result.
    fn forward_substitute(&self, right: &mut [f64], columns: usize, used: impl Fn(usize) -> usize) {
        for start in (0..self.size).step_by(PANEL) {
            let end = self.size.min(start + PANEL);
            let used = used(end);
            for i in start..end {
                let (above, rest) = right.split_at_mut(i * columns);
                let row = self.row(i);
                for k in start..i {
                    subtract_scaled(&mut rest[..used], row[k], &above[k * columns..k * columns + used]);
                }
                rest[..used].iter_mut().for_each(|entry| *entry /= row[i]);
            }
            if end < self.size {
                let (solved, below) = right.split_at_mut(end * columns);
                let left: Vec<f64> = (end..self.size).flat_map(|i| self.row(i)[start..end].iter().copied()).collect();
                subtract_product(below, columns, &left, end - start, &solved[start * columns..], columns, |_| used);
            }
        }
    }

    /// Overwrites `right` with L⁻ᵀ times it.
    pub fn solve_upper(&self, right: &mut [f64]) {
        for i in (0..self.size).rev() {
            right[i] /= self.row(i)[i];
            let solved = right[i];
            subtract_scaled(&mut right[..i], solved, &self.row(i)[..i]);
        }
    }

    /// A⁻¹, whole, row-major.
    pub fn inverse(&self) -> Vec<f64> {
        let n = self.size;
        // W = L⁻¹, lower triangular too.
        let mut lower_inverse = vec![0.0; n * n];
        (0..n).for_each(|i| lower_inverse[i * n + i] = 1.0);
        self.forward_substitute(&mut lower_inverse, n, |end| end);
        // A⁻¹ = WᵀW = Σ_k W_kᵀ W_k; the lower triangle first, and W_k ends at its diagonal.
        let mut inverse = vec![0.0; n * n];
        for start in (0..n).step_by(PANEL) {
            let end = n.min(start + PANEL);
            let rows = &lower_inverse[start * n..end * n];
            let left: Vec<f64> = (0..end).flat_map(|i| (0..end - start).map(move |k| -rows[k * n + i])).collect();
            subtract_product(&mut inverse, n, &left, end - start, rows, n, |row| row + 1);
        }
        for i in 0..n {
            for j in 0..i {
                inverse[j * n + i] = inverse[i * n + j];
            }
        }
        inverse
    }

    /// L Z for `columns` vectors Z ([size, columns], row-major): a draw from N(0, A) for each vector of normals.
    pub fn multiply_lower(&self, vectors: &[f64], columns: usize) -> Vec<f64> {
        let n = self.size;
        let mut product = vec![0.0; n * columns];
        // Panels of k keep the slice of Z that is being read in the cache; L is zero above its diagonal.
        for start in (0..n).step_by(PANEL) {
            let width = PANEL.min(n - start);
            let panel: Vec<f64> =
                (start..n).flat_map(|i| self.row(i)[start..start + width].iter().map(|entry| -entry)).collect();
            let right = &vectors[start * columns..(start + width) * columns];
            subtract_product(&mut product[start * columns..], columns, &panel, width, right, columns, |_| columns);
        }
        product
    }
}

/// target −= factor · source, entry by entry.
fn subtract_scaled(target: &mut [f64], factor: f64, source: &[f64]) {
    for (entry, &value) in target.iter_mut().zip(source) {
        *entry -= factor * value;
    }
}

/// Right-looking blocked factorisation of the lower triangle, in place.
fn factorise(matrix: &mut [f64], n: usize) -> BoResult<()> {
    for start in (0..n).step_by(PANEL) {
        let width = PANEL.min(n - start);
        let end = start + width;
        factorise_diagonal_block(matrix, n, start, width)?;
        let below = n - end;
        if below == 0 {
            break;
        }
        // The panel below the diagonal block, L21 = A21 L11⁻ᵀ: solved as columns, so that all rows go side by side.
        let mut columns = vec![0.0; width * below];
        for (row, line) in matrix[end * n..].chunks_exact(n).enumerate() {
            for (j, &entry) in line[start..end].iter().enumerate() {
                columns[j * below + row] = entry;
            }
        }
        for j in 0..width {
            let (solved, rest) = columns.split_at_mut(j * below);
            let pivots = &matrix[(start + j) * n + start..=(start + j) * n + start + j];
            for (earlier, &pivot) in solved.chunks_exact(below).zip(pivots) {
                subtract_scaled(&mut rest[..below], pivot, earlier);
            }
            rest[..below].iter_mut().for_each(|entry| *entry /= pivots[j]);
        }
        let mut rows = vec![0.0; below * width];
        for (row, line) in matrix[end * n..].chunks_exact_mut(n).enumerate() {
            for j in 0..width {
                line[start + j] = columns[j * below + row];
            }
            rows[row * width..(row + 1) * width].copy_from_slice(&line[start..end]);
        }
        // A22 −= L21 L21ᵀ, on and below the diagonal.
        subtract_product(&mut matrix[end * n + end..], n, &rows, width, &columns, below, |last_row| last_row + 1);
    }
    Ok(())
}

/// The unblocked factor of the diagonal block that starts at `start`.
fn factorise_diagonal_block(matrix: &mut [f64], n: usize, start: usize, width: usize) -> BoResult<()> {
    for i in start..start + width {
        for j in start..=i {
            let mut sum = matrix[i * n + j];
            for k in start..j {
                sum -= matrix[i * n + k] * matrix[j * n + k];
            }
            if i > j {
                matrix[i * n + j] = sum / matrix[j * n + j];
            } else if sum > 0.0 && sum.is_finite() {
                matrix[i * n + i] = sum.sqrt();
            } else {
                return Err(BoError::NotPositiveDefinite { size: n });
            }
        }
    }
    Ok(())
}

/// target −= left · right, for a target whose rows lie `stride` apart.
///
/// `left` is [rows, depth], `right` is [depth, columns]; of each row r only the first `limit(r)` columns are needed,
/// and some beyond may be changed, as long as the row has them.
fn subtract_product(
    target: &mut [f64],
    stride: usize,
    left: &[f64],
    depth: usize,
    right: &[f64],
    columns: usize,
    limit: impl Fn(usize) -> usize,
) {
    #[cfg(target_arch = "x86_64")]
    if is_x86_feature_detected!("avx2") {
        // SAFETY: the processor has just been found to have AVX2, the only thing the function asks for.
        unsafe { subtract_product_avx2(target, stride, left, depth, right, columns, limit) };
        return;
    }
    subtract_product_portable(target, stride, left, depth, right, columns, limit);
}

/// The portable code again, compiled with wider registers: same operations, same order, same bits.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2")]
fn subtract_product_avx2(
    target: &mut [f64],
    stride: usize,
    left: &[f64],
    depth: usize,
    right: &[f64],
    columns: usize,
    limit: impl Fn(usize) -> usize,
) {
    subtract_product_portable(target, stride, left, depth, right, columns, limit);
}

#[inline(always)]
fn subtract_product_portable(
    target: &mut [f64],
    stride: usize,
    left: &[f64],
    depth: usize,
    right: &[f64],
    columns: usize,
    limit: impl Fn(usize) -> usize,
) {
    let rows = left.len() / depth;
    let right_tiles = pack_columns(right, columns);
    // Row by row, so that the target is walked through in the order of memory.
    for row in (0..rows).step_by(TILE_ROWS) {
        let height = TILE_ROWS.min(rows - row);
        let left_tile = pack_rows(&left[row * depth..(row + height) * depth], depth);
        let needed = limit(row + height - 1).min(columns);
        for (right_tile, column) in right_tiles.chunks_exact(depth).zip((0..needed).step_by(TILE_COLUMNS)) {
            let width = TILE_COLUMNS.min(columns - column);
            let mut tile = [[0.0; TILE_COLUMNS]; TILE_ROWS];
            for r in 0..height {
                tile[r][..width].copy_from_slice(&target[(row + r) * stride + column..][..width]);
            }
            let tile = subtract_tile(tile, &left_tile, right_tile);
            for r in 0..height {
                target[(row + r) * stride + column..][..width].copy_from_slice(&tile[r][..width]);
            }
        }
    }
}

/// At most `TILE_ROWS` rows of width `depth`, column by column, padded with zeros.
fn pack_rows(rows: &[f64], depth: usize) -> Vec<[f64; TILE_ROWS]> {
    let mut tile = vec![[0.0; TILE_ROWS]; depth];
    for (r, row) in rows.chunks_exact(depth).enumerate() {
        for (slot, &entry) in tile.iter_mut().zip(row) {
            slot[r] = entry;
        }
    }
    tile
}

/// The columns of `right` in groups of `TILE_COLUMNS`, each group row by row, the last one padded with zeros.
fn pack_columns(right: &[f64], columns: usize) -> Vec<[f64; TILE_COLUMNS]> {
    let depth = right.len() / columns;
    let mut tiles = vec![[0.0; TILE_COLUMNS]; columns.div_ceil(TILE_COLUMNS) * depth];
    for (k, row) in right.chunks_exact(columns).enumerate() {
        for (group, entries) in row.chunks(TILE_COLUMNS).enumerate() {
            tiles[group * depth + k][..entries.len()].copy_from_slice(entries);
        }
    }
    tiles
}

/// tile − Σ_k left[k] right[k]ᵀ, all in registers.
#[inline(always)]
fn subtract_tile(
    mut tile: [[f64; TILE_COLUMNS]; TILE_ROWS],
    left: &[[f64; TILE_ROWS]],
    right: &[[f64; TILE_COLUMNS]],
) -> [[f64; TILE_COLUMNS]; TILE_ROWS] {
    for (a, b) in left.iter().zip(right) {
        for r in 0..TILE_ROWS {
            for c in 0..TILE_COLUMNS {
                tile[r][c] -= a[r] * b[c];
            }
        }
    }
    tile
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::rngs::ChaCha8Rng;
    use rand::{RngExt, SeedableRng};

    /// B Bᵀ + I for a random B.
    fn positive_definite(n: usize) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(n as u64);
        let b: Vec<f64> = (0..n * n).map(|_| rng.random_range(-1.0..1.0)).collect();
        let entry = |i: usize, j: usize| (0..n).map(|k| b[i * n + k] * b[j * n + k]).sum::<f64>();
        (0..n * n).map(|e| entry(e / n, e % n) + f64::from(u8::from(e / n == e % n))).collect()
    }

    /// The textbook factor, entry by entry.
    fn plain_factor(matrix: &[f64], n: usize) -> Vec<f64> {
        let mut factor = vec![0.0; n * n];
        for i in 0..n {
            for j in 0..=i {
                let sum: f64 = (0..j).map(|k| factor[i * n + k] * factor[j * n + k]).sum();
                let rest = matrix[i * n + j] - sum;
                factor[i * n + j] = if i == j { rest.sqrt() } else { rest / factor[j * n + j] };
            }
        }
        factor
    }

    // Sizes around the tile and panel edges.
    const SIZES: [usize; 9] = [1, 2, 3, 7, 63, 64, 65, 130, 201];

    #[test]
    fn the_blocked_factor_is_the_plain_one() {
        for n in SIZES {
            let matrix = positive_definite(n);
            let plain = plain_factor(&matrix, n);
            let blocked = Cholesky::new(matrix, n).unwrap();
            for (a, b) in blocked.factor.iter().zip(&plain) {
                assert!((a - b).abs() < 1e-11 * n as f64, "{n}: {a} {b}");
            }
            let log_determinant: f64 = (0..n).map(|i| 2.0 * plain[i * n + i].ln()).sum();
            assert!((blocked.log_determinant() - log_determinant).abs() < 1e-10 * n as f64);
        }
    }

    #[test]
    fn the_wide_kernel_gives_the_bits_of_the_portable_one() {
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let (rows, depth, columns) = (37, 29, 43);
        let mut draw = |n: usize| -> Vec<f64> { (0..n).map(|_| rng.random_range(-1.0..1.0)).collect() };
        let (left, right, mut wide) = (draw(rows * depth), draw(depth * columns), draw(rows * columns));
        let mut portable = wide.clone();
        subtract_product(&mut wide, columns, &left, depth, &right, columns, |row| row + 1);
        subtract_product_portable(&mut portable, columns, &left, depth, &right, columns, |row| row + 1);
        assert_eq!(wide, portable);
    }

    #[test]
    fn solves_inverse_and_product_undo_each_other() {
        for n in SIZES {
            let matrix = positive_definite(n);
            let cholesky = Cholesky::new(matrix.clone(), n).unwrap();
            let inverse = cholesky.inverse();
            for i in 0..n {
                for j in 0..n {
                    let product: f64 = (0..n).map(|k| inverse[i * n + k] * matrix[k * n + j]).sum();
                    assert!((product - f64::from(u8::from(i == j))).abs() < 1e-8, "{n}");
                }
            }
            let columns = 11;
            let vectors: Vec<f64> = (0..n * columns).map(|e| (e as f64).sin()).collect();
            let mut back = cholesky.multiply_lower(&vectors, columns);
            cholesky.solve_lower(&mut back, columns);
            assert!(back.iter().zip(&vectors).all(|(a, b)| (a - b).abs() < 1e-9), "{n}");
            let mut solution = vectors[..n].to_vec();
            cholesky.solve_lower(&mut solution, 1);
            cholesky.solve_upper(&mut solution);
            for i in 0..n {
                let expected: f64 = (0..n).map(|k| inverse[i * n + k] * vectors[k]).sum();
                assert!((solution[i] - expected).abs() < 1e-9, "{n}");
            }
        }
    }

    #[test]
    fn an_indefinite_matrix_and_a_wrong_size_are_refused() {
        let indefinite = vec![1.0, 2.0, 2.0, 1.0];
        assert_eq!(Cholesky::new(indefinite, 2).unwrap_err(), BoError::NotPositiveDefinite { size: 2 });
        assert!(matches!(Cholesky::new(vec![1.0; 5], 2), Err(BoError::Size { found: 5, expected: 4, .. })));
        assert!(Cholesky::new(vec![f64::NAN], 1).is_err());
    }
}
