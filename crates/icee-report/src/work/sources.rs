//! A checksum of the program as far as results depend on it: the sources of this crate's `work/` and of every crate of the
//! project that it is built from, and the locked versions of all others.
//!
//! `build.rs` takes it when the program is built. Why the sources and not the executable: whoever changes a figure, a page
//! or a command need not compute for eleven minutes again, and the same sources give the same results in every profile and
//! on every machine.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

/// What is searched in the chapter on real tables.
const TABLES: [&str; 3] = ["pools.csv", "first-rows.csv", "pools"];

/// No result of the report comes from a study.
const APART: &str = "icee-study";

/// Every file and folder that counts, for the crate in `here`: crates beside it lie in folders of their names.
pub fn watched(here: &Path) -> io::Result<Vec<PathBuf>> {
    let crates = here.parent().unwrap_or(here);
    let mut watched = vec![here.join("Cargo.toml"), here.join("src").join("work"), crates.join("../Cargo.lock")];
    watched.extend(TABLES.map(|table| crates.join("../data/tables").join(table)));
    let mut known = BTreeSet::from([APART.to_owned()]);
    let mut open = dependencies(&here.join("Cargo.toml"))?;
    while let Some(name) = open.pop() {
        let folder = crates.join(&name);
        // Without the folder it is a published crate, whose version says it all.
        if known.insert(name) && folder.is_dir() {
            open.extend(dependencies(&folder.join("Cargo.toml"))?);
            watched.extend([folder.join("Cargo.toml"), folder.join("src")]);
        }
    }
    watched.retain(|path| path.exists());
    watched.sort();
    Ok(watched)
}

/// The checksum of all that counts: 16 digits.
pub fn checksum(here: &Path) -> io::Result<String> {
    let crates = here.parent().unwrap_or(here);
    let mut hasher = DefaultHasher::new();
    for path in watched(here)? {
        for file in files(&path)? {
            // Where the project lies must not count.
            file.strip_prefix(crates).unwrap_or(&file).hash(&mut hasher);
            fs::read(&file)?.hash(&mut hasher);
        }
    }
    Ok(format!("{:016x}", hasher.finish()))
}

/// The project's crates among the dependencies of a manifest.
fn dependencies(manifest: &Path) -> io::Result<Vec<String>> {
    let text = fs::read_to_string(manifest)?;
    let lines =
        text.lines().skip_while(|line| *line != "[dependencies]").skip(1).take_while(|line| !line.starts_with('['));
    let names = lines.filter_map(|line| line.split(['.', ' ', '=']).next()).filter(|name| name.starts_with("icee-"));
    Ok(names.map(String::from).collect())
}

/// The files of a folder and all folders in it, in the order of their names; a file is its own.
fn files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let mut entries: Vec<PathBuf> = fs::read_dir(path)?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?;
    entries.sort();
    let nested: Vec<Vec<PathBuf>> = entries.iter().map(|entry| files(entry)).collect::<io::Result<_>>()?;
    Ok(nested.concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_knows_its_own_sources() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert_eq!(checksum(here).unwrap(), env!("ICEE_SOURCES"), "build.rs must run again whenever they change");
        let names: Vec<String> = watched(here).unwrap().iter().map(|path| path.display().to_string()).collect();
        for part in [
            "data/tables/pools",
            "icee-nn/src",
            "icee-worlds/src",
            "icee-base/src",
            "icee-report/src/work",
            "Cargo.lock",
        ] {
            assert!(names.iter().any(|name| name.ends_with(part)), "{part}: {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("icee-study") || name.contains("icee-cli")), "{names:?}");
    }

    #[test]
    fn what_results_depend_on_counts_and_nothing_else() {
        let root = std::env::temp_dir().join(format!("icee-sources-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join("crates").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let now = || checksum(&root.join("crates/icee-report")).unwrap();
        write("icee-report/Cargo.toml", "[package]\n[dependencies]\ncsv = \"1\"\nicee-a.workspace = true\n[lints]\n");
        write("icee-report/src/work/mod.rs", "");
        write("icee-a/Cargo.toml", "[dependencies]\nicee-b = { path = \"../icee-b\" }\nicee-study.workspace = true\n");
        write("icee-a/src/lib.rs", "fn a() {}");
        write("icee-b/Cargo.toml", "[dependencies]\n");
        write("icee-b/src/deep/b.rs", "fn b() {}");
        let first = now();
        write("icee-report/src/draw.rs", "fn draw() {}");
        write("icee-study/src/lib.rs", "fn study() {}");
        write("icee-c/src/lib.rs", "fn c() {}");
        write("icee-b/tests/b.rs", "fn test() {}");
        assert_eq!(now(), first);
        let mut seen = vec![first];
        for (path, text) in [
            ("icee-a/src/lib.rs", "fn a() { 1 }"),
            ("icee-b/src/deep/b.rs", "fn b() { 1 }"),
            ("icee-b/src/deep/c.rs", ""),
            ("icee-report/src/work/mod.rs", "1"),
            ("../Cargo.lock", "rand 1"),
        ] {
            write(path, text);
            assert!(!seen.contains(&now()), "{path}");
            seen.push(now());
        }
        fs::remove_dir_all(root).unwrap();
    }
}
