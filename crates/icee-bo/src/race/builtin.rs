//! The pools of `data/tables`, inside the program, and what other tools found in them.

use super::pools::{RealPool, read_with};
use super::runs::{self, PoolRun};
use crate::error::BoResult;
use icee_base::table::{Table, TableError};
use std::path::Path;

/// A file of the folder and its text.
macro_rules! files {
    ($($file:literal),* $(,)?) => {
        [$(($file, include_str!(concat!("../../../../data/tables/", $file)))),*]
    };
}

const FILES: [(&str, &str); 15] = files![
    "pools.csv",
    "first-rows.csv",
    "pools/agnp.csv",
    "pools/alkox.csv",
    "pools/colors_bob.csv",
    "pools/crossed_barrel.csv",
    "pools/direct_arylation.csv",
    "pools/hplc.csv",
    "pools/liquid_water.csv",
    "pools/lnp3.csv",
    "pools/oer_plate_3496.csv",
    "pools/p3ht.csv",
    "pools/photo_pce10.csv",
    "pools/redoxmers.csv",
    "pools/suzuki_i.csv",
];

/// Searches of other tools, made by `tools/bench/table_race.py`.
const OTHERS: &str = include_str!("../../../../data/tables/others.tsv");

/// The pools' names, in alphabetical order.
pub fn names() -> impl Iterator<Item = &'static str> {
    FILES.iter().filter_map(|(file, _)| file.strip_prefix("pools/")?.strip_suffix(".csv"))
}

/// The pools, in the folder's order.
///
/// # Errors
/// None but a program's that was built from a damaged folder.
pub fn pools() -> BoResult<Vec<RealPool>> {
    read_with(&|file| {
        let found = FILES.iter().find(|(name, _)| *name == file);
        let (name, text) = found.ok_or_else(|| TableError::Missing(file.into()))?;
        Table::of_bytes(Path::new(name), text.as_bytes().to_vec())
    })
}

/// What other tools found in them.
///
/// # Errors
/// As [`pools`].
pub fn others(pools: &[RealPool]) -> BoResult<Vec<PoolRun>> {
    runs::parse(OTHERS, Path::new("others.tsv"), pools)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_folder_is_whole_and_every_tool_has_searched_all_of_it() {
        let pools = pools().unwrap();
        assert_eq!(pools.len(), names().count());
        assert!(names().all(|name| pools.iter().any(|pool| pool.name == name)));
        let others = others(&pools).unwrap();
        for pool in &pools {
            assert_eq!(pool.first.len(), 20, "{}", pool.name);
            for method in ["botorch", "forest"] {
                let runs = others.iter().filter(|run| run.pool == pool.name && run.method == method);
                assert_eq!(runs.count(), 20, "{method} on {}", pool.name);
            }
        }
    }
}
