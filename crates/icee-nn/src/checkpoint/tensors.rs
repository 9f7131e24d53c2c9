//! Numbers as tensors of a safetensors file, and back: the three ways to store them, and what is refused.

use crate::{Error, Result, TensorInfo};
use half::f16;
use icee_base::files::write_atomically;
use icee_base::hash;
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// Consecutive numbers of a matrix that share a scale. Rows of 64, 128 and more are cut into whole groups; on the trained
/// models rounding loses less than with a scale for each row or column, and choosing scales by squared error gains nothing.
const GROUP: usize = 64;
/// What the number of largest magnitude in a group becomes; -128 is not used, so that both signs round alike.
const LARGEST: f32 = 127.0;
/// The smallest scale, 2^-17. From here on f16 is fine enough (1/256) for a group's largest number to become ±127 with the
/// rounded scale, which is why storing again what was loaded gives the same bytes.
const SMALLEST_SCALE: f32 = 1.0 / 131_072.0;

/// The largest weight that is stored or read. Up to here no product, square or sum in a network leaves the range of f32; trained
/// weights are below 100.
const MAX_WEIGHT: f32 = 1e6;
/// What rounding to 8 bits may add to it.
const ROUNDING: f32 = 1.01;
/// Weights below this become 0 when they are read. Beside weights of any use they change no output, but they, or the product of
/// two, are subnormal, with which processors are a hundred times slower.
const MIN_WEIGHT: f32 = 1e-18;

/// In how many bits a checkpoint folder stores a number. Loaded models are f32 in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// 32 bits: the same numbers back.
    Single,
    /// 16 bits (IEEE half precision).
    Half,
    /// 8 bits and scales for matrices, 16 bits for vectors.
    Byte,
}

impl Storage {
    /// How this tensor is stored: vectors are few, and every output depends on them, so they are never cut to 8 bits.
    pub(super) fn of(self, tensor: &TensorInfo) -> Storage {
        match self {
            Storage::Byte if !tensor.decays => Storage::Half,
            _ => self,
        }
    }

    /// Whether a weight of this size can be stored.
    pub(super) fn holds(self, value: f32) -> bool {
        // Not a number is not below anything.
        value.abs() <= MAX_WEIGHT && (self != Storage::Half || f16::from_f32(value).is_finite())
    }
}

/// A tensor as it lies in a file.
pub(super) struct Stored {
    name: String,
    dtype: Dtype,
    shape: Vec<usize>,
    bytes: Vec<u8>,
}

/// The tensor of the file that holds these numbers; for 8 bits a second one with their scales.
pub(super) fn store(name: String, shape: &[usize], values: &[f32], storage: Storage) -> Vec<Stored> {
    let halves = |values: &[f32]| values.iter().flat_map(|&v| f16::from_f32(v).to_le_bytes()).collect();
    let shape = shape.to_vec();
    match storage {
        Storage::Single => {
            let bytes = values.iter().flat_map(|v| v.to_le_bytes()).collect();
            vec![Stored { name, dtype: Dtype::F32, shape, bytes }]
        }
        Storage::Half => vec![Stored { name, dtype: Dtype::F16, shape, bytes: halves(values) }],
        Storage::Byte => {
            let scales: Vec<f32> = values.chunks(GROUP).map(scale_of).collect();
            let steps = values.chunks(GROUP).zip(&scales).flat_map(|(group, scale)| {
                group.iter().map(move |value| ((value / scale).round_ties_even() as i8).cast_unsigned())
            });
            let matrix = Stored { name: name.clone(), dtype: Dtype::I8, shape, bytes: steps.collect() };
            let (shape, bytes) = (vec![scales.len()], halves(&scales));
            vec![matrix, Stored { name: scale_name(&name), dtype: Dtype::F16, shape, bytes }]
        }
    }
}

/// The step between a group's 8-bit numbers, as f16 holds it.
fn scale_of(group: &[f32]) -> f32 {
    let largest = group.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    f16::from_f32((largest / LARGEST).max(SMALLEST_SCALE)).to_f32()
}

/// No tensor of a layout ends like this.
pub(super) fn scale_name(name: &str) -> String {
    format!("{name}.scale")
}

