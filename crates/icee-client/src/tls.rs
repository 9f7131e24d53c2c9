//! Encryption: which certificates are trusted, and what to do if a connection is not encrypted.

use icee_protocol::{Problem, Result};
use std::net::IpAddr;
use ureq::tls::{Certificate, RootCerts};

/// The trusted certificates: those in `SSL_CERT_FILE`, or else those of this machine, or else (containers often
/// have none) those of browsers.
pub fn roots() -> Result<RootCerts> {
    let found = rustls_native_certs::load_native_certs();
    if !found.certs.is_empty() {
        return Ok(found.certs.iter().map(|der| Certificate::from_der(der).to_owned()).into());
    }
    // If authorities are named, no others are trusted.
    if ["SSL_CERT_FILE", "SSL_CERT_DIR"].into_iter().all(|name| std::env::var_os(name).is_none()) {
        return Ok(RootCerts::WebPki);
    }
    let problem = found.errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
    let words = format!("SSL_CERT_FILE has no certificate{problem}. Name a PEM file, or unset it.");
    Err(Problem::Address { fault: words })
}

/// The fault of the encryption, if there is one, and a remedy.
pub fn problem(error: &ureq::Error) -> Option<String> {
    let error = match error {
        ureq::Error::Rustls(error) => error,
        ureq::Error::Io(error) => error.get_ref()?.downcast_ref()?,
        _ => return None,
    };
    let help = match error {
        rustls::Error::InvalidCertificate(rustls::CertificateError::UnknownIssuer) => {
            "; if its authority is your own, set SSL_CERT_FILE to the authority's certificate (a PEM file)"
        }
        rustls::Error::InvalidMessage(_) => "; if it does not speak TLS, write http://",
        _ => "",
    };
    Some(format!("{error}{help}"))
}

/// Whether a host, as written in an address, is this machine.
pub fn is_local(host: &str) -> bool {
    let address = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    // `::ffff:127.0.0.1` is 127.0.0.1, and `::ffff:10.0.0.5` is not.
    address.map_or(host.eq_ignore_ascii_case("localhost"), |address| address.to_canonical().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_is_known_by_its_addresses() {
        for local in ["localhost", "LocalHost", "127.0.0.1", "127.8.9.1", "[::1]", "[::ffff:127.0.0.1]"] {
            assert!(is_local(local), "{local}");
        }
        for other in ["a", "10.0.0.5", "[::ffff:10.0.0.5]", "[::2]", "[::]", "localhost.example", "127.0.0.1.example"] {
            assert!(!is_local(other), "{other}");
        }
    }
}
