//! The GPU: libraries, context and stream, memory, and kernel launches.

use super::address::Address;
use super::records::Plain;
use crate::{Error, Result};
use cudarc::driver::{CudaContext, CudaModule, CudaStream, result, sys};
use std::fmt::Display;
use std::sync::Arc;

/// A CUDA error that names what was being done.
pub(super) fn problem(what: &str, reason: impl Display) -> Error {
    Error::Cuda(format!("{what}: {reason}"))
}

/// An NVIDIA GPU. Cheap to clone; clones share one stream.
#[derive(Clone)]
pub struct Cuda {
    context: Arc<CudaContext>,
    pub(super) stream: Arc<CudaStream>,
    name: String,
    capability: (i32, i32),
    multiprocessors: u32,
}

impl Cuda {
    /// The first GPU of this machine; the error says which library or device is missing.
    pub fn new() -> Result<Cuda> {
        // SAFETY: these only try to load libraries by name.
        let libraries = unsafe {
            [
                (sys::is_culib_present(), "libcuda.so", "the NVIDIA driver"),
                (cudarc::nvrtc::sys::is_culib_present(), "libnvrtc.so", "CUDA's run-time compiler"),
                (cudarc::cublaslt::sys::is_culib_present(), "libcublasLt.so", "CUDA's matrix products"),
            ]
        };
        for (present, library, what) in libraries {
            if !present {
                return Err(Error::Cuda(format!(
                    "{library} ({what}) was not found; looked in the loader's folders and LD_LIBRARY_PATH. \
                     Install it or use the CPU"
                )));
            }
        }
        let context = CudaContext::new(0).map_err(|e| problem("no usable GPU", describe(e)))?;
        // SAFETY: all work goes through one stream, so nothing needs events between streams; with them, graphs could
        // not be captured.
        unsafe { context.disable_event_tracking() };
        let failed = |e| problem("opening the GPU", describe(e));
        let stream = context.new_stream().map_err(failed)?;
        let count =
            context.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT).map_err(failed)?;
        let capability = context.compute_capability().map_err(failed)?;
        if capability.0 < 8 {
            let (major, minor) = capability;
            return Err(Error::Cuda(format!(
                "this GPU has compute capability {major}.{minor}; bf16 products need 8.0 or later. Use the CPU"
            )));
        }
        let name = context.name().map_err(failed)?;
        Ok(Cuda { context, stream, name, capability, multiprocessors: count.max(1) as u32 })
    }

    /// The GPU's name, such as `NVIDIA H200`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Waits until everything submitted so far is done.
    pub fn synchronize(&self) -> Result<()> {
        self.stream.synchronize().map_err(|e| problem("waiting for the GPU", describe(e)))
    }

    /// Whether this is the same GPU and stream.
    pub(super) fn same(&self, other: &Cuda) -> bool {
        Arc::ptr_eq(&self.stream, &other.stream)
    }

    pub(super) fn capability(&self) -> (i32, i32) {
        self.capability
    }

    pub(super) fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// Makes the GPU the calling thread's.
    pub(super) fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| problem("opening the GPU", describe(e)))
    }

    pub(super) fn load(&self, cubin: Vec<u8>) -> Result<Arc<CudaModule>> {
        let image = cudarc::nvrtc::Ptx::from_binary(cubin);
        self.context.load_module(image).map_err(|e| problem("loading kernels", describe(e)))
    }

    pub(super) fn allocate(&self, what: &str, bytes: usize) -> Result<Memory> {
        self.bind()?;
        let bytes = bytes.max(256);
        // SAFETY: freed once, by `Memory`.
        match unsafe { result::malloc_sync(bytes) } {
            Ok(at) => Ok(Memory { at, bytes, context: self.context.clone() }),
            Err(error) => {
                let free = result::mem_get_info().map_or(0, |(free, _)| free);
                Err(Error::CudaMemory { what: what.into(), needed: bytes, free, reason: describe(error) })
            }
        }
    }

    /// Copies to the start of some memory and waits. The copy is queued on the stream: one on the default stream returns
    /// before the last of it has arrived, and kernels of ours would not wait for it, which shows where other programs keep
    /// the GPU busy.
    pub(super) fn write<T: Plain>(&self, to: &Memory, from: &[T]) -> Result<()> {
        self.bind()?;
        let to = to.range(to.start::<T>(), from.len())?;
        // SAFETY: the range lies in memory that is there; what is plain may be copied, and outlives the wait below.
        unsafe { result::memcpy_htod_async(to, from, self.stream.cu_stream()) }
            .map_err(|e| problem("copying to the GPU", describe(e)))?;
        self.synchronize()
    }

    /// Waits for all work, then copies from a place in some memory.
    pub(super) fn read<T: Plain>(&self, memory: &Memory, from: Address<T>, to: &mut [T]) -> Result<()> {
        self.bind()?;
        self.synchronize()?;
        let from = memory.range(from, to.len())?;
        // SAFETY: the range lies in memory that is there, and whatever its bits are, they are values of `T`.
        unsafe { result::memcpy_dtoh_sync(to, from) }.map_err(|e| problem("copying from the GPU", describe(e)))
    }

    /// Queues the clearing of some numbers or records.
    ///
    /// # Safety
    /// That many lie at the address, in memory that stays until the stream has come so far.
    pub(super) unsafe fn clear<T: Plain>(&self, at: Address<T>, count: usize) -> Result<()> {
        if count == 0 {
            return Ok(());
        }
        // SAFETY: as the caller promises.
        unsafe { result::memset_d8_async(at.bits(), 0, count * size_of::<T>(), self.stream.cu_stream()) }
            .map_err(|e| problem("clearing GPU memory", describe(e)))
    }
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cuda({}, sm_{}{})", self.name, self.capability.0, self.capability.1)
    }
}

