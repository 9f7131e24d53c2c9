//! Matrix products by cuBLASLt: bf16 in, f32 sums, bf16 or f32 out, with the epilogues that training needs.
//!
//! Matrices are row-major here and column-major there, so Y = X W is computed as Yᵀ = Wᵀ Xᵀ without a copy.

use super::address::Address;
use super::device::{Cuda, Memory, problem};
use crate::Result;
use cudarc::cublaslt::{result, sys};
use half::bf16;
use std::collections::HashMap;
use std::ffi::c_void;
use sys::cublasLtEpilogue_t as Lt;
use sys::cublasLtMatmulDescAttributes_t as Attribute;

/// Space for products that are cut along their sum; NVIDIA's advice for Hopper is 32 MiB.
const WORKSPACE: usize = 64 << 20;

/// What happens to a product of type `Y` before it is written.
#[derive(Clone, Copy, Debug)]
pub(super) enum Epilogue<Y> {
    None,
    /// + bias [outputs].
    Bias(Address<Y>),
    /// + bias, which is also written to `before`, then GELU.
    BiasGelu {
        bias: Address<Y>,
        before: Address<bf16>,
    },
    /// · GELU'(before).
    GeluBackward {
        before: Address<bf16>,
    },
}

/// A linear layer's sizes: X [rows, inputs], W [inputs, outputs], Y [rows, outputs].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Sizes {
    pub rows: usize,
    pub inputs: usize,
    pub outputs: usize,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Kind {
    /// Y = X W in bf16 or f32.
    Forward { single: bool },
    /// Y += X W in f32.
    Add,
    /// dX = dY Wᵀ in bf16.
    Input,
    /// dW += Xᵀ dY in f32; lines of X are `stride` apart.
    Weight { stride: usize },
}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    kind: Kind,
    sizes: Sizes,
    epilogue: u32,
}

struct Plan {
    operation: sys::cublasLtMatmulDesc_t,
    layouts: [sys::cublasLtMatrixLayout_t; 3],
    algorithm: sys::cublasLtMatmulAlgo_t,
}

/// cuBLASLt with the products planned so far.
pub(super) struct Products {
    cuda: Cuda,
    handle: sys::cublasLtHandle_t,
    workspace: Memory,
    plans: HashMap<Key, Plan>,
}

// SAFETY: the handles are used by one thread at a time, through `&mut self`.
unsafe impl Send for Products {}

impl Products {
    pub fn new(cuda: &Cuda) -> Result<Products> {
        cuda.bind()?;
        let workspace = cuda.allocate("matrix products", WORKSPACE)?;
        let handle = result::create_handle().map_err(|e| problem("starting cuBLASLt", e))?;
        Ok(Products { cuda: cuda.clone(), handle, workspace, plans: HashMap::new() })
    }

