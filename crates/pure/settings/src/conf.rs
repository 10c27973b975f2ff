//! Reads a `postgresql.conf` as the server does, with the files that it includes where they are found.

use std::collections::BTreeMap;

use pgdyno_core::{
    conf::{INCLUDES, is_blank, setting},
    problem::Problem,
};

/// A configuration: a file, and what it includes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct File {
    /// Values by names in lower case; of a name that is given twice the last value counts.
    pub settings: BTreeMap<String, String>,
    /// How often each name is given that is given more than once.
    pub repeated: BTreeMap<String, u32>,
    /// The included files that could not be read, in the order of their lines.
    pub unread: Vec<Unread>,
}

/// An included file or directory that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unread {
    /// The directive: `include`, `include_dir` or `include_if_exists`.
    pub directive: String,
    /// What could not be read.
    pub name: String,
    /// Why.
    pub why: Unreadable,
}

/// Why an included file or directory cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Unreadable {
    /// It does not exist, so that the server does not start.
    Missing,
    /// Another reason, in words; the server may be able to read it.
    Other(String),
}

/// A line that includes a file, or all files of a directory.
#[derive(Debug, Clone, Copy)]
pub struct Include<'a> {
    /// The directive, in lower case.
    pub directive: &'a str,
    /// The file or directory, as it is written.
    pub value: &'a str,
    /// The file that has the line: what is not absolute is below its directory.
    pub from: &'a str,
}

/// A file that a line includes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Included {
    /// Its path.
    pub name: String,
    /// Its text, or why it cannot be read.
    pub text: Result<String, Unreadable>,
}

/// Finds the files of a line, in the order of the server.
pub type Find<'a> = &'a dyn Fn(&Include<'_>) -> Vec<Included>;

/// How deep files may include others (`CONF_FILE_MAX_DEPTH`).
const DEEPEST: u32 = 10;

/// Reads a configuration file on its own; `file` names it in errors.
///
/// # Errors
/// A wrong request for a line that the server would not accept, or that includes another file.
pub fn read(file: &str, text: &str) -> Result<File, Problem> {
    let mut reader = Reader { found: File::default(), find: None };
    reader.read(file, text, 0)?;
    Ok(reader.found)
}

/// Reads a configuration file with those that it includes; `file` is its path.
///
/// # Errors
/// A wrong request for a line that the server would not accept, also of an included file, or for files that include
/// each other more than ten deep.
pub fn read_all(file: &str, text: &str, find: Find<'_>) -> Result<File, Problem> {
    let mut reader = Reader { found: File::default(), find: Some(find) };
    reader.read(file, text, 0)?;
    Ok(reader.found)
}

struct Reader<'a> {
    found: File,
    find: Option<Find<'a>>,
}

impl Reader<'_> {
    fn read(&mut self, file: &str, text: &str, depth: u32) -> Result<(), Problem> {
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
            if !INCLUDES.contains(&name.as_str()) {
                self.set(name, value);
                continue;
            }
            let Some(find) = self.find else {
                let hint = "write the settings of that file into this one";
                return Err(wrong(&format!("has {name}, which is not followed"), hint));
            };
            if depth >= DEEPEST {
                let hint = "the server does not start either: does a file include itself?";
                return Err(wrong(&format!("has {name}, more than {DEEPEST} files deep"), hint));
            }
            for included in find(&Include { directive: &name, value: &value, from: file }) {
                self.include(&name, included, depth)?;
            }
        }
        Ok(())
    }

    fn include(&mut self, directive: &str, included: Included, depth: u32) -> Result<(), Problem> {
        let Included { name, text } = included;
        match text {
            Ok(text) => self.read(&name, &text, depth + 1)?,
            Err(why) => self.found.unread.push(Unread { directive: directive.to_owned(), name, why }),
        }
        Ok(())
    }

    fn set(&mut self, name: String, value: String) {
        if self.found.settings.insert(name.clone(), value).is_some() {
            *self.found.repeated.entry(name).or_insert(1) += 1;
        }
    }
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

    /// Files of a directory `/etc` by their paths.
    fn of_files(text: &str, files: &[(&str, Result<&str, Unreadable>)]) -> Result<File, Problem> {
        let find = |include: &Include<'_>| -> Vec<Included> {
            assert!(include.from.starts_with("/etc/"), "{include:?}");
            let own = |(name, text): &(&str, Result<&str, Unreadable>)| Included {
                name: format!("/etc/{name}"),
                text: text.clone().map(str::to_owned),
            };
            files.iter().filter(|(name, _)| name.starts_with(include.value)).map(own).collect()
        };
        read_all("/etc/x.conf", text, &find)
    }

    #[test]
    fn included_files_are_read_where_they_are_included() {
        let files = [
            ("conf.d/1.conf", Ok("work_mem = 1MB\njit = off\n")),
            ("conf.d/2.conf", Ok("include 'more'\n")),
            ("more", Ok("work_mem = 2MB\n")),
            ("locked", Err(Unreadable::Other("permission denied".to_owned()))),
            ("gone", Err(Unreadable::Missing)),
        ];
        let text = "jit = on\ninclude_dir = 'conf.d'\ninclude 'locked'\nport = 1\ninclude 'gone'\n";
        let file = of_files(text, &files).expect("it is right");
        let pairs: Vec<_> =
            file.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        assert_eq!(pairs, [("jit", "off"), ("port", "1"), ("work_mem", "2MB")]);
        assert_eq!(file.repeated, [("jit".to_owned(), 2), ("work_mem".to_owned(), 2)].into());
        let unread: Vec<_> =
            file.unread.iter().map(|unread| (unread.directive.as_str(), unread.name.as_str())).collect();
        assert_eq!(unread, [("include", "/etc/locked"), ("include", "/etc/gone")]);
        assert_eq!(file.unread[1].why, Unreadable::Missing);
    }

    #[test]
    fn a_wrong_line_of_an_included_file_is_named_with_that_file() {
        let problem = of_files("include 'a'", &[("a", Ok("\nwork_mem\n"))]).expect_err("it is wrong");
        assert_eq!(problem.what, "could not read /etc/a: line 2 is no setting");
    }

    #[test]
    fn files_that_include_themselves_are_refused() {
        let twice = "include 'a'\ninclude 'a'\n";
        let problem = of_files(twice, &[("a", Ok(twice))]).expect_err("it does not end");
        assert!(problem.what.contains("more than 10 files deep"), "{problem}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC*") {
            let _ = read(&text);
        }
    }
}
