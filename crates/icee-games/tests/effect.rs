//! The whole effect in a room small enough for every test run: ICEE improves over its episodes far beyond the data it
//! learned from, AD stays near it, MGDT does not improve.

use icee_games::{Agent, Config, Games as Problem, Source, TrainedModel, evaluate_agent};
use icee_train::{Device, Limits, RunFolder, RunInfo, Silent, Trainer, train};
use icee_worlds::grid::{GridRules, GridWorld, Start, presets};
use icee_worlds::{Games, Reference, ReferenceAgent, Split, World};

const GAMES: usize = 200;
const EPISODES: usize = 8;

fn room() -> Box<dyn World> {
    let rules = presets().into_iter().find(|rules| rules.id == "DarkRoom-v0").unwrap();
    let start = Start::At { x: 1, y: 1 };
    let rules =
        GridRules { id: "Small-v0".into(), width: 3, height: 3, start, episode_limit: 5, episodes: EPISODES, ..rules };
    Box::new(GridWorld::new(rules).unwrap())
}

fn reference(kind: Reference) -> f64 {
    let mut games = Games::deal(&*room(), GAMES, 1, Split::Evaluation).unwrap();
    let mut agent = ReferenceAgent::new(kind, &games).unwrap();
    games.play(&mut agent, EPISODES).unwrap().estimate(EPISODES - 1).mean
}

/// The mean return at the first and at the last episode.
fn learned(method: &str) -> (f64, f64) {
    let small = "[model]\nlayers = 2\nwidth = 32\nattention_heads = 2\nbins = 30\ninit_std = 0.1\nreward_head = 1.0\n\
                 [train]\nbatch = 16\nlr = 5e-3\nwarmup = 50\neval_every = 0\neval_games = 1\nsave_every = 4000";
    // The lookup takes updates to set in; the others have nothing to wait for.
    let steps = if method == "icee" { 4000 } else { 800 };
    let settings = [format!("train.steps={steps}")];
    let config = Config::layered(&[small, icee_games::presets::method(method).unwrap()], &settings).unwrap();
    let problem = Problem::new(config, Source::World(room())).unwrap();
    let device = Device::cpu(1).unwrap();
    let mut trainer = Trainer::fresh(&problem, &device).unwrap();
    let root = std::env::temp_dir().join(format!("icee-effect-{}", std::process::id()));
    let folder = RunFolder::create(&root, &problem, &RunInfo::new(&device, None)).unwrap();
    train(&mut trainer, &folder, Limits::default(), &mut Silent).unwrap();
    let model = TrainedModel::load(folder.path()).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    let mut agent = Agent::new(&device, &model).unwrap();
    let (evaluation, _) = evaluate_agent(&mut agent, &*room(), GAMES, EPISODES, 1, Split::Evaluation).unwrap();
    let [first, _, last] = evaluation.first_middle_last();
    (first, last)
}

#[test]
fn icee_improves_ad_imitates_mgdt_does_not_learn() {
    let (source, oracle) = (reference(Reference::Source), reference(Reference::Oracle));
    let (icee_first, icee) = learned("icee");
    assert!(
        icee > 0.85 * oracle && icee > 1.3 * source && icee > 1.3 * icee_first,
        "{icee_first} {icee} {source} {oracle}"
    );
    let (_, ad) = learned("ad");
    assert!((ad - source).abs() < 0.25 * source, "AD {ad}, source {source}");
    let (mgdt_first, mgdt) = learned("mgdt");
    assert!((mgdt - mgdt_first).abs() < 0.5 && mgdt < icee, "MGDT {mgdt_first} {mgdt}");
}
