//! Studies as a library: what they suggest, what they remember, what they refuse.

mod common;

use common::{Scratch, options, points, pool, value};
use icee_base::random;
use icee_bo::acquisition::Rule;
use icee_bo::gp_surrogate::GpSurrogate;
use icee_protocol::{Misfit, ModelName, Note, Problem, Status};
use icee_study::{
    AskOptions, Corrected, Direction, LearnedModel, Loader, Models, NewSheet, Reads, Repeat, SamplerKind, Study,
    StudyOptions,
};
use proptest::prelude::*;
use rand::RngExt;
use std::collections::HashSet;
use std::fmt::Write;

/// Asks and tells a few rounds; some rows fail, some are left running. `with` lends the study for one step.
fn some_rounds(rounds: usize, mut with: impl FnMut(&mut dyn FnMut(&mut Study))) -> Vec<usize> {
    let mut seen = Vec::new();
    for round in 0..rounds {
        let mut rows = Vec::new();
        with(&mut |study| {
            rows = study.ask(1 + round % 3, None).unwrap().suggestions.iter().map(|s| s.row).collect();
        });
        for &row in &rows {
            with(&mut |study| {
                let outcome = [None, Some(value(row))][usize::from((row + round) % 7 > 0)];
                if (row + round) % 7 != 1 {
                    study.tell(&row.to_string(), outcome, Repeat::Refuse).unwrap();
                }
            });
        }
        seen.extend(rows);
    }
    seen
}

#[test]
fn a_smooth_bowl_is_solved_with_few_experiments() {
    let scratch = Scratch::new("bowl");
    let pool = scratch.write("pool.csv", &pool(300));
    let mut study = scratch.create("bowl.jsonl", &options(&pool));
    for _ in 0..25 {
        let row = study.ask(1, None).unwrap().suggestions[0].row;
        study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
    }
    let lowest = (1..=300).map(value).fold(f64::INFINITY, f64::min);
    assert_eq!(study.best().unwrap().row.value, Some(lowest));
    // Now it is all but sure that nothing better is left.
    let remaining = study.ask(1, None).unwrap().remaining.unwrap();
    assert!(remaining.single <= remaining.any && remaining.any <= remaining.independent, "{remaining:?}");
    assert!(remaining.any < 0.2, "{remaining:?}");
}

/// How good the three numbers are as forecasts of "a better row is left": mean squared error over random functions.
#[test]
fn am_i_done_is_judged_better_together_than_row_by_row() {
    let scratch = Scratch::new("done");
    let (mut errors, mut count) = ([0.0; 3], 0.0);
    for task in 0..24 {
        let mut rng = random::path(task, &[]);
        let mut uniform = |low: f64, high: f64| rng.random_range(low..high);
        let waves: Vec<[f64; 3]> =
            (0..30).map(|_| [uniform(-9.0, 9.0), uniform(-9.0, 9.0), uniform(0.0, 6.3)]).collect();
        let rows: Vec<[f64; 2]> = (0..80).map(|_| [uniform(0.0, 1.0), uniform(0.0, 1.0)]).collect();
        let value =
            |row: usize| waves.iter().map(|[p, q, r]| (p * rows[row][0] + q * rows[row][1] + r).cos()).sum::<f64>();
        let text: String = rows.iter().map(|[a, b]| format!("{a},{b}\n")).collect();
        let pool = scratch.write("pool.csv", &format!("a,b\n{text}"));
        let mut study = scratch.create(&format!("s{task}.jsonl"), &options(&pool));
        let mut left: HashSet<usize> = (0..80).collect();
        for _ in 0..14 {
            let answer = study.ask(1, None).unwrap();
            if let (Some(guess), Some(best)) = (answer.remaining, answer.best) {
                let truth = f64::from(u8::from(left.iter().any(|&row| value(row) < best)));
                let guesses = [guess.any, guess.single, guess.independent];
                errors.iter_mut().zip(guesses).for_each(|(error, guess)| *error += (guess - truth).powi(2));
                count += 1.0;
            }
            let row = answer.suggestions[0].row - 1;
            left.remove(&row);
            study.tell(&answer.suggestions[0].id, Some(value(row)), Repeat::Refuse).unwrap();
        }
    }
    let [any, single, independent] = errors.map(|error| error / count);
    assert!(any < 0.2 && any < single && any < independent, "{any} {single} {independent}");
}

