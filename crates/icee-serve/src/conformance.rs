//! One suite that every place of studies must pass, for what a server keeps beside them: whose turn it is, requests that may be sent twice,
//! tokens. Of the studies themselves [`icee_study::conformance`] takes care.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("icee-serve-conformance-{}", std::process::id()));
//! icee_serve::conformance::check(&icee_serve::Place::Folder(folder.clone()))?;
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok::<(), String>(())
//! ```

use crate::failure::{Failure, ServeError};
use crate::keys::{Keyed, Known, LONGEST_ANSWER, LONGEST_KEPT};
use crate::name::StudyName;
use crate::store::{Ledger, Place, Store};
use crate::tokens::Role;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

/// Turns that each of two servers takes while the other does.
const TURNS: usize = 50;
/// A moment, in seconds since 1970.
const NOW: u64 = 1_000_000;

type Checked<T = ()> = Result<T, String>;

/// Does all that the contracts of ledgers and tokens speak of, and says what does not hold. The place has neither studies nor tokens yet.
///
/// # Errors
/// The first rule that was found to be broken.
pub fn check(place: &Place) -> Checked {
    let store = place.open().map_err(|error| error.to_string())?;
    let name = |name: &str| StudyName::new(name).map_err(|failure| failure.words);
    check_keys(&*store, &name("keys")?)?;
    check_settling(&*store, &name("settling")?)?;
    check_names(&*store, &name("names")?)?;
    check_turns(place, &*store, &name("turns")?)?;
    check_tokens(place, &*store)?;
    drop(store);
    let again = place.open().map(drop);
    require(again.is_ok(), "a place is free for others when its server is gone", again)
}

fn require(holds: bool, rule: &str, seen: impl std::fmt::Debug) -> Checked {
    if holds { Ok(()) } else { Err(format!("\"{rule}\" does not hold: {seen:?}")) }
}

fn words(failure: Failure) -> String {
    failure.words
}

/// Begins a study of one line.
fn create(store: &dyn Store, name: &StudyName) -> Checked {
    let mut draft = store.draft(name, "csv", b"a\n1\n2\n").map_err(words)?;
    draft.home.create(&["{\"header\":1}".into()]).map_err(|error| error.to_string())?;
    draft.sheet.wanted = draft.stays;
    Ok(())
}

/// Does something in a turn of its own, as a server does that has just opened the study.
fn turn<T>(
    store: &dyn Store,
    name: &StudyName,
    lines: u64,
    work: impl FnOnce(&mut dyn Ledger) -> Result<T, Failure>,
) -> Result<T, Failure> {
    let (_home, mut ledger) = store.seat(name)?;
    ledger.begin_turn()?.ok_or_else(|| Failure::internal("a study that was just opened is not there"))?;
    let done = ledger.settle(lines).map_err(Failure::from).and_then(|()| work(&mut *ledger));
    ledger.end_turn();
    done
}

fn keyed(key: &str, token: Option<&str>, body: &str) -> Keyed {
    Keyed::new(key, token, "ask", body.as_bytes())
}

fn check_keys(store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    // The study had two lines, and the request has added one: so the next turn finds three.
    let begin = |keyed: &Keyed, now: u64| turn(store, name, 3, |ledger| ledger.begin(keyed, now, 2));
    let done = |keyed: &Keyed, answer: Option<&str>| {
        turn(store, name, 3, |ledger| {
            let known = ledger.begin(keyed, NOW, 2)?;
            ledger.end(keyed, answer)?;
            Ok(known)
        })
    };
    let (one, ada) = (keyed("k", None, "{}"), keyed("k", Some("ada"), "{}"));
    let new = done(&ada, Some("{\"row\":1}"));
    require(new == Ok(Known::New), "what was never sent is new", &new)?;
    let again = begin(&ada, NOW);
    require(again == Ok(Known::Done("{\"row\":1}".into())), "what was done has the answer of the first time", &again)?;
    for (rule, other) in [
        ("a key is its token's own", keyed("k", Some("bob"), "{}")),
        ("one without a token is as strange as any", keyed("k", None, "{}")),
        ("another key is another request", keyed("l", Some("ada"), "{}")),
    ] {
        let known = turn(store, name, 3, |ledger| {
            let known = ledger.begin(&other, NOW, 2)?;
            ledger.end(&other, None)?;
            Ok(known)
        });
        require(known == Ok(Known::New), rule, &known)?;
    }
    let other = begin(&keyed("k", Some("ada"), "{\"count\":2}"), NOW);
    let refused = other.as_ref().is_err_and(|failure| failure.words.contains("used for another request"));
    require(refused, "a key is used for one request", &other)?;
    let refused = (done(&one, None), done(&one, None));
    require(refused == (Ok(Known::New), Ok(Known::New)), "what was refused may be sent again", &refused)?;
    begin(&one, NOW).map_err(words)?;
    let dead = begin(&one, NOW);
    let unknown = dead.as_ref().is_err_and(|failure| failure.words.contains("nobody knows"));
    require(unknown, "of what was begun and has written something nobody knows", &dead)?;
    let long = keyed("long", Some("ada"), "{}");
    done(&long, Some(&"x".repeat(LONGEST_ANSWER + 1))).map_err(words)?;
    let known = begin(&long, NOW);
    let refused = known.as_ref().is_err_and(|failure| failure.words.contains("too long to be kept"));
    require(refused, "a long answer is not kept, and the request not done again", &known)?;
    let longest = keyed("longest", Some("ada"), "{}");
    let text = "\u{1}ä".repeat(LONGEST_ANSWER / 3);
    done(&longest, Some(&text)).map_err(words)?;
    let known = begin(&longest, NOW);
    require(known == Ok(Known::Done(text)), "an answer that is not too long comes back as it was", known.is_ok())?;
    let later = (begin(&ada, NOW + LONGEST_KEPT), begin(&ada, NOW + LONGEST_KEPT + 1));
    let kept = matches!(later, (Ok(Known::Done(_)), Ok(Known::New)));
    require(kept, "a key is kept for a day, and not longer", &later)
}

