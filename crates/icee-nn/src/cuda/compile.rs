//! Kernels: compiled at run time for the GPU and the model's widths, and kept on disk.

use super::device::{Cuda, problem};
use super::kernels::Kernels;
use crate::{Error, Result};
use cudarc::nvrtc::{result, sys};
use icee_base::files::write_atomically;
use icee_base::hash::checksum;
use std::ffi::OsString;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};

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
            let _ = write_atomically(&path, &seal(&cubin));
        }
        Kernels::load(cuda, cubin)
    }
}

/// Where compiled programs are kept; none where others could write, too: what lies there runs on the GPU.
fn cache_folder() -> Option<PathBuf> {
    let folder = cache_base(|name| std::env::var_os(name))?.join("icee").join("kernels");
    make_private(&folder).then_some(folder)
}

/// As the XDG specification says: a relative path is ignored.
fn cache_base(variable: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let folder = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    folder("XDG_CACHE_HOME").or_else(|| folder("HOME").map(|home| home.join(".cache")))
}

/// Makes a folder unless it is there, and says whether it is this user's and nobody else may write into it.
#[cfg(target_os = "linux")]
fn make_private(folder: &Path) -> bool {
    use std::os::unix::fs::{DirBuilderExt, MetadataExt};
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    // SAFETY: it takes nothing and cannot fail.
    let user = unsafe { libc::geteuid() };
    // Not what a link points to.
    let state = made.and_then(|()| std::fs::symlink_metadata(folder));
    state.is_ok_and(|state| state.is_dir() && state.uid() == user && state.mode() & 0o022 == 0)
}

#[cfg(not(target_os = "linux"))]
fn make_private(folder: &Path) -> bool {
    std::fs::create_dir_all(folder).is_ok()
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
    fn relative_cache_folders_are_ignored() {
        let base = |xdg: &str, home: &str| {
            cache_base(|name| Some(OsString::from(if name == "HOME" { home } else { xdg })).filter(|v| !v.is_empty()))
        };
        assert_eq!(base("/cache", "/home/me"), Some("/cache".into()));
        for xdg in ["cache", "./cache", ""] {
            assert_eq!(base(xdg, "/home/me"), Some("/home/me/.cache".into()), "{xdg}");
        }
        assert_eq!(base("cache", "me"), None);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_cache_folder_that_others_can_write_is_not_used() {
        use std::fs::{Permissions, set_permissions, symlink_metadata};
        use std::os::unix::fs::PermissionsExt;
        let root = std::env::temp_dir().join(format!("icee-cache-{}", std::process::id()));
        let folder = root.join("icee").join("kernels");
        assert!(make_private(&folder) && make_private(&folder));
        assert_eq!(symlink_metadata(&folder).unwrap().permissions().mode() & 0o777, 0o700);
        for (mode, private) in [(0o755, true), (0o775, false), (0o702, false)] {
            set_permissions(&folder, Permissions::from_mode(mode)).unwrap();
            assert_eq!(make_private(&folder), private, "{mode:o}");
        }
        let link = root.join("link");
        std::os::unix::fs::symlink(&folder, &link).unwrap();
        assert!(!make_private(&link), "a link");
        std::fs::remove_dir_all(root).unwrap();
    }

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
