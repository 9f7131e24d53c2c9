//! The pages for people: files inside the program. A browser runs what they link to and nothing else, and fetches nothing from elsewhere.

use axum::http::{HeaderMap, HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};

/// What a page may do: its own scripts, styles and requests. No text becomes markup, whatever a script does
/// (`require-trusted-types-for`).
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; \
                      frame-ancestors 'none'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; \
                      trusted-types 'none'";

/// A file that browsers get without a token: there are no secrets in it.
pub struct PageFile {
    /// Where it is.
    pub path: &'static str,
    kind: &'static str,
    text: &'static str,
}

const HTML: &str = "text/html; charset=utf-8";
const CSS: &str = "text/css; charset=utf-8";
const JS: &str = "text/javascript; charset=utf-8";

/// All of them.
pub const FILES: &[PageFile] = &[
    PageFile { path: "/", kind: HTML, text: include_str!("studies.html") },
    PageFile { path: "/room", kind: HTML, text: include_str!("room.html") },
    PageFile { path: "/pages/style.css", kind: CSS, text: include_str!("style.css") },
    PageFile { path: "/pages/list.js", kind: JS, text: include_str!("list.js") },
    PageFile { path: "/pages/new.js", kind: JS, text: include_str!("new.js") },
    PageFile { path: "/pages/study.js", kind: JS, text: include_str!("study.js") },
    PageFile { path: "/pages/running.js", kind: JS, text: include_str!("running.js") },
    PageFile { path: "/pages/changes.js", kind: JS, text: include_str!("changes.js") },
    PageFile { path: "/pages/results.js", kind: JS, text: include_str!("results.js") },
    PageFile { path: "/pages/plots.js", kind: JS, text: include_str!("plots.js") },
    PageFile { path: "/pages/studies.js", kind: JS, text: include_str!("studies.js") },
    PageFile { path: "/pages/room.css", kind: CSS, text: include_str!("room.css") },
    PageFile { path: "/pages/room.js", kind: JS, text: include_str!("room.js") },
    PageFile { path: "/pages/room-board.js", kind: JS, text: include_str!("room-board.js") },
    PageFile { path: "/pages/room-charts.js", kind: JS, text: include_str!("room-charts.js") },
    PageFile { path: "/pages/room-game.js", kind: JS, text: include_str!("room-game.js") },
    PageFile { path: "/pages/dom.js", kind: JS, text: include_str!("dom.js") },
    PageFile { path: "/pages/server.js", kind: JS, text: include_str!("server.js") },
];

impl PageFile {
    /// The file as an answer.
    pub fn response(&self) -> Response {
        let mut response = ([(header::CONTENT_TYPE, self.kind)], self.text).into_response();
        let headers: &mut HeaderMap = response.headers_mut();
        headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        let opener = HeaderName::from_static("cross-origin-opener-policy");
        headers.insert(opener, HeaderValue::from_static("same-origin"));
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use icee_protocol::render::{BUTTONS, LABELS};

    /// Whether a text of the page begins so: a string of a script, or what is in an element.
    fn has_label(label: &str) -> bool {
        let begins = |mark: char| {
            let text = format!("{mark}{label}");
            FILES.iter().any(|file| file.text.contains(&text))
        };
        ['"', '`', '>'].into_iter().any(begins)
    }

    #[test]
    fn the_page_has_all_that_problems_name() {
        let labels = LABELS.iter().map(|(.., label)| label).chain(BUTTONS.iter().map(|(_, label)| label));
        for label in labels {
            assert!(has_label(label), "the page has no \"{label}\"");
        }
        assert!(!has_label("This is nowhere"));
    }

    #[test]
    fn the_page_takes_no_words_apart() {
        for file in FILES.iter().filter(|file| file.kind == JS) {
            for forbidden in [".exec(", ".match(", ".matchAll(", ".test(", "RegExp", "message.includes"] {
                assert!(!file.text.contains(forbidden), "{} has {forbidden}", file.path);
            }
        }
    }

    #[test]
    fn pages_link_to_files_that_there_are_and_to_nothing_else() {
        for file in FILES {
            for mark in ["src=\"", "href=\"", "from \"", "import \""] {
                for (at, _) in file.text.match_indices(mark) {
                    let target = file.text[at + mark.len()..].split('"').next().unwrap_or_default();
                    let path = target.replacen("./", "/pages/", 1);
                    let known = FILES.iter().any(|other| other.path == path) || target.starts_with('#');
                    assert!(known || target.starts_with("data:"), "{} links to {target}", file.path);
                }
            }
            for forbidden in [
                "http://",
                "https://",
                "innerHTML",
                "outerHTML",
                "insertAdjacentHTML",
                "eval(",
                "style=\"",
                "onclick=\"",
            ] {
                let found = file.text.replace("http://www.w3.org/2000/svg", "").contains(forbidden);
                assert!(!found, "{} has {forbidden}", file.path);
            }
        }
    }
}
