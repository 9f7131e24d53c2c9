//! `icee functions` as a user sees it: commands and their exact output.

#[test]
fn functions_command() {
    trycmd::TestCases::new().case("tests/cmd/functions/*.trycmd");
}

/// Every reference value of the library's tests, through the command line.
#[test]
fn a_file_of_points_is_evaluated_to_full_precision() {
    let reference = concat!(env!("CARGO_MANIFEST_DIR"), "/../icee-bo/tests/golden/functions.csv");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_icee"))
        .args(["functions", "eval", "--csv", reference])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let expected = std::fs::read_to_string(reference).unwrap();
    assert_eq!(printed.lines().count(), 49);
    for (line, wanted) in printed.lines().zip(expected.lines()).skip(1) {
        let number = |text: &str| text.rsplit(',').next().unwrap().parse::<f64>().unwrap();
        assert!((number(line) - number(wanted)).abs() <= 1e-9 * number(wanted).abs().max(1.0), "{line} {wanted}");
    }
}
