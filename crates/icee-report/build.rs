//! Takes the checksum of the sources on which results depend, so that results of other sources are not taken for this
//! program's.

#[path = "src/work/sources.rs"]
mod sources;

use std::path::PathBuf;

fn main() {
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    for path in sources::watched(&here).expect("the project's manifests can be read") {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let checksum = sources::checksum(&here).expect("the project's sources can be read");
    println!("cargo::rustc-env=ICEE_SOURCES={checksum}");
}
