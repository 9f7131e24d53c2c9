//! Toy games whose posteriors can be computed by hand.

use icee_games::config::Acting;
use icee_games::logs::Logs;
use icee_games::{Config, Games, LiveAgent, Source, TrainedModel, evaluate_offline};
use icee_train::{Device, Limits, RunFolder, RunInfo, Silent, Trainer, train};
use icee_worlds::Observation;
use std::fmt::Write;
use std::path::Path;

fn learn(log: &str, method: &str, settings: &[&str]) -> TrainedModel {
    let toy = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\nbins = 2\n\
               [data]\nnovices = 0.0\n[train]\nsteps = 400\nbatch = 256\nlr = 1e-2\nwarmup = 10\nsave_every = 400\nweight_clip = 10.0\n\
               [acting]\nepisode_rule = \"always-one\"\nkappa = 1e6\nguard = 0.0\noutcome = \"exactly\"\ntemperature = 1.0";
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::layered(&[icee_games::presets::method(method).unwrap(), toy], &settings).unwrap();
    let source = Source::Logs(Logs::parse(log, Path::new("toy.csv")).unwrap());
    let games = Games::new(config, source).unwrap();
    let device = Device::cpu(1).unwrap();
    let mut trainer = Trainer::fresh(&games, &device).unwrap();
    let root = std::env::temp_dir().join(format!("icee-toy-{}", std::process::id()));
    let folder = RunFolder::create(&root, &games, &RunInfo::new(&device, None)).unwrap();
    train(&mut trainer, &folder, Limits::default(), &mut Silent).unwrap();
    let model = TrainedModel::load(folder.path()).unwrap();
    std::fs::remove_dir_all(folder.path()).unwrap();
    model
}

/// Two arms, of which the behaviour policy takes the first nine times in ten; they pay in 30 % and 60 % of the cases.
fn two_arms() -> String {
    let mut log = String::from("game,episode,step,observation,action,reward,probability\n");
    let counts = [(0, 1, 270), (0, 0, 630), (1, 1, 60), (1, 0, 40)];
    let mut game = 0;
    for (action, reward, count) in counts {
        for _ in 0..count {
            let probability = if action == 0 { 0.9 } else { 0.1 };
            writeln!(log, "{game},0,0,0,{action},{reward},{probability}").unwrap();
            game += 1;
        }
    }
    log
}

/// The posterior of the second arm, given that it pays.
fn posterior(model: &TrainedModel) -> f64 {
    let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), model, 0).unwrap();
    agent.act(Observation::Discrete(0)).unwrap();
    agent.thought().actions[1]
}

#[test]
fn bayes_and_weights_give_the_unbiased_posterior_and_their_lack_the_biased_one() {
    let log = two_arms();
    // p̂(a₂ | pays) = .6 / (.3 + .6); biased: .1 · .6 / (.9 · .3 + .1 · .6).
    let (unbiased, biased) = (2.0 / 3.0, 0.06 / 0.33);
    for (method, wanted) in
        [("icee", unbiased), ("icee-weighted", unbiased), ("icee-paper", unbiased), ("icee-biased", biased)]
    {
        let got = posterior(&learn(&log, method, &["acting.kappa=1e6"]));
        assert!((got - wanted).abs() < 0.06, "{method}: {got} for {wanted}");
    }
}

#[test]
fn the_joint_tilt_stops_asking_for_what_can_no_longer_happen() {
    // One arm pays 1, the other nothing; after the first success no episode can be better.
    let mut log = String::from("game,episode,step,observation,action,reward,probability\n");
    for game in 0..256 {
        for episode in 0..3 {
            let action = (game >> episode) & 1;
            writeln!(log, "{game},{episode},0,0,{action},{action},0.5").unwrap();
        }
    }
    let mut model = learn(&log, "icee", &[]);
    model.config.acting =
        Acting { episode_rule: icee_games::config::EpisodeRule::Joint, kappa: 20.0, ..model.config.acting };
    for seed in 0..20 {
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, seed).unwrap();
        let mut best = 0.0;
        for episode in 0..3 {
            let action = agent.act(Observation::Discrete(0)).unwrap();
            let wanted = u32::from(best == 0.0);
            assert_eq!(agent.thought().episode_rtg, wanted, "episode {episode}, seed {seed}");
            assert!(agent.thought().actions[1] > 0.9, "the arm that pays is known: {:?}", agent.thought());
            agent.observe(action as f32, true).unwrap();
            best = action as f32;
        }
    }
}

#[test]
fn logged_games_tell_what_an_action_of_the_agent_is_worth() {
    let log = two_arms();
    let logs = Logs::parse(&log, Path::new("toy.csv")).unwrap();
    let judge = |method, logs: &Logs| {
        let model = learn(&log, method, &["acting.kappa=1e6"]);
        evaluate_offline(&Device::cpu(1).unwrap(), &model, logs, logs.learned()).unwrap()
    };
    // An arm that pays is worth 1, one that does not −1/T = −1; the log pays in 33 % of its steps, p̂ in 2/3 · 60 % + 1/3 · 30 %.
    let judged = judge("icee", &logs);
    let [all, ..] = judged.improvement.unwrap();
    assert!((all.logged + 0.34).abs() < 1e-6 && all.agent.abs() < 0.1, "{all:?}");
    assert_eq!(all.verdict(), Some(true));
    assert!(judged.words().contains("better than the log's own policy"), "{}", judged.words());
    let [(_, held), ..] = judged.calibration.unwrap();
    assert!((0.3..=1.0).contains(&held));
    // What learned the log's own actions is no better, and says so.
    let [biased, ..] = judge("ad", &logs).improvement.unwrap();
    assert!(biased.agent < all.agent - 0.15, "{biased:?}");
    // Without probabilities only agreement can be told.
    let bare: String = log.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    let bare = judge("icee", &Logs::parse(&bare, Path::new("toy.csv")).unwrap());
    assert!(bare.improvement.is_none() && bare.words().contains("no probabilities"));
}
