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

/// The pools of the benchmark as other tools read them: complete, standardised, with five candidates to begin with.
#[test]
fn tasks_can_be_raced_by_other_tools() {
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_icee"))
        .args(["functions", "tasks", "--trials", "1", "--seed", "3"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let printed = String::from_utf8(output.stdout).unwrap();
    let mut lines = printed.lines();
    assert_eq!(lines.next(), Some("function,trial,candidate,x1,x2,value,first"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 16 * 1024);
    for pool in rows.chunks(1024) {
        let mean: f64 = pool.iter().map(|row| row[5].parse::<f64>().unwrap()).sum::<f64>() / 1024.0;
        assert!(mean.abs() < 1e-9 && pool.iter().all(|row| row[0] == pool[0][0]), "{mean}");
        let mut first: Vec<&str> = pool.iter().map(|row| row[6]).filter(|text| !text.is_empty()).collect();
        first.sort_unstable();
        assert_eq!(first, ["1", "2", "3", "4", "5"]);
    }
}
