//! Problems in words: what is wrong, with its place; then the way out.

use super::{Set, command, edited, hint, many, rows_named, set};
use crate::{ColumnRole, Conflict, EarlierMismatch, Face, Misfit, Problem, Reader, RowProblem};

/// A problem in words.
pub fn words(problem: &Problem, reader: &Reader) -> String {
    let set = |what: Set<'_>| set(reader, what);
    let way = |verb: &str, rest: &str| command(reader, verb, rest);
    match problem {
        Problem::NameUnusable { name } => {
            format!("A study cannot be called \"{name}\". Use 1 to 64 letters, digits, - _ and . (not first or last).")
        }
        Problem::NameMissing => "The study needs a name.".into(),
        Problem::NoStudy { name, place, known } => {
            let place = place.as_ref().map_or_else(String::new, |place| format!(" in {place}"));
            let known = if known.is_empty() { String::new() } else { format!(" Studies there: {}.", known.join(", ")) };
            let create = match reader.face {
                Face::Terminal => format!(" Create it: `icee study create {name} --pool FILE`."),
                Face::Python => " Create it: icee.Study.create.".into(),
                _ => String::new(),
            };
            format!("There is no study \"{name}\"{place}.{known}{create}")
        }
        Problem::StudyExists { name } => {
            let delete = Reader { study: Some(name.clone()), ..reader.clone() };
            let delete = hint("Or delete it: ", command(&delete, "delete", ""), ".");
            format!("A study \"{name}\" exists already. Choose another name.{delete}")
        }
        Problem::FileExists { path } => format!("{path} exists already. Choose another name."),
        Problem::FileMissing { path } => format!("There is no file {path}."),
        Problem::File { path, fault, .. } => format!("{path}: {fault}"),
        Problem::Table { file, faults } => {
            format!("{file}:{}{}", if faults.len() > 1 { "\n  " } else { " " }, faults.join("\n  "))
        }
        Problem::Stored { name, fault } => format!("{name}: {fault}"),
        Problem::OldFormat { name, format } => {
            let upgrade = match reader.face {
                Face::Terminal => hint("Upgrade it: ", way("upgrade", ""), ".").trim_start().to_owned(),
                Face::Python => "Upgrade it: `icee.Study.upgrade(path)`.".into(),
                _ => "Its owner can upgrade it.".into(),
            };
            format!("{name} is a journal of format {format}, from an earlier version. {upgrade}")
        }
        Problem::Unavailable { name, fault } => {
            format!("{name} is temporarily not available: {fault}. Try again in a moment.")
        }
        Problem::Busy { what } => format!("{what}. Try again in a moment."),
        Problem::Unreachable { place, fault } => {
            format!("No answer from {place}: {fault}. Is a server running there?")
        }
        Problem::Strange { place, fault } => {
            format!("{place} does not answer like icee ({fault}). Is it another program, or another version?")
        }
        Problem::Refused { status: 401, fault } => match reader.face {
            Face::Terminal | Face::Python => format!("{fault} Put it into the variable ICEE_TOKEN."),
            Face::Http => format!("{fault} Send it as the header Authorization: Bearer TOKEN."),
            Face::Plain | Face::Page => fault.clone(),
        },
        Problem::Refused { fault, .. } | Problem::Address { fault } => fault.clone(),
        Problem::Bug { fault } => format!("Internal error ({fault}). Please report it."),
        Problem::OtherModel { pinned, here } => format!(
            "This study uses the model {pinned}; this program has {here}, which may suggest other rows.{}",
            match reader.face {
                Face::Plain => String::new(),
                Face::Python =>
                    " Use the old version, or go on with this model: `study.ask(accept_model=True)`.".into(),
                _ => hint("Use the old program, or go on with this model: ", set(Set::Flag("accept_model")), "."),
            }
        ),
        Problem::NoModel { misfit: found } => {
            format!("{}.{}", misfit(found), hint("Use ", set(Set::Value("sampler", "gp-ei")), "."))
        }
        Problem::Model { fault } => fault.clone(),
        Problem::Unknown { what, name, nearest, known } => match nearest.first() {
            Some(near) => format!("Unknown {what} \"{name}\". Did you mean \"{near}\"?"),
            None if known.is_empty() => format!("Unknown {what} \"{name}\": this study has none."),
            None => format!("Unknown {what} \"{name}\". There are: {}.", known.join(", ")),
        },
        Problem::DirectionMissing => {
            if reader.face == Face::Page {
                return "Which results are good, high or low ones? Choose one.".into();
            }
            let either = set(Set::Value("direction", "maximize")).zip(set(Set::Value("direction", "minimize")));
            let either = either.map(|(high, low)| format!("{high} or {low}"));
            let target = set(Set::Option("target")).map(|target| format!(", or a number: {target}"));
            let either = either.map(|either| either + &target.unwrap_or_default());
            format!("Which results are good, high or low ones?{}", hint("Give ", either, "."))
        }
        Problem::DirectionAndTarget => "Give a direction or a target, not both.".into(),
        Problem::NotADirection { text } => format!("\"{text}\" is not a direction. Write maximize or minimize."),
        Problem::NotARange { text } => format!("\"{text}\" is not a range. Write 0..100, 0.. or ..100."),
        Problem::NotAGoal { text } => {
            format!("\"{text}\" is not a goal. Write \"price min\", \"purity >= 95\" or \"pH = 7\".")
        }
        Problem::TwoLimits { text } => {
            format!("\"{text}\" has two limits. Give one, or the middle as a target: \"pH = 7\".")
        }
        Problem::LimitSign { text } => format!("\"{text}\": write a limit with >= or <=."),
        Problem::NotANumber { text } => {
            format!("\"{text}\" is not a number. Write it without a unit, like 1200.5.")
        }
        Problem::WordForValue { word } => {
            format!("\"{word}\" is not a number.{}", hint("Use ", set(Set::Flag(word)), " in place of a result."))
        }
        Problem::NotATime { text } => format!("\"{text}\" is not a duration. Write 90m, 8h or 3d."),
        Problem::NotFinite { text } => format!("{text} is not a finite number."),
        Problem::RangeReversed { low, high } => {
            format!("The range {low} to {high} is empty. Give the lower end first.")
        }
        Problem::TargetOutside { target } => format!("The target {target} lies outside the range of results."),
        Problem::TooManyGoals { count, most } => format!("{count} additional goals are too many. Give at most {most}."),
        Problem::GoalTwice { name } => {
            format!("\"{name}\" has two goals. Give one; for a range, use its middle as a target: \"{name} = 7\".")
        }
        Problem::GoalName { name } => {
            format!("An additional result cannot be called \"{name}\": give it a name of its own.")
        }
        Problem::DirectionFixed => {
            "The goal of the main result cannot change. Start a new study that learns from this one.".into()
        }
        Problem::NothingToChange => {
            let either = set(Set::Option("bounds")).zip(set(Set::Option("also")));
            let either = either.map(|(bounds, also)| format!("{bounds} or {also}"));
            format!("Nothing was changed. Give a range of results, or a goal.{}", hint("Use ", either, "."))
        }
        Problem::ResultsOutside { row, value, range } => format!(
            "Row {row} has the result {value}, outside the range {range}. Choose a wider range, or delete the result."
        ),
        Problem::ScaleUnused { column } => format!("\"{column}\" is not an input, so it has no scale."),
        Problem::ScaleTwice { column } => format!("\"{column}\" is in two of log, linear and categories."),
        Problem::TwoRoles { column, role, other } => {
            format!("\"{column}\" {} and cannot also be the column that {}.", role_words(*other), role_words(*role))
        }
        Problem::ColumnTwice { column } => format!("\"{column}\" is listed twice among the inputs."),
        Problem::NotAnInput { column, role } => {
            format!("\"{column}\" {}, so it is not an input. Leave it out of the inputs.", role_words(*role))
        }
        Problem::InputIgnored { column } => format!("\"{column}\" is listed as an input and as ignored."),
        Problem::TooWide { coordinates, most } => format!(
            "The inputs make {coordinates} coordinates; at most {most} can be used.{}",
            hint("Choose fewer: ", set(Set::Option("columns")), ".")
        ),
        Problem::NoInputs { file, notes } => {
            let notes: Vec<String> = notes.iter().map(|note| super::note(note, reader)).collect();
            format!("{file}: no column can be used as an input. {}", notes.join(" "))
        }
        Problem::SheetMissing => "Give the sheet of candidates.".into(),
        Problem::PathRefused => "A server does not read files by their paths. Send the sheet itself.".into(),
        Problem::Earlier { study, mismatches } => {
            let all: Vec<String> = mismatches.iter().map(mismatch).collect();
            format!(
                "The earlier study {study} does not match this sheet: {}.{}",
                all.join("; "),
                hint("Choose the inputs with ", set(Set::Option("columns")), ".")
            )
        }
        Problem::EarlierEmpty { study } => format!("The earlier study {study} has fewer than two results."),
        Problem::EarlierUnreadable { study, problem } => {
            format!("The earlier study {study} cannot be used: {}", words(problem, reader))
        }

        Problem::RowUnknown { row, rows, column, nearest, example } => match (column, nearest, example) {
            (None, ..) => format!("There is no row \"{row}\". Rows are numbered from 1 to {rows}."),
            (Some(column), Some(near), _) => format!("No row has the {column} \"{row}\". Did you mean \"{near}\"?"),
            (Some(column), None, Some(example)) => {
                format!("No row has the {column} \"{row}\". An example of a name is \"{example}\".")
            }
            (Some(column), None, None) => format!("No row has the {column} \"{row}\"."),
        },
        Problem::RowsAlike { row, other, column } => {
            format!("Rows {row} and {other} both have these cells. Say which is meant in a column \"{column}\".")
        }
        Problem::NoRowWithCells => "No row has these cells.".into(),
        Problem::NumbersMoved { sheet, was, is } => format!(
            "The updated sheet {sheet} has other row numbers: row {was} is now row {is}, for example. The sheet was imported; your \
             request was not carried out. Check your row number and repeat.{}",
            hint("To avoid this, create studies with a column that names the rows: ", set(Set::Option("id")), ".")
        ),
        Problem::CellsDiffer { row, column, here, there } => format!(
            "row {row} has the {column} \"{here}\" in the sheet and \"{there}\" here. Correct the line, or leave that cell empty."
        ),
        Problem::ValueNotFinite { row, text } => format!("The result {text} of row {row} is not a finite number."),
        Problem::OutOfRange { row, value, range } => {
            format!("The result {value} of row {row} lies outside the range of results ({range}).")
        }
        Problem::AlreadyMeasured { row, known } => format!(
            "Row {row} has a result already ({known}).{}{}",
            hint("To correct it: ", set(Set::Flag("replace")), "."),
            hint("To add a replicate: ", set(Set::Flag("again")), ".")
        ),
        Problem::SheetDiffers { row, here, known } => {
            let replace = match reader.face {
                Face::Terminal => way("update", "--replace"),
                Face::Python => Some("`study.update(replace=True)`".to_owned()),
                _ => set(Set::Flag("replace")),
            };
            format!(
                "Row {row} has {here} in the sheet and {known} in the study.{}",
                hint("To use the sheet's: ", replace, ".")
            )
        }
        Problem::ResultsAreInputs { column } => {
            format!("The column \"{column}\" is an input. Results need a column of their own.")
        }
        Problem::NoResults { file, column } => format!("{file}: no row has a result in the column \"{column}\"."),
        Problem::WhichResult => {
            let failed = set(Set::Flag("failed")).zip(set(Set::Flag("impossible")));
            let failed = failed.map(|(failed, impossible)| format!("{failed}, {impossible}"));
            format!("Give one result: a number, failed, or impossible.{}", hint("Without a number: ", failed, "."))
        }
        Problem::MainResultMissing => {
            "The main result is missing. Give it together with the additional results, also if it is recorded already."
                .into()
        }
        Problem::ResultTwice { name } => format!("The result \"{name}\" is given twice."),
        Problem::RowAndFile => "Give a row with its result, or a file of results.".into(),
        Problem::ReplaceAndAgain => "Correct a result, or add a replicate: choose one.".into(),
        Problem::NoRows => "Name at least one row.".into(),
        Problem::Rows { problems, more } => all_of(problems, *more, reader).join("\n"),
        Problem::Lines { file, problems, more } => {
            format!("{file}:\n  {}", all_of(problems, *more, reader).join("\n  "))
        }

        Problem::Count { count, most, several } => {
            let of = if *several { " in a study with several results" } else { "" };
            format!("Cannot suggest {count} rows at once. Ask for 1 to {most}{of}.")
        }
        Problem::PersonName { most } => format!("A name has 1 to {most} characters, on one line."),
        Problem::Condition { condition, fault } => format!("Cannot read the condition \"{condition}\": {fault}."),
        Problem::NoneSatisfies { condition, unknown } => {
            let unknown = unknown.as_ref().map_or_else(String::new, |(word, column, there)| {
                format!(" \"{word}\" does not occur in \"{column}\", which has {}.", there.join(", "))
            });
            format!("No row that is left satisfies \"{condition}\".{unknown}")
        }
        Problem::NoneLeft { rows, running: 0 } => {
            format!("All {rows} rows are measured. Add rows to the sheet to go on.")
        }
        Problem::NoneLeft { rows, running } => {
            format!("All {rows} rows are measured or in progress ({running}). Record their results first.")
        }
        Problem::SameTwice { column } => {
            format!("\"{column}\" is listed twice among the columns that are to be the same.")
        }
        Problem::SameTooMany { most } => format!("At most {most} columns can be the same."),

        Problem::SheetGone { path } => {
            let pool = match reader.face {
                Face::Terminal => way("update", "--pool FILE"),
                Face::Python => Some("`study.update(path)`".into()),
                _ => None,
            };
            format!(
                "The sheet {path} is gone. Put it back{}.",
                pool.map_or_else(String::new, |pool| format!(", or give its new path: {pool}"))
            )
        }
        Problem::SheetNewer => "Someone else has updated the study from a newer sheet. Repeat the request.".into(),
        Problem::SheetConflicts { sheet, conflicts, more } => {
            let mut all: Vec<String> = conflicts.iter().map(|conflict| conflicting(conflict, reader)).collect();
            all.extend((*more > 0).then(|| format!("and {more} more")));
            format!("{sheet} was not imported:\n  {}", all.join("\n  "))
        }
        Problem::ColumnGone { fault } => format!("{fault}. A study keeps its columns: rename it back."),
        Problem::SheetIsFile { path } => {
            format!("The sheet of this study is the file {path}. Change that file, and update without a table.")
        }
        Problem::SheetNotKept { hash } => format!("The sheet of that time ({hash}) was not kept."),

        Problem::NotRunning { row } => format!("Row {row} is not in progress."),
        Problem::HeldByOther { row, holder } => {
            let by = set(Set::Value("by", holder));
            format!("Row {row} is reserved by {holder}.{}", hint("To act in that name: ", by, "."))
        }
        Problem::NothingToForget { row } => format!("Row {row} has no result to delete."),
        Problem::NothingToUndo => "There is nothing to undo.".into(),
        Problem::ChangedMeanwhile => "The study has changed since you looked. Look again, then undo.".into(),
        Problem::TooFewResults { needed, known } => {
            format!(
                "A prediction needs {needed} results; there {} {known}. Record more first.",
                many(*known, "is", "are")
            )
        }
        Problem::Ahead { count, most } => format!("Cannot look {count} rows ahead. Choose 1 to {most}."),
        Problem::TopZero => "Ask for at least one row.".into(),
        Problem::OtherSheet => {
            "The sheet does not belong to this journal. Use the sheet that was exported with it.".into()
        }
        Problem::KeyUnusable { longest } => {
            format!("An Idempotency-Key has 1 to {longest} visible ASCII characters, such as a UUID.")
        }
        Problem::KeyReused { key } => {
            format!("The Idempotency-Key \"{key}\" was used for another request. Use a new one.")
        }
    }
}

