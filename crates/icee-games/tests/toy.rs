//! Toy games whose posteriors can be computed by hand.

use icee_games::config::Acting;
use icee_games::logs::Logs;
use icee_games::{Config, Games, LiveAgent, Source, TrainedModel, Verdict, evaluate_offline};
use icee_train::{Device, Limits, Observer, Problem, RunFolder, RunInfo, Silent, Trainer, train};
use icee_worlds::Observation;
use std::fmt::Write;
use std::path::Path;

fn learn(log: &str, method: &str, settings: &[&str]) -> TrainedModel {
    let toy = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\nbins = 2\n\
               [data]\nnovices = 0.0\n[train]\nsteps = 400\nbatch = 256\nlr = 1e-2\nwarmup = 10\nsave_every = 400\nweight_clip = 10.0\n\
               [acting]\nepisode_rule = \"always-one\"\nkappa = 1e6\nguard = 0.0\noutcome = \"exactly\"\ntemperature = 1.0";
    learn_with(log, &[icee_games::presets::method(method).unwrap(), toy], settings)
}

fn learn_with(log: &str, layers: &[&str], settings: &[&str]) -> TrainedModel {
    let settings: Vec<String> = settings.iter().map(ToString::to_string).collect();
    let config = Config::layered(layers, &settings).unwrap();
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

/// The log without its last column.
fn without_probabilities(log: &str) -> String {
    log.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect()
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
    // The log pays in 33 % of its steps, p̂ in 2/3 · 60 % + 1/3 · 30 %.
    let judged = judge("icee", &logs);
    let [all, first, last] = judged.improvement.unwrap();
    // A single episode is a first one.
    assert_eq!((all, last), (first, None));
    let all = all.unwrap();
    assert!((all.logged - 0.33).abs() < 1e-6 && (all.agent - 0.5).abs() < 0.05, "{all:?}");
    assert_eq!((all.verdict(), judged.verdict), (Some(true), Verdict::Better));
    assert!(judged.words().contains("significantly better than the logged policy"), "{}", judged.words());
    // What it learned is how often each arm pays, and so its intervals hold what they should.
    for (level, held) in judged.calibration.unwrap() {
        assert!((held - level).abs() < 0.03, "{held} of the returns in intervals of {level}");
    }
    // What learned the log's own actions is no better, and says so.
    let [Some(biased), ..] = judge("ad", &logs).improvement.unwrap() else { panic!("there are steps") };
    assert!(biased.agent < all.agent - 0.08, "{biased:?}");
    // A log of more things, and of more actions, than the model knows.
    for (line, said) in
        [("0,0,0,1,0,0,0.5\n", "observations of 2 places"), ("0,0,0,0,2,0,0.5\n", "the log has 3 actions")]
    {
        let other = format!("game,episode,step,observation,action,reward,probability\n{line}");
        let other = Logs::parse(&other, Path::new("other.csv")).unwrap();
        let error = evaluate_offline(&Device::cpu(1).unwrap(), &learn(&log, "icee", &["train.steps=1"]), &other, &[0]);
        let error = error.unwrap_err().to_string();
        assert!(
            error.contains(said) && error.contains("the model knows 2 actions and observations of 1 place"),
            "{error}"
        );
    }
    // A few games are no measure.
    let model = learn(&log, "icee", &["acting.kappa=1e6"]);
    let few = evaluate_offline(&Device::cpu(1).unwrap(), &model, &logs, &logs.learned()[..9]).unwrap();
    assert!(few.verdict == Verdict::TooFew && few.words().contains("too few to compare"), "{}", few.words());
    // Without probabilities, and with nothing to compare an episode with, nothing is measured.
    let bare = Logs::parse(&without_probabilities(&log), Path::new("toy.csv")).unwrap();
    let judged = evaluate_offline(&Device::cpu(1).unwrap(), &model, &bare, bare.learned()).unwrap();
    let words = judged.words();
    assert_eq!((judged.verdict, judged.agreement, judged.preference), (Verdict::CannotBeTold, None, None));
    assert!(
        words.contains(
            "nothing was measured: the log has no probabilities, and no task has episodes with different returns"
        ),
        "{words}"
    );
    assert!(!words.contains("does not give more probability") && !words.contains("Try"), "{words}");
    assert_eq!(serde_json::to_value(judged.verdict).unwrap(), "cannot-be-told");
    // Without probabilities only agreement can be told.
    let bare: String = log.lines().map(|line| format!("{}\n", line.rsplit_once(',').unwrap().0)).collect();
    let bare = judge("icee", &Logs::parse(&bare, Path::new("toy.csv")).unwrap());
    assert!(bare.improvement.is_none() && bare.words().contains("no probabilities"));
}

#[test]
fn an_action_that_costs_nothing_is_better_than_one_that_does() {
    let mut log = String::from("game,episode,step,observation,action,reward,probability\n");
    for game in 0..200 {
        writeln!(log, "{game},0,0,0,{},{},0.5", game % 2, if game % 2 == 0 { "-0.5" } else { "0" }).unwrap();
    }
    let free = posterior(&learn(&log, "icee", &["acting.episode_rule=joint"]));
    assert!(free > 0.9, "{free}");
}

/// Four episodes of three pulls at random: one of three arms pays, another in every game.
fn hidden_arm() -> String {
    let mut log = String::from("game,episode,step,observation,action,reward,probability\n");
    let mut draw = 1u64;
    for (game, pull) in (0..2000).flat_map(|game| (0..12).map(move |pull| (game, pull))) {
        draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let action = (draw >> 33) % 3;
        let reward = u8::from(action == game % 3);
        writeln!(log, "{game},{},{},0,{action},{reward},0.3333333", pull / 3, pull % 3).unwrap();
    }
    log
}

#[test]
fn the_preset_for_logs_learns_which_arm_pays() {
    let small =
        "[model]\nlayers = 1\nwidth = 32\nattention_heads = 2\n[train]\nsteps = 400\nwarmup = 20\neval_every = 0";
    let log = hidden_arm();
    let model = learn_with(&log, &[icee_games::presets::CUSTOM.1, small], &[]);
    for good in 0..3 {
        let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 1).unwrap();
        let mut earned = 0;
        for step in 0..12 {
            let action = agent.act(Observation::Discrete(0)).unwrap();
            agent.observe(f32::from(u8::from(action == good)), step % 3 == 2).unwrap();
            earned += usize::from(step >= 9 && action == good);
        }
        assert_eq!(earned, 3, "arm {good} pays in every pull of the last episode");
    }
    let logs = Logs::parse(&log, Path::new("toy.csv")).unwrap().holding_out(0.1);
    let judged = evaluate_offline(&Device::cpu(1).unwrap(), &model, &logs, logs.held_out()).unwrap();
    assert!(judged.verdict == Verdict::Better && judged.doubts.is_empty(), "{}", judged.words());
    let bare = Logs::parse(&without_probabilities(&log), Path::new("toy.csv")).unwrap().holding_out(0.1);
    let judged = evaluate_offline(&Device::cpu(1).unwrap(), &model, &bare, bare.held_out()).unwrap();
    assert_eq!(judged.verdict, Verdict::PrefersBetter, "{}", judged.words());
}

