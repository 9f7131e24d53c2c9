//! The worlds.