fn check_settling(store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    let (first, second) = (keyed("1", None, "{}"), keyed("2", None, "{}"));
    let begin = |keyed: &Keyed, lines| turn(store, name, lines, |ledger| ledger.begin(keyed, NOW, lines));
    begin(&first, 5).map_err(words)?;
    let undone = begin(&first, 5);
    require(undone == Ok(Known::New), "what has added no line was not done", &undone)?;
    begin(&second, 6).map_err(words)?;
    let unknown = begin(&first, 6);
    require(unknown.is_err(), "what may have added a line is not forgotten", &unknown)?;
    let undone = begin(&second, 6);
    require(undone == Ok(Known::New), "each is known by the lines that there were when it began", &undone)
}

fn check_names(store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    let ask = keyed("k", None, "{}");
    let done = || {
        turn(store, name, 2, |ledger| {
            let known = ledger.begin(&ask, NOW, 1)?;
            ledger.end(&ask, Some("{}"))?;
            Ok(known)
        })
    };
    done().map_err(words)?;
    store.put_away(name, NOW).map_err(|error| error.to_string())?;
    let stamp = store.stamp(name).map_err(|error| error.to_string())?;
    require(stamp.is_none(), "a study that was put away is not there", stamp)?;
    create(store, name)?;
    let new = done();
    require(new == Ok(Known::New), "keys go with their study", &new)
}

fn check_turns(place: &Place, store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    let other = match place.open() {
        Ok(other) => other,
        // Then no other server has a turn as long as this one lives; and its own requests are one at a time in any case.
        Err(ServeError::Taken(_)) => return Ok(()),
        Err(error) => return Err(error.to_string()),
    };
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let take = |store: &dyn Store| {
        (0..TURNS).try_for_each(|at| {
            turn(store, name, 1, |ledger| {
                most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                let known = ledger.begin(&keyed(&at.to_string(), None, "{}"), NOW, 1);
                inside.fetch_sub(1, Ordering::SeqCst);
                known.map(drop)
            })
        })
    };
    let done = scope(|scope| {
        let threads = [store, &*other].map(|store| scope.spawn(move || take(store)));
        threads.map(|thread| thread.join().unwrap_or_else(|_| Err(Failure::internal("a panic"))))
    });
    let most = most.into_inner();
    require(done.iter().all(Result::is_ok), "everybody gets a turn", &done)?;
    require(most == 1, "turns are one at a time, over all servers", most)
}

fn check_tokens(place: &Place, store: &dyn Store) -> Checked {
    let kept = store.tokens();
    let other = place.tokens().map_err(|error| error.to_string())?;
    let required = || kept.are_required().map_err(|error| error.to_string());
    let names = || -> Checked<Vec<String>> {
        Ok(kept.all().map_err(|error| error.to_string())?.into_iter().map(|token| token.name).collect())
    };
    require(!required()? && names()?.is_empty(), "there are no tokens in the beginning", names())?;
    let create = |name: &str, role| other.create(name, role, NOW).map_err(|error| error.to_string());
    let secret = create("ada", Role::Write)?;
    let found = kept.find(&secret).map_err(|error| error.to_string())?;
    let is_kept = found
        .as_ref()
        .is_some_and(|token| (token.name.as_str(), token.role, token.created) == ("ada", Role::Write, NOW));
    require(is_kept, "a token made elsewhere counts at once", found)?;
    require(create("ada", Role::Admin).is_err(), "a name is one token's", names()?)?;
    let made = scope(|scope| {
        let makers: Vec<_> = (0..8).map(|at| scope.spawn(move || create(&format!("t{at}"), Role::Read))).collect();
        makers.into_iter().all(|maker| maker.join().is_ok_and(|made| made.is_ok()))
    });
    require(made && names()?.len() == 9, "of tokens made at the same time none is lost", names()?)?;
    for name in names()? {
        other.revoke(&name).map_err(|error| error.to_string())?;
    }
    let found = kept.find(&secret).map_err(|error| error.to_string())?;
    require(
        found.is_none() && names()?.is_empty(),
        "a token that was revoked elsewhere does not count any more",
        found,
    )?;
    require(required()?, "that there were tokens is not forgotten", names()?)
}