/// Writes a file of tensors, and an entry of its header: one, since several would be written in no fixed order.
pub(super) fn write(path: &Path, tensors: &[Stored], (key, text): (&str, String)) -> Result<()> {
    let failed =
        |e: safetensors::SafeTensorError| Error::Checkpoint { path: PathBuf::from(path), problem: e.to_string() };
    let views = tensors.iter().map(|t| Ok((&t.name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes)?)));
    let views: Vec<(&String, TensorView<'_>)> = views.collect::<std::result::Result<_, _>>().map_err(failed)?;
    let entry = HashMap::from([(key.to_owned(), text)]);
    let bytes = safetensors::serialize(views, Some(entry)).map_err(failed)?;
    Ok(write_atomically(path, &bytes)?)
}

/// The checksum of all tensors, by name, continuing from `before`.
pub(super) fn checksum<'a>(before: u64, tensors: impl Iterator<Item = (&'a str, &'a [u8])>) -> u64 {
    let mut tensors: Vec<_> = tensors.collect();
    // Files have an order of their own.
    tensors.sort_unstable();
    tensors.iter().fold(before, |sum, (name, bytes)| hash::checksum(hash::checksum(sum, name.as_bytes()), bytes))
}

/// [`checksum`] of tensors that are to be written.
pub(super) fn checksum_of_stored(before: u64, tensors: &[Stored]) -> u64 {
    checksum(before, tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.bytes.as_slice())))
}

/// [`checksum`] of the tensors of a file.
pub(super) fn checksum_of_file(before: u64, tensors: &SafeTensors<'_>) -> u64 {
    let all: Vec<_> = tensors.iter().map(|(name, view)| (name, view.data())).collect();
    checksum(before, all.into_iter())
}

/// Refuses weights that no training leaves behind.
pub(super) fn check_weights(name: &str, weights: &[f32]) -> std::result::Result<(), String> {
    match weights.iter().find(|weight| weight.is_nan() || weight.abs() > ROUNDING * MAX_WEIGHT) {
        Some(weight) => Err(format!("tensor `{name}` holds {weight:e}; no trained weight is beyond ±{MAX_WEIGHT:e}")),
        None => Ok(()),
    }
}

/// Makes 0 of weights that are too small to matter. The sign stays, so that a model stored anew has the same bytes.
pub(super) fn flush_tiny(weights: &mut [f32]) {
    let tiny = weights.iter_mut().filter(|weight| weight.abs() < MIN_WEIGHT);
    tiny.for_each(|weight| *weight = 0.0_f32.copysign(*weight));
}

/// Whether the file holds a tensor of that name and shape.
pub(super) fn check(tensors: &SafeTensors<'_>, name: &str, shape: &[usize]) -> std::result::Result<(), String> {
    let view = tensors.tensor(name).map_err(|_| format!("tensor `{name}` is missing"))?;
    if view.shape() != shape {
        return Err(format!("tensor `{name}` has shape {:?}, expected {shape:?}", view.shape()));
    }
    Ok(())
}

/// Reads a tensor, and says whether another one of the file, [`scale_name`], belongs to it.
pub(super) fn read(
    tensors: &SafeTensors<'_>,
    name: &str,
    shape: &[usize],
    out: &mut [f32],
) -> std::result::Result<bool, String> {
    check(tensors, name, shape)?;
    let view = tensors.tensor(name).map_err(|e| format!("tensor `{name}`: {e}"))?;
    let data = view.data();
    match view.dtype() {
        Dtype::F32 if data.len() == out.len() * 4 => {
            for (value, bytes) in out.iter_mut().zip(data.as_chunks::<4>().0) {
                *value = f32::from_le_bytes(*bytes);
            }
        }
        Dtype::F16 if data.len() == out.len() * 2 => {
            for (value, bytes) in out.iter_mut().zip(data.as_chunks::<2>().0) {
                *value = f16::from_le_bytes(*bytes).to_f32();
            }
        }
        Dtype::I8 if data.len() == out.len() => {
            let scales = read_scales(tensors, &scale_name(name), out.len().div_ceil(GROUP))?;
            for ((values, steps), scale) in out.chunks_mut(GROUP).zip(data.chunks(GROUP)).zip(scales) {
                for (value, step) in values.iter_mut().zip(steps) {
                    *value = f32::from(step.cast_signed()) * scale;
                }
            }
        }
        other => return Err(format!("tensor `{name}` is stored as {other:?}; expected F32, F16 or I8")),
    }
    match out.iter().find(|v| !v.is_finite()) {
        Some(value) => Err(format!("tensor `{name}` holds {value}")),
        None => Ok(view.dtype() == Dtype::I8),
    }
}

