//! Places in the GPU's memory and in a packed batch, with the type of what lies there.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;

/// Where numbers or records of one type begin in the GPU's memory.
///
/// It is what a raw pointer is on the host: anyone may have one and count on from it, and what reads or writes there is
/// unsafe.
#[repr(transparent)]
pub(super) struct Address<T> {
    bits: u64,
    of: PhantomData<fn() -> T>,
}

impl<T> Address<T> {
    /// For what a kernel may be left without.
    pub const NONE: Address<T> = Address::new(0);

    pub const fn new(bits: u64) -> Address<T> {
        Address { bits, of: PhantomData }
    }

    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The address `count` numbers or records further on.
    pub fn plus(self, count: usize) -> Address<T> {
        Address::new(self.bits + (count * size_of::<T>()) as u64)
    }

    /// The same place, for something else that lies there.
    pub fn cast<U>(self) -> Address<U> {
        Address::new(self.bits)
    }
}

impl Address<i32> {
    /// Where a section lies, of a batch whose words begin here.
    pub fn section<T>(self, section: Section<T>) -> Address<T> {
        self.plus(section.at).cast()
    }
}

// By hand, because `T` itself need not have any of these.
impl<T> Clone for Address<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Address<T> {}

impl<T> Default for Address<T> {
    fn default() -> Self {
        Address::NONE
    }
}

impl<T> fmt::Debug for Address<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", self.bits)
    }
}

/// A list of numbers or records in a packed batch: where it starts, in words, and how many there are.
pub(super) struct Section<T> {
    pub at: usize,
    pub count: usize,
    of: PhantomData<fn() -> T>,
}

impl<T> Section<T> {
    pub fn new(at: usize, count: usize) -> Section<T> {
        Section { at, count, of: PhantomData }
    }
}

impl<T> Clone for Section<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Section<T> {}

impl<T> Default for Section<T> {
    fn default() -> Self {
        Section::new(0, 0)
    }
}

impl<T> PartialEq for Section<T> {
    fn eq(&self, other: &Self) -> bool {
        (self.at, self.count) == (other.at, other.count)
    }
}

impl<T> Eq for Section<T> {}

impl<T> Hash for Section<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.at, self.count).hash(state);
    }
}

impl<T> fmt::Debug for Section<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} from word {}", self.count, self.at)
    }
}
