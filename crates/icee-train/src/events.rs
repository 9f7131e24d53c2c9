//! TensorBoard event files, written by hand: TFRecord frames around a few protobuf fields.
//!
//! A frame is: length (u64), masked CRC-32C of the length, the bytes, masked CRC-32C of the bytes; all little-endian. An
//! `Event` has wall_time (1, double), step (2, int64), file_version (3, string) or summary (5); a `Summary` has values
//! (1), each with tag (1, string) and simple_value (2, float).

use crate::Result;
use icee_base::files::FileError;
use std::fs::{File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// Writes one event file.
pub struct EventWriter<W: Write> {
    out: W,
    path: PathBuf,
}

impl EventWriter<BufWriter<File>> {
    /// A new event file in a folder. The name tells the time and the step, so that a resumed run adds a file.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn create(folder: &Path, step: u64) -> Result<Self> {
        let path = folder.join(format!("events.out.tfevents.{:010}.step{step}", now() as u64));
        let file = OpenOptions::new().create(true).append(true).open(&path).map_err(FileError::io(&path))?;
        EventWriter::new(BufWriter::new(file), path)
    }
}

impl<W: Write> EventWriter<W> {
    /// Writes events to `out`; `path` is for messages.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn new(out: W, path: PathBuf) -> Result<Self> {
        let mut writer = Self { out, path };
        let mut event = Vec::new();
        double(&mut event, 1, now());
        bytes(&mut event, 3, b"brain.Event:2");
        writer.frame(&event)?;
        Ok(writer)
    }

    /// Writes the values of a step.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn scalars(&mut self, step: u64, values: &[(&str, f32)]) -> Result<()> {
        let mut summary = Vec::new();
        for (tag, value) in values {
            let mut entry = Vec::new();
            bytes(&mut entry, 1, tag.as_bytes());
            float(&mut entry, 2, *value);
            bytes(&mut summary, 1, &entry);
        }
        let mut event = Vec::new();
        double(&mut event, 1, now());
        varint(&mut event, 2 << 3);
        varint(&mut event, step);
        bytes(&mut event, 5, &summary);
        self.frame(&event)
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn flush(&mut self) -> Result<()> {
        Ok(self.out.flush().map_err(FileError::io(&self.path))?)
    }

    fn frame(&mut self, data: &[u8]) -> Result<()> {
        let length = (data.len() as u64).to_le_bytes();
        let parts = [&length[..], &masked(&length), data, &masked(data)];
        Ok(parts.iter().try_for_each(|part| self.out.write_all(part)).map_err(FileError::io(&self.path))?)
    }
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn bytes(out: &mut Vec<u8>, field: u64, data: &[u8]) {
    varint(out, field << 3 | 2);
    varint(out, data.len() as u64);
    out.extend_from_slice(data);
}

fn double(out: &mut Vec<u8>, field: u64, value: f64) {
    varint(out, field << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

fn float(out: &mut Vec<u8>, field: u64, value: f32) {
    varint(out, field << 3 | 5);
    out.extend_from_slice(&value.to_le_bytes());
}

fn masked(data: &[u8]) -> [u8; 4] {
    crc32c(data).rotate_right(15).wrapping_add(0xa282_ead8).to_le_bytes()
}

/// CRC-32C (Castagnoli), bit by bit: event files are small.
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    let byte = |crc: u32, byte: &u8| {
        let start = crc ^ u32::from(*byte);
        (0..8).fold(start, |c, _| if c & 1 == 1 { (c >> 1) ^ 0x82f6_3b78 } else { c >> 1 })
    };
    !data.iter().fold(!0, byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crc_of_the_standard_vectors() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    /// Reads (field, wire type, bytes) of a message, as far as it is used here.
    fn fields(mut data: &[u8]) -> Vec<(u64, Vec<u8>)> {
        fn varint(data: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = data[0];
                *data = &data[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte < 0x80 {
                    return value;
                }
            }
        }
        let mut out = Vec::new();
        while !data.is_empty() {
            let key = varint(&mut data);
            let size = match key & 7 {
                0 => {
                    out.push((key >> 3, varint(&mut data).to_le_bytes().to_vec()));
                    continue;
                }
                1 => 8,
                5 => 4,
                _ => varint(&mut data) as usize,
            };
            out.push((key >> 3, data[..size].to_vec()));
            data = &data[size..];
        }
        out
    }

    #[test]
    fn what_is_written_is_read_back() {
        let mut writer = EventWriter::new(Vec::new(), PathBuf::new()).unwrap();
        writer.scalars(300, &[("loss", 1.5), ("return/last", -2.0)]).unwrap();
        let mut data = &writer.out[..];
        let mut events = Vec::new();
        while !data.is_empty() {
            let length = u64::from_le_bytes(data[..8].try_into().unwrap()) as usize;
            assert_eq!(data[8..12], masked(&data[..8]));
            assert_eq!(data[12 + length..16 + length], masked(&data[12..12 + length]));
            events.push(fields(&data[12..12 + length]));
            data = &data[16 + length..];
        }
        assert_eq!(events[0][1], (3, b"brain.Event:2".to_vec()));
        assert_eq!(events[1][1], (2, 300u64.to_le_bytes().to_vec()));
        let values: Vec<_> = fields(&events[1][2].1).into_iter().map(|(_, value)| fields(&value)).collect();
        assert_eq!(values[0], [(1, b"loss".to_vec()), (2, 1.5f32.to_le_bytes().to_vec())]);
        assert_eq!(values[1][1], (2, (-2.0f32).to_le_bytes().to_vec()));
    }
}