fn read_scales(tensors: &SafeTensors<'_>, name: &str, groups: usize) -> std::result::Result<Vec<f32>, String> {
    check(tensors, name, &[groups])?;
    let view = tensors.tensor(name).map_err(|e| format!("tensor `{name}`: {e}"))?;
    if view.dtype() != Dtype::F16 {
        return Err(format!("tensor `{name}` is stored as {:?}; expected F16", view.dtype()));
    }
    let scales: Vec<f32> = view.data().as_chunks::<2>().0.iter().map(|&b| f16::from_le_bytes(b).to_f32()).collect();
    match scales.iter().find(|scale| !(scale.is_finite() && **scale > 0.0)) {
        Some(scale) => Err(format!("tensor `{name}` holds {scale}; a scale is a positive number")),
        None => Ok(scales),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Stored in 8 bits and read back; the bytes of both tensors in front.
    fn stored(values: &[f32]) -> (Vec<Vec<u8>>, Vec<f32>) {
        let tensors = store("w".into(), &[values.len()], values, Storage::Byte);
        let views = tensors.iter().map(|t| (&t.name, TensorView::new(t.dtype, t.shape.clone(), &t.bytes).unwrap()));
        let file = safetensors::serialize(views, None).unwrap();
        let mut back = vec![f32::NAN; values.len()];
        assert!(read(&SafeTensors::deserialize(&file).unwrap(), "w", &[values.len()], &mut back).unwrap());
        (tensors.into_iter().map(|t| t.bytes).collect(), back)
    }

    #[test]
    fn groups_have_scales_of_their_own() {
        let mut values = vec![0.0; GROUP];
        values.extend([1.27, -0.64, 0.006, 0.004, -1.27]);
        let (bytes, back) = stored(&values);
        let steps: Vec<i8> = bytes[0][GROUP..].iter().map(|b| b.cast_signed()).collect();
        assert_eq!(steps, [127, -64, 1, 0, -127]);
        assert_eq!(bytes[1].len(), 4);
        assert!(back[..GROUP].iter().all(|&v| v == 0.0));
        assert!(
            back[GROUP..].iter().zip(&values[GROUP..]).all(|(got, value)| (got - value).abs() < 0.0051),
            "{back:?}"
        );
    }

    #[test]
    fn what_is_too_large_is_not_held_and_what_is_held_is_read() {
        for storage in [Storage::Single, Storage::Byte] {
            assert!(storage.holds(-MAX_WEIGHT) && !storage.holds(MAX_WEIGHT * 1.01));
            assert!(!storage.holds(f32::NAN) && !storage.holds(f32::NEG_INFINITY));
        }
        assert!(Storage::Half.holds(65_504.0) && !Storage::Half.holds(MAX_WEIGHT));
        check_weights("w", &stored(&[MAX_WEIGHT, 0.0]).1).unwrap();
    }

    #[test]
    fn weights_that_no_training_leaves_behind_are_refused_and_tiny_ones_become_zero() {
        for bad in [3e38, -3e38, 1.1e6, f32::NAN, f32::INFINITY] {
            let said = check_weights("trunk/w", &[0.5, bad]).unwrap_err();
            assert!(said.contains("trunk/w"), "{said}");
        }
        let mut weights = [1e-40, -1e-20, 1e-17, -0.25];
        flush_tiny(&mut weights);
        assert_eq!(weights.map(f32::to_bits), [0.0, -0.0, 1e-17, -0.25].map(f32::to_bits));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn eight_bits_are_half_a_step_away_at_most_and_stored_again_the_same_bytes(
            values in prop::collection::vec(-1.0f32..1.0, 1..200),
            // From below the smallest scale to the largest numbers that are held.
            exponent in -40i32..23,
        ) {
            let values: Vec<f32> = values.iter().map(|v| v * (exponent as f32).exp2()).collect();
            let (bytes, back) = stored(&values);
            for (group, got) in values.chunks(GROUP).zip(back.chunks(GROUP)) {
                let half_step = 0.5 * scale_of(group);
                for (value, got) in group.iter().zip(got) {
                    prop_assert!((value - got).abs() <= half_step * 1.000_01, "{value} became {got}");
                }
            }
            let (again, same) = stored(&back);
            prop_assert_eq!(again, bytes);
            prop_assert_eq!(same, back);
        }
    }
}
