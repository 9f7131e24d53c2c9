//! Checks that a page fetches nothing.

/// Whether the page needs nothing but itself: every tag is closed, no script, and every address lies inside the page.
///
/// # Errors
/// The first thing that does not belong.
pub fn self_contained(html: &str) -> Result<(), String> {
    const VOID: [&str; 6] = ["!doctype", "meta", "rect", "line", "path", "circle"];
    let mut open: Vec<String> = Vec::new();
    let mut rest = html;
    while let Some(start) = rest.find('<') {
        let Some(tag) = rest[start + 1..].split_once('>').map(|(tag, _)| tag) else {
            return Err("a tag is not closed".into());
        };
        rest = &rest[start + 1 + tag.len() + 1..];
        if tag.starts_with("!--") {
            continue;
        }
        let (tag, alone) = tag.strip_suffix('/').map_or((tag, false), |tag| (tag, true));
        let name = tag.split_whitespace().next().unwrap_or_default().to_lowercase();
        if let Some(closed) = name.strip_prefix('/') {
            if open.pop().as_deref() != Some(closed) {
                return Err(format!("</{closed}> closes another tag"));
            }
            continue;
        }
        if ["script", "link", "iframe", "img", "object", "embed", "base"].contains(&name.as_str()) {
            return Err(format!("<{name}> may fetch something"));
        }
        check_addresses(tag)?;
        if !alone && !VOID.contains(&name.as_str()) {
            open.push(name.clone());
        }
        if name == "style" {
            let style = rest.split("</style").next().unwrap_or_default();
            if style.contains("@import") || style.contains("url(") {
                return Err("the style fetches something".into());
            }
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("<{}> is not closed", open.join("> <"))) }
}

/// Every address of a tag lies in the page (`#…`) or is what it says (`data:…`).
fn check_addresses(tag: &str) -> Result<(), String> {
    let outside = ["http:", "https:", "ftp:", "\"//", "file:"];
    for attribute in ["href=\"", "src=\"", "srcset=\"", "action=\"", "poster=\""] {
        for address in tag.split(attribute).skip(1) {
            if !(address.starts_with('#') || address.starts_with("data:")) {
                return Err(format!("{attribute}{}", address.chars().take(60).collect::<String>()));
            }
        }
    }
    match outside.iter().find(|&&scheme| tag.to_lowercase().contains(scheme)) {
        Some(scheme) => Err(format!("{scheme} in <{}>", tag.chars().take(60).collect::<String>())),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_belong_is_found() {
        assert_eq!(self_contained("<p><a href=\"#x\">a</a><a href=\"data:,b\">b</a></p>"), Ok(()));
        for bad in [
            "<p><a href=\"https://example.org\">a</a></p>",
            "<p><a href=\"other.html\">a</a></p>",
            "<img src=\"data:,\">",
            "<script>1</script>",
            "<style>@import 'x';</style>",
            "<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>",
            "<p><b></p></b>",
            "<p>",
        ] {
            assert!(self_contained(bad).is_err(), "{bad}");
        }
    }
}
