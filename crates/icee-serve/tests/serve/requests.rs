//! Random requests to studies: what makes sense, and what does not.

use icee_protocol::{
    Amount, Ask, Content, Create, Forget, Goals, Predict, Renew, Request, RowId, Sheet, Show, Survey, Tell, Undo,
    Update, Verb, Why, Withdraw,
};
use proptest::prelude::*;
use proptest::sample::select;
use proptest::strategy::Union;

/// Rows of the sheet; what stands in it is one of these versions. Names are numbers, so that requests fit studies with names and without.
const ROWS: [&str; 11] = [
    "1,180,rye,,",
    "2,200,rye,5,2",
    "3,220,oat,,",
    "4,240,oat,4,",
    "5,200,oat,,",
    "6,180,oat,,",
    "7,210,rye,,",
    "8,190,rye,,",
    "9,230,oat,failed,",
    "ä/b 1,185,oat,,",
    "11,185.5,oat,,7",
];
const VERSIONS: usize = 7;

/// The sheet in a version.
fn sheet(version: usize) -> String {
    let mut rows: Vec<String> = ROWS.iter().map(|row| (*row).to_owned()).collect();
    match version {
        0 => {}
        1 => rows.push("12,260,rye,3,1".into()),
        2 => rows.reverse(),
        3 => rows[2] = "3,220,oat,6,3".into(),
        4 => drop(rows.remove(0)),
        // A row that was measured from the beginning has other cells.
        5 => rows[1] = "2,205,rye,5,2".into(),
        _ => rows[10] = "11,hot,rye,,".into(),
    }
    format!("name,heat,flour,yield,price\n{}\n", rows.join("\n"))
}

/// A request of any verb, but for pages, which are drawn of what the others answer, and imports, which are journals of others.
pub fn any_request() -> impl Strategy<Value = Request> {
    Union::new_weighted(Verb::ALL.iter().filter_map(|verb| of(*verb)).collect())
}

/// Requests of a verb, and how many of a hundred they are.
fn of(verb: Verb) -> Option<(u32, BoxedStrategy<Request>)> {
    let always = |share, request| (share, Just(request).boxed());
    Some(match verb {
        Verb::Ask => (22, ask().boxed()),
        Verb::Tell => (22, prop_oneof![5 => tell(), 1 => tell_file()].boxed()),
        Verb::Update => {
            let sheet = mostly(any_sheet().prop_map(Some), Just(None));
            let update = (any::<bool>(), any::<bool>(), sheet);
            (7, update.prop_map(|(replace, keep, sheet)| Update { replace, keep, sheet }.into()).boxed())
        }
        Verb::Undo => {
            let lines = mostly(Just(None), select(vec![Some(2), Some(9), Some(u64::MAX)]));
            (6, lines.prop_map(|lines| Undo { lines }.into()).boxed())
        }
        Verb::Goals => (5, (bounds(), also()).prop_map(|(bounds, also)| Goals { bounds, also }.into()).boxed()),
        Verb::Withdraw => (6, (rows(), by()).prop_map(|(rows, by)| Withdraw { rows, by }.into()).boxed()),
        Verb::Renew => {
            let within = text(0, WITHIN, NO_TIMES).prop_map(Option::unwrap_or_default);
            (5, (rows(), within, by()).prop_map(|(rows, within, by)| Renew { rows, within, by }.into()).boxed())
        }
        Verb::Forget => (3, rows().prop_map(|rows| Forget { rows }.into()).boxed()),
        Verb::Create => (3, create().prop_map(Request::Create).boxed()),
        Verb::Survey => (2, create().prop_map(|create| Request::Survey(Survey(create))).boxed()),
        Verb::Show => (2, few().prop_map(|told| Show { told }.into()).boxed()),
        Verb::Predict => (3, (few(), sampler()).prop_map(|(top, sampler)| Predict { top, sampler }.into()).boxed()),
        Verb::Why => (2, row().prop_map(|row| Why { row }.into()).boxed()),
        Verb::List => always(2, Request::List(Default::default())),
        Verb::Delete => always(1, Request::Delete(Default::default())),
        Verb::Best => always(1, Request::Best(Default::default())),
        Verb::Effects => always(2, Request::Effects(Default::default())),
        Verb::Running => always(2, Request::Running(Default::default())),
        Verb::Review => always(1, Request::Review(Default::default())),
        Verb::Export => always(1, Request::Export(Default::default())),
        Verb::ReadCells => always(1, Request::ReadCells(Default::default())),
        Verb::Journal => always(1, Request::Journal(Default::default())),
        Verb::Report | Verb::Glance | Verb::Import => return None,
    })
}

