//! Notes in words.

use super::problems::misfit;
use super::{Set, command, edited, hint, listed, many, set};
use crate::{Counts, Emptied, FewerMeasured, Grounds, LeftOut, Lonely, Mixed, Note, Reader, Suspicion};

/// A note in words.
pub fn words(note: &Note, reader: &Reader) -> String {
    let set = |what: Set<'_>| set(reader, what);
    let forget = || command(reader, "forget", "--row ID");
    match note {
        Note::TornMoved { place } => format!(
            "The journal's last line was incomplete, perhaps after a crash. It was moved to {place}; the rest is whole."
        ),
        Note::Torn => {
            "The journal's last line is incomplete, perhaps after a crash, and does not count. The rest is whole."
                .into()
        }
        Note::Unread { problem } => super::problem(problem, reader),
        Note::Unencrypted { host } => format!("The token goes to {host} unencrypted. Use https, or an SSH tunnel."),
        Note::ModelNoted { model } => format!("From now on this study uses the model {model}."),
        Note::GpPicks { misfit: found } => format!("{}. A Gaussian process (gp-ei) picks the rows.", misfit(found)),

        Note::FewerLeft { left: 1, .. } => "Only one row is left.".into(),
        Note::FewerLeft { left, .. } => format!("Only {left} rows are left."),
        Note::FewerAlike { asked, rows } => {
            format!("Only {rows} of the rows left are the same in these columns, not {asked}.")
        }
        Note::Scored { left, scored } => {
            format!("{scored} of the {left} rows left were scored: neighbours of the best rows, and others at random.")
        }
        Note::Thinned { results, used, fitted, model } => match fitted {
            None => {
                format!("{model} predicts from {used} of the {results} results: the best, the latest and some others.")
            }
            Some(fitted) => format!(
                "{model} predicts from {used} of the {results} results (the best, the latest and some others) and is fitted to {fitted}."
            ),
        },
        Note::Decades { low, high } => format!(
            "Results span {low} to {high}. A study of their logarithms would predict better.{}",
            hint("With ", set(Set::Value("bounds", "0..")), " at least none is predicted below 0.")
        ),
        Note::Expired { rows } => format!("Reservations expired: {}.", super::rows_named(rows)),
        Note::OthersRunning { rows } => {
            format!("You have {rows} more {} in progress.", many(*rows, "row", "rows"))
        }
        Note::SheetUpdated { rows_before, rows, told } => {
            format!("The sheet has changed: {}.", changed(*rows_before, *rows, told))
        }

        Note::SameCells { row, of } => format!("Row {row} has the same cells as row {of}: they are one experiment."),
        Note::LateReplicate { row } => {
            format!("Someone else recorded row {row} meanwhile. Your result was added as a replicate.")
        }
        Note::NotSuggested { rows, more, running, running_more, in_sheet } => {
            let what = match rows.as_slice() {
                [Lonely { row, cells }] if *more == 0 => format!("Row {row} was not suggested ({cells})"),
                _ => {
                    let named = rows.iter().map(|lonely| lonely.row.clone());
                    format!("Rows {} were not suggested", listed(named, *more))
                }
            };
            let running = listed(running.clone(), *running_more);
            format!("{what}; in progress: {running}. {}", slip(*in_sheet))
        }
        Note::FarResults { results, more, low, high, in_sheet } => {
            let named = results.iter().map(|(value, row)| format!("{value} (row {row})"));
            let is = many(results.len() + more, "is", "are");
            format!("{} {is} far from all results so far ({low} to {high}). {}", listed(named, *more), slip(*in_sheet))
        }
        Note::StillInSheet { column } => format!(
            "The sheet's column {column} may still have these results. Empty those cells; otherwise the next change of the sheet \
             records them again."
        ),
        Note::Waiting { rows } => format!(
            "{rows} {} additional results but no main result. They are used once you record it.",
            many(*rows, "row has", "rows have")
        ),

        Note::RowKept { row, known, changes, now } => {
            format!("Row {row} keeps its result ({known}); {}.", edited(changes, now.as_deref()))
        }
        Note::RowReleased { row, changes, now } => {
            format!("Row {row} is no longer in progress; {}.", edited(changes, now.as_deref()))
        }
        Note::NewColumns { columns, more } => {
            let all = columns.len() + more;
            format!(
                "{} {} new in the sheet and not used. To use {} as inputs, create a new study.",
                listed(columns.iter().map(|column| format!("\"{column}\"")), *more),
                many(all, "is", "are"),
                many(all, "it", "them")
            )
        }
        Note::Emptied(Emptied { rows, more, column }) => {
            format!("{}{}", absent(column, rows, *more), hint("To delete results: ", forget(), "."))
        }
        Note::Cleared(Emptied { rows, more, column }) => {
            format!(
                "{}{}",
                absent(column, rows, *more),
                hint(
                    "To delete all results of a row: ",
                    forget(),
                    ". What the sheet still has is then recorded again."
                )
            )
        }
        Note::Fewer { rows, more } => {
            let one = |FewerMeasured { row, known, here }: &FewerMeasured| {
                format!("row {row} ({known}, {here} in the sheet)")
            };
            format!(
                "Rows with more results than the sheet has: {}. The mean of all counts.{}",
                listed(rows.iter().map(one), *more),
                hint("To delete them: ", forget(), ". What the sheet still has is then recorded again.")
            )
        }
        Note::Footer { line, text } => format!(
            "Line {line} (\"{text}\") looks like a remark or a sum below the rows. If it is no candidate, delete it from the sheet."
        ),
        Note::Remark { remark } => remark.clone(),
        Note::EqualRows { row, first, rows } => {
            let others = if *rows > 1 { format!(" ({rows} such rows)") } else { String::new() };
            format!(
                "Row {row} has the same cells as row {first}{others} in all input columns: they count as one experiment.{}",
                hint("If they are not, name the rows: ", set(Set::Option("id")), ".")
            )
        }

        Note::Unnamed { column } => format!("Column {column} has no name and is not used."),
        Note::IdIsInput { column } => format!(
            "Column \"{column}\" is used as an input.{}",
            hint("If it names the rows: ", set(Set::Value("id", column)), ".")
        ),
        Note::Suspect(found) => suspect(found, reader),
        Note::LeftOut { column, why } => left_out(column, why, reader),
        Note::DecimalPoint { column, example, created } => {
            let example =
                example.as_ref().map_or_else(String::new, |(cell, line)| format!(" (\"{cell}\", line {line})"));
            let anew = if *created { " and create the study anew" } else { "" };
            format!(
                "Column \"{column}\": a point is read as a decimal point{example}. If it separates thousands, delete it{anew}."
            )
        }
        Note::Dates { column } => format!(
            "Column \"{column}\" has dates, which are used as words.{}",
            hint("If it is not an input: ", set(Set::Value("ignore", column)), ".")
        ),
        Note::Notation { column, word, line, used } => format!(
            "Column \"{column}\" looks like numbers in another notation (\"{word}\", line {line}) and {}. Write them like 1200.5, or \
             with decimal commas in a file with semicolons, and create the study anew.",
            used_words(*used)
        ),
        Note::MixedUnits { column, first, second, used } => format!(
            "Column \"{column}\" mixes units (\"{}\", line {}; \"{}\", line {}) and {}. Correct the cells and create the study anew.",
            first.0,
            first.1,
            second.0,
            second.1,
            used_words(*used)
        ),
        Note::MixedWords(Mixed { column, numbers, word, used }) => format!(
            "Column \"{column}\" mixes {numbers} numbers with words (first \"{}\", line {}) and {}. If it should be numbers, correct \
             the cells and create the study anew.",
            word.0,
            word.1,
            used_words(*used)
        ),
        Note::UnitAssumed { column, unit, cell, line } => {
            format!("Column \"{column}\": numbers without a unit are taken to be in {unit} (\"{cell}\", line {line}).")
        }

        Note::EarlierFirst => {
            "The earlier study has results for the first goal only. They are used for that goal.".into()
        }
        Note::EarlierOpposed { study, high_there } => {
            let (there, here) = if *high_there { ("high", "low") } else { ("low", "high") };
            format!(
                "The earlier study {study} looks for {there} results, this one for {here} ones. Its results are used as they are."
            )
        }
        Note::PartPredicted { rows, of } => {
            format!("{rows} of the {of} rows were predicted, evenly spread over the sheet.")
        }
        Note::PartShown { shown, of } => format!("The latest {shown} of {of} results are shown."),
        Note::GoalUnmeasured { name, rows } => {
            let (rows_have, they) = if *rows == 1 { ("row has", "It does") } else { ("rows have", "They do") };
            format!("{rows} measured {rows_have} no result for \"{name}\". {they} not count until you record one.")
        }
    }
}

