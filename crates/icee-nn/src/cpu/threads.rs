//! The CPU as a device: an instruction set and a fixed number of threads.
//!
//! Work is cut into tasks by sizes of the data alone, never by the number of threads, and tasks write disjoint
//! places; so results do not depend on how many threads there are or which runs what.

use super::simd::Isa;
use crate::{Error, Result};
use rayon::prelude::*;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

/// More threads than this for each core are a mistake: nothing gets faster, and starting them can take for ever.
const MOST_PER_CORE: usize = 4;
/// As many are fine on any machine.
const ALWAYS_FINE: usize = 64;

/// The number of threads that is meant: 0 is one a core.
///
/// # Errors
/// [`Error::Threads`] for more than four a core, where that is more than 64.
pub fn thread_count(threads: usize) -> Result<usize> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let most = ALWAYS_FINE.max(MOST_PER_CORE * cores);
    match threads {
        0 => Ok(cores),
        n if n <= most => Ok(n),
        _ => {
            let reason = format!("{most} are the most for {cores} core(s); 0 takes one a core");
            Err(Error::Threads { threads, reason })
        }
    }
}

/// A CPU with its threads. Cheap to clone.
#[derive(Clone)]
pub struct Cpu {
    isa: Isa,
    threads: usize,
    pool: Option<Arc<rayon::ThreadPool>>,
}

impl Cpu {
    /// The running machine's best instruction set, on `threads` threads (0: as many as it has cores).
    pub fn new(threads: usize) -> Result<Cpu> {
        Cpu::with_isa(threads, Isa::detect())
    }

    /// A given instruction set; an unavailable one is replaced by plain Rust.
    pub fn with_isa(threads: usize, isa: Isa) -> Result<Cpu> {
        let isa = if Isa::available().contains(&isa) { isa } else { Isa::Portable };
        let threads = thread_count(threads)?;
        let pool = if threads == 1 {
            None
        } else {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
            Some(Arc::new(pool.map_err(|e| Error::Threads { threads, reason: e.to_string() })?))
        };
        Ok(Cpu { isa, threads, pool })
    }

    /// The instruction set in use.
    pub fn isa(&self) -> Isa {
        self.isa
    }

    /// The number of threads in use.
    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Runs a whole computation inside the thread pool, so that its parallel parts start without a hand-over.
    pub(crate) fn run<R: Send>(&self, work: impl FnOnce() -> R + Send) -> R {
        match &self.pool {
            Some(pool) => pool.install(work),
            None => work(),
        }
    }

    /// Calls `task(i, worker)` for every i below `count`, in parallel; `worker` is below [`Cpu::threads`] and never
    /// shared by two tasks at the same time.
    pub(crate) fn each(&self, count: usize, task: impl Fn(usize, usize) + Sync + Send) {
        if self.pool.is_none() || count <= 1 {
            (0..count).for_each(|i| task(i, 0));
            return;
        }
        self.run(|| {
            (0..count).into_par_iter().with_max_len(1).for_each(|i| {
                task(i, rayon::current_thread_index().unwrap_or(0));
            });
        });
    }
}

impl std::fmt::Debug for Cpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cpu({}, {} threads)", self.isa, self.threads)
    }
}

/// A slice that tasks write in disjoint places.
#[derive(Clone, Copy)]
pub(crate) struct Shared<'a, T> {
    ptr: *mut T,
    len: usize,
    life: PhantomData<&'a mut [T]>,
}

// SAFETY: access is through `get`, whose contract forbids overlapping places.
unsafe impl<T: Send> Send for Shared<'_, T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<'_, T> {}

impl<'a, T> Shared<'a, T> {
    pub fn new(slice: &'a mut [T]) -> Shared<'a, T> {
        Shared { ptr: slice.as_mut_ptr(), len: slice.len(), life: PhantomData }
    }

    /// # Safety
    /// No other live reference may overlap `range`.
    #[inline]
    #[allow(clippy::mut_from_ref)]
    pub unsafe fn get(&self, range: Range<usize>) -> &'a mut [T] {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds; disjointness is the caller's contract.
        unsafe { std::slice::from_raw_parts_mut(self.ptr.add(range.start), range.len()) }
    }
}

impl<T> Shared<'_, T> {
    /// The start of `range`, for places that interleave with other tasks' and so cannot be slices.
    #[inline]
    pub fn pointer(&self, range: Range<usize>) -> *mut T {
        assert!(range.start <= range.end && range.end <= self.len);
        // SAFETY: in bounds.
        unsafe { self.ptr.add(range.start) }
    }
}

/// Consecutive ranges of at most `size` that cover `0..total`.
pub(crate) fn chunk(index: usize, size: usize, total: usize) -> Range<usize> {
    let start = index * size;
    start..total.min(start + size)
}

/// A range of rows as a range of their `by` numbers each.
pub(crate) fn scaled(range: &Range<usize>, by: usize) -> Range<usize> {
    range.start * by..range.end * by
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_threads_than_any_machine_can_use_are_refused() {
        assert!(thread_count(0).unwrap() > 0);
        assert_eq!(thread_count(64).unwrap(), 64);
        for threads in [100_000, usize::MAX] {
            let said = Cpu::new(threads).unwrap_err().to_string();
            assert!(said.contains(&threads.to_string()) && said.contains("0 takes one a core"), "{said}");
        }
    }
}