#[test]
fn reopened_each_time_it_goes_on_as_if_never_closed() {
    let scratch = Scratch::new("replay");
    let pool = scratch.write("pool.csv", &pool(60));
    scratch.create("reopened.jsonl", &options(&pool));
    let reopened = some_rounds(7, |step| step(&mut scratch.open("reopened.jsonl")));
    let mut whole = scratch.create("whole.jsonl", &options(&pool));
    let seen = some_rounds(7, |step| step(&mut whole));
    assert_eq!(seen, reopened);
    let bytes = |name: &str| std::fs::read(scratch.0.join(name)).unwrap();
    assert_eq!(bytes("whole.jsonl"), bytes("reopened.jsonl"));
}

#[test]
fn a_crash_at_any_byte_is_survived() {
    let scratch = Scratch::new("crash");
    let pool = scratch.write("pool.csv", &pool(40));
    scratch.create("whole.jsonl", &options(&pool));
    some_rounds(4, |step| step(&mut scratch.open("whole.jsonl")));
    let whole = std::fs::read(scratch.0.join("whole.jsonl")).unwrap();
    let header = whole.iter().position(|&byte| byte == b'\n').unwrap() + 1;
    for length in header..=whole.len() {
        let complete = whole[..length].iter().filter(|&&byte| byte == b'\n').count();
        let kept = whole.iter().enumerate().filter(|(_, byte)| **byte == b'\n').nth(complete - 1).unwrap().0 + 1;
        std::fs::write(scratch.0.join("cut.jsonl"), &whole[..length]).unwrap();
        let mut study = scratch.open("cut.jsonl");
        // A look changes nothing.
        study.summary(None);
        assert_eq!(study.take_notes().contains(&Note::Torn), length > kept, "{length}");
        assert_eq!(std::fs::read(scratch.0.join("cut.jsonl")).unwrap(), whole[..length]);
        // Who would write mends it, even where in the end there is nothing to write.
        assert_eq!(study.tell("no such row", None, Repeat::Refuse).unwrap_err().code(), "row-unknown");
        let aside = scratch.0.join("cut.jsonl.damaged-1");
        assert_eq!(aside.exists(), length > kept, "{length}");
        if length > kept {
            assert_eq!(std::fs::read(&aside).unwrap(), whole[kept..length]);
            assert_eq!(study.take_notes(), [Note::TornMoved { place: aside.display().to_string() }]);
            std::fs::remove_file(aside).unwrap();
        }
        assert_eq!(std::fs::read(scratch.0.join("cut.jsonl")).unwrap(), whole[..kept]);
    }
}

#[test]
fn the_unit_of_the_values_does_not_matter() {
    let scratch = Scratch::new("units");
    let pool = scratch.write("pool.csv", &pool(120));
    let path = |name: &str, scale: f64, offset: f64, direction| {
        let mut study = scratch.create(name, &StudyOptions { direction, ..options(&pool) });
        let mut seen = Vec::new();
        for round in 0..8 {
            let answer = study.ask(2, None).unwrap();
            // The second of every third pair stays running.
            for suggestion in &answer.suggestions[..if round % 3 == 2 { 1 } else { 2 }] {
                let value = offset + scale * value(suggestion.row);
                study.tell(&suggestion.id, Some(value), Repeat::Refuse).unwrap();
            }
            seen.extend(answer.suggestions.iter().map(|suggestion| suggestion.row));
        }
        seen
    };
    let plain = path("plain", 1.0, 0.0, Direction::Minimize);
    assert_eq!(plain, path("small", 1e-5, 0.7, Direction::Minimize));
    assert_eq!(plain, path("large", 3.3e6, -1e5, Direction::Minimize));
    assert_eq!(plain, path("turned", -12.5, 4.0, Direction::Maximize));
}