/// What was updated from a sheet.
pub fn changed(rows_before: usize, rows: usize, told: &Counts) -> String {
    let mut parts = vec![match rows_before.abs_diff(rows) {
        0 => format!("{rows} rows"),
        by if rows > rows_before => format!("{rows} rows ({by} more)"),
        by => format!("{rows} rows ({by} fewer)"),
    }];
    let one = |count, one, more| (count, many(count, one, more));
    let counts = [
        one(told.new, "new result", "new results"),
        one(told.again, "replicate", "replicates"),
        one(told.replaced, "corrected result", "corrected results"),
    ];
    parts.extend(counts.iter().filter(|(count, _)| *count > 0).map(|(count, what)| format!("{count} {what}")));
    parts.join(", ")
}

/// Results that the study has and the sheet has not.
fn absent(column: &str, rows: &[(String, String)], more: usize) -> String {
    let named = rows.iter().map(|(row, known)| format!("row {row} ({known})"));
    format!("Not in the sheet's column \"{column}\": the results of {}.", listed(named, more))
}

/// The way out of a slip.
fn slip(in_sheet: bool) -> &'static str {
    if in_sheet { "If that was a mistake, correct the sheet, then undo." } else { "If that was a mistake, undo." }
}

fn used_words(used: bool) -> &'static str {
    if used { "is used as categories" } else { "is not used" }
}

