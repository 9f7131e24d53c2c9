//! The optimiser for tables: what it believes does not depend on the order of columns, levels or questions, it learns, and it
//! races.

use icee_bo::columns::Column;
use icee_bo::pool::{Pool, Told};
use icee_bo::race::pools::RealPool;
use icee_bo::race::score::Scores;
use icee_nn::Model;
use icee_optim::{Config, Functions, OptimiserModel, RACER, TableModel, TablePlan, race};
use icee_train::{Device, Limits, RunFolder, RunInfo, Silent, Trainer, train};

const SMALL: &str = "
world = \"Tables-v0\"
method = \"table\"
[model]
layers = 1
width = 32
attention_heads = 2
init_std = 0.1
tied_keys = true
[data]
ranked = 0.0
pool = 96
longest = 32
queries = 16
searched = 0.7
[train]
steps = 100
lr = 5e-3
warmup = 10
batch = 8
eval_games = 1
[acting]
sharpness = 0.0
";

fn untrained() -> OptimiserModel {
    let config = Config::layered(&[SMALL], &[]).unwrap();
    let network = Model::new(TablePlan::new(&config).unwrap().spec, 3).unwrap();
    OptimiserModel { config, step: 0, network }
}

fn table_model() -> TableModel {
    TableModel::new(&Device::cpu(2).unwrap(), &untrained()).unwrap()
}

/// A table of two numbers and a category, whose levels are numbered as `levels` says.
fn columns(levels: [usize; 4]) -> Vec<Column> {
    let rows = 30;
    let number = |seed: usize| (0..rows).map(|row| ((row * seed) % 31) as f64).collect::<Vec<_>>();
    let mut keys = vec![0; 4];
    levels.iter().enumerate().for_each(|(level, &at)| keys[at] = 100 + level as u64);
    let category = (0..rows).map(|row| (row % 7 != 3).then_some(levels[row % 4]));
    vec![Column::numbers(11, &number(7)), Column::categories(5, keys, category), Column::numbers(8, &number(12))]
}

fn told(count: usize) -> Vec<Told> {
    (0..count).map(|at| Told { candidate: (at * 7) % 30, value: ((at * 5) % 9) as f64 - 2.5 }).collect()
}

#[test]
fn order_means_nothing() {
    let asked: Vec<usize> = (0..30).collect();
    let mut model = table_model();
    let plain = model.beliefs(&Pool::of_columns(columns([0, 1, 2, 3])).unwrap(), &told(9), &asked).unwrap();
    let mut turned = columns([2, 0, 3, 1]);
    turned.rotate_left(1);
    let other = model.beliefs(&Pool::of_columns(turned).unwrap(), &told(9), &asked).unwrap();
    assert_eq!(plain, other, "neither the order of columns nor the numbers of levels");
    let pool = Pool::of_columns(columns([0, 1, 2, 3])).unwrap();
    let few = model.beliefs(&pool, &told(9), &[4, 20]).unwrap();
    assert_eq!(few, [plain[4].clone(), plain[20].clone()], "nor what else is asked");
    let mut renamed = columns([0, 1, 2, 3]);
    renamed[0] = Column::numbers(12, &(0..30).map(|row| f64::from(row * 7 % 31)).collect::<Vec<_>>());
    assert_ne!(model.beliefs(&Pool::of_columns(renamed).unwrap(), &told(9), &asked).unwrap(), plain);
}

#[test]
fn several_histories_at_once_are_one_after_another() {
    let pool = Pool::of_columns(columns([0, 1, 2, 3])).unwrap();
    let (one, two, repeated) = (told(3), told(12), [told(5), told(4)].concat());
    let mut model = table_model();
    let together = model.beliefs_after(&pool, &[&one, &two, &repeated], 21).unwrap();
    for (history, belief) in [one, two, repeated].iter().zip(&together) {
        assert_eq!(model.beliefs(&pool, history, &[21]).unwrap()[0], *belief);
    }
}

#[test]
fn what_cannot_be_read_is_refused_and_long_histories_are_thinned() {
    let mut model = table_model();
    let pool = Pool::of_columns(columns([0, 1, 2, 3])).unwrap();
    assert!(model.beliefs(&pool, &told(1), &[3]).unwrap_err().to_string().contains("at least 2"));
    let many: Vec<Column> = (0..128).map(|key| Column::numbers(key, &[0.0, 1.0, 2.0])).collect();
    let wide = Pool::of_columns(many).unwrap();
    let few: Vec<Told> = (0..2).map(|candidate| Told { candidate, value: candidate as f64 }).collect();
    assert!(model.beliefs(&wide, &few, &[2]).unwrap_err().to_string().contains("up to 127"));
    let long: Vec<Told> = (0..300).map(|at| Told { candidate: at % 30, value: (at % 13) as f64 }).collect();
    assert_eq!(model.beliefs(&pool, &long, &[3, 4]).unwrap().len(), 2);
    let equal: Vec<Told> = (0..6).map(|candidate| Told { candidate, value: 7.0 }).collect();
    assert!(model.beliefs(&pool, &equal, &[9]).unwrap()[0].mean().is_finite());
}

#[test]
fn it_learns_and_a_loaded_model_races() {
    let functions = Functions::new(Config::layered(&[SMALL], &[]).unwrap()).unwrap();
    let device = Device::cpu(2).unwrap();
    let root = std::env::temp_dir().join(format!("icee-tables-{}", std::process::id()));
    let folder = RunFolder::create(&root, &functions, &RunInfo::new(&device, None)).unwrap();
    train(&mut Trainer::fresh(&functions, &device).unwrap(), &folder, Limits::default(), &mut Silent).unwrap();
    let losses = std::fs::read_to_string(folder.path().join("metrics.csv")).unwrap();
    let losses: Vec<f64> =
        losses.lines().skip(1).map(|line| line.split(',').nth(2).unwrap().parse().unwrap()).collect();
    let mean = |part: &[f64]| part.iter().sum::<f64>() / part.len() as f64;
    assert!(mean(&losses[80..]) < mean(&losses[..5]) - 0.3, "{losses:?}");
    let model = OptimiserModel::load(folder.path()).unwrap();
    std::fs::remove_dir_all(root).unwrap();

    let pool = Pool::of_columns(columns([0, 1, 2, 3])).unwrap();
    let values: Vec<f64> = (0..30).map(|row| ((row * 11) % 30) as f64).collect();
    let first = vec![vec![0, 1, 2], vec![5, 6, 7]];
    let pools = [RealPool { name: "small".into(), pool, values, first }];
    let runs = race(&model, &pools, 2, 2, &|| {}).unwrap();
    assert!(runs.left_out.is_empty(), "{:?}", runs.left_out);
    let again = race(&model, &pools, 2, 1, &|| {}).unwrap();
    let rows = |runs: &icee_optim::RaceRuns| runs.runs.iter().map(|run| run.rows.clone()).collect::<Vec<_>>();
    assert_eq!(rows(&runs), rows(&again), "any number of threads");
    let scores = Scores::of(&pools, &runs.runs);
    let own = scores.pools.iter().find(|score| score.method == RACER).unwrap();
    assert_eq!((own.runs, own.regret.len(), own.solved), (2, 30, 1.0), "all rows were tried");
}