#[test]
fn a_batch_spreads_out() {
    // Every point four times: without regard to each other, the best four would be four copies.
    let scratch = Scratch::new("batch");
    let mut text = String::from("a,b\n");
    points(50).iter().for_each(|(a, b, _)| (0..4).for_each(|_| writeln!(text, "{a},{b}").unwrap()));
    let pool = scratch.write("pool.csv", &text);
    let mut study = scratch.create("batch.jsonl", &options(&pool));
    for row in [1, 21, 57, 90, 130, 161] {
        study.tell(&row.to_string(), Some((row as f64).sin()), Repeat::Refuse).unwrap();
    }
    let place = |row: usize| (row - 1) / 4;
    let at_once = study.ask(4, None).unwrap().suggestions;
    let while_running = study.ask(1, None).unwrap().suggestions;
    let places: HashSet<usize> = at_once.iter().chain(&while_running).map(|s| place(s.row)).collect();
    assert!(places.len() >= 4, "{places:?}");
    // What is said of a row rests on what was told, not on imagined outcomes: the table says the same.
    let table = study.predict(None, None).unwrap().rows;
    for suggestion in at_once.iter().chain(&while_running) {
        assert_eq!(suggestion.forecast, Some(table[suggestion.row - 1].forecast.clone()));
        assert_eq!(table[suggestion.row - 1].status, Status::Running);
    }
}

/// A learned model that is a Gaussian process in truth.
fn stand_in(hash: u64) -> Models {
    let load: Loader = Box::new(|| Ok(Box::new(GpSurrogate::default())));
    let name = "stand-in".into();
    Models::default().with(LearnedModel {
        name,
        hash,
        reads: Reads::Coordinates(1..=3),
        history: 8,
        rule: Rule::Sampled(2.0),
        load,
    })
}

#[test]
fn another_model_is_used_knowingly_only() {
    let scratch = Scratch::new("pin");
    let pool = scratch.write("pool.csv", &pool(50));
    let path = scratch.0.join("study.jsonl");
    let mut study = Study::create(&path, &options(&pool), stand_in(1)).unwrap();
    assert_eq!(study.summary(None).model.unwrap().to_string(), "stand-in (0000000000000001)");
    for row in 1..=3 {
        study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
    }
    study.ask(1, None).unwrap();
    let mut other = Study::open(&path, stand_in(2)).unwrap();
    let [pinned, here] = [1, 2].map(|hash| ModelName { name: "stand-in".into(), hash: format!("{hash:016x}") });
    for refused in [other.ask(1, None).map(|_| ()), other.predict(None, None).map(|_| ())] {
        assert_eq!(refused.unwrap_err(), Problem::OtherModel { pinned: pinned.clone(), here: here.clone() });
    }
    other.ask(1, Some(SamplerKind::GpEi)).unwrap();
    // Where no learned model is asked for, there is none to accept.
    let accept = |sampler| AskOptions { count: 1, sampler, more: true, accept_model: true, ..AskOptions::default() };
    other.suggest(&accept(Some(SamplerKind::GpEi))).unwrap();
    assert_eq!(other.ask(1, None).unwrap_err().code(), "other-model");
    other.suggest(&accept(None)).unwrap();
    other.ask(1, None).unwrap();
    // From there on the other one is the study's, and the first is refused.
    assert_eq!(study.ask(1, None).unwrap_err(), Problem::OtherModel { pinned: here.clone(), here: pinned });
    // A journal that says nothing of a model: the first answer does.
    let old = scratch.0.join("old.jsonl");
    let without = StudyOptions { sampler: Some(SamplerKind::GpEi), ..options(&pool) };
    Study::create(&old, &without, stand_in(2)).unwrap();
    let mut study = Study::open(&old, stand_in(2)).unwrap();
    assert_eq!(study.summary(None).model, None);
    study.tell("1", Some(1.0), Repeat::Refuse).unwrap();
    let learned = Some(SamplerKind::Learned);
    study.ask(1, learned).unwrap();
    assert_eq!(study.take_notes(), [Note::ModelNoted { model: here.to_string() }]);
    let mut study = Study::open(&old, stand_in(2)).unwrap();
    assert_eq!(study.summary(None).model, Some(here));
    study.ask(1, learned).unwrap();
    assert_eq!(study.take_notes(), []);
}

