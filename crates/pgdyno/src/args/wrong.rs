//! A wrong command line, in the form of every other error: one sentence, what was seen, what to do.

use clap::{Command, Error, error::ErrorKind};
use pgdyno_core::problem::Problem;

/// The problem behind clap's error of reading words as the whole command line; `None` where it is none: help and
/// version, which print themselves.
pub fn problem(error: &Error, words: &[String], whole: &Command) -> Option<Problem> {
    let asked_for = [
        ErrorKind::DisplayHelp,
        ErrorKind::DisplayVersion,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
    ];
    if asked_for.contains(&error.kind()) {
        return None;
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n").map(one_line);
    let what = paragraphs.next().unwrap_or_default();
    let what = ranges_in_words(what.strip_prefix("error: ").unwrap_or(&what));
    let tip = paragraphs.find_map(|text| text.strip_prefix("tip: ").map(str::to_owned));
    let (what, possible) = match what.split_once(" [possible values: ") {
        Some((what, values)) => (what.to_owned(), Some(format!("one of {}", values.trim_end_matches(']')))),
        None => (what, None),
    };
    let help = format!("`{} --help` shows what is possible", sub_command(words, whole));
    Some(Problem::wrong_request(what).hint(tip.or(possible).unwrap_or(help)))
}

fn one_line(paragraph: &str) -> String {
    paragraph.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The program with the sub-commands that were asked for, where there are such.
fn sub_command(words: &[String], whole: &Command) -> String {
    let (mut command, mut names) = (whole, "pgdyno".to_owned());
    for word in words.iter().skip(1) {
        if let Some(known) = command.find_subcommand(word) {
            names = format!("{names} {word}");
            command = known;
        }
    }
    names
}

/// `x is not in 1..=9` becomes `x is not between 1 and 9`.
fn ranges_in_words(text: &str) -> String {
    let Some((before, range)) = text.split_once(" is not in ") else { return text.to_owned() };
    match range.split_once("..=") {
        Some(("", last)) => format!("{before} is more than {last}"),
        Some((first, last)) => format!("{before} is not between {first} and {last}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use clap::{CommandFactory, Parser};

    use super::*;
    use crate::args::Cli;

    fn said(words: &[&str]) -> Option<Problem> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        Cli::try_parse_from(&words).err().and_then(|error| problem(&error, &words, &Cli::command()))
    }

    #[test]
    fn an_option_that_there_is_not_has_a_nearest() {
        let problem = said(&["pgdyno", "bench", "--scal", "1"]).expect("it is wrong");
        assert_eq!(problem.what, "unexpected argument '--scal' found");
        assert_eq!(problem.hint.as_deref(), Some("a similar argument exists: '--scale'"));
    }

    #[test]
    fn a_value_out_of_range_is_told_in_words() {
        let problem = said(&["pgdyno", "bench", "--blocks", "0"]).expect("it is wrong");
        assert_eq!(problem.what, "invalid value '0' for '--blocks <N>': 0 is not between 1 and 1000");
        assert_eq!(problem.hint.as_deref(), Some("`pgdyno bench --help` shows what is possible"));
    }

    #[test]
    fn help_is_that_of_the_innermost_command() {
        let problem = said(&["pgdyno", "tpcc", "run", "--blocks", "0"]).expect("it is wrong");
        assert_eq!(problem.hint.as_deref(), Some("`pgdyno tpcc run --help` shows what is possible"));
    }

    #[test]
    fn help_and_version_are_no_errors() {
        for words in [&["pgdyno", "--help"][..], &["pgdyno", "--version"], &["pgdyno"]] {
            assert_eq!(said(words), None, "{words:?}");
        }
    }
}
