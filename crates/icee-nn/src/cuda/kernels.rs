//! What each kernel takes: a struct a kernel, with the parameters of the `.cu` file under their names and in their order,
//! and the threads that its blocks must have.

use super::address::Address;
use super::device::{Cuda, problem};
use super::records::{
    CellSpan, Clip, Draw, Drawn, Field, KeyTile, PoolRow, PoolSpan, PoolTarget, RowTile, SumJob, Update, Wanted,
};
use crate::Result;
use cudarc::driver::CudaFunction;
use half::bf16;
use std::ffi::c_void;
use std::marker::PhantomData;

/// The arguments of one kernel.
///
/// # Safety
/// `pointers` has the address of each of the kernel's parameters, in their order and of their types.
pub(super) unsafe trait Arguments {
    /// Threads of a block, across and down.
    const THREADS: (u32, u32);
    type Pointers: AsMut<[*mut c_void]>;

    fn pointers(&mut self) -> Self::Pointers;
}

/// A kernel that takes the arguments `A`.
pub(super) struct Kernel<A> {
    pub function: CudaFunction,
    takes: PhantomData<fn(A)>,
}

/// Mean and inverse standard deviation of a row: the kernels' `float2`.
pub(super) type Stats = [f32; 2];

macro_rules! kernels {
    ($($kernel:ident, $name:ident, $across:literal x $down:literal { $($parameter:ident: $type:ty),* $(,)? })*) => {
        $(
            pub(super) struct $name {
                $(pub $parameter: $type,)*
            }

            // SAFETY: the fields are the kernel's parameters; a test holds them against its source.
            unsafe impl Arguments for $name {
                const THREADS: (u32, u32) = ($across, $down);
                type Pointers = [*mut c_void; [$(stringify!($parameter)),*].len()];

                fn pointers(&mut self) -> Self::Pointers {
                    [$((&raw mut self.$parameter).cast()),*]
                }
            }
        )*

        /// All kernels of one model.
        pub(super) struct Kernels {
            $(pub $kernel: Kernel<$name>,)*
        }

        impl Kernels {
            /// The kernels of a compiled program.
            pub fn load(cuda: &Cuda, cubin: Vec<u8>) -> Result<Kernels> {
                let module = cuda.load(cubin)?;
                Ok(Kernels {
                    $($kernel: Kernel {
                        function: module
                            .load_function(stringify!($kernel))
                            .map_err(|e| problem(concat!("kernel ", stringify!($kernel)), format!("{e:?}")))?,
                        takes: PhantomData,
                    },)*
                })
            }
        }

        /// Each kernel with its parameters and their types.
        #[cfg(test)]
        const SIGNATURES: &[(&str, &[(&str, &str)])] = &[
            $((stringify!($kernel), &[$((stringify!($parameter), stringify!($type))),*])),*
        ];
    };
}

