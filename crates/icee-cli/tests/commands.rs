//! The commands as people type them: every file in `cmd/` holds commands whose output must not change unnoticed.
//!
//! `TRYCMD=overwrite cargo test -p icee-cli --test commands` writes what is printed now.

#[test]
fn commands_print_what_they_printed() {
    trycmd::TestCases::new().case("tests/cmd/*.trycmd");
}