/// Rewards in cents teach the same as rewards in euros, whether a step may earn nothing, something, or less than nothing.
#[test]
fn what_is_learned_does_not_depend_on_the_unit_of_rewards() {
    let small = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\n[train]\nsteps = 40\nbatch = 16\nwarmup = 5\neval_every = 0";
    for pays in [[0.0, 0.02, 0.1], [-0.1, 0.0, 0.1], [0.1, 0.2, 0.4]] {
        let learned = |unit: f64| {
            let mut log = String::from("game,episode,step,observation,action,reward\n");
            let mut draw = 1u64;
            for (game, pull) in (0..200).flat_map(|game| (0..8).map(move |pull| (game, pull))) {
                draw = draw.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                let action = (draw >> 33) % 3;
                let reward = unit * pays[(action + game) as usize % 3];
                writeln!(log, "{game},{},{},0,{action},{reward}", pull / 4, pull % 4).unwrap();
            }
            let model = learn_with(&log, &[icee_games::presets::CUSTOM.1, small], &[]);
            let mut agent = LiveAgent::new(&Device::cpu(1).unwrap(), &model, 1).unwrap();
            let mut believed = Vec::new();
            for step in 0..8 {
                let action = agent.act(Observation::Discrete(0)).unwrap();
                believed.extend(agent.thought().marginal.iter().chain(&agent.thought().actions).copied());
                agent.observe((unit * pays[action as usize]) as f32, step % 4 == 3).unwrap();
            }
            believed
        };
        let (euros, cents) = (learned(1.0), learned(100.0));
        let apart = euros.iter().zip(&cents).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        assert!(euros.len() == cents.len() && apart < 1e-3, "{apart} for {pays:?}");
    }
}

