//! Runs end to end: stopped and resumed bit for bit, and learning that shows.

use icee::train::{Limits, Observer, RunFolder, RunInfo, StepReport, Stopped, Summary, Trainer, start, train};
use icee::{Config, Device, Error, Source, TrainedModel};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

const SMALL: &str = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\nbins = 18\n\
                     [train]\nsteps = 12\nbatch = 4\nwarmup = 4\neval_every = 6\neval_games = 3\nsave_every = 4";

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

fn config(method: &str, settings: &[&str]) -> Config {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let texts = [icee::presets::world("dark-room-tiny").unwrap(), icee::presets::method(method).unwrap(), SMALL];
    Config::layered(&texts, &settings).unwrap()
}

fn begin(config: &Config, scratch: &Scratch) -> (Trainer, Source, RunFolder) {
    let device = Device::cpu(1).unwrap();
    let source = Source::of_config(config).unwrap();
    let trainer = start(config, &source, &device).unwrap();
    let folder = RunFolder::create(&scratch.0, config, &config.world, &RunInfo::new(&device, None)).unwrap();
    (trainer, source, folder)
}

fn go(trainer: &mut Trainer, source: &Source, folder: &RunFolder, stop_at: u64) -> Summary {
    let stop = AtomicBool::new(false);
    let limits = Limits { max_minutes: None, stop: Some(&stop) };
    train(trainer, source, folder, limits, &mut StopAt(stop_at, &stop)).unwrap()
}

/// The figures without the speed, which is never the same.
fn figures(folder: &RunFolder) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(folder.metrics()).unwrap();
    let speed = text.lines().next().unwrap().split(',').position(|c| c == "tokens_per_second").unwrap();
    let cells =
        |line: &str| line.split(',').map(String::from).enumerate().filter(|(i, _)| *i != speed).map(|c| c.1).collect();
    text.lines().map(cells).collect()
}

#[test]
fn a_run_that_was_stopped_goes_on_as_if_it_had_not_been() {
    for method in ["icee", "icee-paper"] {
        let scratch = Scratch::new(&format!("resume-{method}"));
        let config = config(method, &[]);
        let (mut whole, source, whole_folder) = begin(&config, &scratch);
        assert_eq!(go(&mut whole, &source, &whole_folder, 0).stopped, Stopped::Finished);

        let (mut first, _, folder) = begin(&config, &scratch);
        let summary = go(&mut first, &source, &folder, 7);
        assert_eq!((summary.step, summary.stopped), (7, Stopped::Interrupted));
        let reopened = RunFolder::open(folder.path()).unwrap();
        let mut second = Trainer::resume(&reopened, &Device::cpu(2).unwrap()).unwrap();
        assert_eq!(go(&mut second, &source, &reopened, 0).step, 12);

        let weights = |trainer: &Trainer| trainer.models().map(|m| m.weights().to_vec()).collect::<Vec<_>>();
        assert_eq!(weights(&whole), weights(&second), "{method}");
        assert_eq!(figures(&whole_folder), figures(&folder));
        let loaded = TrainedModel::load(folder.path()).unwrap();
        assert_eq!((loaded.step, &loaded.config), (12, &config));
    }
}

#[test]
fn a_loss_that_is_no_number_stops_with_the_way_back() {
    let scratch = Scratch::new("diverged");
    let (mut trainer, source, folder) =
        begin(&config("icee", &["train.lr=1e30", "train.warmup=0", "train.save_every=1"]), &scratch);
    let error = train(&mut trainer, &source, &folder, Limits::default(), &mut icee::train::Silent).unwrap_err();
    assert!(matches!(error, Error::Diverged { .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("training.safetensors") && said.contains("train.lr"), "{said}");
}

#[test]
fn damaged_checkpoints_are_errors() {
    let scratch = Scratch::new("damaged");
    let (mut trainer, source, folder) = begin(&config("ad", &["train.steps=1"]), &scratch);
    go(&mut trainer, &source, &folder, 0);
    let file = folder.checkpoint().join("config.json");
    let good = std::fs::read_to_string(&file).unwrap();
    for (from, to) in
        [("\"actions\"", "\"actoins\""), ("\"episode_limit\"", "\"limit\""), ("\"ad\"", "\"icee\""), ("{", "[")]
    {
        std::fs::write(&file, good.replacen(from, to, 1)).unwrap();
        assert!(TrainedModel::load(folder.path()).is_err(), "{from}");
    }
    std::fs::write(folder.state(), b"nothing").unwrap();
    assert!(Trainer::resume(&folder, &Device::cpu(1).unwrap()).is_err());
    assert!(RunFolder::open(&scratch.0).is_err());
}