/// A study that can be: all sequences begin with one.
pub fn first() -> impl Strategy<Value = Create> {
    let bounds = select(vec![None, None, Some("0..10")]);
    let also = select(vec![vec![], vec![], vec!["price min"], vec!["price <= 4"]]);
    let id = select(vec![None, Some("name")]);
    (any::<bool>(), bounds, also, id, select(vec!["gp-ei", "gp-ei", "random"]), 0u64..3).prop_map(
        |(fills, bounds, also, id, sampler, seed)| Create {
            sheet: Some(content(sheet(0))),
            value: fills.then(|| "yield".into()),
            direction: Some("max".into()),
            bounds: bounds.map(String::from),
            ignore: ignored(fills, also.is_empty()),
            also: also.into_iter().map(String::from).collect(),
            id: id.map(String::from),
            sampler: Some(sampler.into()),
            seed,
            ..Create::default()
        },
    )
}

/// Columns that are no inputs, and of no other use.
fn ignored(fills: bool, alone: bool) -> Vec<String> {
    let ignored = [(!fills).then_some("yield"), alone.then_some("price")];
    ignored.into_iter().flatten().map(String::from).collect()
}

fn content(text: impl Into<Vec<u8>>) -> Sheet {
    Sheet::Content(Content(text.into()))
}

/// What makes sense, and now and then what does not.
fn mostly<T: std::fmt::Debug + 'static>(
    sense: impl Strategy<Value = T> + 'static,
    nonsense: impl Strategy<Value = T> + 'static,
) -> BoxedStrategy<T> {
    prop_oneof![30 => sense, 1 => nonsense].boxed()
}

/// Nothing, a text that makes sense, or now and then one that does not; the first number of times in four it is nothing.
fn text(none: u32, sense: &'static [&'static str], nonsense: &'static [&'static str]) -> BoxedStrategy<Option<String>> {
    let some = |texts| select::<&str>(texts).prop_map(|text: &str| Some(text.to_owned()));
    mostly(prop_oneof![none => Just(None), 4 - none => some(sense)], some(nonsense))
}

/// The same of lists.
fn list(
    sense: &'static [&'static [&'static str]],
    nonsense: &'static [&'static [&'static str]],
) -> BoxedStrategy<Vec<String>> {
    let of = |lists| select::<&[&str]>(lists).prop_map(|list: &[&str]| list.iter().map(|&text| text.into()).collect());
    mostly(of(sense), of(nonsense))
}

fn any_sheet() -> BoxedStrategy<Sheet> {
    let nonsense: Vec<&[u8]> =
        vec![b"", b"a\n", b"a,a\n1,2\n", b"a,b\n1\n", b"PK\x03\x04", b"a\n\xff\n", b"a;b\n1;2\n3;4\n"];
    mostly((0..VERSIONS).prop_map(|version| content(sheet(version))), select(nonsense).prop_map(content))
}

fn create() -> impl Strategy<Value = Create> {
    let texts = (
        text(1, &["yield"], &["heat", "nope"]),
        text(0, &["max", "minimize"], &["up", "?"]),
        text(2, &["name"], &["nope", "flour"]),
        text(3, &["bread"], &["gone", "a/b"]),
        text(0, &["gp-ei", "gp-ei", "random"], &["lerned"]),
        text(3, &["price"], &["heat"]),
    );
    let columns = (
        list(&[&["price"], &["price"], &["price", "yield"]], &[&[], &["nope"]]),
        list(&[&[], &[], &["heat"]], &[&["flour"], &["nope"]]),
        list(&[&[], &[], &[], &["heat"]], &[&["price"]]),
        prop_oneof![4 => Just(None), 1 => list(&[&["heat"], &["heat", "flour"]], &[&[], &["heat", "heat"]]).prop_map(Some)],
    );
    let target = mostly(Just(None), amount().prop_map(Some));
    let sheet = mostly(any_sheet().prop_map(Some), Just(None));
    (sheet, texts, columns, target, bounds(), also()).prop_map(|(sheet, texts, columns, target, bounds, also)| {
        let (value, direction, id, like, sampler, cost) = texts;
        let (ignore, log, categories, columns) = columns;
        let direction = direction.filter(|_| target.is_none());
        let (name, linear, seed) = (None, vec![], 1);
        Create {
            name,
            sheet,
            value,
            direction,
            target,
            bounds,
            also,
            cost,
            id,
            columns,
            ignore,
            log,
            linear,
            categories,
            like,
            sampler,
            seed,
        }
    })
}

fn ask() -> impl Strategy<Value = Request> {
    let count = mostly(1usize..4, select(vec![0, 65, usize::MAX]));
    let condition = text(3, &["heat < 215", " flour = oat "], &["flour = rice", "nonsense >>> 3", ""]);
    let same = list(&[&[], &[], &[], &["flour"]], &[&["flour", "flour"], &["nope"]]);
    (count, condition, any::<bool>(), same, text(2, WITHIN, NO_TIMES), by(), sampler(), flag()).prop_map(
        |(count, condition, more, same, within, by, sampler, accept_model)| {
            Request::Ask(Ask { count, condition, more, same, within, by, sampler, accept_model })
        },
    )
}

fn tell() -> impl Strategy<Value = Request> {
    let further = |name: &'static str| amount().prop_map(move |amount| vec![(name.to_owned(), amount)]);
    let further = mostly(
        prop_oneof![4 => Just(vec![]), 1 => further("price"), 1 => further("yield")],
        prop_oneof![further("nope"), further(" price ")],
    );
    let outcome = prop_oneof![
        6 => amount().prop_map(|value| (Some(value), false, false)),
        1 => Just((None, true, false)),
        1 => Just((None, false, true)),
        1 => (any::<bool>(), any::<bool>()).prop_map(|(failed, impossible)| (None, failed, impossible)),
    ];
    (mostly(row().prop_map(Some), Just(None)), outcome, further, repeat(), by()).prop_map(
        |(row, (value, failed, impossible), further, (replace, again), by)| {
            let value = value.filter(|_| further.first().is_none_or(|(name, _)| name != "yield"));
            let further = further.into_iter().collect();
            Request::Tell(Tell { row, value, further, failed, impossible, replace, again, by, ..Tell::default() })
        },
    )
}

fn tell_file() -> impl Strategy<Value = Request> {
    let result = mostly(select(vec!["5", "6.5", "failed", "", "impossible"]), select(vec!["x", "1e999"]));
    let lines = prop::collection::vec((mostly(1usize..12, Just(99)), result), 1..4);
    let header = mostly(select(vec!["row,yield", "name,yield"]), select(vec!["row,value", "yield", "row,yield,price"]));
    (header, lines, text(3, &["yield"], &["nope", "heat"]), repeat()).prop_map(
        |(header, lines, column, (replace, again))| {
            let lines: String = lines.iter().map(|(row, value)| format!("{row},{value}\n")).collect();
            let csv = Some(content(format!("{header}\n{lines}")));
            Request::Tell(Tell { csv, column, replace, again, ..Tell::default() })
        },
    )
}

/// Whether a result replaces others, or is one more.
fn repeat() -> BoxedStrategy<(bool, bool)> {
    mostly(select(vec![(false, false), (false, false), (true, false), (false, true)]), Just((true, true)))
}

fn flag() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.2)
}

