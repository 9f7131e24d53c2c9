//! Looking at a study: why a row, what the columns do, how its forecasts have held. Nothing of it is written down.

mod common;

use common::{Scratch, options, pool, value};
use icee_study::{AskOptions, Repeat, Status, Study};

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
    assert!(study.why("8", None).unwrap_err().to_string().contains("there is no row \"8\""));
}

#[test]
fn columns_that_matter_have_an_effect() {
    let scratch = Scratch::new("look-effects");
    let mut study = told(&scratch, 60, 0);
    assert!(study.effects(None).unwrap().is_empty());
    let mut study = {
        drop(study);
        std::fs::remove_file(scratch.0.join("s.jsonl")).unwrap();
        told(&scratch, 60, 40)
    };
    let effects = study.effects(None).unwrap();
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
    let forecast = then.predict(None).unwrap().swap_remove(20).forecast;
    assert_eq!(review.steps[20].forecast.as_ref(), Some(&forecast));
    study.preview(&AskOptions { count: 3, ..AskOptions::default() }).unwrap();
    assert_eq!(std::fs::read(scratch.0.join("s.jsonl")).unwrap(), before);
}
