//! What the host and the kernels tell each other: the structs of the `.cu` files, field by field.

use half::bf16;

/// Warps of a block, in kernels that have one for each row.
pub(super) const WARPS: usize = 8;

/// What may be copied to the GPU and back as it lies in memory.
///
/// cudarc's `DeviceRepr` will not do: it lets a `bool` through, which the GPU could give back as 2.
///
/// # Safety
/// Any bits are a value of the type, none of its bytes is padding, and nothing in it points anywhere.
pub(super) unsafe trait Plain: Copy + 'static {}

macro_rules! plain {
    ($($number:ty),*) => {
        // SAFETY: numbers; any bits are one.
        $(unsafe impl Plain for $number {})*
    };
}

plain!(u8, u32, i32, f32, f64, bf16);

/// The words of some records, as a batch carries them.
pub(super) fn words<T: Plain>(records: &[T]) -> &[u32] {
    const { assert!(size_of::<T>().is_multiple_of(4) && align_of::<T>() >= 4, "records are whole words") };
    // SAFETY: the same bytes; `Plain` has no padding among them, and the assertion covers size and alignment.
    unsafe { std::slice::from_raw_parts(records.as_ptr().cast(), size_of_val(records) / 4) }
}

/// A size or an index as the kernels have it. It fits: each counts something that lies in the GPU's memory, and 2³¹ of
/// the smallest would not. (Pairs of pool heads lie there chunk by chunk; the learner checks how many there are.)
pub(super) fn int(value: usize) -> i32 {
    value as i32
}

/// Structs of the kernels, each with its size in bytes.
macro_rules! records {
    ($($(#[$doc:meta])* $name:ident, $size:literal { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$doc])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq)]
            pub(super) struct $name {
                $(pub $field: $type,)*
            }

            const _: () = {
                const fn plain<T: Plain>() -> usize {
                    size_of::<T>()
                }
                assert!(size_of::<$name>() == $size);
                assert!(0 $(+ plain::<$type>())* == $size, "no padding");
            };

            // SAFETY: all fields are plain and, as asserted above, they fill the struct.
            unsafe impl Plain for $name {}
        )*

        /// Each struct's name, and its fields with their types and offsets.
        #[cfg(test)]
        const RECORDS: &[(&str, &[(&str, &str, usize)])] = &[
            $((stringify!($name), &[
                $((stringify!($field), stringify!($type), std::mem::offset_of!($name, $field))),*
            ])),*
        ];
    };
}

records! {
    /// A field of some rows: −1 reals for a category, else how many (0: a bias alone); where its values lie, in words of
    /// the batch; where its lines lie among the weights, and which columns of the feature matrix are its own.
    Field, 20 { size: i32, has_bias: i32, values: i32, weight: i32, feature: i32 }

    /// Consecutive rows that see keys of one sequence: row r sees the first `seen + r * step` of `keys` keys.
    RowTile, 24 { row: i32, rows: i32, key: i32, keys: i32, seen: i32, step: i32 }

    /// Consecutive keys, the first with place `place` in its sequence, and the history rows and query rows that may see
    /// them.
    KeyTile, 32 {
        key: i32, keys: i32, place: i32, causal: i32, row: i32, rows: i32, query: i32, queries: i32,
    }

    /// Some rows of a table: the cell of row r in column c is row `first + c * stride + r` of the batch.
    CellSpan, 16 { first: i32, rows: i32, columns: i32, stride: i32 }

    /// A row of a chunk: its line among the target rows, its pool's candidates, and its first pair in the chunk.
    PoolRow, 16 { row: i32, candidate: i32, candidates: i32, pair: i32 }

    /// Consecutive rows of a chunk that share a pool.
    PoolSpan, 16 { candidate: i32, candidates: i32, pair: i32, rows: i32 }

    /// A target row: its first pair of all, how many candidates, and its targets.
    PoolTarget, 16 { pair: u32, candidates: i32, target: i32, targets: i32 }

    /// One column sum that `finish_sums` completes; in numbers, `from` counted from the plan's first sum.
    SumJob, 20 { from: i32, stride: i32, blocks: i32, columns: i32, to: i32 }

    /// The numbers of an AdamW step.
    Update, 32 {
        rate: f32, beta1: f32, beta2: f32, epsilon: f32, keep: f32, unbias1: f32, unbias2: f32, clip: f32,
    }

    /// The gradients' global norm, and what they are multiplied by: −1 where the norm is not finite.
    Clip, 16 { norm: f64, scale: f64 }

    /// One row's draw: the numbers between 0 and 1 that draw slice and bin, and the slice, −1 where it is drawn too.
    Draw, 24 { slice_uniform: f64, uniform: f64, slice: i32, unused: i32 }

    /// What was drawn.
    Drawn, 8 { slice: i32, bin: i32 }

    /// What is wanted of an outcome: classes `from` to `to` − 1.
    Wanted, 8 { from: i32, to: i32 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::compile::SOURCES;

    /// The fields of `int a, b; double c;` with their types.
    fn fields(body: &str) -> Vec<(&str, &str)> {
        let members = body.split(';').map(str::trim).filter(|member| !member.is_empty());
        let named = members.flat_map(|member| {
            let (kind, names) = member.split_once(' ').unwrap();
            names.split(',').map(move |name| (name.trim(), kind))
        });
        named.collect()
    }

    #[test]
    fn records_and_the_kernels_structs_are_the_same() {
        let mut structs = Vec::new();
        for line in SOURCES.iter().flat_map(|(_, text)| text.lines()) {
            if let Some((name, body)) = line.strip_prefix("struct ").and_then(|rest| rest.split_once('{')) {
                structs.push((name.trim(), fields(body.trim_end_matches("};"))));
            }
        }
        assert_eq!(structs.len(), RECORDS.len(), "{structs:?}");
        for (name, members) in structs {
            let (_, record) = RECORDS.iter().find(|(record, _)| *record == name).expect(name);
            // As the compiler of the kernels does: each member at the next multiple of its own size.
            let mut end = 0;
            let placed = members.iter().map(|&(member, kind)| {
                let (rust, size) = match kind {
                    "int" => ("i32", 4),
                    "u32" => ("u32", 4),
                    "float" => ("f32", 4),
                    "double" => ("f64", 8),
                    _ => panic!("{name}.{member} is of the unknown type {kind}"),
                };
                let at = usize::next_multiple_of(end, size);
                end = at + size;
                (member, rust, at)
            });
            assert_eq!(placed.collect::<Vec<_>>(), *record, "{name}");
        }
    }

    #[test]
    fn records_become_their_words() {
        let wanted = [Wanted { from: 1, to: -1 }, Wanted { from: 3, to: 4 }];
        assert_eq!(words(&wanted), [1, u32::MAX, 3, 4]);
        assert_eq!(words(&[1.0f64]), [0, 0x3ff0_0000]);
    }
}
