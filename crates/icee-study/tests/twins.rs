//! The same requests to a study in memory and to studies in files are answered alike, kept open or opened anew.

mod common;

use common::{NoPages, Scratch, options, send};
use icee_protocol::{
    Ask, Content, Forget, Goals, Predict, Renew, Request, RowId, Sheet, Show, Tell, Undo, Update, Why, Withdraw,
};
use icee_study::memory::InMemory;
use icee_study::{Context, Direction, Home, JournalFile, Models, SamplerKind, Source, Study, StudyOptions};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, to_value};
use std::path::{Path, PathBuf};

/// Rows of the sheet; what stands in it is one of these versions.
const ROWS: [&str; 10] = [
    "180,rye,,",
    "200,rye,5,2",
    "220,oat,,",
    "240,oat,4,",
    "200,oat,,",
    "180,oat,,",
    "210,rye,,",
    "190,rye,,",
    "230,oat,,",
    "185,oat,,",
];
const VERSIONS: usize = 5;

fn sheet(version: usize) -> String {
    let mut rows: Vec<String> = ROWS.iter().map(|row| (*row).to_owned()).collect();
    match version {
        0 => {}
        1 => rows.push("260,rye,3,1".into()),
        2 => rows.reverse(),
        3 => rows[2] = "220,oat,6,3".into(),
        // A measured row is gone.
        _ => drop(rows.remove(1)),
    }
    format!("heat,flour,yield,price\n{}\n", rows.join("\n"))
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Key {
    Own,
    Shared,
}

/// What happens next.
#[derive(Clone, Debug)]
struct Step {
    request: Request,
    /// Whether the file that the studies follow becomes another version first.
    edit: Option<usize>,
    /// Whether it has a key: the step's own, or one that all share.
    key: Option<Key>,
    who: Option<&'static str>,
    /// Seconds since the step before.
    later: u64,
}

fn row() -> impl Strategy<Value = RowId> {
    // One of them is not there.
    (1u64..12).prop_map(RowId::Number)
}

fn rows() -> impl Strategy<Value = Vec<RowId>> {
    prop_oneof![1 => Just(vec![]), 6 => prop::collection::vec(row(), 1..3)]
}

fn by() -> impl Strategy<Value = Option<String>> {
    select(vec![None, Some("ann"), Some("bob")]).prop_map(|name| name.map(String::from))
}

fn within() -> impl Strategy<Value = Option<String>> {
    select(vec![None, None, Some("1h"), Some("1h"), Some("90m"), Some("9d"), Some("soon")])
        .prop_map(|within| within.map(String::from))
}

fn ask() -> impl Strategy<Value = Request> {
    let condition = select(vec![None, None, None, Some("heat < 215"), Some("flour = oat"), Some("nonsense >>> 3")]);
    let same = select(vec![vec![], vec![], vec!["flour".to_owned()]]);
    let sampler = select(vec![None, None, Some("gp-ei"), Some("random")]);
    (1usize..4, condition, any::<bool>(), same, within(), by(), sampler).prop_map(
        |(count, condition, more, same, within, by, sampler)| {
            let [condition, sampler] = [condition, sampler].map(|text| text.map(String::from));
            Request::Ask(Ask { count, condition, more, same, within, by, sampler, accept_model: false })
        },
    )
}

fn tell() -> impl Strategy<Value = Request> {
    let outcome = select(vec![0u8, 0, 0, 1, 2, 3]);
    (row(), outcome, 0u8..9, select(vec![0u8, 0, 1, 2]), by()).prop_map(|(row, outcome, value, repeat, by)| {
        let price = (outcome == 3).then(|| ("price".to_owned(), 2.0.into()));
        Request::Tell(Tell {
            row: Some(row),
            value: (outcome % 3 == 0).then(|| f64::from(value).into()),
            further: price.into_iter().collect(),
            failed: outcome == 1,
            impossible: outcome == 2,
            replace: repeat == 1,
            again: repeat == 2,
            by,
            ..Tell::default()
        })
    })
}

fn tell_file() -> impl Strategy<Value = Request> {
    prop::collection::vec((1usize..12, 0u8..9), 1..4).prop_map(|lines| {
        let lines: String = lines.iter().map(|(row, value)| format!("{row},{value}\n")).collect();
        let csv = Some(Sheet::Content(Content(format!("row,yield\n{lines}").into_bytes())));
        Request::Tell(Tell { csv, ..Tell::default() })
    })
}

fn goals() -> impl Strategy<Value = Request> {
    let bounds = select(vec![None, Some("0..10"), Some("none"), Some("0..4")]);
    let also = select(vec![vec![], vec!["price min"], vec!["price <= 2"], vec!["heat min"]]);
    (bounds, also).prop_map(|(bounds, also)| {
        let (bounds, also) = (bounds.map(String::from), also.into_iter().map(String::from).collect());
        Request::Goals(Goals { bounds, also })
    })
}

/// An update: from the file that is followed, or from content.
fn update() -> impl Strategy<Value = Request> {
    (any::<bool>(), any::<bool>(), prop::option::of(0..VERSIONS)).prop_map(|(replace, keep, version)| {
        let content = |version| Sheet::Content(Content(sheet(version).into_bytes()));
        Request::Update(Update { replace, keep, sheet: version.map(content) })
    })
}

fn change() -> impl Strategy<Value = Request> {
    let renew = (rows(), by()).prop_map(|(rows, by)| Request::Renew(Renew { rows, within: "2h".into(), by }));
    let withdraw = (rows(), by()).prop_map(|(rows, by)| Request::Withdraw(Withdraw { rows, by }));
    let forget = rows().prop_map(|rows| Request::Forget(Forget { rows }));
    let undo =
        prop_oneof![4 => Just(None), 1 => (1u64..6).prop_map(Some)].prop_map(|lines| Request::Undo(Undo { lines }));
    prop_oneof![5 => ask(), 5 => tell(), 1 => tell_file(), 1 => renew, 2 => withdraw, 1 => forget, 2 => undo,
        2 => goals(), 2 => update()]
}

fn look() -> impl Strategy<Value = Request> {
    prop_oneof![
        prop::option::of(0usize..3).prop_map(|top| Request::Predict(Predict { top, sampler: None })),
        row().prop_map(|row| Request::Why(Why { row })),
        prop::option::of(0usize..3).prop_map(|told| Request::Show(Show { told })),
        select(vec![
            Request::Best(Default::default()),
            Request::Effects(Default::default()),
            Request::Running(Default::default()),
            Request::Review(Default::default()),
            Request::Export(Default::default()),
            Request::ReadCells(Default::default()),
            Request::Report(Default::default()),
            Request::Glance(Default::default()),
        ]),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let edit = prop_oneof![6 => Just(None), 1 => (0..VERSIONS).prop_map(Some)];
    let key = prop_oneof![3 => Just(None), 3 => Just(Some(Key::Own)), 1 => Just(Some(Key::Shared))];
    let (key, who) = (key, select(vec![None, Some("ann"), Some("token")]));
    (prop_oneof![4 => change(), 1 => look()], edit, key, who, 0u64..4000)
        .prop_map(|(request, edit, key, who, later)| Step { request, edit, key, who, later })
}

/// One of the studies.
struct Twin {
    home: Box<dyn Home>,
    /// Kept open; or none, and it is opened for each request.
    open: Option<Study>,
    /// The file that it follows, if it does.
    file: PathBuf,
}

impl Twin {
    fn new(home: impl Home + 'static, folder: PathBuf, follows: bool, stays_open: bool) -> Twin {
        std::fs::create_dir_all(&folder).unwrap();
        let file = folder.join("sheet.csv");
        std::fs::write(&file, sheet(0)).unwrap();
        let pool = if follows { Source::File(file.clone()) } else { Source::Bytes(sheet(0).into_bytes()) };
        let options = StudyOptions {
            pool,
            value: Some("yield".into()),
            ignore: vec!["price".into()],
            direction: Direction::Maximize,
            sampler: Some(SamplerKind::GpEi),
            ..options(Path::new(""))
        };
        let study = Study::create_in(&home, &options, Models::default()).unwrap();
        Twin { home: Box::new(home), open: stays_open.then_some(study), file }
    }

    /// What a request is answered, without the places that each has its own of.
    fn send(&mut self, step: &Step, number: usize, now: u64) -> Value {
        let folder = self.file.parent().unwrap().display().to_string();
        let mut anew = None;
        let study = match &mut self.open {
            Some(study) => study,
            None => anew.insert(Study::open_in(&*self.home, Models::default()).unwrap()),
        };
        let key = step.key.map(|key| if key == Key::Own { format!("key-{number}") } else { "shared".into() });
        let key = key.as_deref();
        let context = Context { now, who: step.who, key, pages: &NoPages, reads_files: true, unpacked: 1 << 20 };
        let answer = match send(study, step.request.clone(), &context) {
            Ok((reply, notes)) => to_value((reply, notes)).unwrap(),
            Err(problem) => to_value(problem).unwrap(),
        };
        serde_json::from_str(&answer.to_string().replace(&folder, "")).unwrap()
    }

    /// Another version of the sheet is in the file from now on.
    fn edit(&self, version: usize) {
        std::fs::write(&self.file, sheet(version)).unwrap();
    }

    /// The journal, and how many requests with keys stand in it.
    fn journal(&self) -> (String, usize) {
        let journal = Study::open_in(&*self.home, Models::default()).unwrap().bundle().unwrap().journal;
        let keys = journal.matches("\"key\":{").count();
        (journal, keys)
    }

    /// What the study is, as it is known here and to one who opens it now.
    fn summaries(&mut self) -> Vec<Value> {
        let mut anew = Study::open_in(&*self.home, Models::default()).unwrap();
        let mut all = vec![anew.summary(None)];
        all.extend(self.open.as_mut().map(|study| study.summary(None)));
        all.iter_mut().for_each(|summary| summary.pool = None);
        all.iter().map(|summary| to_value(summary).unwrap()).collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn studies_are_answered_alike_wherever_they_are(
        seed: u64,
        follows: bool,
        steps in prop::collection::vec(step(), 1..25),
    ) {
        let scratch = Scratch::new(&format!("twins-{seed}"));
        let [memory, one, two] = ["memory", "one", "two"].map(|name| scratch.0.join(name));
        let mut twins = [
            Twin::new(InMemory::new("s"), memory, follows, true),
            Twin::new(JournalFile(one.join("s.jsonl")), one, follows, true),
            Twin::new(JournalFile(two.join("s.jsonl")), two, follows, false),
        ];
        let (mut now, mut done) = (1_000_000, Vec::new());
        for (number, step) in steps.iter().enumerate() {
            now += step.later;
            if let Some(version) = step.edit {
                twins.iter().for_each(|twin| twin.edit(version));
            }
            let (_, keys) = twins[0].journal();
            let [memory, one, two] = twins.each_mut().map(|twin| twin.send(step, number, now));
            prop_assert_eq!(&one, &memory, "{:?}", step);
            prop_assert_eq!(&two, &memory, "opened anew: {:?}", step);
            let all: Vec<Value> = twins.iter_mut().flat_map(Twin::summaries).collect();
            prop_assert!(all.iter().all(|summary| *summary == all[0]), "{:?}: {:?}", step, all);
            if twins[0].journal().1 > keys {
                done.push((number, step, memory));
            }
        }
        // What has left a line with its key is answered as the first time, and is not done again.
        let before = twins.each_ref().map(Twin::journal);
        for (number, step, reply) in done {
            for twin in &mut twins {
                prop_assert_eq!(&twin.send(step, number, now + 1)[0], &reply[0], "{:?}", step);
            }
        }
        let after = twins.each_ref().map(Twin::journal);
        prop_assert_eq!(&after, &before);
        // Without files of their own they are the same, byte for byte.
        if !follows {
            prop_assert!(after[1] == after[0] && after[2] == after[0]);
        }
    }
}
