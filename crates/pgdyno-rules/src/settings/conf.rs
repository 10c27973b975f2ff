//! Reads a `postgresql.conf` as the server does, but for files that it includes.

use std::collections::BTreeMap;

use pgdyno_core::{
    conf::{INCLUDES, is_blank, setting},
    problem::Problem,
};

/// A configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Values by names in lower case; of a name that is given twice the last value counts.
    pub settings: BTreeMap<String, String>,
    /// How often each name is given that is given more than once.
    pub repeated: BTreeMap<String, u32>,
}

/// Reads a configuration file; `file` names it in errors.
///
/// # Errors
/// A wrong request for a line that the server would not accept, or that includes another file.
pub fn read(file: &str, text: &str) -> Result<File, Problem> {
    let mut found = File::default();
    for (at, line) in text.strip_prefix('\u{feff}').unwrap_or(text).lines().enumerate() {
        let wrong = |what: &str, hint: &str| {
            Problem::wrong_request(format!("could not read {file}: line {} {what}", at + 1)).hint(hint)
        };
        let line = line.trim();
        if is_blank(line) {
            continue;
        }
        let (name, value) = setting(line).ok_or_else(|| {
            wrong("is no setting", "settings are written as in postgresql.conf: name = value")
        })?;
        if INCLUDES.contains(&name.as_str()) {
            let hint = "write the settings of that file into this one";
            return Err(wrong(&format!("has {name}, which is not followed"), hint));
        }
        if found.settings.insert(name.clone(), value).is_some() {
            *found.repeated.entry(name).or_insert(1) += 1;
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<BTreeMap<String, String>, Problem> {
        super::read("x.conf", text).map(|file| file.settings)
    }

    #[test]
    fn repeated_names_are_counted() {
        let file = super::read("x.conf", "jit = on\nport = 1\nJIT = off\njit = on\n").expect("it is right");
        assert_eq!(file.repeated, [("jit".to_owned(), 3)].into());
    }

    #[test]
    fn settings_are_read_as_the_server_does() {
        let text = "\u{feff}# a comment\r\n\nshared_buffers = 128MB\t\t# min 128kB\nPort=5433\nwork_mem 4MB\n\
                    log_line_prefix = '%m [%p] '#x\nmy.own = 'it''s \\'so\\''\nautovacuum = on# on\n\
                    jit = on\njit = off\nempty = ''\n";
        let found: Vec<_> = read(text).expect("it is right").into_iter().collect();
        let pairs: Vec<_> = found.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(
            pairs,
            [
                ("autovacuum", "on"),
                ("empty", ""),
                ("jit", "off"),
                ("log_line_prefix", "%m [%p] "),
                ("my.own", "it's 'so'"),
                ("port", "5433"),
                ("shared_buffers", "128MB"),
                ("work_mem", "4MB"),
            ]
        );
    }

    #[test]
    fn a_wrong_line_is_named() {
        for (text, words) in [
            ("a = 1\nwork_mem\n", "line 2 is no setting"),
            ("1a = 2", "line 1 is no setting"),
            ("a = 'x", "line 1 is no setting"),
            ("a = 1 2", "line 1 is no setting"),
            ("a == 1", "line 1 is no setting"),
            ("include_dir 'conf.d'", "line 1 has include_dir, which is not followed"),
            ("Include = 'x.conf'", "line 1 has include, which is not followed"),
        ] {
            let problem = read(text).expect_err(text);
            assert!(problem.what.starts_with("could not read x.conf: ") && problem.what.contains(words));
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = read(&text);
        }
    }
}