    /// y = epilogue(x w) in bf16.
    ///
    /// # Safety
    /// As for all products here: the matrices and the epilogue's vectors have the sizes given and the result overlaps
    /// none of them, and their memory stays until the stream has come so far.
    pub unsafe fn forward(
        &mut self,
        sizes: Sizes,
        x: Address<bf16>,
        w: Address<bf16>,
        y: Address<bf16>,
        epilogue: Epilogue<bf16>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.run(Kind::Forward { single: false }, sizes, [w, x], y, epilogue) }
    }

    /// y = epilogue(x w) in f32.
    ///
    /// # Safety
    /// As for [`Products::forward`].
    pub unsafe fn forward_single(
        &mut self,
        sizes: Sizes,
        x: Address<bf16>,
        w: Address<bf16>,
        y: Address<f32>,
        epilogue: Epilogue<f32>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.run(Kind::Forward { single: true }, sizes, [w, x], y, epilogue) }
    }

    /// y += x w in f32.
    ///
    /// # Safety
    /// As for [`Products::forward`].
    pub unsafe fn forward_add(
        &mut self,
        sizes: Sizes,
        x: Address<bf16>,
        w: Address<bf16>,
        y: Address<f32>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.run(Kind::Add, sizes, [w, x], y, Epilogue::None) }
    }

    /// dx = epilogue(dy wᵀ).
    ///
    /// # Safety
    /// As for [`Products::forward`].
    pub unsafe fn input_gradient(
        &mut self,
        sizes: Sizes,
        dy: Address<bf16>,
        w: Address<bf16>,
        dx: Address<bf16>,
        epilogue: Epilogue<bf16>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.run(Kind::Input, sizes, [w, dy], dx, epilogue) }
    }

    /// dw += xᵀ dy, with lines of x `stride` apart.
    ///
    /// # Safety
    /// As for [`Products::forward`].
    pub unsafe fn weight_gradient(
        &mut self,
        sizes: Sizes,
        stride: usize,
        x: Address<bf16>,
        dy: Address<bf16>,
        dw: Address<f32>,
    ) -> Result<()> {
        // SAFETY: as the caller promises.
        unsafe { self.run(Kind::Weight { stride }, sizes, [dy, x], dw, Epilogue::None) }
    }

    /// # Safety
    /// As for [`Products::forward`]; `Y` is the type of the kind's result.
    unsafe fn run<Y>(
        &mut self,
        kind: Kind,
        sizes: Sizes,
        [a, b]: [Address<bf16>; 2],
        d: Address<Y>,
        epilogue: Epilogue<Y>,
    ) -> Result<()> {
        let code = match epilogue {
            Epilogue::None => Lt::CUBLASLT_EPILOGUE_DEFAULT,
            Epilogue::Bias(_) => Lt::CUBLASLT_EPILOGUE_BIAS,
            Epilogue::BiasGelu { .. } => Lt::CUBLASLT_EPILOGUE_GELU_AUX_BIAS,
            Epilogue::GeluBackward { .. } => Lt::CUBLASLT_EPILOGUE_DGELU,
        };
        let key = Key { kind, sizes, epilogue: code as u32 };
        if !self.plans.contains_key(&key) {
            let plan = plan(self.handle, key, code).map_err(|e| problem(&format!("matrix product {sizes:?}"), e))?;
            self.plans.insert(key, plan);
        }
        let plan = &self.plans[&key];
        let failed = |e| problem(&format!("matrix product {sizes:?}"), e);
        // SAFETY: both attributes are pointers.
        let pointer = |attribute, to: u64| unsafe { set(plan.operation, attribute, to) }.map_err(failed);
        let bias = |at: Address<Y>| pointer(Attribute::CUBLASLT_MATMUL_DESC_BIAS_POINTER, at.bits());
        let aux = |at: Address<bf16>| pointer(Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, at.bits());
        match epilogue {
            Epilogue::None => {}
            Epilogue::Bias(at) => bias(at)?,
            Epilogue::BiasGelu { bias: at, before } => {
                bias(at)?;
                aux(before)?;
            }
            Epilogue::GeluBackward { before } => aux(before)?,
        }
        let one = 1.0f32;
        let keep: f32 = if matches!(kind, Kind::Add | Kind::Weight { .. }) { 1.0 } else { 0.0 };
        let [la, lb, ld] = plan.layouts;
        let [a, b, d] = [a.bits(), b.bits(), d.bits()];
        // SAFETY: the plan is for these sizes and types, which the caller promises; the workspace is this object's, and
        // goes only when the stream's work is over.
        unsafe {
            result::matmul(
                self.handle,
                plan.operation,
                (&raw const one).cast(),
                (&raw const keep).cast(),
                a as *const c_void,
                la,
                b as *const c_void,
                lb,
                d as *const c_void,
                ld,
                d as *mut c_void,
                ld,
                &plan.algorithm,
                self.workspace.start::<u8>().bits() as *mut c_void,
                self.workspace.bytes,
                self.cuda.stream.cu_stream().cast(),
            )
        }
        .map_err(failed)
    }
}

impl Products {
    /// How many products are planned.
    pub fn plans(&self) -> usize {
        self.plans.len()
    }

