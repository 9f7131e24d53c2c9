//! TLS to a database: `sslmode` and `sslrootcert` in its address mean what they mean to PostgreSQL's own programs.

use super::pool::in_words;
use percent_encoding::percent_decode_str;
use postgres::Config;
use postgres::config::SslMode;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use rustls_native_certs::{CertificateResult, load_certs_from_paths, load_native_certs};
use std::path::Path;
use std::sync::Arc;
use tokio_postgres_rustls::MakeRustlsConnect;

/// The settings in an address of a database, and how connections to it are encrypted.
///
/// # Errors
/// If it is invalid, or the certificates that it names cannot be read. The words do not repeat the address.
pub fn parse(url: &str) -> Result<(Config, MakeRustlsConnect), String> {
    let Address { url, mode, authorities } = Address::split(url);
    let wrong = |error| format!("{}. Write postgres://USER@HOST/DATABASE.", in_words(&error));
    let config: Config = url.parse().map_err(wrong)?;
    let is_required = config.get_ssl_mode() == SslMode::Require;
    if authorities.is_some() && !is_required {
        return Err("sslrootcert needs sslmode=verify-full, verify-ca or require".into());
    }
    let is_named = authorities.is_some() || std::env::var_os("SSL_CERT_FILE").is_some();
    if mode == Mode::VerifyCa && !is_named {
        // Public authorities sign for any owner of a domain.
        return Err("sslmode=verify-ca needs sslrootcert=FILE, or use sslmode=verify-full".into());
    }
    let roots = match mode == Mode::VerifyFull || is_required && is_named {
        true => Some(roots(authorities.as_deref())?),
        false => None,
    };
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| error.to_string())?;
    let builder = match (mode, roots) {
        (Mode::VerifyFull, Some(roots)) => builder.with_root_certificates(roots),
        (_, roots) => builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyHost { roots, provider })),
    };
    Ok((config, MakeRustlsConnect::new(builder.with_no_client_auth())))
}

/// The modes that `postgres` does not know.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Mode {
    Known,
    VerifyCa,
    VerifyFull,
}

/// An address, without what `postgres` does not know.
#[derive(Debug, PartialEq)]
struct Address {
    url: String,
    mode: Mode,
    /// The file of `sslrootcert`.
    authorities: Option<String>,
}

impl Address {
    fn split(url: &str) -> Address {
        let Some((start, query)) = url.split_once('?') else {
            return Address { url: url.to_owned(), mode: Mode::Known, authorities: None };
        };
        let (mut mode, mut authorities, mut rest) = (Mode::Known, None, Vec::new());
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sslmode", word)) => {
                    mode = match word {
                        "verify-ca" => Mode::VerifyCa,
                        "verify-full" => Mode::VerifyFull,
                        _ => Mode::Known,
                    };
                    rest.push(if mode == Mode::Known { pair } else { "sslmode=require" });
                }
                Some(("sslrootcert", file)) => authorities = Some(decoded(file)),
                _ => rest.push(pair),
            }
        }
        Address { url: format!("{start}?{}", rest.join("&")), mode, authorities }
    }
}

/// The authorities of a file, or else those of this machine, which `SSL_CERT_FILE` may name.
fn roots(file: Option<&str>) -> Result<RootCertStore, String> {
    let CertificateResult { certs, errors, .. } = match file {
        Some(file) => load_certs_from_paths(Some(Path::new(file)), None),
        None => load_native_certs(),
    };
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certs);
    if roots.is_empty() {
        let place = file.map_or("SSL_CERT_FILE and the system have".into(), |file| format!("sslrootcert={file} has"));
        let problem = errors.first().map(|error| format!(" ({error})")).unwrap_or_default();
        return Err(format!("{place} no certificate{problem}. Name a PEM file with sslrootcert=FILE."));
    }
    Ok(roots)
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Accepts a certificate of one of the authorities, whichever host it is for; without authorities any certificate: then
/// the connection is encrypted, but the other end is not verified.
#[derive(Debug)]
struct AnyHost {
    roots: Option<RootCertStore>,
    provider: Arc<CryptoProvider>,
}

impl AnyHost {
    /// Verifies the signature of a handshake. rustls cannot read certificates of X.509 version 1, which `openssl
    /// x509 -req` makes: where they are not verified anyway, to encrypt is better than not to connect.
    fn tolerate(&self, verified: Result<HandshakeSignatureValid, Error>) -> Result<HandshakeSignatureValid, Error> {
        match verified {
            Err(Error::InvalidCertificate(CertificateError::Other(_))) if self.roots.is_none() => {
                Ok(HandshakeSignatureValid::assertion())
            }
            verified => verified,
        }
    }
}

impl ServerCertVerifier for AnyHost {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(certificate)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.tolerate(verify_tls12_signature(message, certificate, signature, algorithms))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        self.tolerate(verify_tls13_signature(message, certificate, signature, algorithms))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustls::OtherError;

    #[test]
    fn an_address_is_taken_apart_and_its_errors_do_not_repeat_it() {
        let plain = "postgres://icee:a?b@db/icee?connect_timeout=3";
        let split = |url: &str| Address::split(url);
        assert_eq!(split(plain), Address { url: plain.into(), mode: Mode::Known, authorities: None });
        assert_eq!(split("postgres://db?sslmode=prefer&x=1").url, "postgres://db?sslmode=prefer&x=1");
        let full = Address {
            url: "postgres://db/icee?sslmode=require&x=1".into(),
            mode: Mode::VerifyFull,
            authorities: Some("/a b".into()),
        };
        assert_eq!(split("postgres://db/icee?sslmode=verify-full&sslrootcert=/a%20b&x=1"), full);
        for (query, words) in [
            ("sslmode=allow", "sslmode"),
            ("sslrootcert=/a", "sslrootcert needs sslmode"),
            ("sslmode=prefer&sslrootcert=/a", "sslrootcert needs sslmode"),
            ("sslmode=require&sslrootcert=/nowhere", "sslrootcert=/nowhere has no certificate (failed to read"),
        ] {
            let problem = parse(&format!("postgres://icee:secret@db/icee?{query}")).err().unwrap();
            assert!(problem.contains(words) && !problem.contains("secret"), "{problem}");
        }
        assert!(parse("postgres://db/icee?sslmode=disable").is_ok());
    }

    #[test]
    fn only_what_is_not_verified_may_be_unreadable() {
        let accepts = |roots, error| {
            let any = AnyHost { roots, provider: Arc::new(ring::default_provider()) };
            any.tolerate(Err(Error::InvalidCertificate(error))).is_ok()
        };
        let unreadable = || CertificateError::Other(OtherError(Arc::new(std::io::Error::other("version 1"))));
        assert!(accepts(None, unreadable()) && !accepts(Some(RootCertStore::empty()), unreadable()));
        assert!(!accepts(None, CertificateError::BadSignature));
    }
}