#[test]
fn a_learned_model_is_picked_where_it_fits() {
    let scratch = Scratch::new("learned");
    let models = || stand_in(1);
    let narrow = scratch.write("narrow.csv", &pool(50));
    let mut study = Study::create(&scratch.0.join("narrow.jsonl"), &options(&narrow), models()).unwrap();
    for row in 1..=9 {
        study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
    }
    let answer = study.ask(2, None).unwrap();
    assert_eq!(answer.sampler, "learned");
    let thinned = Note::Thinned { results: 9, used: 8, fitted: None, model: "stand-in".into() };
    assert_eq!(study.take_notes()[0], thinned);
    // Without that model, the study says what it misses, and another sampler goes on.
    let mut study = scratch.open("narrow.jsonl");
    assert_eq!(study.ask(1, None).unwrap_err(), Problem::NoModel { misfit: Misfit::NoneAtHand });
    assert_eq!(study.ask(1, Some(SamplerKind::GpEi)).unwrap().sampler, "gp-ei");

    let wide = scratch.write("wide.csv", "kind,x\na,1\nb,2\nc,3\nd,4\n");
    let mut study = Study::create(&scratch.0.join("wide.jsonl"), &options(&wide), models()).unwrap();
    assert_eq!(study.take_notes()[0], Note::GpPicks { misfit: Misfit::Coordinates { columns: 5, most: 3 } });
    assert_eq!(study.ask(1, None).unwrap().sampler, "gp-ei");
}

#[test]
fn a_large_pool_is_preselected_by_the_seed_and_said_so() {
    let scratch = Scratch::new("large");
    let pool = scratch.write("pool.csv", &pool(20_000));
    let ask = |name: &str| {
        let mut study = scratch.create(name, &options(&pool));
        for row in [10, 2000, 7000, 12_000, 19_000] {
            study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
        }
        study.take_notes();
        let answer = study.ask(3, None).unwrap();
        (answer, study.take_notes())
    };
    let one = ask("one.jsonl");
    assert_eq!(one.1, [Note::Scored { left: 19_995, scored: 16_384 }]);
    assert_eq!(one, ask("two.jsonl"));
}

