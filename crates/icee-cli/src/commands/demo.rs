//! `icee demo`: unseen rooms solved in context and a race to the minimum of sixteen functions, in under a minute.

use super::demo_room::Rooms;
use super::models::StoreArgs;
use crate::terminal::say;
use anyhow::bail;
use icee_base::files::folder_of;
use icee_base::stats::Estimate;
use icee_bo::functions;
use icee_bo::protocol::Protocol;
use icee_games::Agent;
use icee_models::catalogue;
use icee_models::results::{EpisodeRow, milestones};
use icee_models::{Error as ModelError, ModelStore};
use icee_report::chapters::{ceiling, curve, named, race};
use icee_report::figure::{Axis, Figure, Mark, Series};
use icee_report::page::{Block, Cell, Page, Section, Table, Tone};
use icee_report::work::{Searched, rows as returns_by_episode, search};
use icee_report::{ink, output, paper};
use icee_train::Device;
use icee_worlds::{Games, PlayedStep, Reference, ReferenceAgent, Registry, Split, World, grid};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

const WORLD: &str = "DarkRoom-v0";
const MODEL: &str = "dark-room__icee";
const RIVAL: &str = "dark-room__ad";
const OPTIMISER: &str = "bo__value";
/// Evaluations of each run of the race: where the published comparison is made.
const EVALUATIONS: usize = 20;
/// How often the live view changes.
const FRAME: Duration = Duration::from_millis(100);

/// See it work: 100 unseen rooms solved in context, and a race of optimisers.
#[derive(clap::Args)]
pub struct Args {
    /// Play this many rooms.
    #[arg(long, value_name = "N", default_value_t = 100)]
    games: usize,
    /// Run the race this often on each of the 16 functions.
    #[arg(long, value_name = "N", default_value_t = 8)]
    trials: usize,
    /// Seed of rooms, pools and choices.
    #[arg(long, value_name = "S", default_value_t = 0)]
    seed: u64,
    /// Write the page with figures to this file.
    #[arg(long, value_name = "FILE", default_value = "icee-demo.html")]
    out: PathBuf,
    /// Use this many threads; 0 takes all cores.
    #[arg(long, default_value_t = 0)]
    threads: usize,
    #[command(flatten)]
    pub(crate) models: StoreArgs,
}

/// A learning curve with the name it has in figures and tables.
struct Entry {
    key: &'static str,
    label: String,
    mark: Mark,
    rows: Vec<EpisodeRow>,
}

pub fn run(args: &Args, registry: &Registry, models: &ModelStore) -> anyhow::Result<()> {
    if args.games == 0 || args.trials == 0 {
        bail!("--games and --trials must be at least 1");
    }
    // Before the work, not after it.
    let folder = folder_of(&args.out);
    if !folder.is_dir() {
        bail!("there is no folder {} for the page; create it, or choose another with --out", folder.display());
    }
    let device = Device::cpu(args.threads)?;
    let world = registry.make(WORLD)?;
    let (columns, rows) = grid::presets().iter().find(|room| room.id == WORLD).map_or((0, 0), |r| (r.width, r.height));
    say(format!("{} rooms of 9 x 9 cells with a hidden goal; the agent sees only its own position", args.games));
    let mut entries = Vec::new();
    let mut rooms = Rooms::new(columns, rows, args.games);
    entries.extend(learned("icee", MODEL, args, models, &device, &*world, |step| rooms.see(step))?);
    entries.extend(learned("ad", RIVAL, args, models, &device, &*world, |_| {})?);
    for (entry, agent) in catalogue::WORLDS[0].references().filter(|(_, agent)| *agent != Reference::Source) {
        let mut games = Games::deal(&*world, args.games, args.seed, Split::Evaluation)?;
        let mut agent = ReferenceAgent::new(agent, &games)?;
        let rows = returns_by_episode(&games.play(&mut agent, world.spec().episodes)?);
        entries.push(Entry { key: entry.key, label: entry.label.into(), mark: Mark::Dashed, rows });
    }
    let runs = race_runs(args, models)?;
    let room = rooms.picture();
    let page = page(args, room.as_deref(), &entries, &runs);
    // Results are printed even if the page cannot be written.
    let written = output::write_page(&page, &args.out);
    let mut out = std::io::stdout().lock();
    if let Some(room) = &room {
        write!(out, "\n{room}")?;
    }
    for block in page.sections.iter().flat_map(|section| &section.blocks) {
        if let Block::Table(table) = block {
            write_table(&mut out, table)?;
        }
    }
    write_next(&mut out, &written?, entries.first().is_some_and(|entry| entry.key == "icee"))?;
    Ok(())
}

