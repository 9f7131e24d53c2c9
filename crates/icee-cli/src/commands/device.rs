//! The device on the command line.

use crate::terminal::say;
use icee_nn::ModelSpec;
use icee_train::{Device, DeviceChoice};

/// Where to compute.
#[derive(Clone, Copy, clap::ValueEnum)]
pub enum DeviceName {
    Cpu,
    Cuda,
    Auto,
}

impl DeviceName {
    /// The device, with this many threads for what the CPU does.
    pub fn open(self, threads: usize) -> icee_train::Result<Device> {
        let choice = match self {
            DeviceName::Cpu => DeviceChoice::Cpu,
            DeviceName::Cuda => DeviceChoice::Cuda,
            DeviceName::Auto => DeviceChoice::Auto,
        };
        Device::choose(choice, threads)
    }
}

/// The device for these networks; reports why `auto` does not use the GPU.
pub fn suited<'a>(device: &Device, networks: impl IntoIterator<Item = &'a ModelSpec>) -> Device {
    let (device, why) = device.suited(networks);
    if let Some(why) = why {
        say(format_args!("the GPU is not used: {why}"));
    }
    device
}
