//! Runs end to end: stopped and resumed bit for bit, and learning that shows.

use icee_games::TrainedModel;
use icee_models::kind::{new_problem, resumed_problem};
use icee_models::{Kind, Model};
use icee_optim::OptimiserModel;
use icee_train::{
    Device, Error, Limits, Observer, Problem, RunFolder, RunInfo, StepReport, Stopped, Summary, Trainer, train,
};
use icee_worlds::Registry;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const SMALL: [&str; 10] = [
    "model.layers=1",
    "model.width=16",
    "model.attention_heads=1",
    "model.bins=18",
    "train.steps=12",
    "train.batch=4",
    "train.warmup=4",
    "train.eval_every=6",
    "train.eval_games=3",
    "train.save_every=4",
];

struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        Scratch(std::env::temp_dir().join(format!("icee-{name}-{}", std::process::id())))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

struct StopAt<'a>(u64, &'a AtomicBool);

impl Observer for StopAt<'_> {
    fn step(&mut self, report: &StepReport) {
        self.1.store(report.step == self.0, Ordering::Relaxed);
    }
}

fn problem(method: &str, settings: &[&str]) -> Box<dyn Problem> {
    let settings: Vec<String> = SMALL.iter().chain(settings).map(ToString::to_string).collect();
    new_problem("dark-room-tiny", Some(method), &settings, None, &Registry::builtin()).unwrap()
}

fn functions(preset: &str) -> Box<dyn Problem> {
    let own =
        ["data.pool=64", "data.longest=8", "data.queries=16", "data.functions_per_factor=2", "train.eval_games=2"];
    let all = SMALL.iter().filter(|setting| **setting != "model.bins=18").chain(&own);
    let settings: Vec<String> = all.map(ToString::to_string).collect();
    new_problem(preset, None, &settings, None, &Registry::builtin()).unwrap()
}

fn begin<'p>(problem: &'p dyn Problem, scratch: &Scratch) -> (Trainer<'p>, RunFolder) {
    let device = Device::cpu(1).unwrap();
    let trainer = Trainer::fresh(problem, &device).unwrap();
    (trainer, RunFolder::create(&scratch.0, problem, &RunInfo::new(&device, None)).unwrap())
}

fn go(trainer: &mut Trainer<'_>, folder: &RunFolder, stop_at: u64) -> Summary {
    let stop = AtomicBool::new(false);
    let limits = Limits { max_minutes: None, stop: Some(&stop) };
    train(trainer, folder, limits, &mut StopAt(stop_at, &stop)).unwrap()
}

/// The metrics without the speed, which is never the same.
fn metrics(folder: &RunFolder) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder.metrics()).unwrap();
    let speed = text.lines().next().unwrap().split(',').position(|c| c == "tokens_per_second").unwrap();
    let cells =
        |line: &str| line.split(',').map(String::from).enumerate().filter(|(i, _)| *i != speed).map(|c| c.1).collect();
    text.lines().map(cells).collect()
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_it_had_not_been() {
    for name in ["icee", "icee-paper", "bo-value", "bo-paper", "bo-exact"] {
        let scratch = Scratch::new(&format!("resume-{name}"));
        let problem = if name.starts_with("bo") { functions(name) } else { problem(name, &[]) };
        let (mut whole, whole_folder) = begin(&*problem, &scratch);
        assert_eq!(go(&mut whole, &whole_folder, 0).stopped, Stopped::Finished);

        let (mut first, folder) = begin(&*problem, &scratch);
        let summary = go(&mut first, &folder, 7);
        assert_eq!((summary.step, summary.stopped), (7, Stopped::Interrupted));
        let said = RunFolder::open(folder.path()).unwrap_err().to_string();
        assert!(said.contains("another training is at work"), "{said}");
        let path = folder.path().to_owned();
        drop(folder);
        let left =
            ["training.safetensors.7-0.tmp", "checkpoint/model.safetensors.7-1.tmp", "mine.tmp"].map(|f| path.join(f));
        left.iter().for_each(|file| std::fs::write(file, "half").unwrap());
        let reopened = RunFolder::open(&path).unwrap();
        assert_eq!(left.map(|file| file.exists()), [false, false, true], "what a killed save left");
        let again = resumed_problem(&reopened, &Registry::builtin()).unwrap();
        assert_eq!(again.to_toml().unwrap(), problem.to_toml().unwrap());
        let mut second = Trainer::resume(&*again, &reopened, &Device::cpu(2).unwrap()).unwrap();
        assert_eq!(go(&mut second, &reopened, 0).step, 12);

        let weights = |trainer: &Trainer<'_>| trainer.models().map(|m| m.weights().to_vec()).collect::<Vec<_>>();
        assert_eq!(weights(&whole), weights(&second), "{name}");
        assert_eq!(metrics(&whole_folder), metrics(&reopened));
        let (step, kind) = match Model::load(&path).unwrap() {
            Model::Functions(model) => (model.step, Kind::Functions),
            Model::Games(model) => (model.step, Kind::Games),
        };
        assert_eq!((step, kind.tag()), (12, problem.kind()));
    }
}

