//! Suggests the nearest names for a name that does not exist.

use thiserror::Error;

/// A name that is not among the known ones.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("unknown {kind} \"{name}\"; {}", suggestion(nearest, known))]
pub struct Unknown {
    /// What kind of thing was asked for.
    pub kind: &'static str,
    /// The name.
    pub name: String,
    /// The nearest known names, best first; empty where nothing is near.
    pub nearest: Vec<String>,
    /// Every known name.
    pub known: Vec<String>,
}

impl Unknown {
    /// `name` is not among the `known` ones.
    #[must_use]
    pub fn new(kind: &'static str, name: &str, known: &[&str]) -> Unknown {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Unknown { kind, name: name.into(), nearest: owned(&nearest(name, known)), known: owned(known) }
    }
}

/// What stands under a name in a list.
///
/// # Errors
/// [`Unknown`] with the nearest names.
pub fn find<T: Copy>(kind: &'static str, name: &str, list: &[(&str, T)]) -> Result<T, Unknown> {
    list.iter().find(|(known, _)| *known == name).map(|(_, found)| *found).ok_or_else(|| {
        let known: Vec<&str> = list.iter().map(|(known, _)| *known).collect();
        Unknown::new(kind, name, &known)
    })
}

/// "did you mean …?", or all that is known where nothing is near.
#[must_use]
pub fn suggestion(nearest: &[String], known: &[String]) -> String {
    let quoted: Vec<String> = nearest.iter().map(|name| format!("\"{name}\"")).collect();
    match quoted.as_slice() {
        [] => format!("known are {}", known.join(", ")),
        [only] => format!("did you mean {only}?"),
        [rest @ .., last] => format!("did you mean {} or {last}?", rest.join(", ")),
    }
}

/// Up to three of the known names that are near the one that was typed, best first. Case does not count; a name is
/// near where about a third of what was typed would have to change, or where it contains what was typed.
#[must_use]
pub fn nearest<'a, S: AsRef<str>>(typed: &str, known: &'a [S]) -> Vec<&'a str> {
    let typed = typed.to_lowercase();
    let length = typed.chars().count();
    let distance_to = |name: &str| {
        let name = name.to_lowercase();
        let distance = edit_distance(&typed, &name);
        let near = distance <= length / 3 + 1 || (length > 2 && name.contains(&typed));
        near.then_some(distance)
    };
    let names = known.iter().map(AsRef::as_ref);
    let mut near: Vec<(usize, &str)> = names.filter_map(|name| Some((distance_to(name)?, name))).collect();
    near.sort_by_key(|(distance, _)| *distance);
    near.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein's distance: the fewest insertions, deletions and replacements that turn one into the other.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, to) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (a, b, distance) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("flaw", "lawn", 2)] {
            assert_eq!((edit_distance(a, b), edit_distance(b, a)), (distance, distance), "{a} {b}");
        }
    }

    #[test]
    fn a_typing_error_is_answered_with_the_nearest_names() {
        let known = ["DarkRoom-v0", "DarkRoomHard-v0", "DarkKeyToDoor-v0"];
        let said = |name: &str| Unknown::new("world", name, &known).to_string();
        assert!(said("DarkRom-v0").contains("unknown world \"DarkRom-v0\"; did you mean \"DarkRoom-v0\""));
        assert!(said("darkroomhard").contains("\"DarkRoomHard-v0\""), "{}", said("darkroomhard"));
        assert!(said("ToDoor").contains("\"DarkKeyToDoor-v0\""), "{}", said("ToDoor"));
        assert!(said("CartPole").contains("known are DarkRoom-v0, "), "{}", said("CartPole"));
        said("");
        said(&"x".repeat(10_000));
        let list = [("one", 1), ("two", 2)];
        assert_eq!(find("number", "two", &list), Ok(2));
        assert_eq!(find("number", "twp", &list), Err(Unknown::new("number", "twp", &["one", "two"])));
    }
}
