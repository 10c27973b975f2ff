//! Files of published figures (`reference/README.md`).

use pgdyno_core::{disk::PublishedFigure, problem::Problem};
use serde::Deserialize;

/// The format that this version reads.
const FORMAT: u32 = 1;

/// A file of figures. Machines, storages and notes are for its readers.
#[derive(Debug, Deserialize)]
struct Reference {
    format: u32,
    #[serde(default)]
    figure: Vec<Figure>,
}

#[derive(Debug, Deserialize)]
struct Figure {
    name: String,
    unit: String,
    storage: Option<String>,
    value: Option<f64>,
    summary_value: Option<f64>,
    #[serde(default)]
    suspect: bool,
    reason: Option<String>,
}

/// The figures of a file whose name begins with one of `programs`; `file` is the name of the file in messages.
///
/// # Errors
/// The text is no file of published figures, or one of another format.
pub fn published(text: &str, file: &str, programs: &[&str]) -> Result<Vec<PublishedFigure>, Problem> {
    let wrong =
        |why: String| Problem::wrong_request(format!("could not read published figures from {file}: {why}"));
    let reference: Reference = toml::from_str(text).map_err(|error| wrong(error.message().to_owned()))?;
    if reference.format != FORMAT {
        return Err(wrong(format!("its format is {}, and this version reads {FORMAT}", reference.format)));
    }
    let is_wanted = |figure: &Figure| programs.iter().any(|program| figure.name.starts_with(program));
    let one = |figure: Figure| {
        let value = figure.value.or(figure.summary_value);
        let value = value.filter(|value| value.is_finite());
        let value = value.ok_or_else(|| wrong(format!("{} has no value", figure.name)))?;
        let suspect = figure.suspect.then(|| figure.reason.unwrap_or_default());
        Ok(PublishedFigure { name: figure.name, unit: figure.unit, storage: figure.storage, value, suspect })
    };
    reference.figure.into_iter().filter(is_wanted).map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = r#"
        format = 1
        [[storage]]
        id = "ssd"
        line = 1
        [[figure]]
        name = "fio.randread.iops"
        unit = "1/s"
        storage = "ssd"
        line = 7
        printed = "131k"
        value = 131000
        [[figure]]
        name = "fio.read.iops"
        unit = "1/s"
        summary_line = 9
        summary_value = 8
        suspect = true
        reason = "less than at random"
        [[figure]]
        name = "tpcb.1e9.select_only.tps"
        unit = "1/s"
        value = 5
    "#;

    #[test]
    fn figures_of_the_wanted_programs_are_read() {
        let figures = published(FILE, "x.toml", &["fio."]).expect("it is right");
        assert_eq!(figures.len(), 2);
        assert_eq!((figures[0].value, figures[0].storage.as_deref()), (131_000.0, Some("ssd")));
        assert_eq!((figures[1].value, figures[1].suspect.as_deref()), (8.0, Some("less than at random")));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, words) in [
            ("x", "could not read published figures from x.toml"),
            ("format = 2", "its format is 2"),
            ("format = 1\n[[figure]]\nname = 'fio.x'\nunit = 's'", "fio.x has no value"),
        ] {
            let problem = published(text, "x.toml", &["fio."]).expect_err(text);
            assert!(problem.what.contains(words), "{}", problem.what);
        }
    }
}
