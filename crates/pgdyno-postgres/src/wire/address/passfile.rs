//! The password file (PostgreSQL manual, "The Password File").

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{Address, Password};

/// Most of a file that is read.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// What a password file came to.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Found {
    /// The password of the first matching line.
    pub(super) password: Option<Password>,
    /// Why the file was ignored, to be said if the server then asks for a password.
    pub(super) ignored: Option<String>,
}

/// Looks a password up in PGPASSFILE or ~/.pgpass. A file that others may read is ignored, as libpq does.
pub(super) fn look_up(
    path: Option<&str>,
    env: &dyn Fn(&str) -> Option<String>,
    address: &Address,
    database: &str,
    user: &str,
) -> Found {
    let default = || env("HOME").map(|home| PathBuf::from(home).join(".pgpass"));
    let Some(path) = path.map(PathBuf::from).or_else(default) else { return Found::default() };
    let Ok(metadata) = fs::metadata(&path) else { return Found::default() };
    if metadata.permissions().mode() & 0o077 != 0 {
        return ignored(format!(
            "{} was ignored, because others may read it (chmod 0600 it)",
            path.display()
        ));
    }
    if !metadata.is_file() {
        return ignored(format!("{} was ignored, because it is not a plain file", path.display()));
    }
    let text = match read(&path) {
        Ok(text) => text,
        Err(error) => return ignored(format!("{} could not be read: {error}", path.display())),
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

fn ignored(why: String) -> Found {
    Found { password: None, ignored: Some(why) }
}

/// A socket in a default directory counts as `localhost`.
fn is_default(dir: &Path) -> bool {
    ["/var/run/postgresql", "/run/postgresql", "/tmp"].iter().any(|default| dir == Path::new(default))
}

/// The password of the first line whose four fields match.
fn find(text: &str, wanted: &[&str; 4]) -> Option<Password> {
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let fields = split(line);
        let matching =
            fields.len() == 5 && fields.iter().zip(wanted).all(|(field, want)| field == "*" || field == want);
        matching.then(|| Password::new(fields[4].clone()))
    })
}

/// Five fields at colons; `\` escapes a colon or itself.
fn split(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        let last = fields.len() - 1;
        match c {
            '\\' => fields[last].extend(chars.next()),
            ':' if last < 4 => fields.push(String::new()),
            c => fields[last].push(c),
        }
    }
    fields
}

/// Looks up in any bytes, for what feeds it with anything: whether there was a password.
#[doc(hidden)]
pub fn fuzz(bytes: &[u8]) -> bool {
    find(&String::from_utf8_lossy(bytes), &["localhost", "5432", "db", "me"]).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// Whatever a password is made of, it comes back when it is escaped as the manual says.
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
        assert_eq!(find("elsewhere", "db"), Some(Password::new("last:one")));
    }

    #[test]
    fn a_file_that_others_may_read_is_ignored() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("pass");
        fs::write(&path, FILE).expect("it can be written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("it is ours");
        let look = || look_up(path.to_str(), &|_| None, &Address::Unix("/tmp".into(), 5432), "x", "me");
        assert!(look().ignored.expect("it is ignored").contains("chmod"));
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
        assert_eq!(look().password, Some(Password::new("one")));
    }
}
