//! Where a server keeps studies and what belongs to them: a folder of journals, or a PostgreSQL database that several servers share.

mod folder;
mod key_file;
mod ledger;
mod lines;
mod migrate;
mod pool;
mod postgres;
mod seat;
mod tls;
mod tokens;

use crate::call::now;
use crate::failure::{Failure, ServeError};
use crate::keys::{Keyed, Known};
use crate::name::StudyName;
use crate::tokens::{Role, Stamp, Tokens};
use icee_base::files::{FileError, sync_folder};
use icee_study::{Home, Result, is_archive};
use std::fmt;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where studies are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A folder of journals and sheets, which one server at a time has for itself.
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
                Err(format!("studies cannot be kept in {other}://; give a folder, or postgres://USER@HOST/DATABASE"))
            }
            None => Ok(Place::Folder(text.into())),
        }
    }
}

/// As a command line has it.
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plain = |c: char| c.is_alphanumeric() || "-_./:@%+=,~".contains(c);
        let word = |text: &str| match !text.is_empty() && text.chars().all(plain) {
            true => text.to_owned(),
            false => format!("'{}'", text.replace('\'', r"'\''")),
        };
        match self {
            Place::Folder(folder) => write!(f, "--studies {}", word(&folder.to_string_lossy())),
            Place::Postgres(url) => write!(f, "--store {}", word(&without_password(url))),
        }
    }
}

/// An address that may be shown. What it has besides user, host, database and what is said of TLS may be a secret, too.
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
    /// What makes a token for a server of this place.
    pub fn token_command(&self, role: Role) -> String {
        format!("icee serve token create NAME --role {role} {self}")
    }

    /// Takes the place for a server.
    ///
    /// # Errors
    /// Where another server has the folder for itself, or it cannot be used.
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
            Place::Postgres(url) => postgres::Database::tokens(url)?,
        })
    }

    /// A home for one study, for whoever works with it without a server.
    ///
    /// # Errors
    /// Where the name cannot be a study's here, or the database cannot be reached.
    pub fn home(&self, name: &str) -> std::result::Result<Box<dyn Home>, ServeError> {
        let name = StudyName::new(name).map_err(|failure| ServeError::Token(failure.words))?;
        Ok(match self {
            Place::Folder(folder) => Box::new(icee_study::JournalFile(name.journal(folder))),
            Place::Postgres(url) => postgres::Database::home(url, &name)?,
        })
    }
}

/// What a server needs of where studies are kept.
pub trait Store: Send + Sync {
    /// What it is called in messages, without secrets.
    fn name(&self) -> String;

    /// What of that name is not for clients: where the database is.
    fn hidden(&self) -> Option<&str> {
        None
    }

    /// Who may do what there.
    fn tokens(&self) -> Tokens;

    /// A folder for files of the moment, whose path is not for clients.
    fn scratch(&self) -> &Path;

    /// All studies, in order.
    fn names(&self) -> Result<Vec<StudyName>>;

    /// What a study looks like from outside; none where there is none.
    fn stamp(&self, name: &StudyName) -> Result<Option<Stamp>>;

    /// A study for whoever works with it, and what is kept beside it. That alone changes nothing.
    fn seat(&self, name: &StudyName) -> Result<(Box<dyn Home>, Box<dyn Ledger>)>;

    /// A home for a new study with this sheet, whose file's name ends so.
    fn draft(&self, name: &StudyName, ending: &str, sheet: &[u8]) -> std::result::Result<Draft, Failure>;

    /// The file of an earlier study; none where there is none.
    fn like(&self, name: &StudyName) -> Result<Option<PathBuf>>;

    /// Puts a study away, from where it can be taken back. Only when it is one's turn.
    fn put_away(&self, name: &StudyName, now: u64) -> Result<()>;
}

/// What is kept beside a study: whose turn it is among servers, and requests that may be sent twice.
///
/// A server does one writing request of a study at a time, from [`Ledger::begin_turn`] to [`Ledger::end_turn`], and so do all servers
/// together. A request that was begun and has no answer, when it is somebody's turn, is therefore one that failed or died.
pub trait Ledger: Send {
    /// Waits for one's turn among servers, and says what time it is where the study is kept, in seconds since 1970. None where the name
    /// is another study's by now, or its sheet another one: then it is nobody's turn, and the study is to be opened anew.
    fn begin_turn(&mut self) -> Result<Option<u64>> {
        Ok(Some(now()))
    }

    /// Lets the others go on.
    fn end_turn(&mut self) {}