/// A model plays; without it, its stored results; without those, a message.
fn learned(
    key: &'static str,
    name: &str,
    args: &Args,
    models: &ModelStore,
    device: &Device,
    world: &dyn World,
    mut look: impl FnMut(&PlayedStep<'_>),
) -> anyhow::Result<Option<Entry>> {
    let label = ink::of(key).label;
    let found = match models.find(name) {
        Ok(found) => found,
        Err(error @ ModelError::Missing { .. }) => {
            let Some(rows) = models.stored_results(name)? else {
                say(error);
                return Ok(None);
            };
            say(format!("{name} is missing; its stored results are shown"));
            return Ok(Some(Entry { key, label: format!("{label}, stored"), mark: Mark::Line, rows }));
        }
        Err(error) => return Err(error.into()),
    };
    let mut agent = Agent::new(device, &found.load_agent()?)?;
    let mut games = Games::deal(world, args.games, args.seed, Split::Evaluation)?;
    let episodes = world.spec().episodes;
    let mut live = Live::new(label, args.games, episodes);
    let returns = games.play_watched(&mut agent, episodes, |step| {
        live.see(step);
        look(step);
    })?;
    live.finish();
    Ok(Some(Entry { key, label: label.into(), mark: Mark::Line, rows: returns_by_episode(&returns) }))
}

/// The learning curve while it grows: a bar with a picture of it on a terminal, plain lines elsewhere.
struct Live {
    label: &'static str,
    bar: Option<ProgressBar>,
    /// Summed returns and finished games of each episode.
    episodes: Vec<(f32, usize)>,
    games: usize,
    shown: Instant,
    start: Instant,
}

impl Live {
    fn new(label: &'static str, games: usize, episodes: usize) -> Live {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(episodes as u64);
            match ProgressStyle::with_template("{msg}") {
                Ok(style) => bar.with_style(style),
                Err(_) => bar,
            }
        });
        Live { label, bar, episodes: vec![(0.0, 0); episodes], games, shown: Instant::now(), start: Instant::now() }
    }

    fn see(&mut self, step: &PlayedStep<'_>) {
        let (sum, finished) = &mut self.episodes[step.episode];
        *sum += step.outcome.reward;
        if !step.outcome.done {
            return;
        }
        *finished += 1;
        let complete = *finished == self.games;
        match &self.bar {
            Some(bar) if complete || self.shown.elapsed() > FRAME => {
                self.shown = Instant::now();
                bar.set_position(step.episode as u64);
                bar.set_message(self.line(step.episode));
            }
            None if complete && (step.episode + 1).is_multiple_of(10) => say(self.line(step.episode).trim_end()),
            _ => {}
        }
    }

    /// The curve up to an episode in one line.
    fn line(&self, episode: usize) -> String {
        const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
        let mean = |(sum, finished): &(f32, usize)| sum / (*finished).max(1) as f32;
        let most = self.episodes.iter().map(mean).fold(1.0, f32::max);
        let level = |cell: &(f32, usize)| LEVELS[((mean(cell) / most * 7.0) as usize).min(7)];
        let picture: String = self.episodes[..=episode].iter().map(level).collect();
        let now = mean(&self.episodes[episode]);
        let padding = self.episodes.len() - episode - 1;
        // 73 columns for 50 episodes, which leaves room for the seconds.
        format!("{:<4} episode {:>2}: {now:>5.2} {picture}{}", self.label, episode + 1, " ".repeat(padding))
    }

    fn finish(&self) {
        let seconds = self.start.elapsed().as_secs_f64();
        if let Some(bar) = &self.bar {
            bar.finish_with_message(format!("{}  {seconds:.0} s", self.line(self.episodes.len() - 1)));
        }
    }
}

