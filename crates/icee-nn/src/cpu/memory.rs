//! Buffers that are large, kept, and rewritten from one call to the next.
//!
//! They start at a multiple of 2 MB and ask the system for huge pages: with small ones, a training step waits for page
//! tables about a twentieth of its time, and decoding of many sequences a quarter.

use std::ops::{Deref, DerefMut};

/// Numbers for which all bits zero means zero.
pub(crate) trait Plain: Copy + Default + Send + Sync {}
impl Plain for f32 {}
impl Plain for u16 {}
impl Plain for [f32; 2] {}

/// A slice of plain numbers on memory of its own.
#[derive(Debug)]
pub(crate) struct Buffer<T: Plain> {
    memory: Memory<T>,
}

impl<T: Plain> Buffer<T> {
    /// `len` zeros. Memory is taken from the system as it is first touched.
    pub fn zeros(len: usize) -> Buffer<T> {
        Buffer { memory: Memory::zeros(len) }
    }

    /// Makes it at least `len` long. What it held may be lost.
    pub fn reserve(&mut self, len: usize) {
        if self.len() < len {
            *self = Buffer::zeros(len);
        }
    }
}

impl<T: Plain> Default for Buffer<T> {
    fn default() -> Self {
        Buffer::zeros(0)
    }
}

impl<T: Plain> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        let mut copy = Buffer::zeros(self.len());
        copy.copy_from_slice(self);
        copy
    }
}

impl<T: Plain> Deref for Buffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.memory.as_slice()
    }
}

impl<T: Plain> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.memory.as_mut_slice()
    }
}

#[cfg(target_os = "linux")]
use mapped::Memory;
#[cfg(not(target_os = "linux"))]
use plain::Memory;

#[cfg(target_os = "linux")]
mod mapped {
    use super::Plain;
    use std::ptr::NonNull;

    const HUGE: usize = 2 << 20;

    /// A private mapping from 2 MB on; below that, an ordinary list.
    #[derive(Debug)]
    pub(super) enum Memory<T> {
        List(Vec<T>),
        Mapping { start: NonNull<T>, len: usize, base: NonNull<libc::c_void>, bytes: usize },
    }

    // SAFETY: the mapping is owned by this value alone.
    unsafe impl<T: Plain> Send for Memory<T> {}
    // SAFETY: as above; shared access is read-only.
    unsafe impl<T: Plain> Sync for Memory<T> {}

    impl<T: Plain> Memory<T> {
        pub fn zeros(len: usize) -> Memory<T> {
            let used = len.saturating_mul(size_of::<T>());
            if used < HUGE {
                return Memory::List(vec![T::default(); len]);
            }
            let bytes = used.saturating_add(HUGE);
            let (protection, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
            // SAFETY: a fresh anonymous mapping; the result is checked.
            let base = unsafe { libc::mmap(std::ptr::null_mut(), bytes, protection, flags, -1, 0) };
            let Some(base) = NonNull::new(base).filter(|_| base != libc::MAP_FAILED) else {
                // The allocator's own way to say that there is no memory.
                return Memory::List(vec![T::default(); len]);
            };
            let gap = (base.as_ptr() as usize).next_multiple_of(HUGE) - base.as_ptr() as usize;
            // SAFETY: the mapping has room for the gap and `used` bytes behind it. Only whole huge pages are asked for,
            // so that none is wasted on a tail; a refusal is harmless.
            let start = unsafe {
                let start = base.byte_add(gap);
                libc::madvise(start.as_ptr(), used / HUGE * HUGE, libc::MADV_HUGEPAGE);
                start.cast()
            };
            Memory::Mapping { start, len, base, bytes }
        }

        pub fn as_slice(&self) -> &[T] {
            match self {
                Memory::List(list) => list,
                // SAFETY: `len` numbers lie there, zeroed by the system or written since.
                Memory::Mapping { start, len, .. } => unsafe { std::slice::from_raw_parts(start.as_ptr(), *len) },
            }
        }

        pub fn as_mut_slice(&mut self) -> &mut [T] {
            match self {
                Memory::List(list) => list,
                // SAFETY: as above.
                Memory::Mapping { start, len, .. } => unsafe { std::slice::from_raw_parts_mut(start.as_ptr(), *len) },
            }
        }
    }

    impl<T> Drop for Memory<T> {
        fn drop(&mut self) {
            if let Memory::Mapping { base, bytes, .. } = self {
                // SAFETY: exactly what `zeros` mapped.
                unsafe { libc::munmap(base.as_ptr(), *bytes) };
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod plain {
    use super::Plain;

    #[derive(Debug)]
    pub(super) struct Memory<T>(Vec<T>);

    impl<T: Plain> Memory<T> {
        pub fn zeros(len: usize) -> Memory<T> {
            Memory(vec![T::default(); len])
        }

        pub fn as_slice(&self) -> &[T] {
            &self.0
        }

        pub fn as_mut_slice(&mut self) -> &mut [T] {
            &mut self.0
        }
    }
}

/// Makes a small buffer at least `len` long. What it held may be lost.
pub(crate) fn reserve<T: Default + Clone>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        *buffer = vec![T::default(); len];
    }
}

/// Makes a list at least `len` long, keeping what it has: a shorter batch in between must not free buffers.
pub(crate) fn grow<T: Default>(list: &mut Vec<T>, len: usize) {
    if list.len() < len {
        list.resize_with(len, T::default);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_of_any_size_are_zero_writable_and_copied_whole() {
        for len in [0, 1, 1000, (1 << 19) - 1, 1 << 19, 1_234_567] {
            let mut buffer = Buffer::<f32>::zeros(len);
            assert!(buffer.len() == len && buffer.iter().all(|&x| x == 0.0));
            buffer.iter_mut().enumerate().for_each(|(i, x)| *x = i as f32);
            let copy = buffer.clone();
            buffer.fill(-1.0);
            assert!(copy.iter().enumerate().all(|(i, &x)| x == i as f32));
            buffer.reserve(len / 2);
            assert_eq!(buffer.len(), len);
            buffer.reserve(len + 7);
            assert_eq!(buffer.len(), len + 7);
        }
    }
}
