//! Looking at a study: why a row, what the columns do, how its forecasts have held. Nothing of it is written down.

mod common;

use common::{Scratch, options, pool, value};
use icee_protocol::{Note, Status};
use icee_study::{AskOptions, Repeat, Study};

fn told(scratch: &Scratch, rows: usize, count: usize) -> Study {
    let mut study = scratch.create("s.jsonl", &options(&scratch.write("pool.csv", &pool(rows))));
    for row in 1..=count {
        study.tell(&row.to_string(), value(row), Repeat::Refuse).unwrap();
    }
    study
}

#[test]
fn a_row_is_explained_by_the_best_and_its_neighbours() {
    let scratch = Scratch::new("look-why");
    let sheet = "heat,flour\n180,rye\n200,rye\n220,rye\n240,rye\n181,rye\n200,oat\n300,\n";
    let mut study = scratch.create("s.jsonl", &options(&scratch.write("sheet.csv", sheet)));
    assert_eq!(study.why("1", None).unwrap().reasons, Vec::<String>::new());
    for (row, value) in [("1", 5.0), ("2", 1.0), ("3", 3.0)] {
        study.tell(row, value, Repeat::Refuse).unwrap();
    }
    let oat = study.why("6", None).unwrap();
    let expected = ["like the best row 2 in heat; flour is oat instead of rye", "flour = oat has not been tried"];
    assert_eq!(oat.reasons, expected);
    assert_eq!((oat.nearest[0].id.as_str(), oat.nearest[0].value), ("2", 1.0));
    assert_eq!(oat.nearest[0].differs.0, [("flour".to_owned(), "rye".to_owned())]);
    assert!(oat.forecast.is_some() && oat.status == Status::Left);
    let far = study.why("7", None).unwrap().reasons;
    assert_eq!(far, ["unlike the best row 2 in every column", "heat = 300 is higher than all that was tried"]);
    let near = study.why("5", None).unwrap();
    assert_eq!((near.nearest[0].id.as_str(), near.nearest.len()), ("1", 3));
    assert_eq!(study.why("8", None).unwrap_err().code(), "row-unknown");
}

#[test]
fn of_many_columns_a_reason_names_a_few_and_of_one_what_it_is() {
    let scratch = Scratch::new("look-wide");
    let line = |cell: &str| vec![cell; 44].join(",");
    let header: Vec<String> = (0..44).map(|column| format!("c{column}")).collect();
    let sheet = format!("{},d\n{},1\n{},2\n{},1\n{},2\n", header.join(","), line("0"), line("0"), line("9"), line("1"));
    let mut study = scratch.create("s.jsonl", &options(&scratch.write("sheet.csv", &sheet)));
    study.tell("1", 1.0, Repeat::Refuse).unwrap();
    study.tell("2", 5.0, Repeat::Refuse).unwrap();
    assert_eq!(
        study.why("2", None).unwrap().reasons,
        ["like the best row 1 in c0, c1, c2 and 41 more; d is 2 instead of 1"]
    );
    let [beside, news @ ..] = &study.why("3", None).unwrap().reasons[..] else { panic!() };
    assert_eq!(
        beside,
        "like the best row 1 in d; c0 is 9 instead of 0, c1 is 9 instead of 0, c2 is 9 instead of 0 and 41 more differ"
    );
    assert_eq!((news.len(), news[3].as_str()), (4, "41 more columns have something new"));
    let mut study = scratch.create("t.jsonl", &options(&scratch.write("one.csv", "heat\n180\n200\n300\n")));
    study.tell("2", 5.0, Repeat::Refuse).unwrap();
    assert_eq!(study.why("3", None).unwrap().reasons[0], "unlike the best row 2: heat is 300 instead of 200");
}

#[test]
fn columns_that_matter_have_an_effect() {
    let scratch = Scratch::new("look-effects");
    let mut study = told(&scratch, 60, 0);
    assert!(study.effects(None).unwrap().effects.is_empty());
    let mut study = {
        drop(study);
        std::fs::remove_file(scratch.0.join("s.jsonl")).unwrap();
        told(&scratch, 60, 40)
    };
    study.take_notes();
    let effects = study.effects(None).unwrap().effects;
    assert!(study.take_notes().is_empty());
    assert_eq!(effects.len(), 3);
    assert_eq!(effects[0].column, "b", "twice as steep as a");
    assert!(effects.windows(2).all(|pair| pair[0].spread >= pair[1].spread));
    let kind = effects.iter().find(|effect| effect.column == "kind").unwrap();
    let [oat, rye] = &kind.levels[..] else { panic!("{kind:?}") };
    assert!(oat.label == "oat" && rye.label == "rye" && oat.mean > rye.mean);
    assert_eq!(effects[0].levels.len(), 5);
    assert_eq!(effects[0].levels.iter().map(|level| level.rows).sum::<usize>(), 60);
}

#[test]
fn effects_of_some_rows_say_so() {
    let scratch = Scratch::new("look-sample");
    let mut study = told(&scratch, 1500, 5);
    study.take_notes();
    study.effects(None).unwrap();
    assert_eq!(study.take_notes(), [Note::PartPredicted { rows: 1024, of: 1500 }]);
}

#[test]
fn a_look_back_forecasts_each_row_from_those_before_it() {
    let scratch = Scratch::new("look-review");
    let mut study = told(&scratch, 60, 30);
    study.tell("31", None, Repeat::Refuse).unwrap();
    let before = std::fs::read(scratch.0.join("s.jsonl")).unwrap();
    let review = study.review(None).unwrap();
    assert_eq!((review.steps.len(), review.checked), (31, 28));
    assert!(review.steps[1].forecast.is_none() && review.steps[2].forecast.is_some());
    let best = (1..=30).map(value).fold(f64::INFINITY, f64::min);
    assert_eq!((review.steps[30].value, review.steps[30].best), (None, Some(best)));
    let [half, most, nearly] = review.held;
    assert!(half <= most && most <= nearly && nearly > 20, "{:?}", review.held);
    // As if the study had stopped there.
    let earlier = Scratch::new("look-earlier");
    let mut then = told(&earlier, 60, 20);
    let forecast = then.predict(None, None).unwrap().rows.swap_remove(20).forecast;
    assert_eq!(review.steps[20].forecast.as_ref(), Some(&forecast));
    study.preview(&AskOptions { count: 3, ..AskOptions::default() }).unwrap();
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), before);
}
