//! A server in a folder of its own, and a client that says what it likes.

use icee_serve::{Event, Limits, Options, Place, Server, Stopper};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A folder that goes when it is not needed any more.
pub struct Folder(pub PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNTER: AtomicU64 = AtomicU64::new(0);
        let number = COUNTER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("icee-serve-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A server that runs.
pub struct Running {
    pub address: SocketAddr,
    stopper: Stopper,
    thread: Option<JoinHandle<()>>,
}

/// Limits that no test meets by chance.
pub fn wide() -> Limits {
    Limits { rate: 1e6, burst: 1e6, ..Limits::default() }
}

impl Running {
    pub fn start(folder: &Path) -> Running {
        Running::with(folder, wide())
    }

    pub fn with(folder: &Path, limits: Limits) -> Running {
        Running::logged(folder, limits, |_| ())
    }

    /// One of several that share what they serve.
    pub fn at(store: &Place) -> Running {
        Running::serving(store.clone(), wide(), |_| ())
    }

    pub fn logged(folder: &Path, limits: Limits, log: impl Fn(&Event) + Send + Sync + 'static) -> Running {
        Running::serving(Place::Folder(folder.to_owned()), limits, log)
    }

    /// The same by another clock.
    pub fn by_clock(store: &Place, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Running {
        Running::of(Running::bind(store.clone(), wide(), |_| ()).with_clock(clock))
    }

    fn serving(store: Place, limits: Limits, log: impl Fn(&Event) + Send + Sync + 'static) -> Running {
        Running::of(Running::bind(store, limits, log))
    }

    fn bind(store: Place, limits: Limits, log: impl Fn(&Event) + Send + Sync + 'static) -> Server {
        let address = "127.0.0.1:0".parse().unwrap();
        Server::bind(&Options { store, address, limits }, log).unwrap()
    }

    fn of(server: Server) -> Running {
        let (address, stopper) = (server.address(), server.stopper());
        let thread = Some(std::thread::spawn(move || server.run().unwrap()));
        Running { address, stopper, thread }
    }

    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    pub fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"")
    }

    /// A request that must be done.
    pub fn read(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.json()
    }

    /// The same of one whose answer is no JSON.
    pub fn read_text(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.body
    }

    pub fn post(&self, path: &str, body: Value) -> Answer {
        self.post_with(path, &[], body)
    }

    pub fn post_with(&self, path: &str, headers: &[(&str, &str)], body: Value) -> Answer {
        let headers = [&[("Content-Type", "application/json")], headers].concat();
        self.send("POST", path, &headers, body.to_string().as_bytes())
    }

    /// A request that must be done.
    pub fn done(&self, path: &str, body: Value) -> Value {
        let answer = self.post(path, body);
        assert!((200..300).contains(&answer.status), "{path}: {} {}", answer.status, answer.body);
        answer.json()
    }

    /// A request that must be refused, with these words.
    pub fn refused(&self, path: &str, body: Value, status: u16, words: &str) {
        self.post(path, body).refused(status, words);
    }

    /// A request that must be refused, with a problem of this code.
    pub fn problem(&self, path: &str, body: Value, status: u16, code: &str) {
        self.post(path, body).problem(status, code);
    }

    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
        let mut stream = self.open(method, path, headers, body);
        // A server that has heard enough may hang up; what it has said counts.
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        Answer::parse(&bytes)
    }

    fn open(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &[u8]) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut head = format!("{method} {path} HTTP/1.1\r\nConnection: close\r\nContent-Length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "Host") {
            head += &format!("Host: {}\r\n", self.address);
        }
        headers.iter().for_each(|(name, value)| head += &format!("{name}: {value}\r\n"));
        let _ = stream.write_all((head + "\r\n").as_bytes()).and_then(|()| stream.write_all(body));
        stream
    }

    /// The lines of a stream of events.
    pub fn listen(&self, path: &str) -> impl Iterator<Item = String> + use<> {
        self.listen_with(path, &[])
    }

    pub fn listen_with(&self, path: &str, headers: &[(&str, &str)]) -> impl Iterator<Item = String> + use<> {
        let stream = self.open("GET", path, headers, b"");
        BufReader::new(stream).lines().map_while(Result::ok).filter(|line| line.starts_with("data: "))
    }

    /// Creates a study of a small table.
    pub fn create(&self, name: &str) -> Value {
        self.done(
            "/api/studies",
            serde_json::json!({
                "name": name, "sheet": sheet(), "direction": "max", "sampler": "gp-ei", "seed": 7
            }),
        )
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stopper.stop();
        if let Some(thread) = self.thread.take() {
            let ended = thread.join();
            assert!(ended.is_ok() || std::thread::panicking());
        }
    }
}

/// How many there are.
pub fn count(list: &Value) -> usize {
    list.as_array().unwrap_or_else(|| panic!("{list} is no list")).len()
}

/// The codes of the notes of a reply.
pub fn notes(reply: &Value) -> Vec<&str> {
    let notes = reply["notes"].as_array().unwrap_or_else(|| panic!("{reply} has no notes"));
    notes.iter().filter_map(|note| note["code"].as_str()).collect()
}

/// 120 rows of two numbers and a word.
pub fn sheet() -> String {
    let mut text = "heat,minutes,flour\n".to_owned();
    for row in 0..120 {
        let flour = ["rye", "wheat", "spelt"][row % 3];
        text += &format!("{},{},{flour}\n", 150 + row % 12 * 10, 10 + row / 12 * 5);
    }
    text
}

/// What comes out of a row of it.
pub fn score(row: u64) -> f64 {
    let row = (row - 1) as f64;
    10.0 - (row % 12.0 - 7.0).abs() - (row / 12.0 - 4.0).abs()
}

#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Answer {
    fn parse(bytes: &[u8]) -> Answer {
        let text = String::from_utf8_lossy(bytes);
        let (head, rest) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let head = head.to_lowercase();
        let body = if head.contains("transfer-encoding: chunked") { unchunked(rest) } else { rest.to_owned() };
        Answer { status, head, body }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("{self:?}"))
    }

    /// It was refused, with these words.
    pub fn refused(&self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        let said = self.json()["error"].as_str().unwrap_or_default().to_owned();
        assert!(said.contains(words), "{said}");
    }

    /// It was refused, with a problem of this code.
    pub fn problem(&self, status: u16, code: &str) {
        assert_eq!((self.status, self.json()["problem"]["code"].as_str()), (status, Some(code)), "{}", self.body);
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut text = String::new();
    while let Some((size, after)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap_or(0);
        text += after.get(..size).unwrap_or_default();
        rest = after.get(size + 2..).unwrap_or_default();
    }
    text
}