fn race_runs(args: &Args, models: &ModelStore) -> anyhow::Result<Vec<(&'static str, Vec<Searched>)>> {
    let mut runs = Vec::new();
    for (key, sampler) in [("value", OPTIMISER), ("gp-ei", "gp-ei"), ("random", "random")] {
        if key == "value"
            && let Err(error @ ModelError::Missing { .. }) = models.find(sampler)
        {
            say(error);
            continue;
        }
        say(format!(
            "{} searches {} functions, {} times each",
            ink::of(key).label,
            functions::all().len(),
            args.trials
        ));
        let mut searched = Vec::new();
        // Function by function, so that no more copies of a model are in memory than one has runs.
        for function in functions::all() {
            let (trials, evaluations, seed) = (args.trials, EVALUATIONS, args.seed);
            let protocol = Protocol { functions: vec![function], trials, evaluations, seed, ..Protocol::default() };
            searched.extend(search(sampler, &protocol, args.threads, models)?);
        }
        runs.push((key, searched));
    }
    Ok(runs)
}

fn page(args: &Args, room: Option<&str>, entries: &[Entry], runs: &[(&'static str, Vec<Searched>)]) -> Page {
    let mut series: Vec<Series> = entries
        .iter()
        .map(|entry| {
            let series = match entry.mark {
                Mark::Dashed => ceiling(&entry.rows, ink::of(entry.key)),
                mark => curve(&entry.rows, ink::of(entry.key), mark).highlighted_if(entry.key == "icee"),
            };
            series.called(&entry.label)
        })
        .collect();
    for method in ["icee", "ad"] {
        let label = format!("paper: {}", ink::of(method).label);
        series.push(Series::new(ink::of(method), Mark::Points, paper::points(WORLD, method)).called(&label));
    }
    let figure = Figure::single(
        "learning",
        "Learning a new room in context",
        "Mean return at each episode; the band is ICEE's 95 % interval. No weight changes: the agent learns from its own history only. \
         Dashed: posterior sampling, a sweep to the nearest cell not yet visited, and an oracle that knows the goal. Diamonds: \
         the paper's numbers.",
        Axis::count("episode"),
        Axis::linear("mean return"),
        series,
    );
    let mut rooms = Vec::new();
    if let Some((caption, picture)) = room.and_then(|room| room.split_once('\n')) {
        rooms.extend([Block::Text(caption.into()), Block::Code(picture.into())]);
    }
    rooms.extend([Block::Figure(figure), Block::Table(returns_table(entries))]);
    let functions = vec![Block::Figure(race(runs)), Block::Table(race_table(runs))];
    Page {
        title: "icee: exploration and exploitation in context".into(),
        lead: format!(
            "A transformer that was trained offline on cheap data plays {} rooms it has never seen, and a learned \
             optimiser races a Gaussian process.",
            args.games
        ),
        sections: vec![
            Section { heading: "Rooms with a hidden goal".into(), blocks: rooms },
            Section { heading: "Functions with a hidden minimum".into(), blocks: functions },
        ],
        footer: format!(
            "icee demo --games {} --trials {} --seed {}. Everything else: icee reproduce.",
            args.games, args.trials, args.seed
        ),
    }
}

fn returns_table(entries: &[Entry]) -> Table {
    let episodes = milestones(entries.first().map_or(50, |entry| entry.rows.len()));
    let mut head = vec!["mean return".to_owned()];
    head.extend(episodes.map(|episode| format!("episode {episode}")));
    let caption = "Mean return. Below each agent: its training data.".into();
    let mut table = Table { caption, head, ..Table::default() };
    for entry in entries {
        let cell = |episode: usize| match entry.rows.get(episode - 1) {
            Some(row) => Cell::from(format!("{:.2}", row.mean)),
            None => "–".into(),
        };
        let note = catalogue::entry(entry.key).map_or(String::new(), |known| named(known).note);
        let name = Cell::from(entry.label.as_str()).noted(note, Tone::Plain);
        table.rows.push([name].into_iter().chain(episodes.map(cell)).collect());
    }
    for method in ["icee", "ad"] {
        let name = Cell::from(format!("paper: {}", ink::of(method).label));
        let mut row = vec![name.noted("the behaviour policy's episodes", Tone::Plain)];
        row.extend(paper::row(WORLD, method).iter().map(|cell| Cell::from(format!("{:.2}", cell.mean))));
        table.rows.push(row);
    }
    table
}

/// Mean regrets with intervals; and, run by run, how far the learned optimiser is ahead of its rival.
fn race_table(runs: &[(&'static str, Vec<Searched>)]) -> Table {
    const AT: [usize; 3] = [10, 15, EVALUATIONS];
    let regrets = |searched: &[Searched], at: usize| -> Vec<f64> {
        let trials = searched.iter().flat_map(|searched| &searched.trials);
        trials.filter_map(|trial| trial.regret.get(at - 1).copied()).collect()
    };
    let cell = |sample: Vec<f64>| {
        let estimate = Estimate::of(&sample);
        let half = estimate.known_half_width().map_or(String::new(), |half| format!(" ± {half:.2}"));
        Cell::from(format!("{:.2}{half}", estimate.mean))
    };
    let row = |(key, searched): &(&str, Vec<Searched>)| {
        let cells = AT.map(|at| cell(regrets(searched, at)));
        [Cell::from(ink::of(key).label)].into_iter().chain(cells).collect()
    };
    let mut rows: Vec<Vec<Cell>> = runs.iter().map(row).collect();
    if let [("value", ours), ("gp-ei", rivals), ..] = runs {
        let ahead = |at: usize| {
            let pairs = regrets(ours, at).into_iter().zip(regrets(rivals, at));
            cell(pairs.map(|(ours, rivals)| ours - rivals).collect())
        };
        rows.push([Cell::from("ICEE - GP-EI by run")].into_iter().chain(AT.map(ahead)).collect());
    }
    let mut head = vec!["regret".to_owned()];
    head.extend(AT.map(|at| format!("{at} values")));
    let count = runs.first().map_or(0, |(_, searched)| regrets(searched, 1).len());
    let caption = format!(
        "Mean regret. In standard deviations, after so many values, with 95 % intervals over {count} runs. The last row is the mean \
         difference on the same run: below zero, the learned optimiser is ahead."
    );
    Table { caption, head, rows, ..Table::default() }
}

fn write_table(out: &mut impl Write, table: &Table) -> std::io::Result<()> {
    writeln!(out)?;
    let mut line = |cells: Vec<&str>| {
        for (index, cell) in cells.into_iter().enumerate() {
            // The padding of `format!` counts characters, as it should here.
            if index == 0 { write!(out, "{cell:<22}")? } else { write!(out, "{cell:>16}")? }
        }
        writeln!(out)
    };
    line(table.head.iter().map(String::as_str).collect())?;
    table.rows.iter().try_for_each(|row| line(row.iter().map(|cell| cell.text.as_str()).collect()))
}

fn write_next(out: &mut impl Write, path: &Path, has_model: bool) -> std::io::Result<()> {
    writeln!(out, "\npictures: {}", path.display())?;
    writeln!(out, "\nnext:")?;
    let mut next = |command: &str, what: &str| writeln!(out, "  {command:<39} {what}");
    next("icee study create NAME --pool FILE.csv --direction max", " your own table")?;
    if has_model {
        next(&format!("icee play {MODEL}"), "watch it play one room")?;
    }
    next("icee train dark-room-tiny", "train your own in three minutes")?;
    next("icee models", "the trained models")?;
    next("icee reproduce", "everything the paper reports")
}
