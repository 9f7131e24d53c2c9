//! One suite that every place of studies must pass, for what a server needs beside them: turns among servers, and
//! tokens. [`icee_study::conformance`] checks the studies themselves.
//!
//! ```
//! # let folder = std::env::temp_dir().join(format!("icee-serve-conformance-{}", std::process::id()));
//! icee_serve::conformance::check(&icee_serve::Place::Folder(folder.clone()))?;
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok::<(), String>(())
//! ```

use crate::failure::ServeError;
use crate::store::{Place, Store};
use icee_protocol::{Role, StudyName};
use icee_study::KeptSheet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::scope;

/// Turns that each of two servers takes while the other does.
const TURNS: usize = 50;
/// A moment, in seconds since 1970.
const NOW: u64 = 1_000_000;

type Checked<T = ()> = Result<T, String>;

/// Checks the contracts of turns and tokens. The place has neither studies
/// nor tokens yet.
///
/// # Errors
/// The first rule that is broken.
pub fn check(place: &Place) -> Checked {
    let store = place.open().map_err(words)?;
    let name = |name: &str| name.parse::<StudyName>().map_err(words);
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

fn words(error: impl ToString) -> String {
    error.to_string()
}

/// Begins a study of one line.
fn create(store: &dyn Store, name: &StudyName) -> Checked {
    let sheet = KeptSheet::new(b"a\n1\n2\n".to_vec());
    let home = store.home(name).map_err(words)?;
    home.create(&["{\"header\":1}".into()], &[sheet]).map_err(words)
}

fn check_names(store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    let twice = create(store, name);
    require(twice.is_err(), "a name is one study's", twice)?;
    let first = store.stamp(name).map_err(words)?;
    let (_, mut turns) = store.open(name).map_err(words)?;
    store.put_away(name, NOW).map_err(words)?;
    let gone = (store.exists(name).map_err(words)?, store.stamp(name).map_err(words)?);
    require(gone == (false, None), "a study that was deleted is not there", gone)?;
    create(store, name)?;
    let second = store.stamp(name).map_err(words)?;
    let is_other = first.zip(second).is_some_and(|(first, second)| !first.is_same_file(second));
    require(is_other, "a study that has taken the name is another one", (first, second))?;
    let names = store.names().map_err(words)?;
    require(names.contains(name), "a study that was created is listed", names)?;
    // A folder is one server's: no other study can have taken the name without it.
    let turn = turns.begin().map_err(words)?;
    turns.end();
    require(turn.is_none() || store.hidden().is_none(), "no turn with a study that was deleted", turn)
}

/// Takes turns, and returns how many were inside at the same time at most.
fn take(store: &dyn Store, name: &StudyName, inside: &AtomicUsize, most: &AtomicUsize) -> Checked {
    for _ in 0..TURNS {
        let (_home, mut turns) = store.open(name).map_err(words)?;
        let now = turns.begin().map_err(words)?;
        require(now.is_some_and(|now| now > NOW), "a turn with a study that is there says the time", now)?;
        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        std::thread::yield_now();
        inside.fetch_sub(1, Ordering::SeqCst);
        turns.end();
    }
    Ok(())
}

fn check_turns(place: &Place, store: &dyn Store, name: &StudyName) -> Checked {
    create(store, name)?;
    let other = match place.open() {
        Ok(other) => other,
        // Then no other server has a turn as long as this one lives; and its own requests are one at a time in any
        // case.
        Err(ServeError::Taken(_)) => return Ok(()),
        Err(error) => return Err(words(error)),
    };
    let (inside, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let done = scope(|scope| {
        let threads = [store, &*other].map(|store| scope.spawn(|| take(store, name, &inside, &most)));
        threads.map(|thread| thread.join().unwrap_or_else(|_| Err("a panic".into())))
    });
    require(done.iter().all(Result::is_ok), "every server gets a turn", &done)?;
    let most = most.into_inner();
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