fn all_of(problems: &[RowProblem], more: usize, reader: &Reader) -> Vec<String> {
    let one = |RowProblem { line, problem }: &RowProblem| match line {
        Some(line) => format!("line {line}: {}", words(problem, reader)),
        None => words(problem, reader),
    };
    problems.iter().map(one).chain((more > 0).then(|| format!("and {more} more"))).collect()
}

/// Why no learned model fits.
pub fn misfit(misfit: &Misfit) -> String {
    match misfit {
        Misfit::NoneAtHand => "No learned model is available".into(),
        Misfit::Columns { columns, most } => {
            format!("The sheet has {columns} input columns; the learned model reads at most {most}")
        }
        Misfit::Coordinates { columns, most } => format!(
            "The sheet has {columns} input columns, each category counted as one; the learned model reads at most {most}"
        ),
    }
}

fn role_words(role: ColumnRole) -> &'static str {
    match role {
        ColumnRole::Names => "names the rows",
        ColumnRole::Results => "has results",
        ColumnRole::Costs => "has the costs",
    }
}

fn mismatch(mismatch: &EarlierMismatch) -> String {
    let unit = |unit: &Option<String>| unit.clone().unwrap_or_else(|| "no unit".into());
    match mismatch {
        EarlierMismatch::NoColumn { column } => format!("it has no input \"{column}\""),
        EarlierMismatch::Type { column, numbers_here: true } => {
            format!("its column \"{column}\" has words, not numbers")
        }
        EarlierMismatch::Type { column, .. } => format!("its column \"{column}\" has numbers, not words"),
        EarlierMismatch::Unit { column, there, here } => {
            format!("its column \"{column}\" is in {}, not in {}", unit(there), unit(here))
        }
    }
}

