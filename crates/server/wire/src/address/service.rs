//! Service files (PostgreSQL manual, "The Connection Service File").

use std::{
    fs::{self, File},
    io::Read,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;

use super::keys;

/// Longest line, as in libpq.
const MAX_LINE_BYTES: usize = 1022;
/// Longest file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;
/// Directory of the system-wide file if `PGSYSCONFDIR` is not set: Debian's.
const SYSTEM_DIR: &str = "/etc/postgresql-common";

/// Key, value and line number of a setting.
pub(super) type Entry = (String, String, usize);

/// Looks up a service in `PGSERVICEFILE` or `~/.pg_service.conf`, then in the system-wide file. Returns its settings
/// and the path of the file.
///
/// # Errors
/// If a file cannot be read or is malformed, or no file has the service.
pub(super) fn look_up(
    service: &str,
    env: &dyn Fn(&str) -> Option<String>,
) -> Result<(Vec<Entry>, PathBuf), Problem> {
    let named = env("PGSERVICEFILE").filter(|path| !path.is_empty()).map(PathBuf::from);
    let own = named.clone().or_else(|| Some(PathBuf::from(env("HOME")?).join(".pg_service.conf")));
    let own = own.filter(|path| named.is_some() || path.exists());
    let dir = env("PGSYSCONFDIR").filter(|dir| !dir.is_empty()).unwrap_or_else(|| SYSTEM_DIR.to_owned());
    let system = Some(PathBuf::from(dir).join("pg_service.conf")).filter(|path| path.exists());
    let mut looked = Vec::new();
    for path in own.into_iter().chain(system) {
        if let Some(entries) = parse(&read(&path)?, service, &path)? {
            return Ok((entries, path));
        }
        looked.push(path.display().to_string());
    }
    let problem = Problem::wrong_request(format!("definition of service \"{service}\" not found"));
    Err(match looked.is_empty() {
        true => problem.detail("there is no service file"),
        false => problem.detail(format!("looked in {}", looked.join(", "))),
    }
    .hint("service files are ~/.pg_service.conf, or what PGSERVICEFILE names, and $PGSYSCONFDIR/pg_service.conf"))
}

/// Reads a file up to a size limit; refuses pipes and devices.
fn read(path: &Path) -> Result<String, Problem> {
    let wrong = |why: &str| {
        Problem::wrong_request(format!("could not read the service file {}: {why}", path.display()))
    };
    let metadata = fs::metadata(path).map_err(|error| wrong(&error.to_string()))?;
    if !metadata.is_file() {
        return Err(wrong("it is not a plain file"));
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(wrong("it is longer than 1 MiB"));
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|error| wrong(&error.to_string()))?;
    file.take(MAX_FILE_BYTES).read_to_end(&mut bytes).map_err(|error| wrong(&error.to_string()))?;
    String::from_utf8(bytes).map_err(|_| wrong("it is not UTF-8"))
}

/// Settings of a service; `None` if the file does not have it. The first of several sections of a name counts, and the
/// first of several lines of a key.
///
/// # Errors
/// A malformed line or unsupported setting, with file and line.
pub(super) fn parse(text: &str, service: &str, path: &Path) -> Result<Option<Vec<Entry>>, Problem> {
    let mut found: Option<Vec<Entry>> = None;
    for (at, line) in text.split('\n').enumerate() {
        let wrong = |why: &str| {
            let place = format!("{}:{}", path.display(), at + 1);
            Problem::wrong_request(format!("could not read the service file {place}: {why}"))
        };
        if line.len() > MAX_LINE_BYTES {
            return Err(wrong("the line is too long"));
        }
        let line = line.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b');
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(section) = line.strip_prefix('[') {
            if found.is_some() {
                break;
            }
            // libpq ignores the text after the bracket.
            let is_it = section.strip_prefix(service).is_some_and(|rest| rest.starts_with(']'));
            found = is_it.then(Vec::new);
            continue;
        }
        let Some(entries) = &mut found else { continue };
        if line.starts_with("ldap") {
            return Err(wrong("services are not looked up by LDAP"));
        }
        let (key, value) = line.split_once('=').ok_or_else(|| wrong("a line lacks its \"=\""))?;
        if key == "service" {
            return Err(wrong("a service cannot name another"));
        }
        keys::check(key).map_err(|problem| Problem {
            hint: problem.hint,
            ..wrong(&format!("unknown keyword `{key}`"))
        })?;
        if !entries.iter().any(|(known, ..)| known == key) {
            entries.push((key.to_owned(), value.to_owned(), at + 1));
        }
    }
    Ok(found)
}

/// Entry point for fuzzing: parses arbitrary bytes; returns whether they were accepted.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    ["a", "prod", ""].iter().all(|service| parse(&text, service, Path::new("f")).is_ok())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "# services\n\n[a]\nhost=one\n  port=1  \r\nport=2\noptions=-c a=b\n[b] # two\nhost=two\n\
                        [a]\nhost=three\n[wrong]\nhots=1\n[nested]\nservice=a\n[ldap]\nldap://x\n[cut]\nhost\n";

    fn service(name: &str) -> Result<Option<Vec<Entry>>, Problem> {
        parse(FILE, name, Path::new("services"))
    }

    fn entries(of: &[(&str, &str, usize)]) -> Vec<Entry> {
        of.iter().map(|(key, value, line)| ((*key).to_owned(), (*value).to_owned(), *line)).collect()
    }

    #[test]
    fn a_service_has_the_keys_of_its_section() {
        let want = [("host", "one", 4), ("port", "1", 5), ("options", "-c a=b", 7)];
        assert_eq!(service("a").expect("it is well formed"), Some(entries(&want)));
        assert_eq!(service("b").expect("it is well formed"), Some(entries(&[("host", "two", 9)])));
        assert_eq!(service("c").expect("it is well formed"), None);
        assert_eq!(service("a]").expect("it is well formed"), None);
    }

    #[test]
    fn what_is_wrong_is_named_with_its_line() {
        for (name, why) in [
            ("wrong", "services:13: unknown keyword `hots`"),
            ("nested", "services:15: a service cannot name another"),
            ("ldap", "services:17: services are not looked up by LDAP"),
            ("cut", "services:19: a line lacks its \"=\""),
        ] {
            let problem = service(name).expect_err(name);
            assert!(problem.what.ends_with(why), "{}", problem.what);
        }
        let long = format!("[a]\n{}", "x".repeat(2000));
        assert!(
            parse(&long, "a", Path::new("f"))
                .expect_err("too long")
                .what
                .contains("f:2: the line is too long")
        );
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[\\[\\]a=#\\n é]{0,60}") {
            let _ = fuzz(text.as_bytes());
        }
    }
}
