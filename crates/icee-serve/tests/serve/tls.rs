//! What is encrypted, and whose certificates are good: a client of a server behind TLS, and a database.

use crate::client::Folder;
use crate::database::Database;
use icee_client::Http;
use icee_protocol::{Face, List, Transport};
use icee_serve::Place;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

/// The certificate of an authority, and one of `localhost` that it has signed, with its key; in PEM.
pub struct Identity {
    pub authority: String,
    pub certificate: String,
    pub key: String,
}

impl Identity {
    fn signed_by(name: &str) -> Identity {
        let mut params = CertificateParams::new([]).unwrap();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(["localhost".into()]).unwrap().signed_by(&key, &authority).unwrap();
        Identity { authority: authority.pem(), certificate: certificate.pem(), key: key.serialize_pem() }
    }
}

/// A server on this machine that speaks TLS and answers every request with an empty list of studies, as long as the test lasts; its port.
fn serve(identity: &Identity) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let certificate = CertificateDer::from_pem_slice(identity.certificate.as_bytes()).unwrap();
    let key = PrivateKeyDer::from_pem_slice(identity.key.as_bytes()).unwrap();
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().unwrap().with_no_client_auth();
    let config = Arc::new(builder.with_single_cert(vec![certificate], key).unwrap());
    let answer = move |stream: TcpStream| {
        let mut stream = BufReader::new(StreamOwned::new(ServerConnection::new(Arc::clone(&config)).unwrap(), stream));
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            // Clients that do not trust this server hang up.
            if stream.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
        }
        stream
            .get_mut()
            .write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 14\r\nConnection: close\r\n\r\n{\"studies\":[]}")
            .unwrap();
        stream.get_mut().conn.send_close_notify();
        let _ = stream.get_mut().flush();
    };
    std::thread::spawn(move || listener.incoming().for_each(|stream| answer(stream.unwrap())));
    port
}

/// Where the test below finds the server, when it is the client.
const URL: &str = "ICEE_TEST_TLS_URL";

#[test]
fn a_client_trusts_the_authority_that_it_is_given() {
    if let Ok(url) = std::env::var(URL) {
        let answer = Http::new(&url, None, Face::Plain).and_then(|mut client| client.call(None, List {}));
        let words = answer.map_or_else(|problem| problem.to_string(), |list| format!("{:?}", list.reply.studies));
        return std::fs::write(std::env::var("ICEE_TEST_TLS_OUT").unwrap(), words).unwrap();
    }
    let folder = Folder::new();
    let (identity, other) = (Identity::signed_by("ours"), Identity::signed_by("others"));
    let file = |name: &str, text: &str| {
        let path = folder.0.join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let (own, other) = (file("own.pem", &identity.authority), file("other.pem", &other.authority));
    let port = serve(&identity);
    // Variables are those of a process, so each client has one of its own.
    let client = |url: String, authority: Option<&Path>| {
        let out = folder.0.join("out");
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["tls::a_client_trusts_the_authority_that_it_is_given", "--exact"]);
        command.env(URL, url).env("ICEE_TEST_TLS_OUT", &out).env_remove("SSL_CERT_FILE").env_remove("SSL_CERT_DIR");
        command.envs(authority.map(|authority| ("SSL_CERT_FILE", authority)));
        let ended = command.output().unwrap();
        assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stdout));
        std::fs::read_to_string(out).unwrap()
    };
    let url = format!("https://localhost:{port}");
    assert_eq!(client(url.clone(), Some(&own)), "[]");
    for authority in [None, Some(&*other)] {
        let words = client(url.clone(), authority);
        let expected = format!("No encrypted connection to {url}: invalid peer certificate: UnknownIssuer");
        assert!(words.starts_with(&expected) && words.contains("set SSL_CERT_FILE to"), "{words}");
    }
    let words = client(format!("https://127.0.0.1:{port}"), Some(&own));
    assert!(words.contains("not valid for name"), "{words}");
    let words = client(url, Some(&folder.0.join("nowhere.pem")));
    assert!(words.starts_with("SSL_CERT_FILE has no certificate (") && words.contains("nowhere.pem"), "{words}");
    // What does not speak TLS is not asked again and again.
    let plain = crate::client::Running::start(&folder.0);
    let words = client(format!("https://localhost:{}", plain.address.port()), Some(&own));
    assert!(words.contains("if it does not speak TLS, write http://"), "{words}");
}

#[test]
fn a_database_is_spoken_to_as_its_address_says() {
    let identity = Identity::signed_by("ours");
    let Some(database) = Database::encrypted(&identity) else { return };
    let folder = Folder::new();
    let (own, other) = (folder.0.join("own.pem"), folder.0.join("other.pem"));
    std::fs::write(&own, &identity.authority).unwrap();
    std::fs::write(&other, Identity::signed_by("others").authority).unwrap();
    let (own, other) = (own.display(), other.display());
    let connect = |host: &str, words: &str| {
        let place = Place::Postgres(format!("postgres://icee@{host}:{}/postgres?{words}", database.port));
        let tokens = place.tokens().map_err(|error| error.to_string())?;
        let encrypted = "SELECT bool_and(ssl) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                         WHERE application_name = 'icee serve'";
        let answer = database.sql(encrypted);
        drop(tokens);
        // Its connection has ended when the database says so.
        while database.sql("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'icee serve'") != "0\n" {
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        Ok::<_, String>(answer)
    };
    for (words, encrypted) in [("", "t\n"), ("sslmode=disable", "f\n"), ("sslmode=prefer", "t\n")] {
        assert_eq!(connect("127.0.0.1", words).as_deref(), Ok(encrypted), "{words}");
    }
    // Whoever named authorities for all programs means them here, too.
    match (connect("127.0.0.1", "sslmode=require"), std::env::var_os("SSL_CERT_FILE")) {
        (answer, None) => assert_eq!(answer.as_deref(), Ok("t\n")),
        (answer, Some(_)) => assert!(answer.unwrap_err().contains("UnknownIssuer")),
    }
    for words in ["sslmode=verify-full", "sslmode=verify-ca", "sslmode=require"] {
        let with = |file| format!("{words}&sslrootcert={file}");
        assert_eq!(connect("localhost", &with(&own)).as_deref(), Ok("t\n"), "{words}");
        assert!(connect("localhost", &with(&other)).unwrap_err().contains("UnknownIssuer"), "{words}");
        let elsewhere = connect("127.0.0.1", &with(&own));
        match words {
            "sslmode=verify-full" => assert!(elsewhere.unwrap_err().contains("not valid for name")),
            _ => assert_eq!(elsewhere.as_deref(), Ok("t\n"), "{words}"),
        }
    }
    // The authorities of this machine have not signed it.
    assert!(connect("localhost", "sslmode=verify-full").is_err());
    if std::env::var_os("SSL_CERT_FILE").is_none() {
        assert!(connect("localhost", "sslmode=verify-ca").unwrap_err().contains("needs sslrootcert=FILE"));
    }
}
