//! Kernels: compiled at run time for the card and the model's widths, and kept on disk.

use super::device::{Cuda, problem};
use super::kernels::Kernels;
use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use icee_base::files::write_atomically;
use icee_base::hash::checksum;
use std::ffi::{CStr, CString};
use std::path::PathBuf;

/// In the order in which they are compiled as one program.
pub(super) const SOURCES: [(&str, &str); 13] = [
    ("common.cu", include_str!("kernels/common.cu")),
    ("norm.cu", include_str!("kernels/norm.cu")),
    ("sums.cu", include_str!("kernels/sums.cu")),
    ("embed.cu", include_str!("kernels/embed.cu")),
    ("loss.cu", include_str!("kernels/loss.cu")),
    ("pool.cu", include_str!("kernels/pool.cu")),
    ("optim.cu", include_str!("kernels/optim.cu")),
    ("attention_common.cu", include_str!("kernels/attention_common.cu")),
    ("attention_forward.cu", include_str!("kernels/attention_forward.cu")),
    ("attention_backward.cu", include_str!("kernels/attention_backward.cu")),
    ("cells.cu", include_str!("kernels/cells.cu")),
    ("network.cu", include_str!("kernels/network.cu")),
    ("acting.cu", include_str!("kernels/acting.cu")),
];

impl Kernels {
    /// The kernels for a model's widths, from disk if they are there and whole.
    pub fn new(cuda: &Cuda, width: usize, head_width: usize) -> Result<Kernels> {
        let (major, minor) = cuda.capability();
        let options = [
            format!("--gpu-architecture=sm_{major}{minor}"),
            "--std=c++17".into(),
            format!("-DWIDTH={width}"),
            format!("-DHEAD_WIDTH={head_width}"),
        ];
        let source: String = SOURCES.iter().map(|(name, text)| format!("#line 1 \"{name}\"\n{text}\n")).collect();
        let key = checksum(0, format!("{source}{options:?}").as_bytes());
        let path = cache_folder().map(|folder| folder.join(format!("sm_{major}{minor}-{key:016x}.cubin")));
        if let Some(cubin) = path.as_ref().and_then(|p| std::fs::read(p).ok()).and_then(unseal)
            && let Ok(kernels) = Kernels::load(cuda, cubin)
        {
            return Ok(kernels);
        }
        let cubin = compile(&source, &options)?;
        if let Some(path) = path {
            // A cache that cannot be written costs a second at the next start, nothing else.
            let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
            let _ = folder.map(|()| write_atomically(&path, &seal(&cubin)));
        }
        Kernels::load(cuda, cubin)
    }
}

fn cache_folder() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).filter(|v| !v.is_empty()).map(PathBuf::from);
    let base = folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")));
    base.map(|base| base.join("icee").join("kernels"))
}

/// The file of a compiled program: a checksum, then the program.
fn seal(cubin: &[u8]) -> Vec<u8> {
    [&checksum(0, cubin).to_le_bytes()[..], cubin].concat()
}

/// The program of a whole file; none of a damaged one.
fn unseal(file: Vec<u8>) -> Option<Vec<u8>> {
    let (sum, cubin) = file.split_first_chunk::<8>()?;
    (u64::from_le_bytes(*sum) == checksum(0, cubin)).then(|| cubin.to_vec())
}

fn compile(source: &str, options: &[String]) -> Result<Vec<u8>> {
    let failed = |e: result::NvrtcError| problem("compiling kernels", format!("{e:?}"));
    let text = CString::new(source).map_err(|e| problem("compiling kernels", e))?;
    let program = result::create_program(&text, Some(c"icee.cu")).map_err(failed)?;
    // SAFETY: the program was just made and is destroyed once, below; the buffers have the sizes asked for.
    unsafe {
        let compiled = result::compile_program(program, options);
        let log = result::get_program_log(program).ok().map(|log| {
            let bytes: Vec<u8> = log.iter().map(|&c| c as u8).collect();
            CStr::from_bytes_until_nul(&bytes).map(|c| c.to_string_lossy().into_owned()).unwrap_or_default()
        });
        let cubin = match compiled {
            Ok(()) => (|| {
                let mut size = 0;
                sys::nvrtcGetCUBINSize(program, &mut size).result().map_err(failed)?;
                let mut cubin = vec![0u8; size];
                sys::nvrtcGetCUBIN(program, cubin.as_mut_ptr().cast()).result().map_err(failed)?;
                Ok(cubin)
            })(),
            Err(error) => {
                Err(Error::Cuda(format!("compiling kernels: {error:?}\n{}", log.unwrap_or_default().trim_end())))
            }
        };
        result::destroy_program(program).map_err(failed)?;
        cubin
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_cache_entries_are_not_trusted() {
        let sealed = seal(b"a compiled program");
        assert_eq!(unseal(sealed.clone()).as_deref(), Some(&b"a compiled program"[..]));
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert_eq!(unseal(damaged), None, "byte {at}");
        }
        assert_eq!(unseal(sealed[..sealed.len() - 1].to_vec()), None);
        assert_eq!(unseal(vec![1, 2]), None);
    }
}
