//! Writes the table of the models that travel inside the program: those of `embedded.txt` that exist in `models/`, and
//! the stored results of all that have some.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    let here = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let models = here.join("../../models");
    println!("cargo::rerun-if-changed={}", here.join("embedded.txt").display());
    if models.is_dir() {
        println!("cargo::rerun-if-changed={}", models.display());
    }
    let wanted = fs::read_to_string(here.join("embedded.txt")).expect("embedded.txt can be read");
    let mut table = String::from("pub(crate) static EMBEDDED: &[Embedded] = &[\n");
    for name in wanted.lines().map(str::trim).filter(|name| !name.is_empty()) {
        let folder = models.join(name);
        let files = ["config.json", "model.safetensors", "README.md"].map(|file| folder.join(file));
        if files.iter().all(|file| file.is_file()) {
            let [config, tensors, card] = files.map(|file| literal(&file));
            let fields = format!("config: include_bytes!({config}), tensors: include_bytes!({tensors})");
            let _ = writeln!(table, "    Embedded {{ name: {name:?}, {fields}, card: include_str!({card}) }},");
        }
    }
    table.push_str("];\n\npub(crate) static STORED: &[(&str, &str)] = &[\n");
    let folders = fs::read_dir(&models).into_iter().flatten().flatten();
    let mut names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    for name in names {
        let results = models.join(&name).join("evaluation.csv");
        if results.is_file() {
            let _ = writeln!(table, "    ({name:?}, include_str!({})),", literal(&results));
        }
    }
    table.push_str("];\n");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    fs::write(out.join("embedded.rs"), table).expect("the build folder can be written");
}

/// A path as a Rust string.
fn literal(path: &Path) -> String {
    format!("{:?}", path.to_str().expect("the repository's path is text"))
}