kernels! {
    norm_forward, NormForward, 256 x 1 {
        x: Address<f32>, delta: Address<bf16>, sum: Address<f32>, gain: Address<f32>, bias: Address<f32>,
        normed: Address<bf16>, stats: Address<Stats>, rows: i32,
    }
    norm_backward_first, NormBackwardFirst, 256 x 1 {
        dnormed: Address<f32>, x: Address<f32>, stats: Address<Stats>, gain: Address<f32>, stream: Address<f32>,
        stream16: Address<bf16>, partial: Address<f32>, rows: i32,
    }
    norm_backward_next, NormBackwardNext, 256 x 1 {
        dnormed: Address<bf16>, x: Address<f32>, stats: Address<Stats>, gain: Address<f32>, stream: Address<f32>,
        stream16: Address<bf16>, partial: Address<f32>, rows: i32,
    }
    column_sums, ColumnSums, 256 x 1 { x: Address<bf16>, partial: Address<f32>, rows: i32, columns: i32 }
    gelu_backward_sums, GeluBackwardSums, 256 x 1 {
        x: Address<bf16>, before: Address<bf16>, partial: Address<f32>, rows: i32, columns: i32, add: i32,
    }
    finish_sums, FinishSums, 32 x 8 { jobs: Address<SumJob>, partial: Address<f32>, gradient: Address<f32> }
    embed_rows, EmbedRows, 256 x 1 {
        fields: Address<Field>, count: i32, batch: Address<i32>, weights: Address<f32>, out: Address<f32>, rows: i32,
        columns: i32, add: i32,
    }
    embed_gelu, EmbedGelu, 256 x 1 {
        fields: Address<Field>, count: i32, batch: Address<i32>, weights: Address<f32>, before: Address<bf16>,
        after: Address<bf16>, rows: i32, columns: i32, add: i32,
    }
    write_features, WriteFeatures, 256 x 1 {
        fields: Address<Field>, count: i32, batch: Address<i32>, features: Address<bf16>, rows: i32, columns: i32,
    }
    gather_rows, GatherRows, 256 x 1 { from: Address<bf16>, rows: Address<i32>, to: Address<bf16>, count: i32 }
    scatter_rows, ScatterRows, 256 x 1 { from: Address<bf16>, rows: Address<i32>, to: Address<f32>, count: i32 }
    class_loss, ClassLoss, 256 x 1 {
        logits: Address<f32>, dlogits: Address<bf16>, targets: Address<i32>, weights: Address<f32>,
        scale: Address<f32>, partial: Address<f64>, rows: i32, classes: i32, stride: i32,
    }
    finish_loss, FinishLoss, 32 x 1 {
        partial: Address<f64>, blocks: i32, scale: Address<f32>, loss: Address<f64>,
    }
    pool_pairs, PoolPairs, 256 x 1 {
        rows: Address<PoolRow>, row_part: Address<f32>, candidate_part: Address<f32>, before: Address<bf16>,
        after: Address<bf16>, columns: i32,
    }
    pool_scores, PoolScores, 256 x 1 {
        after: Address<bf16>, weight: Address<f32>, bias: Address<f32>, scores: Address<f32>, pairs: i32, columns: i32,
    }
    pool_loss, PoolLoss, 256 x 1 {
        rows: Address<PoolTarget>, all_scores: Address<f32>, targets: Address<i32>, probabilities: Address<f32>,
        weights: Address<f32>, scale: Address<f32>, losses: Address<f64>,
    }
    pool_last_backward, PoolLastBackward, 256 x 1 {
        before: Address<bf16>, after: Address<bf16>, dscores: Address<f32>, weight: Address<f32>,
        gradient: Address<bf16>, partial: Address<f32>, pairs: i32, columns: i32, add: i32,
    }
    pool_row_sums, PoolRowSums, 256 x 1 {
        rows: Address<PoolRow>, gradient: Address<bf16>, to: Address<bf16>, columns: i32,
    }
    pool_candidate_sums, PoolCandidateSums, 256 x 1 {
        spans: Address<PoolSpan>, gradient: Address<bf16>, to: Address<f32>, columns: i32,
    }
    square_sums, SquareSums, 256 x 1 { gradient: Address<f32>, partial: Address<f64>, count: i32 }
    clip_norm, ClipNorm, 32 x 1 {
        partial: Address<f64>, blocks: i32, update: Address<Update>, clip: Address<Clip>,
    }
    adamw, AdamwStep, 256 x 1 {
        weights: Address<f32>, weights16: Address<bf16>, gradient: Address<f32>, first: Address<f32>,
        second: Address<f32>, decays: Address<u8>, update: Address<Update>, clip: Address<Clip>, count: i32,
    }
    round_numbers, RoundNumbers, 256 x 1 { numbers: Address<f32>, rounded: Address<bf16>, count: u64 }
    attention_forward, AttentionForward, 128 x 1 {
        qkv: Address<bf16>, all_keys: Address<bf16>, line: i32, tiles: Address<RowTile>, out: Address<bf16>,
        log_sum: Address<f32>, total_rows: i32, factor: f32,
    }
    attention_backward_rows, AttentionBackwardRows, 128 x 1 {
        qkv: Address<bf16>, out: Address<bf16>, dout: Address<bf16>, tiles: Address<RowTile>, log_sum: Address<f32>,
        delta: Address<f32>, dqkv: Address<bf16>, total_rows: i32, factor: f32, scale: f32,
    }
    attention_backward_keys, AttentionBackwardKeys, 128 x 1 {
        qkv: Address<bf16>, dout: Address<bf16>, tiles: Address<KeyTile>, log_sum: Address<f32>, delta: Address<f32>,
        dqkv: Address<bf16>, total_rows: i32, factor: f32, scale: f32,
    }
    cells_forward, CellsForward, 128 x 1 {
        qkv: Address<bf16>, spans: Address<CellSpan>, out: Address<bf16>, log_sum: Address<f32>, total_rows: i32,
        factor: f32,
    }
    cells_backward_rows, CellsBackwardRows, 128 x 1 {
        qkv: Address<bf16>, out: Address<bf16>, dout: Address<bf16>, spans: Address<CellSpan>, log_sum: Address<f32>,
        delta: Address<f32>, dqkv: Address<bf16>, total_rows: i32, factor: f32, scale: f32,
    }
    cells_backward_keys, CellsBackwardKeys, 128 x 1 {
        qkv: Address<bf16>, dout: Address<bf16>, spans: Address<CellSpan>, log_sum: Address<f32>, delta: Address<f32>,
        dqkv: Address<bf16>, total_rows: i32, factor: f32, scale: f32,
    }
    store_keys, StoreKeys, 256 x 1 { qkv: Address<bf16>, lines: Address<i32>, cache: Address<bf16>, rows: i32 }
    sweep, Sweep, 256 x 1 {
        before: Address<f32>, table: Address<f32>, logits: Address<f32>, rows: i32, values: i32, columns: i32,
    }
    sweep_gelu, SweepGelu, 256 x 1 {
        before: Address<f32>, table: Address<f32>, after: Address<bf16>, rows: i32, values: i32, columns: i32,
    }
    draw_returns, DrawReturns, 256 x 1 {
        logits: Address<f32>, stride: i32, classes: i32, bins: i32, tilt: Address<f64>, guard: f64,
        draws: Address<Draw>, scratch: Address<f64>, chosen: Address<Drawn>, rows: i32,
    }
    posterior, Posterior, 256 x 1 {
        logits: Address<f32>, stride: i32, classes: i32, wanted: Address<Wanted>, temperature: f64, out: Address<f32>,
        rows: i32, values: i32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cuda::compile::SOURCES;
    use std::collections::BTreeMap;

    /// A parameter's name and its type as the signatures above have it.
    fn parameter(text: &str) -> (&str, String) {
        let (kind, name) = text.trim().rsplit_once(' ').unwrap();
        let kind = kind.replace("__restrict__", "").replace("const ", "");
        let kind = match kind.trim().strip_suffix('*') {
            Some("float") => "Address<f32>".into(),
            Some("double") => "Address<f64>".into(),
            Some("int") => "Address<i32>".into(),
            Some("unsigned char") => "Address<u8>".into(),
            Some("float2") => "Address<Stats>".into(),
            Some(name) => format!("Address<{name}>"),
            None => match kind.trim() {
                "int" => "i32".into(),
                "float" => "f32".into(),
                "double" => "f64".into(),
                "size_t" => "u64".into(),
                other => panic!("`{text}` is of the unknown type {other}"),
            },
        };
        (name, kind)
    }

    #[test]
    fn arguments_are_the_kernels_parameters() {
        let mut found = BTreeMap::new();
        for (_, source) in SOURCES {
            for kernel in source.split("extern \"C\" __global__ void ").skip(1) {
                // What the compiler is told about a block's threads stands before the name.
                let start =
                    kernel.strip_prefix("__launch_bounds__").map_or(kernel, |rest| rest.split_once(") ").unwrap().1);
                let (name, rest) = start.split_once('(').unwrap();
                let (parameters, _) = rest.split_once(')').unwrap();
                found.insert(name, parameters.split(',').map(parameter).collect::<Vec<_>>());
            }
        }
        assert_eq!(found.len(), SIGNATURES.len());
        for &(name, signature) in SIGNATURES {
            let wanted: Vec<(&str, String)> = signature.iter().map(|&(name, kind)| (name, kind.into())).collect();
            assert_eq!(found.get(name), Some(&wanted), "{name}");
        }
    }
}