/// Why a column is perhaps not an input: the rest of a sentence that begins with the column.
pub fn grounds(grounds: &Grounds) -> String {
    match grounds {
        Grounds::WithResults { results } => format!("is filled in only where \"{results}\" is"),
        Grounds::NamedLikeResult => "is named like a result".into(),
        Grounds::ManyEmpty { empty, rows } => format!("is empty in {empty} of {rows} rows"),
        Grounds::RunningNumber => "is a running number".into(),
    }
}

fn suspect(Suspicion { column, grounds: why, is_result, is_input, .. }: &Suspicion, reader: &Reader) -> String {
    let option = set(reader, Set::Value(if *is_result { "value" } else { "ignore" }, column));
    let why = grounds(why);
    match is_input {
        true => {
            let what = if *is_result { "If you measure it: " } else { "If it is not one: " };
            format!("Column \"{column}\" {why} and is used as an input.{}", hint(what, option, "."))
        }
        false => format!("Column \"{column}\" {why}.{}", hint("If you measure it: ", option, ".")),
    }
}

fn left_out(column: &str, why: &LeftOut, reader: &Reader) -> String {
    match why {
        LeftOut::Empty => format!("Column \"{column}\" is empty and not used."),
        LeftOut::Constant => format!("Column \"{column}\" is the same in all rows and not used."),
        LeftOut::Names { words, rows } => format!(
            "Column \"{column}\" has {words} different words in {rows} rows, so it is not used as an input.{}{}",
            hint("To use it: ", set(reader, Set::Value("categories", column)), "."),
            hint("If it names the rows: ", set(reader, Set::Value("id", column)), ".")
        ),
        LeftOut::TooFar { low, high } => {
            format!("Column \"{column}\" is not used: its numbers, {low} to {high}, are too far apart.")
        }
    }
}