#[test]
fn models_of_games_and_of_functions_are_not_mistaken_for_each_other() {
    let scratch = Scratch::new("kinds");
    let (games, functions) = (problem("ad", &["train.steps=1"]), functions("bo-value"));
    let (mut trainer, of_games) = begin(&*games, &scratch);
    go(&mut trainer, &of_games, 0);
    let (mut trainer, of_functions) = begin(&*functions, &scratch);
    go(&mut trainer, &of_functions, 1);
    let said = TrainedModel::load(of_functions.path()).unwrap_err().to_string();
    assert!(said.contains("not that of a model that plays games"), "{said}");
    let said = OptimiserModel::load(of_games.path()).unwrap_err().to_string();
    assert!(said.contains("not that of a model that optimises functions"), "{said}");
    assert!(Trainer::resume(&*games, &of_functions, &Device::cpu(1).unwrap()).is_err());
}

#[test]
fn a_loss_that_is_no_number_stops_with_the_way_back() {
    let scratch = Scratch::new("diverged");
    let sound = problem("icee", &["train.save_every=1"]);
    let (mut trainer, folder) = begin(&*sound, &scratch);
    go(&mut trainer, &folder, 2);
    // Once with weights that cannot be saved, once with a loss that is no number.
    for save_every in ["train.save_every=1", "train.save_every=12"] {
        let wild = problem("icee", &["train.lr=1e30", "train.warmup=0", save_every]);
        let mut trainer = Trainer::resume(&*wild, &folder, &Device::cpu(1).unwrap()).unwrap();
        diverges(&mut trainer, &folder);
        assert!(
            Trainer::resume(&*sound, &folder, &Device::cpu(1).unwrap()).is_ok(),
            "the last good state is still there"
        );
    }
}

fn diverges(trainer: &mut Trainer<'_>, folder: &RunFolder) {
    let error = train(trainer, folder, Limits::default(), &mut icee_train::Silent).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("training.safetensors") && said.contains("train.lr"), "{said}");
}

#[test]
fn damaged_checkpoints_are_errors() {
    let scratch = Scratch::new("damaged");
    let problem = problem("ad", &["train.steps=1"]);
    let (mut trainer, folder) = begin(&*problem, &scratch);
    go(&mut trainer, &folder, 0);
    let file = folder.checkpoint().join("config.json");
    let good = std::fs::read_to_string(&file).unwrap();
    for (from, to) in
        [("\"actions\"", "\"actoins\""), ("\"episode_limit\"", "\"limit\""), ("\"ad\"", "\"icee\""), ("{", "[")]
    {
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        assert!(TrainedModel::load(folder.path()).is_err(), "{from}");
    }
    std::fs::write(folder.state(), b"nothing").unwrap();
    assert!(resumed_problem(&folder, &Registry::builtin()).is_err());
    assert!(Trainer::resume(&*problem, &folder, &Device::cpu(1).unwrap()).is_err());
    assert!(RunFolder::open(&scratch.0).is_err());
}