    /// Forgets requests that were begun and have written nothing: the journal is as long as it was then.
    fn settle(&mut self, lines: u64) -> Result<()>;

    /// Begins a request, or finds its answer; `lines` are those of the study.
    fn begin(&mut self, keyed: &Keyed, now: u64, lines: u64) -> std::result::Result<Known, Failure>;

    /// Ends a request that was begun: with its answer, or refused.
    fn end(&mut self, keyed: &Keyed, answer: Option<&str>) -> Result<()>;

    /// Puts a new sheet in the place of the study's, which lies there, and says where it lies now.
    fn put_sheet(&mut self, sheet: &[u8], place: &Path) -> Result<PathBuf>;
}

/// How the name of a sheet ends, by its first bytes.
pub fn ending_of(sheet: &[u8]) -> &'static str {
    if is_archive(sheet) { "xlsx" } else { "csv" }
}

/// A study that is about to be.
pub struct Draft {
    /// Its sheet.
    pub sheet: Sheet,
    /// Whether the sheet's file is wanted as long as the study is.
    pub stays: bool,
    /// Where it will be.
    pub home: Box<dyn Home>,
}

/// A file that is removed when it is not wanted any more.
pub struct Sheet {
    /// Where it is.
    pub path: PathBuf,
    /// Whether it stays.
    pub wanted: bool,
    /// Another name of it, which goes in any case.
    draft: Option<PathBuf>,
}

impl Sheet {
    /// Writes a new file, and never over another one.
    pub fn write(path: PathBuf, bytes: &[u8]) -> std::result::Result<Sheet, Failure> {
        let mut file =
            OpenOptions::new().write(true).create_new(true).open(&path).map_err(|error| in_the_way(&path, error))?;
        let sheet = Sheet { path, wanted: false, draft: None };
        file.write_all(bytes).and_then(|()| file.sync_all()).map_err(FileError::io(&sheet.path))?;
        sync_folder(&sheet.path);
        Ok(sheet)
    }

    /// The same, and whoever is killed before there is a journal leaves nothing that is in the way of the next: until this goes, the
    /// file has a second name, by which what was left behind is known from what somebody else has put there.
    pub fn write_for_journal(path: PathBuf, bytes: &[u8]) -> std::result::Result<Sheet, Failure> {
        let draft = path.with_file_name(format!(".{}.new", path.file_name().unwrap_or_default().to_string_lossy()));
        if let Some(left) = Stamp::of(&draft) {
            if Stamp::of(&path) == Some(left) {
                std::fs::remove_file(&path).map_err(FileError::io(&path))?;
            }
            std::fs::remove_file(&draft).map_err(FileError::io(&draft))?;
        }
        let mut first = Sheet::write(draft, bytes)?;
        match std::fs::hard_link(&first.path, &path) {
            Ok(()) => {
                sync_folder(&path);
                first.draft = Some(std::mem::replace(&mut first.path, path));
                Ok(first)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Err(in_the_way(&path, error)),
            // Not every system has second names.
            Err(_) => Sheet::write(path, bytes),
        }
    }
}

impl Drop for Sheet {
    fn drop(&mut self) {
        if !self.wanted {
            // Nobody refers to it; if it stays, it is only in the way.
            let _ = std::fs::remove_file(&self.path);
        }
        self.draft.iter().for_each(|draft| drop(std::fs::remove_file(draft)));
    }
}

fn in_the_way(path: &Path, error: std::io::Error) -> Failure {
    match error.kind() {
        ErrorKind::AlreadyExists => {
            Failure::conflict(format!("{} exists already; choose another name", path.display()))
        }
        _ => FileError::io(path)(error).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_shown_as_a_command_line_has_it_and_without_its_password() {
        for (place, shown) in [
            (Place::Folder("/srv/x".into()), "--studies /srv/x"),
            (Place::Folder("my studies".into()), "--studies 'my studies'"),
            (Place::Folder("it's".into()), r"--studies 'it'\''s'"),
            (
                Place::Postgres("postgres://icee:a@b@db:5432/icee?password=x".into()),
                "--store postgres://icee@db:5432/icee",
            ),
            (Place::Postgres("postgres://db/icee".into()), "--store postgres://db/icee"),
            (
                Place::Postgres("postgres://icee@db/icee?sslmode=verify-full&password=x&sslrootcert=/a.pem".into()),
                "--store 'postgres://icee@db/icee?sslmode=verify-full&sslrootcert=/a.pem'",
            ),
        ] {
            assert_eq!(place.to_string(), shown);
        }
    }
}
