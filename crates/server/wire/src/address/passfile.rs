//! The password file (PostgreSQL manual, "The Password File").

use std::{
    fmt,
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{Address, Password};

/// Most bytes read of a file.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Result of a lookup in a password file.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// Password of the first matching line.
    pub(super) password: Option<Password>,
    /// The file, if it was ignored.
    pub(super) ignored: Option<Ignored>,
}

/// A password file that exists and was ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ignored {
    /// Path of the file.
    pub path: PathBuf,
    /// Why it was ignored.
    pub why: WhyIgnored,
}

/// Why a password file is ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WhyIgnored {
    /// Other users have access to the file.
    Open,
    /// The file is a directory, a pipe or a device.
    NotPlain,
    /// The file could not be read: the system's error text.
    Unreadable(String),
}

impl fmt::Display for Ignored {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.why {
            WhyIgnored::Open => write!(f, "{path} was ignored, because others may read it (chmod 0600 it)"),
            WhyIgnored::NotPlain => write!(f, "{path} was ignored, because it is not a plain file"),
            WhyIgnored::Unreadable(error) => write!(f, "{path} could not be read: {error}"),
        }
    }
}

/// Path of the password file: the one named (`passfile`, PGPASSFILE), else ~/.pgpass.
pub(super) fn path(named: Option<&str>, env: &dyn Fn(&str) -> Option<String>) -> Option<PathBuf> {
    let default = || env("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    named.map(PathBuf::from).or_else(default)
}

/// Looks up a password in a file. A file that other users can read is ignored, as in libpq.
pub(super) fn look_up(path: &Path, address: &Address, database: &str, user: &str) -> Found {
    let ignored = |why| Found { password: None, ignored: Some(Ignored { path: path.to_owned(), why }) };
    let Ok(metadata) = fs::metadata(path) else { return Found::default() };
    if !metadata.is_file() {
        return ignored(WhyIgnored::NotPlain);
    }
    if metadata.permissions().mode() & 0o077 != 0 {
        return ignored(WhyIgnored::Open);
    }
    let text = match read(path) {
        Ok(text) => text,
        Err(error) => return ignored(WhyIgnored::Unreadable(error.to_string())),
    };
    let (host, port) = match address {
        Address::Unix(dir, port) if is_default(dir) => ("localhost".to_owned(), port),
        Address::Unix(dir, port) => (dir.display().to_string(), port),
        Address::Tcp(host, port) => (host.clone(), port),
    };
    Found { password: find(&text, &[&host, &port.to_string(), database, user]), ignored: None }
}

fn read(path: &Path) -> io::Result<String> {
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Whether a directory is a default one, whose socket counts as `localhost`.
fn is_default(dir: &Path) -> bool {
    ["/var/run/postgresql", "/run/postgresql", "/tmp"].iter().any(|default| dir == Path::new(default))
}

/// Password of the first line whose four fields match; `None` if it is empty.
fn find(text: &str, wanted: &[&str; 4]) -> Option<Password> {
    let found = text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split(line);
        let matching =
            fields.len() >= 5 && fields.iter().zip(wanted).all(|(field, want)| field == "*" || field == want);
        matching.then(|| fields[4].clone())
    });
    found.filter(|password| !password.is_empty()).map(Password::new)
}

/// Splits a line at colons; `\` escapes a colon or itself. Text after the fifth field is ignored, as in libpq.
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            '\\' => fields[last].extend(chars.next()),
            ':' => fields.push(String::new()),
            c => fields[last].push(c),
        }
    }
    fields
}

/// Entry point for fuzzing: looks up a password in arbitrary bytes; returns whether there was one.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) -> bool {
    find(&String::from_utf8_lossy(bytes), &["localhost", "5432", "db", "me"]).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Every password comes back if it is escaped as the manual says.
        #[test]
        fn an_escaped_password_comes_back(password in "[a-z:\\\\*é ]{1,12}") {
            let escaped = password.replace('\\', "\\\\").replace(':', "\\:");
            let found = find(&format!("h:1:d:u:{escaped}\n"), &["h", "1", "d", "u"]);
            prop_assert_eq!(found, Some(Password::new(password)));
        }

        #[test]
        fn no_text_makes_it_panic(text in "[a:*\\\\#\\n é]{0,60}") {
            let _ = fuzz(text.as_bytes());
        }
    }

    const FILE: &str = "# a comment\nlocalhost:5432:*:me:one\nh\\:ost:*:db:me:t\\:w\\\\o\n*:*:*:*:last:one\n";

    #[test]
    fn the_first_matching_line_counts() {
        let find = |host, db| find(FILE, &[host, "5432", db, "me"]);
        assert_eq!(find("localhost", "x"), Some(Password::new("one")));
        assert_eq!(find("h:ost", "db"), Some(Password::new("t:w\\o")));
        // As in fe-connect.c, a password field ends at a colon that is not escaped.
        assert_eq!(find("elsewhere", "db"), Some(Password::new("last")));
        assert_eq!(
            super::find("h:1:d:me:\n*:*:*:*:x\n", &["h", "1", "d", "me"]),
            None,
            "an empty one is none"
        );
    }

    #[test]
    fn a_file_that_others_may_read_is_ignored() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pass");
        fs::write(&path, FILE).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        let look = || look_up(&path, &Address::Unix("/tmp".into(), 5432), "x", "me");
        assert_eq!(look().ignored, Some(Ignored { path: path.clone(), why: WhyIgnored::Open }));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        assert_eq!(look().password, Some(Password::new("one")));
    }
}
