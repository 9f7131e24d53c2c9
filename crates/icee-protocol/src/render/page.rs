//! What the page calls options and verbs. Its own files have the same words; a test of the server holds them to these tables.

use super::Set;

/// Where a person finds an option on the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A box to tick.
    Box,
    /// A button.
    Button,
    /// A field.
    Field,
    /// What a column of the sheet is used as.
    Role,
}

/// The options that words name, what the page calls them, and where they are. Options that the page does not have are not here:
/// then words leave the hint out.
pub const LABELS: &[(&str, Place, &str)] = &[
    ("keep", Place::Box, "Keep results of corrected rows"),
    ("replace", Place::Box, "Correct earlier results"),
    ("again", Place::Box, "Add a replicate"),
    ("accept_model", Place::Box, "Go on with this model"),
    ("failed", Place::Button, "Failed"),
    ("impossible", Place::Button, "Impossible"),
    ("value", Place::Field, "Results are in the column"),
    ("direction", Place::Field, "Good results are"),
    ("target", Place::Field, "Target"),
    ("bounds", Place::Field, "Range of results"),
    ("also", Place::Field, "Additional goals"),
    ("where", Place::Field, "Only rows where"),
    ("within", Place::Field, "Reserve for"),
    ("sampler", Place::Field, "Picked by"),
    ("row", Place::Field, "Row"),
    ("sheet", Place::Field, "Sheet"),
    ("id", Place::Role, "Names the rows"),
    ("cost", Place::Role, "Cost of the row"),
    ("ignore", Place::Role, "Not used"),
    ("linear", Place::Role, "Linear"),
    ("log", Place::Role, "Logarithmic"),
    ("categories", Place::Role, "Categories"),
];

/// What the buttons and forms for verbs are called.
pub const BUTTONS: &[(&str, &str)] = &[
    ("create", "New study"),
    ("ask", "Suggest rows"),
    ("tell", "Record"),
    ("renew", "Extend"),
    ("update", "Update from a sheet"),
    ("withdraw", "Release"),
    ("forget", "Delete results"),
    ("goals", "Change the goals"),
    ("predict", "Predict"),
    ("undo", "Undo"),
    ("delete", "Delete the study"),
];

/// An option that is set; nothing where the page does not have it.
pub(super) fn set(name: &str, what: Set<'_>) -> Option<String> {
    let (_, place, label) = LABELS.iter().find(|(option, ..)| *option == name)?;
    Some(match (place, what) {
        (Place::Box, _) => format!("the box \"{label}\""),
        (Place::Button, _) => format!("the button \"{label}\""),
        (Place::Field, Set::Value(_, value)) => format!("{value} under \"{label}\""),
        (Place::Role, Set::Value(_, value)) => format!("\"{label}\" for {value}"),
        _ => format!("\"{label}\""),
    })
}

/// The button for a verb.
pub(super) fn button(verb: &str) -> Option<&'static str> {
    BUTTONS.iter().find(|(name, _)| *name == verb).map(|(_, label)| *label)
}
