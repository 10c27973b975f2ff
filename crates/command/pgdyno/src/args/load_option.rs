//! An option for loading tables as a term of an arm: `fillfactor=50`, `unlogged`.

use clap::{Args, Command, FromArgMatches};
use pgdyno_rows::load::LoadRequest;

use super::wrong::words;

/// Parses an option as the flag of the same name is parsed. Options are named as in a plan, with dashes; the flags'
/// names `load-method` and `load-jobs` are accepted, too.
///
/// # Errors
/// What is wrong, in a sentence without the term.
pub(super) fn load_option(text: &str) -> Result<LoadRequest, String> {
    let command = command();
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    if !names(&command).any(|known| known == name) {
        let main = command.get_arguments().filter_map(|flag| flag.get_long());
        let list = main.collect::<Vec<_>>().join(", ");
        return Err(format!("there is no such option; the options are {list}"));
    }
    let parsed = command.try_get_matches_from([format!("--{text}")]);
    parsed.and_then(|found| LoadRequest::from_arg_matches(&found)).map_err(|error| match words(&error) {
        (what, Some(remedy)) => format!("{what}; {remedy}"),
        (what, None) => what,
    })
}

/// The flags for loading, with the names that they have in a plan.
fn command() -> Command {
    LoadRequest::augment_args(Command::new("load").no_binary_name(true).disable_help_flag(true))
        .mut_arg("load_method", |flag| flag.long("method").alias("load-method"))
        .mut_arg("load_jobs", |flag| flag.long("jobs").alias("load-jobs"))
}

/// All names of all options.
fn names(command: &Command) -> impl Iterator<Item = &str> {
    command
        .get_arguments()
        .flat_map(|flag| flag.get_long().into_iter().chain(flag.get_all_aliases().unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use pgdyno_rows::load::Way;

    use super::*;

    #[test]
    fn options_are_read_as_flags_are() {
        let of = |text: &str| load_option(text).unwrap_or_else(|why| panic!("{text}: {why}"));
        assert_eq!(of("fillfactor=50").fillfactor, Some(50));
        assert!(of("unlogged").unlogged && of("foreign-keys").foreign_keys);
        for name in ["method", "load-method"] {
            assert_eq!(of(&format!("{name}=chunks")).method, Some(Way::Chunks));
        }
        assert_eq!((of("jobs=4").jobs, of("load-jobs=4").jobs), (Some(4), Some(4)));
    }

    /// What is written of a request can be read again, option by option.
    #[test]
    fn every_option_has_a_term() {
        let command = command();
        for flag in command.get_arguments() {
            let name = flag.get_long().expect("each is a long flag");
            let values = ["1", "range", "50", "chunks", "parallel_workers=2"];
            let texts = values.iter().map(|value| format!("{name}={value}")).chain([name.to_owned()]);
            let parsed: Vec<_> = texts.filter_map(|text| load_option(&text).ok()).collect();
            let first = parsed.first().unwrap_or_else(|| panic!("{name} takes none of the values"));
            let terms = first.terms();
            assert_eq!((terms.len(), &terms[0].0[..]), (1, name));
        }
    }

    #[test]
    fn what_is_wrong_is_said_in_a_sentence() {
        for (text, words) in [
            ("fill=50", "there is no such option; the options are partitions, partition-method, fillfactor"),
            ("scale=1", "there is no such option"),
            ("help", "there is no such option"),
            ("fillfactor=5", "5 is not between 10 and 100"),
            ("fillfactor", "a value is required"),
            ("unlogged=off", "unexpected value 'off'"),
            ("partition-method=list", "one of range, hash"),
        ] {
            let why = load_option(text).expect_err(text);
            assert!(why.contains(words) && !why.contains('\n'), "{text}: {why}");
        }
    }
}