fn row() -> BoxedStrategy<RowId> {
    let nonsense = vec!["r3", "12", "", "0", "-1", "ä/b\n", "a+b&c=%41#?\0", "18446744073709551615"];
    let text = |texts| select(texts).prop_map(RowId::from);
    mostly(prop_oneof![9 => (1u64..12).prop_map(RowId::Number), 1 => text(vec!["5", " 7 ", "ä/b 1"])], text(nonsense))
}

fn rows() -> BoxedStrategy<Vec<RowId>> {
    mostly(prop_oneof![4 => row().prop_map(|row| vec![row]), 1 => prop::collection::vec(row(), 2)], Just(vec![]))
}

fn amount() -> BoxedStrategy<Amount> {
    let nonsense = vec!["failed", "x", "", "1e400", "nan", "1_000", "1,000"];
    let odd = vec![f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    let texts = |texts| select(texts).prop_map(|text: &str| Amount::Text(text.into()));
    let numbers = (0u8..9).prop_map(|value| Amount::Number(value.into()));
    let unusual = select(vec![-0.0, 5e-324, 0.1 + 0.2, -3.25]).prop_map(Amount::Number);
    mostly(
        prop_oneof![8 => numbers, 1 => unusual, 1 => texts(vec!["3,5", " 0.1 "])],
        prop_oneof![texts(nonsense), select(odd).prop_map(Amount::Number)],
    )
}

fn by() -> BoxedStrategy<Option<String>> {
    text(2, &["ann", "ann", "bob", " bob "], &["", "a\tb"])
}

const WITHIN: &[&str] = &["1h", "1h", "90m", "9d"];
const NO_TIMES: &[&str] = &["soon", "0h", "1e300d"];

fn sampler() -> BoxedStrategy<Option<String>> {
    text(3, &["gp-ei", "random"], &["lerned"])
}

fn bounds() -> BoxedStrategy<Option<String>> {
    text(2, &["0..10", "-9..", "0..4"], &["10..0", "x", "none"])
}

fn also() -> BoxedStrategy<Vec<String>> {
    list(&[&[], &[], &["price min"], &["price <= 2"]], &[&["heat min"], &["yield max"], &["price", "price"], &["?"]])
}

fn few() -> BoxedStrategy<Option<usize>> {
    mostly(select(vec![None, None, Some(1), Some(3), Some(999)]), select(vec![Some(0), Some(usize::MAX)]))
}