/// The driver's own words for an error.
pub(super) fn describe(error: result::DriverError) -> String {
    match (error.error_name(), error.error_string()) {
        (Ok(name), Ok(text)) => format!("{} ({})", text.to_string_lossy(), name.to_string_lossy()),
        _ => format!("{error:?}"),
    }
}

/// A stretch of the GPU's memory.
pub(super) struct Memory {
    at: u64,
    pub bytes: usize,
    context: Arc<CudaContext>,
}

impl Memory {
    pub fn start<T>(&self) -> Address<T> {
        Address::new(self.at)
    }

    /// The driver's pointer to `count` numbers or records, which must lie in this memory.
    fn range<T>(&self, from: Address<T>, count: usize) -> Result<sys::CUdeviceptr> {
        let bytes = count as u128 * size_of::<T>() as u128;
        let (first, end) = (u128::from(from.bits()), u128::from(self.at) + self.bytes as u128);
        if from.bits() < self.at || first + bytes > end {
            let message = format!("{bytes} bytes are not all in the {} that were allocated for them", self.bytes);
            return Err(problem("copying to or from the GPU", message));
        }
        Ok(from.bits())
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // Nothing can be done about an error here, and the context outlives this.
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: allocated by `Cuda::allocate`, freed once; freeing waits for work that uses it.
            let _ = unsafe { result::free_sync(self.at) };
        }
    }
}

/// Page-locked host memory, so that copies to the device run while the host goes on.
pub(super) struct Staging {
    ptr: *mut u32,
    words: usize,
    event: sys::CUevent,
    cuda: Cuda,
}

// SAFETY: owned memory and an event handle; the driver's calls are safe from any thread that has bound the context.
unsafe impl Send for Staging {}

impl Staging {
    pub fn new(cuda: &Cuda, words: usize) -> Result<Staging> {
        cuda.bind()?;
        let failed = |e| problem("page-locked memory", describe(e));
        // SAFETY: freed once, on drop.
        let ptr = unsafe { result::malloc_host(words.max(1) * 4, 0) }.map_err(failed)?.cast();
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING).map_err(failed)?;
        Ok(Staging { ptr, words, event, cuda: cuda.clone() })
    }

    pub fn words(&self) -> usize {
        self.words
    }

    /// Queues a copy of stretches of words, one behind the other, to the start of some memory, once the last copy from here is done.
    pub fn send(&mut self, stretches: &[&[u32]], to: &Memory) -> Result<()> {
        let words = stretches.iter().map(|words| words.len()).sum();
        assert!(words <= self.words);
        let to = to.range(to.start::<u32>(), words)?;
        let stream = self.cuda.stream.cu_stream();
        let failed = |e| problem("copying a batch to the GPU", describe(e));
        // SAFETY: the buffer holds `self.words` words, and the event says when the device has read the last ones; freeing
        // the memory they go to waits for the copy.
        unsafe {
            result::event::synchronize(self.event).map_err(failed)?;
            let mut end = self.ptr;
            for words in stretches {
                std::ptr::copy_nonoverlapping(words.as_ptr(), end, words.len());
                end = end.add(words.len());
            }
            let staged = std::slice::from_raw_parts(self.ptr, words);
            result::memcpy_htod_async(to, staged, stream).map_err(failed)?;
            result::event::record(self.event, stream).map_err(failed)
        }
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if self.cuda.synchronize().is_ok() {
            // SAFETY: nothing uses the buffer or the event any more.
            unsafe {
                let _ = result::event::destroy(self.event);
                let _ = result::free_host(self.ptr.cast());
            }
        }
    }
}