/// A row with a result, or in progress, that the sheet has no more as it was.
fn conflicting(conflict: &Conflict, reader: &Reader) -> String {
    let Conflict { row, known, gone, changes, now, has_id, has_results } = conflict;
    let what = known.as_ref().map_or_else(|| "in progress".into(), |known| format!("result {known}"));
    let quoted = if row.contains(' ') { format!("\"{row}\"") } else { row.clone() };
    let (verb, drop) = if known.is_some() { ("forget", "delete its result") } else { ("withdraw", "release it") };
    let way = command(reader, verb, &format!("--row {quoted}")).map_or_else(String::new, |way| format!(": {way}"));
    if *gone {
        let unnamed = if *has_id { "" } else { ", or its cells were edited" };
        let again = match known.is_some() && *has_results && !has_id {
            true => " If it was edited, its result is then read from the sheet again.",
            false => "",
        };
        return format!(
            "{} ({what}) was deleted{unnamed}. Restore it, or {drop}{way}.{again}",
            rows_named(std::slice::from_ref(row))
        );
    }
    let keep = match reader.face {
        _ if known.is_none() => None,
        Face::Terminal => command(reader, "update", "--keep"),
        Face::Python => Some("`study.update(table, keep=True)`".into()),
        _ => set(reader, Set::Flag("keep")),
    };
    format!(
        "row {row} ({what}) was edited: {}.{} Restore it, or {drop}{way}.",
        edited(changes, now.as_deref()),
        hint("To keep its result: ", keep, ".")
    )
}
