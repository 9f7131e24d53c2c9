//! Authentication: tokens and roles, and no writes on behalf of other sites' pages.

use crate::failure::Failure;
use crate::routes::Route;
use crate::tokens::{Token, Tokens};
use axum::http::{HeaderMap, HeaderName, StatusCode, header};
use icee_protocol::Method;

/// The client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Who {
    /// No token is needed: the route is public, or there are no tokens and only this machine can reach the
    /// server.
    Anybody,
    /// The owner of this token.
    Token(Token),
}

impl Who {
    /// The name of the token.
    pub fn name(&self) -> Option<&str> {
        match self {
            Who::Anybody => None,
            Who::Token(token) => Some(&token.name),
        }
    }
}

/// Admits a client, or not. `local`: only this machine can reach the server.
///
/// # Errors
/// 401 without a token that is known, 403 where it does not allow this, 500 where the tokens cannot be read.
///
/// The tokens are read only where they are needed.
pub fn admit(tokens: &Tokens, local: bool, route: &Route, headers: &HeaderMap) -> Result<Who, Failure> {
    let Some(role) = route.role else { return Ok(Who::Anybody) };
    let known = tokens.all().map_err(Failure::stored)?;
    if known.is_empty() {
        if !local || tokens.are_required().map_err(Failure::stored)? {
            let words = "No valid tokens exist. Ask the administrator for one.";
            return Err(Failure::new(StatusCode::UNAUTHORIZED, words));
        }
        // A page of another site can point its name at this server, but then the browser sends that name.
        return match text(headers, &header::HOST).is_some_and(is_local_name) {
            true => Ok(Who::Anybody),
            false => Err(Failure::new(
                StatusCode::FORBIDDEN,
                "Without a token, this server answers only as localhost. Ask the administrator for a token.",
            )),
        };
    }
    let refused = |words: &str| Err(Failure::new(StatusCode::UNAUTHORIZED, words));
    let Some(given) = text(headers, &header::AUTHORIZATION) else {
        return refused("A token is missing.");
    };
    let bearer = given.split_once(' ').filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let Some((_, secret)) = bearer else {
        return refused("The token is not given as it should be.");
    };
    match Tokens::find_in(known, secret.trim()) {
        None => refused("This token is not known. It may have been revoked."),
        Some(token) if token.role < role => {
            let words =
                format!("This needs the role {role}. The token \"{}\" has the role {}.", token.name, token.role);
            Err(Failure::new(StatusCode::FORBIDDEN, words))
        }
        Some(token) => Ok(Who::Token(token)),
    }
}

/// Checks that a request names its host once: with two, a proxy in front may have used the other one.
///
/// # Errors
/// 400.
pub fn one_host(headers: &HeaderMap) -> Result<(), Failure> {
    match headers.get_all(header::HOST).iter().count() {
        0 | 1 => Ok(()),
        _ => Err(Failure::bad("The header Host is given twice.")),
    }
}

/// Refuses requests that a page of another site may have sent through a user's browser: those that the browser marks
/// so, and writes from another origin, or with a body that a form could have sent. (Routes that are `is_open` may be
/// read from everywhere.)
///
/// # Errors
/// 403, or 415 if the body is not declared as JSON.
pub fn same_site(method: Method, is_open: bool, headers: &HeaderMap) -> Result<(), Failure> {
    let site = text(headers, &HeaderName::from_static("sec-fetch-site"));
    if !is_open && site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
        let words =
            "A page of another site cannot send requests here (header Sec-Fetch-Site). Type the address yourself.";
        return Err(Failure::new(StatusCode::FORBIDDEN, words));
    }
    if method == Method::Get {
        return Ok(());
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, host)| host);
        let host = text(headers, &header::HOST);
        if origin.is_none() || origin.map(str::to_lowercase) != host.map(str::to_lowercase) {
            let words = "A page of another site cannot write here: the headers Origin and Host differ.";
            return Err(Failure::new(StatusCode::FORBIDDEN, words));
        }
    }
    let kind = text(headers, &header::CONTENT_TYPE).and_then(|kind| kind.split(';').next());
    if method == Method::Post && !kind.is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json")) {
        let words = "Send JSON with the header Content-Type: application/json";
        return Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, words));
    }
    Ok(())
}

/// A header's text.
pub fn text<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Whether a host is this machine by its name; a port may follow.
fn is_local_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.rsplit_once(':').map_or(host, |(name, _)| name),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<std::net::IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_few_names() {
        for local in ["localhost", "LOCALHOST:8000", "127.0.0.1:1", "127.0.0.2", "[::1]:80", "[::1]"] {
            assert!(is_local_name(local), "{local}");
        }
        for other in ["", "evil.example:8000", "localhost.evil.example", "10.0.0.1", "127.0.0.1.evil", "[::2]"] {
            assert!(!is_local_name(other), "{other}");
        }
    }

    #[test]
    fn pages_of_other_sites_do_not_write() {
        let status = |method, headers: &[(HeaderName, &'static str)]| {
            let headers = headers.iter().map(|(name, value)| (name.clone(), value.parse().unwrap())).collect();
            same_site(method, false, &headers).map_err(|failure| failure.status.as_u16())
        };
        let (host, json) = ((header::HOST, "a.example:80"), (header::CONTENT_TYPE, "application/json; charset=utf-8"));
        assert_eq!(status(Method::Post, &[host.clone(), json.clone()]), Ok(()));
        assert_eq!(
            status(Method::Post, &[host.clone(), json.clone(), (header::ORIGIN, "https://A.example:80")]),
            Ok(())
        );
        for origin in ["https://b.example", "null", "https://a.example", "https://a.example:80.evil"] {
            assert_eq!(
                status(Method::Post, &[host.clone(), json.clone(), (header::ORIGIN, origin)]),
                Err(403),
                "{origin}"
            );
            assert_eq!(status(Method::Delete, &[host.clone(), (header::ORIGIN, origin)]), Err(403), "{origin}");
        }
        let site = HeaderName::from_static("sec-fetch-site");
        for (value, expected) in [
            ("none", Ok(())),
            ("same-origin", Ok(())),
            ("same-site", Err(403)),
            ("cross-site", Err(403)),
            ("x", Err(403)),
        ] {
            assert_eq!(status(Method::Post, &[host.clone(), json.clone(), (site.clone(), value)]), expected, "{value}");
            // Looking takes time and space, too.
            assert_eq!(status(Method::Get, &[host.clone(), (site.clone(), value)]), expected, "{value}");
        }
        for kind in ["text/plain", "application/x-www-form-urlencoded", "application/jsonp"] {
            assert_eq!(status(Method::Post, &[host.clone(), (header::CONTENT_TYPE, kind)]), Err(415), "{kind}");
        }
        assert_eq!(
            (status(Method::Post, &[]), status(Method::Delete, &[]), status(Method::Get, &[])),
            (Err(415), Ok(()), Ok(()))
        );
    }
}