/// Of what is held out the best networks are kept, and who is told that a checkpoint is written finds those of that step in it.
#[test]
fn who_hears_of_a_checkpoint_finds_its_networks_there() {
    #[derive(Default)]
    struct Saved(Vec<u64>);
    impl Observer for Saved {
        fn saved(&mut self, step: u64, checkpoint: &Path) {
            assert_eq!(TrainedModel::load(checkpoint).unwrap().step, step);
            self.0.push(step);
        }
    }
    let small = "[model]\nlayers = 1\nwidth = 16\nattention_heads = 1\n[train]\nsteps = 20\nbatch = 4\neval_every = 10\nsave_every = 5";
    let config = Config::layered(&[icee_games::presets::CUSTOM.1, small], &[]).unwrap();
    let logs = Logs::parse(&hidden_arm(), Path::new("toy.csv")).unwrap();
    let games = Games::new(config, Source::Logs(logs)).unwrap();
    let device = Device::cpu(1).unwrap();
    let mut trainer = Trainer::fresh(&games, &device).unwrap();
    let root = std::env::temp_dir().join(format!("icee-toy-saved-{}", std::process::id()));
    let folder = RunFolder::create(&root, &games, &RunInfo::new(&device, None)).unwrap();
    let mut saved = Saved::default();
    train(&mut trainer, &folder, Limits::default(), &mut saved).unwrap();
    std::fs::remove_dir_all(&root).unwrap();
    // At step 15 there is something to go on from, and the checkpoint stays that of step 10.
    assert!(saved.0.starts_with(&[5, 10]) && !saved.0.contains(&15), "{:?}", saved.0);
}

#[test]
fn logs_from_which_nothing_follows_are_refused_before_anything_is_made() {
    let games = |rewards: [i32; 2], method: &str| {
        let [first, second] = rewards;
        let log = format!("game,episode,step,observation,action,reward\n0,0,0,1,0,{first}\n0,1,0,1,1,{second}\n");
        let config =
            Config::layered(&[icee_games::presets::CUSTOM.1, icee_games::presets::method(method).unwrap()], &[])
                .unwrap();
        Games::new(config, Source::Logs(Logs::parse(&log, Path::new("toy.csv")).unwrap()))
    };
    assert!(games([0, 1], "icee").is_ok() && games([2, 2], "ad").is_ok());
    for (rewards, method, said) in [
        ([2, 2], "icee", "toy.csv: the reward is 2 in every step and all episodes have the same length"),
        ([0, 1], "dpt", "dpt learns from the best actions, which a log does not have"),
        ([0, 1], "ad-sorted", "sorts episodes by their noise"),
    ] {
        let error = games(rewards, method).err().unwrap().to_string();
        assert!(error.contains(said), "{method}: {error}");
    }
}

#[test]
fn sizes_that_do_not_fit_are_told() {
    let remarks = |episodes: usize, steps: usize, setting: &str| {
        let mut log = String::from("game,episode,step,observation,action,reward\n");
        for (game, episode) in (0..2).flat_map(|game| (0..episodes).map(move |episode| (game, episode))) {
            (0..steps).for_each(|step| writeln!(log, "{game},{episode},{step},0,{},{}", step % 2, step % 2).unwrap());
        }
        let settings: Vec<String> =
            Some(setting.to_owned()).into_iter().filter(|setting| !setting.is_empty()).collect();
        let config = Config::layered(&[icee_games::presets::CUSTOM.1], &settings).unwrap();
        let logs = Logs::parse(&log, Path::new("toy.csv")).unwrap();
        Games::new(config, Source::Logs(logs)).unwrap().remarks().join("\n")
    };
    for (episodes, steps, setting, said) in [
        (20, 200, "", "games have up to 20 episodes; it learns from 10 in a row"),
        (3, 1500, "", "an episode of up to 1500 steps fills a sequence"),
        (3, 4, "data.episodes=5", "data.episodes=5, but no game has more than 3"),
        (1, 4, "", "every game has a single episode"),
    ] {
        let told = remarks(episodes, steps, setting);
        assert!(told.contains(said), "{told}");
    }
    let told = remarks(3, 4, "");
    assert!(!told.contains("episode of") && !told.contains("data.episodes") && !told.contains("single"), "{told}");
}
