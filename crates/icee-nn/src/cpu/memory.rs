//! Buffers that are large, kept, and rewritten from one call to the next.

/// From this size on, huge pages are asked for: half of a step's memory accesses would otherwise wait for page tables.
const LARGE: usize = 4 << 20;

/// Zeros, in huge pages where the system has them.
pub(crate) fn zeros<T: Default + Clone>(len: usize) -> Vec<T> {
    let buffer = vec![T::default(); len];
    if size_of_val(&buffer[..]) >= LARGE {
        ask_for_huge_pages(&buffer);
    }
    buffer
}

/// Makes a buffer at least `len` long. What it held may be lost.
pub(crate) fn reserve<T: Default + Clone>(buffer: &mut Vec<T>, len: usize) {
    if buffer.len() < len {
        *buffer = zeros(len);
    }
}

/// Makes a list at least `len` long, keeping what it has: a shorter batch in between must not free buffers.
pub(crate) fn grow<T: Default>(list: &mut Vec<T>, len: usize) {
    if list.len() < len {
        list.resize_with(len, T::default);
    }
}

/// Fresh zeros have not been touched yet, so the pages they will get are still to be chosen.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(buffer: &[T]) {
    const PAGE: usize = 4096;
    let start = (buffer.as_ptr() as usize).next_multiple_of(PAGE);
    let end = buffer.as_ptr_range().end as usize / PAGE * PAGE;
    // SAFETY: whole pages inside a live allocation; the advice does not change what they hold. A refusal is harmless.
    unsafe { libc::madvise(start as *mut libc::c_void, end - start, libc::MADV_HUGEPAGE) };
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_: &[T]) {}
