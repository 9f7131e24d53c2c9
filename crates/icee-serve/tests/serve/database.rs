//! A PostgreSQL of one's own, as long as a test lasts.

use crate::client::Folder;
use crate::tls::Identity;
use icee_serve::Place;
use std::fs::Permissions;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// A database that runs, on a socket in a folder of its own.
pub struct Database {
    programs: PathBuf,
    folder: Folder,
    server: Option<Child>,
    /// Of its socket and, where it speaks TLS, on 127.0.0.1.
    pub port: u16,
    speaks_tls: bool,
}

/// The folder of PostgreSQL's programs, where it is installed.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = versions.map(|version| version.path().join("bin")).collect();
    found.retain(|programs| programs.join("postgres").is_file());
    found.sort();
    found.pop()
}

/// A command as somebody who is not root, as whom PostgreSQL does not run.
fn command(program: &Path) -> Command {
    let is_root = Command::new("id").arg("-u").output().is_ok_and(|id| id.stdout == b"0\n");
    if !is_root {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--reuid=nobody", "--regid=nogroup", "--clear-groups", "--"]).arg(program);
    command
}

impl Database {
    /// Starts one; none, with a word, where PostgreSQL is not installed and nobody insists.
    pub fn start() -> Option<Database> {
        Database::with(None)
    }

    /// The same of one that other programs reach at 127.0.0.1, where it speaks TLS.
    pub fn encrypted(identity: &Identity) -> Option<Database> {
        Database::with(Some(identity))
    }

    fn with(identity: Option<&Identity>) -> Option<Database> {
        let Some(programs) = programs() else {
            assert!(std::env::var_os("ICEE_REQUIRE_POSTGRES").is_none(), "PostgreSQL is not installed");
            #[expect(clippy::print_stderr, reason = "whoever runs the tests should know")]
            {
                eprintln!("skipped: PostgreSQL is not installed (apt-get install postgresql)");
            }
            return None;
        };
        let folder = Folder::new();
        std::fs::create_dir(folder.0.join("run")).unwrap();
        if let Some(Identity { certificate, key, .. }) = identity {
            let file = |name: &str, text: &str| {
                let path = folder.0.join(name);
                std::fs::write(&path, text).unwrap();
                // PostgreSQL takes no key that others can read.
                std::fs::set_permissions(path, Permissions::from_mode(0o600)).unwrap();
            };
            file("server.crt", certificate);
            file("server.key", key);
        }
        let chown = Command::new("chown").args(["-R", "nobody:nogroup"]).arg(&folder.0).output();
        drop(chown);
        // A port that is free now; no other test looks for one in the moment until it is taken.
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port = if identity.is_some() { free() } else { 5432 };
        let mut database = Database { programs, folder, server: None, port, speaks_tls: identity.is_some() };
        let made = command(&database.programs.join("initdb"))
            .args(["--auth=trust", "--username=icee", "--encoding=UTF8", "--locale=C", "--no-instructions", "-D"])
            .arg(database.folder.0.join("data"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        database.run();
        Some(database)
    }

    /// Starts the server in the same folder, and waits until it answers.
    pub fn run(&mut self) {
        let data = self.folder.0.join("data");
        let mut server = command(&self.programs.join("postgres"));
        server.args(["-p", &self.port.to_string(), "-c"]);
        if self.speaks_tls {
            let file = |name: &str| self.folder.0.join(name).display().to_string();
            server.args(["listen_addresses=127.0.0.1", "-c", "ssl=on", "-c"]);
            server.arg(format!("ssl_cert_file={}", file("server.crt"))).arg("-c");
            server.arg(format!("ssl_key_file={}", file("server.key")));
        } else {
            server.arg("listen_addresses=");
        }
        let server = server
            .arg("-D")
            .arg(&data)
            .arg("-k")
            .arg(self.folder.0.join("run"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        self.server = Some(server);
        let begun = Instant::now();
        let mut ready = Command::new(self.programs.join("pg_isready"));
        ready.arg("-h").arg(self.folder.0.join("run")).args([
            "-U",
            "icee",
            "-d",
            "postgres",
            "-p",
            &self.port.to_string(),
        ]);
        while !ready.output().unwrap().status.success() {
            assert!(begun.elapsed() < Duration::from_secs(60), "PostgreSQL does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// Ends it as a crash would: at once, with all its processes.
    pub fn crash(&mut self) {
        let stop = command(&self.programs.join("pg_ctl"))
            .args(["stop", "-m", "immediate", "-D"])
            .arg(self.folder.0.join("data"))
            .output()
            .unwrap();
        assert!(stop.status.success(), "{}", String::from_utf8_lossy(&stop.stderr));
        self.server.take().map(|mut server| server.wait());
    }

    /// What the database answers to some SQL, column by column.
    pub fn sql(&self, sql: &str) -> String {
        let mut psql = Command::new(self.programs.join("psql"));
        psql.args(["-U", "icee", "-d", "postgres", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", sql, "-h"]);
        let answer = psql.arg(self.folder.0.join("run")).args(["-p", &self.port.to_string()]).output().unwrap();
        assert!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Where it is.
    pub fn place(&self) -> Place {
        let socket = self.folder.0.join("run").display().to_string().replace('/', "%2F");
        Place::Postgres(format!("postgres://icee@{socket}/postgres"))
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.server.is_some() {
            self.crash();
        }
    }
}
