//! The device on the command line.

use icee::{Device, DeviceChoice};

/// Where to compute.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum DeviceName {
    Cpu,
    Cuda,
    Auto,
}

impl DeviceName {
    /// The device, with this many threads for what the CPU does.
    pub fn open(self, threads: usize) -> icee::Result<Device> {
        let choice = match self {
            DeviceName::Cpu => DeviceChoice::Cpu,
            DeviceName::Cuda => DeviceChoice::Cuda,
            DeviceName::Auto => DeviceChoice::Auto,
        };
        Device::choose(choice, threads)
    }
}