#[test]
fn a_long_history_is_thinned_and_said_so() {
    let scratch = Scratch::new("long");
    let pool = scratch.write("pool.csv", &pool(400));
    let mut results = String::from("row,value\n");
    (1..=300).for_each(|row| writeln!(results, "{row},{}", value(row)).unwrap());
    let results = scratch.write("results.csv", &results);
    let mut study = scratch.create("long.jsonl", &options(&pool));
    assert_eq!(study.tell_csv(&results, None, Repeat::Refuse).unwrap().new, 300);
    study.take_notes();
    study.ask(1, None).unwrap();
    let thinned = Note::Thinned { results: 300, used: 256, fitted: Some(64), model: "gp-ei".into() };
    assert_eq!(study.take_notes(), [thinned]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn no_row_is_ever_suggested_twice(
        seed: u64,
        sampler in prop::sample::select(vec![SamplerKind::GpEi, SamplerKind::Random]),
        rounds in prop::collection::vec((1usize..5, 0u8..4), 1..8),
    ) {
        let scratch = Scratch::new(&format!("never-twice-{seed}"));
        let pool = scratch.write("pool.csv", &pool(18));
        let mut study = scratch.create("s.jsonl", &StudyOptions { seed, sampler: Some(sampler), ..options(&pool) });
        let mut seen = HashSet::new();
        for (count, fate) in rounds.into_iter().chain([(18, 0)]) {
            let left = 18 - seen.len();
            let Ok(answer) = study.ask(count, None) else {
                prop_assert_eq!(left, 0);
                break;
            };
            prop_assert_eq!(answer.suggestions.len(), count.min(left));
            prop_assert_eq!(answer.left, left);
            for suggestion in answer.suggestions {
                prop_assert!(seen.insert(suggestion.row));
                if fate < 3 {
                    let outcome = Some(value(suggestion.row)).filter(|_| fate < 2);
                    study.tell(&suggestion.id, outcome, Repeat::Refuse).unwrap();
                }
            }
            // Also one that nobody asked for.
            if let Some(row) = (1..=18).find(|row| fate == 1 && !seen.contains(row)) {
                study.tell(&row.to_string(), Some(-1.0), Repeat::Refuse).unwrap();
                seen.insert(row);
            }
        }
        prop_assert_eq!(seen.len(), 18);
        prop_assert_eq!(study.ask(1, None).unwrap_err().code(), "none-left");
    }
}

#[test]
fn a_correction_counts_and_is_kept_in_the_journal() {
    let scratch = Scratch::new("replace");
    let pool = scratch.write("pool.csv", &pool(20));
    let mut study = scratch.create("s.jsonl", &options(&pool));
    study.tell("4", Some(1.0), Repeat::Refuse).unwrap();
    study.tell("5", None, Repeat::Refuse).unwrap();
    study.tell("4", Some(0.25), Repeat::Replace).unwrap();
    study.tell("5", Some(0.5), Repeat::Replace).unwrap();
    assert_eq!(study.tell("5", Some(0.5), Repeat::Replace).unwrap().unchanged, 1);
    let mut study = scratch.open("s.jsonl");
    let best = study.best().unwrap().row;
    assert_eq!((best.id.as_str(), best.value), ("4", Some(0.25)));
    let journal = std::fs::read_to_string(scratch.0.join("s.jsonl")).unwrap();
    assert_eq!(journal.lines().count(), 5);
    assert!(journal.contains("\"value\":\"1\"") && journal.contains("\"value\":null"));
}

#[test]
fn a_pool_that_changed_or_moved_is_noticed() {
    let scratch = Scratch::new("changed");
    let text = pool(20);
    let path = scratch.write("pool.csv", &text);
    let told = text.lines().position(|line| line.contains("rye")).unwrap().to_string();
    scratch.create("s.jsonl", &options(&path)).tell(&told, Some(0.5), Repeat::Refuse).unwrap();
    scratch.write("pool.csv", &text.replace("rye", "oat"));
    let journal = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    for refused in
        [scratch.open("s.jsonl").ask(1, None).err(), scratch.open("s.jsonl").tell("8", Some(1.0), Repeat::Refuse).err()]
    {
        let refused = refused.unwrap();
        let Problem::SheetConflicts { conflicts, more: 0, .. } = &refused else { panic!("{refused}") };
        let [conflict] = &conflicts[..] else { panic!("{conflicts:?}") };
        assert_eq!((&conflict.row, conflict.known.as_deref(), conflict.gone), (&told, Some("0.5"), true));
    }
    // What is looked at is the sheet as it was.
    let before = scratch.open("s.jsonl").all_cells().unwrap().columns;
    assert!(before[2].cells.iter().any(|cell| cell == "rye"), "{before:?}");
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), journal);
    // What was told can still be read.
    assert_eq!(scratch.open("s.jsonl").best().unwrap().row.id, told);
    std::fs::remove_file(&path).unwrap();
    let mut study = scratch.open("s.jsonl");
    study.ask(1, None).unwrap();
    let notes = study.take_notes();
    let is_gone = |problem: &Problem| matches!(problem, Problem::SheetGone { .. });
    assert!(matches!(&notes[..], [Note::Unread { problem }] if is_gone(problem)), "{notes:?}");
    assert!(is_gone(&study.update(Repeat::Refuse, Corrected::Refuse, None).unwrap_err()));
    // From now on it lies elsewhere.
    let moved = scratch.write("moved.csv", &text);
    study.update(Repeat::Refuse, Corrected::Refuse, Some(NewSheet::File(moved.clone()))).unwrap();
    study.take_notes();
    study.ask(1, None).unwrap();
    assert_eq!(study.take_notes(), []);
    assert_eq!(scratch.open("s.jsonl").sheet_path().unwrap().canonicalize().unwrap(), moved.canonicalize().unwrap());
}

#[test]
fn chance_asks_no_model_and_foretells_when_it_is_asked_to() {
    let scratch = Scratch::new("chance");
    let pool = scratch.write("pool.csv", &pool(20));
    let mut study = scratch.create("s.jsonl", &StudyOptions { sampler: Some(SamplerKind::Random), ..options(&pool) });
    for row in 1..=6 {
        study.tell(&row.to_string(), Some(value(row)), Repeat::Refuse).unwrap();
    }
    let answer = study.ask(2, None).unwrap();
    assert!(answer.remaining.is_none() && answer.suggestions.iter().all(|row| row.forecast.is_none()));
    let pending = study.running(None).unwrap();
    assert_eq!(pending.len(), 2);
    assert!(pending.iter().all(|row| row.forecast.is_none()));
    assert_eq!(study.predict(None, None).unwrap().rows.len(), 20);
    assert!(study.ask(1, Some(SamplerKind::GpEi)).unwrap().suggestions[0].forecast.is_some());
}
