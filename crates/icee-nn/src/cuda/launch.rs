//! Starting a kernel: the one place where arguments meet the GPU.

use super::device::{Cuda, describe, problem};
use super::kernels::{Arguments, Kernel};
use crate::Result;
use cudarc::driver::result;

impl Cuda {
    /// Queues a kernel on so many blocks, across and down. Without a block there is nothing to do.
    ///
    /// Number, order and types of the arguments and the threads of a block are the kernel's by construction; what they
    /// mean is not.
    ///
    /// # Safety
    /// - Every address among the arguments, but for one that the kernel may be left without, lies in memory that stays
    ///   until the stream has come so far.
    /// - There lie as many numbers or records as the comment above the kernel says, for the counts among the arguments;
    ///   what the kernel writes overlaps nothing else that it is given.
    /// - Indices in records and lists point into what they count.
    /// - The blocks cover what the kernel is to do: a thread or a warp for each of its elements or rows, a block for each
    ///   of its records, or any number where it walks with strides, and then its sums have a place for each block.
    pub(super) unsafe fn launch<A: Arguments>(
        &self,
        kernel: &Kernel<A>,
        grid: (u32, u32),
        mut arguments: A,
    ) -> Result<()> {
        if grid.0 == 0 || grid.1 == 0 {
            return Ok(());
        }
        let mut pointers = arguments.pointers();
        let (grid, threads) = ((grid.0, grid.1, 1), (A::THREADS.0, A::THREADS.1, 1));
        // SAFETY: the arguments are the kernel's and outlive the call, which copies them; the rest the caller promises.
        unsafe {
            let (function, stream) = (kernel.function.cu_function(), self.stream.cu_stream());
            result::launch_kernel(function, grid, threads, 0, stream, pointers.as_mut())
        }
        .map_err(|e| problem("launching a kernel", describe(e)))
    }
}
