//! The requests that longer arguments are. Numbers, times, ranges and goals stay as they were typed: the study reads
//! them.

use super::args::{AskArgs, CreateArgs, RowsArgs, TellArgs};
use anyhow::bail;
use icee_protocol::{Amount, Ask, Create, RowId, Sheet, Tell};
use std::collections::BTreeMap;
use std::path::Path;

impl CreateArgs {
    /// What is asked for, but for the study's name.
    pub fn request(&self) -> Create {
        Create {
            name: None,
            sheet: Some(sheet(&self.pool)),
            value: self.value.clone(),
            direction: self.direction.clone(),
            target: self.target.clone().map(Amount::Text),
            bounds: self.bounds.clone(),
            also: self.also.clone(),
            cost: self.cost.clone(),
            id: self.id.clone(),
            columns: self.columns.clone(),
            ignore: self.ignore.clone(),
            log: self.log.clone(),
            linear: self.linear.clone(),
            categories: self.categories.clone(),
            like: self.like.clone(),
            sampler: self.sampler.clone(),
            seed: self.seed,
        }
    }
}

impl AskArgs {
    /// What is asked for.
    pub fn request(&self) -> Ask {
        Ask {
            count: self.count,
            condition: self.condition.clone(),
            more: self.more,
            same: self.same.clone(),
            within: self.within.clone(),
            by: self.by.clone(),
            sampler: self.sampler.clone(),
            accept_model: self.accept_model,
        }
    }
}

impl TellArgs {
    /// What is asked for.
    pub fn request(&self) -> anyhow::Result<Tell> {
        let mut tell = Tell {
            row: self.row.as_deref().map(RowId::from),
            failed: self.failed,
            impossible: self.impossible,
            csv: self.csv.as_deref().map(sheet),
            replace: self.replace,
            again: self.again,
            by: self.by.clone(),
            ..Tell::default()
        };
        match (&self.csv, &self.value[..]) {
            (Some(_), []) => (),
            (Some(_), [column]) => tell.column = Some(column.clone()),
            (Some(_), _) => {
                bail!("With --csv, --value is the one column of results. Additional results are found by their names.")
            }
            (None, values) => (tell.value, tell.further) = results(values)?,
        }
        Ok(tell)
    }
}

/// The result without a name, and those with one.
fn results(values: &[String]) -> anyhow::Result<(Option<Amount>, BTreeMap<String, Amount>)> {
    let (mut result, mut further) = (None, BTreeMap::new());
    for value in values {
        let (name, amount) = match value.split_once('=') {
            Some((name, amount)) => (Some(name.trim()), amount),
            None => (None, value.as_str()),
        };
        let amount = Amount::Text(amount.trim().to_owned());
        let earlier = match name {
            Some(name) => further.insert(name.to_owned(), amount),
            None => result.replace(amount),
        };
        match (earlier, name) {
            (None, _) => (),
            (Some(_), Some(name)) => bail!("The result \"{name}\" is given twice."),
            (Some(_), None) => bail!("Two results are given. Name additional ones: --value NAME=RESULT."),
        }
    }
    Ok((result, further))
}

impl RowsArgs {
    /// The rows.
    pub fn ids(&self) -> Vec<RowId> {
        self.rows.iter().map(|row| RowId::from(row.as_str())).collect()
    }
}

/// A sheet in a file.
pub fn sheet(path: &Path) -> Sheet {
    Sheet::Path { path: path.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_split_at_the_first_sign_and_read_elsewhere() {
        let given = |values: &[&str]| results(&values.iter().map(|value| (*value).to_owned()).collect::<Vec<_>>());
        let text = |text: &str| Amount::Text(text.into());
        let (result, further) = given(&["-1,5", "pH = 7", "a=b=3"]).unwrap();
        assert_eq!(result, Some(text("-1,5")));
        assert_eq!(further, BTreeMap::from([("pH".into(), text("7")), ("a".into(), text("b=3"))]));
        assert!(given(&["pH=7", "pH =8"]).unwrap_err().to_string().contains("\"pH\" is given twice"));
        assert!(given(&["7", "8"]).unwrap_err().to_string().contains("--value NAME=RESULT"));
    }
}
