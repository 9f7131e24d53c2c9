//! Where a server keeps studies and tokens: a folder of journals, or a PostgreSQL database that several servers share.

mod folder;
mod migrate;
mod pool;
mod postgres;
mod session;
mod storage;
mod tls;
mod tokens;
mod turns;

pub use turns::Turns;

use crate::failure::ServeError;
use crate::tokens::Tokens;
use icee_protocol::{Result, StudyName};
use icee_study::Home;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::SystemTime;

/// Where studies are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of journals and sheets, used by one server at a time.
    Folder(PathBuf),
    /// The address of a PostgreSQL database.
    Postgres(String),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Place, String> {
        match text.split_once("://") {
            Some(("postgres" | "postgresql", _)) => Ok(Place::Postgres(text.to_owned())),
            Some((other, _)) => {
                Err(format!("Studies cannot be kept in {other}://. Give a folder, or postgres://USER@HOST/DATABASE."))
            }
            None => Ok(Place::Folder(text.into())),
        }
    }
}

/// As it may be shown: without secrets.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Folder(folder) => write!(f, "{}", folder.display()),
            Place::Postgres(url) => write!(f, "{}", without_password(url)),
        }
    }
}

/// An address that may be shown. Anything besides user, host, database and the TLS settings may be a secret, too.
fn without_password(url: &str) -> String {
    let (url, query) = url.split_once('?').unwrap_or((url, ""));
    let is_tls = |pair: &&str| pair.starts_with("sslmode=") || pair.starts_with("sslrootcert=");
    let tls: Vec<&str> = query.split('&').filter(is_tls).collect();
    let tls = if tls.is_empty() { String::new() } else { format!("?{}", tls.join("&")) };
    let Some((user, rest)) = url.split_once("://").and_then(|(_, rest)| rest.rsplit_once('@')) else {
        return format!("{url}{tls}");
    };
    let user = user.split(':').next().unwrap_or_default();
    format!("postgres://{user}@{rest}{tls}")
}

impl Place {
    /// Takes the place for a server.
    ///
    /// # Errors
    /// If another server has the folder, or it cannot be used.
    pub(crate) fn open(&self) -> std::result::Result<Box<dyn Store>, ServeError> {
        Ok(match self {
            Place::Folder(folder) => Box::new(folder::Folder::open(folder)?),
            Place::Postgres(url) => Box::new(postgres::Database::open(url)?),
        })
    }

    /// The tokens that are kept there.
    ///
    /// # Errors
    /// Where the database cannot be reached.
    pub fn tokens(&self) -> std::result::Result<Tokens, ServeError> {
        Ok(match self {
            Place::Folder(folder) => Tokens::in_folder(folder),
            Place::Postgres(url) => postgres::Database::open(url)?.tokens(),
        })
    }

    /// Its studies, for a program that works with them without being a server.
    ///
    /// # Errors
    /// As [`Place::tokens`]; and as a server where a server has the folder.
    pub fn studies(&self) -> std::result::Result<Box<dyn icee_study::Place>, ServeError> {
        Ok(match self {
            Place::Folder(folder) => Box::new(folder::Folder::open(folder)?),
            Place::Postgres(url) => Box::new(postgres::Database::open(url)?),
        })
    }
}

/// What a server needs of a store.
pub trait Store: icee_study::Place {
    /// Its name in messages to the administrator, without secrets.
    fn name(&self) -> String;

    /// That name, if clients must not see it.
    fn hidden(&self) -> Option<&str> {
        None
    }

    /// The tokens.
    fn tokens(&self) -> Tokens;

    /// The state of a study, known without opening it; none if there is no such study.
    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>>;

    /// A study, and the turns with it.
    fn open(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Turns>)>;
}

/// The state of a file, by its metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    modified: Option<SystemTime>,
    bytes: u64,
    /// Another file in the same place has another number, where the system has such.
    number: u64,
}

impl Stamp {
    /// None where there is no file.
    pub fn of(path: &Path) -> Option<Stamp> {
        let known = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&known);
        #[cfg(not(unix))]
        let number = 0;
        Some(Stamp { modified: known.modified().ok(), bytes: known.len(), number })
    }

    /// The same of what is not a file: its number, and its size.
    pub fn numbered(number: u64, bytes: u64) -> Stamp {
        Stamp { modified: None, bytes, number }
    }

    /// Whether it is still the same file, whatever was written to it.
    pub fn is_same_file(self, other: Stamp) -> bool {
        self.number == other.number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_without_its_password() {
        for (place, shown) in [
            (Place::Folder("my studies".into()), "my studies"),
            (Place::Postgres("postgres://icee:a@b@db:5432/icee?password=x".into()), "postgres://icee@db:5432/icee"),
            (Place::Postgres("postgres://db/icee".into()), "postgres://db/icee"),
            (
                Place::Postgres("postgres://icee@db/icee?sslmode=verify-full&password=x&sslrootcert=/a.pem".into()),
                "postgres://icee@db/icee?sslmode=verify-full&sslrootcert=/a.pem",
            ),
        ] {
            assert_eq!(place.to_string(), shown);
        }
    }
}
