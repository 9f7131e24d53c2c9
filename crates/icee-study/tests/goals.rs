//! What is wanted: a target, bounds, limits, several outcomes, what a row costs; and how rows are asked for: alike, for a while.

mod common;

use common::{Scratch, options, points, pool, value};
use icee_protocol::{EarlierMismatch, Note, Problem, Range};
use icee_study::{
    AskOptions, Bounds, Corrected, Direction, Further, Outcome, Repeat, SamplerKind, Study, StudyOptions, Wanted,
};

/// Asks and tells until so many values are known; the rows in order.
fn search(study: &mut Study, count: usize, truth: impl Fn(usize) -> (f64, Vec<(&'static str, f64)>)) -> Vec<usize> {
    let mut rows = Vec::new();
    for _ in 0..count {
        let row = study.ask(1, None).unwrap().suggestions[0].row;
        let (value, further) = truth(row);
        study.tell_measured(&row.to_string(), value, &further, Repeat::Refuse).unwrap();
        rows.push(row);
    }
    rows
}

fn tell(study: &mut Study, rows: impl Iterator<Item = usize>, truth: impl Fn(usize) -> f64) {
    for row in rows {
        study.tell(&row.to_string(), truth(row), Repeat::Refuse).unwrap();
    }
}

fn ask(count: usize) -> AskOptions {
    AskOptions { count, more: true, ..AskOptions::default() }
}

#[test]
fn a_target_is_approached_from_both_sides() {
    let scratch = Scratch::new("goal-target");
    let pool = scratch.write("pool.csv", &pool(120));
    let target = StudyOptions { direction: Direction::Target(0.25), ..options(&pool) };
    let mut study = scratch.create("s.jsonl", &target);
    search(&mut study, 14, |row| (value(row), vec![]));
    let best = study.best().unwrap().row.value.unwrap();
    let nearest = (1..=120).map(|row| (value(row) - 0.25).abs()).fold(f64::INFINITY, f64::min);
    assert!((best - 0.25).abs() < nearest + 0.01, "{best}, {nearest}");
    // A row that is known to lie there is more likely than one that lies far off.
    let forecasts = study.predict(None, None).unwrap().rows;
    let chance = |wanted: &dyn Fn(f64) -> bool| {
        let rows = forecasts.iter().enumerate().filter(|(at, _)| wanted(value(at + 1)));
        rows.map(|(_, row)| row.forecast.beats_best).fold(0.0, f64::max)
    };
    assert!(chance(&|value| (value - 0.25).abs() < 0.05) > 5.0 * chance(&|value| value > 0.8));
    let left = study.ask(1, None).unwrap().remaining.unwrap();
    assert!((0.0..=1.0).contains(&left.any) && left.single <= left.any);
}

#[test]
fn values_stay_within_their_bounds() {
    let scratch = Scratch::new("goal-bounds");
    let pool = scratch.write("pool.csv", &pool(60));
    let bounds = Some(Bounds { low: Some(0.0), high: Some(1.0) });
    let bounded = StudyOptions { bounds, ..options(&pool) };
    let mut study = scratch.create("s.jsonl", &bounded);
    let wrong = study.tell("1", 3.5, Repeat::Refuse).unwrap_err();
    let range = Range { low: Some(0.0), high: Some(1.0) };
    assert_eq!(wrong, Problem::OutOfRange { row: "1".into(), value: 3.5, range });
    tell(&mut study, 1..=12, |row| value(row).min(1.0));
    let within = |study: &mut Study| {
        study.predict(None, None).unwrap().rows.iter().all(|row| row.forecast.low >= 0.0 && row.forecast.high <= 1.0)
    };
    assert!(within(&mut study));
    assert!(study.ask(1, None).unwrap().remaining.unwrap().any > 0.0);
    // Nothing is better than the bound.
    study.tell("13", 0.0, Repeat::Refuse).unwrap();
    let answer = study.suggest(&ask(1)).unwrap();
    assert_eq!(answer.remaining.unwrap().any, 0.0);
    assert_eq!(answer.suggestions[0].forecast.as_ref().unwrap().beats_best, 0.0);
    // Wherever the values lie: who is at the bound is neither above nor below it.
    for seed in 0..20 {
        let mut study = scratch.create(&format!("{seed}.jsonl"), &StudyOptions { seed, ..bounded.clone() });
        tell(&mut study, 1..=7, |row| (0.1 + 0.037 * (seed as f64) * value(row)).min(1.0));
        tell(&mut study, 8..=8, |_| 0.0);
        assert_eq!(study.suggest(&ask(1)).unwrap().remaining.unwrap().any, 0.0, "{seed}");
    }
    let impossible = StudyOptions { bounds: Some(Bounds { low: Some(2.0), high: Some(1.0) }), ..options(&pool) };
    let refused = Study::create(&scratch.0.join("t.jsonl"), &impossible, Default::default()).err().unwrap();
    assert_eq!(refused, Problem::RangeReversed { low: 2.0, high: 1.0 });
}

/// Cheap and dear rows in turn, as good as each other.
#[test]
fn what_is_gained_is_worth_its_price() {
    let scratch = Scratch::new("goal-cost");
    let mut text = String::from("a,b,kind,price\n");
    for (row, (a, b, kind)) in points(80).iter().enumerate() {
        text += &format!("{a},{b},{kind},{}\n", if row % 2 == 0 { 10_000 } else { 1 });
    }
    let pool = scratch.write("pool.csv", &text);
    let dear = |rows: &[usize]| rows.iter().filter(|row| *row % 2 == 1).count();
    let count = |name: &str, cost: Option<&str>| {
        let ignore = vec!["price".to_owned()];
        let with = StudyOptions { cost: cost.map(String::from), ..options(&pool) };
        let without = StudyOptions { ignore, ..options(&pool) };
        let mut study = scratch.create(name, if cost.is_some() { &with } else { &without });
        assert_eq!(study.summary(None).columns.len(), 3);
        let truth = |row: usize| value(row) - if row.is_multiple_of(2) { 0.1 } else { 0.0 };
        tell(&mut study, 1..=4, truth);
        dear(&search(&mut study, 12, |row| (truth(row), vec![])))
    };
    let (with, without) = (count("with.jsonl", Some("price")), count("without.jsonl", None));
    assert!(with + 3 <= without, "{with} {without}");
    for price in ["0", ""] {
        let pool = scratch.write("bad.csv", &format!("a,price\n1,{price}\n2,3\n"));
        let with = StudyOptions { cost: Some("price".into()), ..options(&pool) };
        let error = Study::create(&scratch.0.join("bad.jsonl"), &with, Default::default()).err().unwrap();
        let Problem::Table { faults, .. } = error else { panic!("{error}") };
        assert_eq!(faults, [format!("line 2: column 2 (price): \"{price}\" is not a cost. Enter a number above 0.")]);
    }
}

#[test]
fn rows_of_a_batch_share_a_setting() {
    let scratch = Scratch::new("goal-same");
    let mut text = String::from("temp,x\n");
    (0..60).for_each(|row| text += &format!("{},{}\n", 60 + 20 * (row % 3), row / 3));
    let pool = scratch.write("pool.csv", &text);
    let truth = |row: usize| {
        let (temp, x) = ((row - 1) % 3, (row - 1) / 3);
        (x as f64 - 12.0).powi(2) / 100.0 + [3.0, 0.0, 1.0][temp]
    };
    let temp = |row: usize| (row - 1) % 3;
    for sampler in [None, Some(SamplerKind::Random)] {
        let mut study = scratch.create(&format!("{sampler:?}.jsonl"), &StudyOptions { sampler, ..options(&pool) });
        for round in 0..4 {
            let same = vec!["temp".to_owned()];
            let answer = study.suggest(&AskOptions { same, ..ask(5) }).unwrap();
            let rows: Vec<usize> = answer.suggestions.iter().map(|row| row.row).collect();
            assert_eq!(rows.len(), 5);
            assert!(rows.iter().all(|&row| temp(row) == temp(rows[0])), "{rows:?}");
            if round == 3 && sampler.is_none() {
                assert_eq!(temp(rows[0]), 1, "the best of the three");
            }
            tell(&mut study, rows.into_iter(), truth);
        }
        let same = vec!["heat".to_owned()];
        let refused = study.suggest(&AskOptions { same, ..ask(5) }).unwrap_err();
        let Problem::Table { faults, .. } = &refused else { panic!("{refused}") };
        assert_eq!(faults[..], ["line 1: no column \"heat\". Columns: temp, x."]);
    }
}

#[test]
fn rows_come_back_when_their_time_is_up() {
    let scratch = Scratch::new("goal-deadline");
    let pool = scratch.write("pool.csv", &pool(4));
    let mut study = scratch.create("s.jsonl", &options(&pool));
    study.suggest(&AskOptions { until: Some(1000), ..ask(2) }).unwrap();
    study.ask(2, None).unwrap();
    let pending = study.running(None).unwrap();
    assert_eq!(pending.iter().filter(|row| row.until == Some(1000)).count(), 2);
    // Until then nothing is left; an answer says what has expired, and takes it from there.
    study.take_notes();
    let refused = study.suggest(&AskOptions { now: 999, ..ask(1) }).unwrap_err();
    assert_eq!(refused, Problem::NoneLeft { rows: 4, running: 4 });
    assert_eq!(study.take_notes(), []);
    let again = study.suggest(&AskOptions { now: 1000, ..ask(1) }).unwrap();
    let [Note::Expired { rows: late }] = &study.take_notes()[..] else { panic!() };
    assert_eq!(late.len(), 2);
    let [kept] = &late.iter().filter(|row| **row != again.suggestions[0].id).collect::<Vec<_>>()[..] else { panic!() };
    // Late answers count.
    study.tell(&again.suggestions[0].id, 1.0, Repeat::Refuse).unwrap();
    assert_eq!(study.suggest(&AskOptions { now: 5000, ..ask(1) }).unwrap().suggestions[0].id, **kept);
    assert_eq!(study.take_notes(), [], "each expires once");
    let mut again = scratch.open("s.jsonl");
    assert_eq!(again.summary(None).running, study.summary(None).running);
}

fn several(pool: &std::path::Path) -> StudyOptions {
    let further = vec![
        Further { name: "price".into(), wanted: Wanted::Best(Direction::Minimize) },
        Further { name: "purity".into(), wanted: Wanted::AtLeast(0.5) },
    ];
    StudyOptions { direction: Direction::Maximize, further, ..options(pool) }
}

/// Yield falls with a, price rises with b; pure is what has little of both.
fn outcomes(row: usize) -> (f64, Vec<(&'static str, f64)>) {
    let (a, b, _) = points(row)[row - 1];
    let (gain, price) = (1.0 - (a - 0.4).powi(2) + 0.8 * b, (a - 0.7).powi(2) + b);
    (gain, vec![("price", price), ("purity", 1.0 - 0.6 * a)])
}

#[test]
fn several_outcomes_make_a_front_within_limits() {
    let scratch = Scratch::new("goal-front");
    let pool = scratch.write("pool.csv", &pool(150));
    let mut study = scratch.create("s.jsonl", &several(&pool));
    assert!(study.best().is_none() && study.front().is_empty());
    search(&mut study, 40, outcomes);
    let losses = |row: usize| {
        let (gain, further) = outcomes(row);
        (further[1].1 >= 0.5).then(|| [-gain, further[0].1])
    };
    let beaten = |one: &[f64; 2], by: &[f64; 2]| by[0] <= one[0] && by[1] <= one[1] && by != one;
    let all: Vec<[f64; 2]> = (1..=150).filter_map(losses).collect();
    let truth = all.iter().filter(|one| !all.iter().any(|by| beaten(one, by))).count();
    let front = study.front();
    for row in &front {
        let mine = losses(row.row).expect("the limit holds");
        assert!(!front.iter().filter_map(|other| losses(other.row)).any(|by| beaten(&mine, &by)));
        assert_eq!(row.further[1], ("purity".into(), Some(outcomes(row.row).1[1].1)));
    }
    let found = front.iter().filter(|row| !all.iter().any(|by| beaten(&losses(row.row).unwrap(), by))).count();
    assert!(3 * found > truth && truth > 8, "{found} of the {truth} rows that no other beats");
    // Chance would have found about a quarter of it with a quarter of the rows; most of what was asked keeps the limit.
    let answer = study.ask(1, None).unwrap();
    let forecast = answer.suggestions[0].forecast.as_ref().unwrap();
    assert_eq!(forecast.further.len(), 2);
    assert!(forecast.further[1].holds.unwrap() > 0.5 && forecast.further[0].holds.is_none());
    assert!(answer.remaining.is_none());
    // Opened again, all is as it was.
    let (summary, mut again) = (study.summary(None), scratch.open("s.jsonl"));
    assert_eq!((again.front(), again.summary(None)), (study.front(), summary));
}

#[test]
fn a_limit_alone_keeps_the_search_within_it() {
    let scratch = Scratch::new("goal-limit");
    let pool = scratch.write("pool.csv", &pool(150));
    let mut only = several(&pool);
    only.further.remove(0);
    let mut study = scratch.create("s.jsonl", &only);
    let truth = |row: usize| {
        let (gain, further) = outcomes(row);
        (gain, vec![further[1]])
    };
    let rows = search(&mut study, 30, truth);
    let kept = |row: usize| truth(row).1[0].1 >= 0.5;
    let best = (1..=150).filter(|&row| kept(row)).map(|row| truth(row).0).fold(0.0, f64::max);
    assert!(study.best().unwrap().row.value.unwrap() > best - 0.02);
    assert!(rows[10..].iter().filter(|&&row| kept(row)).count() >= 17, "{rows:?}");
}

#[test]
fn further_outcomes_are_read_from_the_sheet() {
    let scratch = Scratch::new("goal-sheet");
    let sheet = |rows: &str| scratch.write("sheet.csv", &format!("heat,yield,price,purity\n{rows}"));
    let pool = sheet("1,3,2,0.9\n2,failed,,\n3,,,\n4,5,4,\n5,,,\n");
    let with = StudyOptions { value: Some("yield".into()), ..several(&pool) };
    let mut study = scratch.create("s.jsonl", &with);
    assert_eq!(study.summary(None).columns.len(), 1);
    let told = study.summary(None).told;
    assert_eq!(told[2].further, [("price".into(), Some(4.0)), ("purity".into(), None)]);
    // Row 4 has no purity yet, so nobody knows whether it may count.
    assert_eq!(study.front().iter().map(|row| row.row).collect::<Vec<_>>(), [1]);
    // What was measured later is filled in without a word about correcting.
    sheet("1,3,2,0.9\n2,failed,,\n3,,,\n4,5,4,0.7\n5,1,1,0.6\n");
    let change = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap();
    assert_eq!((change.told.new, change.told.replaced), (1, 1));
    assert_eq!(study.front().iter().map(|row| row.row).collect::<Vec<_>>(), [4, 1, 5]);
    let unknown = study.tell_measured("3", 1.0, &[("prize", 1.0)], Repeat::Refuse).unwrap_err();
    let Problem::Unknown { name, nearest, .. } = &unknown else { panic!("{unknown}") };
    assert_eq!((name.as_str(), &nearest[0][..]), ("prize", "price"));
    study.tell("3", Outcome::Failed, Repeat::Refuse).unwrap();
    sheet("1,3,2,0.9\n2,failed,,\n3,failed,,\n4,5,4,0.2\n5,1,1,0.6\n");
    let refused = study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err();
    let Problem::Lines { problems, .. } = &refused else { panic!("{refused}") };
    let (row, here, known) = ("4".into(), "5 (4, 0.2)".into(), "5 (4, 0.7)".into());
    assert_eq!(problems[0].problem, Problem::SheetDiffers { row, here, known });
}

#[test]
fn an_earlier_study_is_learned_from() {
    let scratch = Scratch::new("goal-like");
    let text = pool(150);
    let sheet = scratch.write("pool.csv", &text);
    let mut earlier = scratch.create("earlier.jsonl", &options(&sheet));
    // The same bowl in another unit, turned upside down by nobody.
    tell(&mut earlier, 1..=60, |row| 40.0 + 100.0 * value(row));
    let like = Some(scratch.0.join("earlier.jsonl").into());
    let first = |name: &str, like| {
        let mut study = scratch.create(name, &StudyOptions { like, ..options(&sheet) });
        let rows = search(&mut study, 6, |row| (value(row), vec![]));
        (rows.iter().map(|&row| value(row)).fold(f64::INFINITY, f64::min), study)
    };
    // One value of another unit is no surprise.
    let mut other = scratch.create("other.jsonl", &StudyOptions { like: like.clone(), ..options(&sheet) });
    other.tell("150", 0.01 * value(150), Repeat::Refuse).unwrap();
    let beliefs = other.predict(None, None).unwrap().rows;
    assert!(beliefs.iter().all(|row| row.forecast.mean.abs() < 1.0), "{beliefs:?}");
    let (alone, _) = first("alone.jsonl", None);
    let (with, mut study) = first("with.jsonl", like.clone());
    let lowest = (1..=150).map(value).fold(f64::INFINITY, f64::min);
    assert!(with < lowest + 0.01 && with < alone, "{with} {alone} {lowest}");
    assert_eq!(study.summary(None).earlier, Some(("earlier".into(), 60)));
    // Its rows are not this study's: nothing of it is told, or can be the best.
    assert_eq!((study.summary(None).told.len(), study.predict(None, None).unwrap().rows.len()), (6, 150));
    // The journal has all that is needed, and goes on the same way.
    std::fs::remove_file(scratch.0.join("earlier.jsonl")).unwrap();
    let mut again = scratch.open("with.jsonl");
    let expected = study.preview(&ask(2)).unwrap().suggestions;
    assert_eq!(again.ask(2, None).unwrap().suggestions, expected);
}

#[test]
fn an_earlier_study_of_other_columns_is_refused() {
    let scratch = Scratch::new("goal-unlike");
    let mut earlier = scratch.create("earlier.jsonl", &options(&scratch.write("a.csv", "a;b\n1,5;x\n2,5;y\n3;z\n")));
    let sheet = scratch.write("b.csv", "a,b,c\n1,4,u\n2,5,v\n3,6,u\n");
    let like = |columns: Option<&[&str]>| {
        let columns = columns.map(|names| names.iter().map(|name| String::from(*name)).collect());
        let options = StudyOptions { like: Some(scratch.0.join("earlier.jsonl").into()), columns, ..options(&sheet) };
        Study::create(&scratch.0.join(format!("{}.jsonl", options.columns.is_some())), &options, Default::default())
    };
    tell(&mut earlier, 1..=1, |_| 1.0);
    let few = like(Some(&["a"])).err().unwrap();
    assert_eq!(few, Problem::EarlierEmpty { study: "earlier".into() });
    tell(&mut earlier, 2..=3, |row| row as f64);
    let other = like(None).err().unwrap();
    let mismatches = vec![
        EarlierMismatch::Type { column: "b".into(), numbers_here: true },
        EarlierMismatch::NoColumn { column: "c".into() },
    ];
    assert_eq!(other, Problem::Earlier { study: "earlier".into(), mismatches });
    // A decimal comma of one sheet is a point in the other.
    let mut same = like(Some(&["a"])).unwrap();
    assert!(same.ask(1, None).unwrap().suggestions[0].forecast.is_some());
    let columns = Some(vec!["a".to_owned()]);
    let like = Some(scratch.0.join("earlier.jsonl").into());
    let opposed = StudyOptions { like, columns, direction: Direction::Maximize, ..options(&sheet) };
    let opposed = scratch.create("opposed.jsonl", &opposed).take_notes();
    let is_noted =
        |notes: &[Note]| notes.contains(&Note::EarlierOpposed { study: "earlier".into(), high_there: false });
    assert!(is_noted(&opposed) && !is_noted(&same.take_notes()), "{opposed:?}");
}

#[test]
fn outcomes_are_completed_and_corrected_one_by_one() {
    let scratch = Scratch::new("goal-complete");
    let mut study = scratch.create("s.jsonl", &several(&scratch.write("pool.csv", &pool(9))));
    let further = |study: &mut Study| study.summary(None).told[0].measurements[0].clone();
    study.tell_measured("1", 5.0, &[("price", 2.0)], Repeat::Refuse).unwrap();
    // Filled in later; and corrected without a word about the others.
    assert_eq!(study.tell_measured("1", 5.0, &[("purity", 0.9)], Repeat::Refuse).unwrap().replaced, 1);
    assert_eq!(further(&mut study), [Some(5.0), Some(2.0), Some(0.9)]);
    study.tell_measured("1", 6.0, &[], Repeat::Replace).unwrap();
    assert_eq!(further(&mut study), [Some(6.0), Some(2.0), Some(0.9)]);
    let corrected = study.tell_measured("1", 6.0, &[("price", 3.0)], Repeat::Refuse).unwrap_err();
    assert_eq!(corrected.code(), "already-measured", "another price is a correction");
    // Cells beside an empty value do not count yet, and it is said.
    let sheet = scratch.write("sheet.csv", "heat,yield,price,purity\n1,3,2,0.9\n2,,4,\n3,,,\n");
    let mut study = scratch.create("t.jsonl", &StudyOptions { value: Some("yield".into()), ..several(&sheet) });
    assert!(study.take_notes().contains(&Note::Waiting { rows: 1 }));
}

#[test]
fn a_plate_that_can_be_filled_comes_first() {
    let scratch = Scratch::new("goal-plate");
    let mut text = String::from("plate,x\n");
    (0..30).for_each(|row| text += &format!("{},{}\n", if row < 4 { "small" } else { "large" }, row));
    let pool = scratch.write("pool.csv", &text);
    for told in [0, 6] {
        let mut study = scratch.create(&format!("{told}.jsonl"), &options(&pool));
        // The best are on the small plate.
        tell(&mut study, (0..told).map(|k| 1 + 5 * k), |row| row as f64);
        let answer = study.suggest(&AskOptions { same: vec!["plate".into()], ..ask(8) }).unwrap();
        assert!(answer.suggestions.len() == 8 && answer.suggestions.iter().all(|row| row.row > 4), "{answer:?}");
    }
}