    /// Forgets all plans; graphs that were captured with them do not need them any more.
    pub fn forget(&mut self) {
        for (_, plan) in self.plans.drain() {
            // SAFETY: made by this object, used by nobody else, and taken off the list.
            unsafe {
                let _ = result::destroy_matmul_desc(plan.operation);
                for layout in plan.layouts {
                    let _ = result::destroy_matrix_layout(layout);
                }
            }
        }
    }
}

impl Drop for Products {
    fn drop(&mut self) {
        let _ = self.cuda.synchronize();
        self.forget();
        // SAFETY: made by this object and used by nobody else; the stream's work is over.
        let _ = unsafe { result::destroy_handle(self.handle) };
    }
}

/// # Safety
/// The attribute is of type `T`.
unsafe fn set<T>(
    operation: sys::cublasLtMatmulDesc_t,
    attribute: Attribute,
    value: T,
) -> std::result::Result<(), result::CublasError> {
    // SAFETY: the value lies there for the call, which copies it; its size is the caller's promise.
    unsafe { result::set_matmul_desc_attribute(operation, attribute, (&raw const value).cast(), size_of::<T>()) }
}

fn plan(handle: sys::cublasLtHandle_t, key: Key, epilogue: Lt) -> std::result::Result<Plan, result::CublasError> {
    let Sizes { rows, inputs, outputs } = key.sizes;
    let (half, single) = (sys::cudaDataType::CUDA_R_16BF, sys::cudaDataType::CUDA_R_32F);
    let compute = sys::cublasComputeType_t::CUBLAS_COMPUTE_32F;
    let operation = result::create_matmul_desc(compute, single)?;
    let layout = |kind, lines: usize, columns: usize, stride: usize| {
        result::create_matrix_layout(kind, lines as u64, columns as u64, stride as i64)
    };
    // Column-major shapes: W is [outputs, inputs], X is [inputs, rows], Y is [outputs, rows].
    let weight = |kind| layout(kind, outputs, inputs, outputs);
    let y = |kind| layout(kind, outputs, rows, outputs);
    let x = |stride| layout(half, inputs, rows, stride);
    let (transpose_a, transpose_b, layouts) = match key.kind {
        Kind::Forward { single: wide } => {
            (0i32, 0i32, [weight(half)?, x(inputs)?, y(if wide { single } else { half })?])
        }
        Kind::Add => (0, 0, [weight(half)?, x(inputs)?, y(single)?]),
        Kind::Input => (1, 0, [weight(half)?, y(half)?, x(inputs)?]),
        Kind::Weight { stride } => (0, 1, [y(half)?, x(stride)?, weight(single)?]),
    };
    let aux = match key.kind {
        Kind::Input => inputs,
        _ => outputs,
    };
    // SAFETY: cuBLASLt has 32 bits for an operation and an epilogue, 64 for a stride and an address.
    unsafe {
        set(operation, Attribute::CUBLASLT_MATMUL_DESC_TRANSA, transpose_a)?;
        set(operation, Attribute::CUBLASLT_MATMUL_DESC_TRANSB, transpose_b)?;
        set(operation, Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue as u32)?;
        if matches!(epilogue, Lt::CUBLASLT_EPILOGUE_GELU_AUX_BIAS | Lt::CUBLASLT_EPILOGUE_DGELU) {
            set(operation, Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, aux as i64)?;
            // Only its alignment counts for the choice; the real address is set before each product.
            set(operation, Attribute::CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, 256u64)?;
        }
    }
    let preference = result::create_matmul_pref()?;
    let limit = sys::cublasLtMatmulPreferenceAttributes_t::CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES;
    let space = WORKSPACE;
    let [la, lb, ld] = layouts;
    // SAFETY: all objects were just made; the preference is destroyed once.
    let chosen = unsafe {
        result::set_matmul_pref_attribute(preference, limit, (&raw const space).cast(), size_of::<usize>())?;
        let chosen = result::get_matmul_algo_heuristic(handle, operation, la, lb, ld, ld, preference);
        result::destroy_matmul_pref(preference)?;
        chosen?
    };
    Ok(Plan { operation, layouts, algorithm: chosen.algo })
}
