//! Users of this machine.

use std::{fs, path::PathBuf, process::Command};

use serde::{Deserialize, Serialize};

/// A user of this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct User {
    /// Login name.
    pub name: String,
    /// User ID.
    pub uid: u32,
    /// ID of the user's primary group.
    pub gid: u32,
    /// Home directory.
    pub home: PathBuf,
}

/// The effective user of this process, whatever the environment says.
///
/// # Errors
/// If no user has the effective ID, which happens in containers; in libpq's words.
pub fn of_process() -> Result<User, String> {
    let uid = uid_of_process();
    by_number(uid).ok_or_else(|| format!("local user with ID {uid} does not exist"))
}

fn by_number(uid: u32) -> Option<User> {
    look_up(&uid.to_string(), |user| user.uid == uid)
}

/// ID of the effective user of this process.
pub fn uid_of_process() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// Name of the user with this ID.
pub fn name_of(uid: u32) -> Option<String> {
    by_number(uid).map(|user| user.name)
}

/// ID of a user of this machine.
pub fn uid_of(name: &str) -> Option<u32> {
    by_name(name).map(|user| user.uid)
}

/// Finds a user by name.
pub fn by_name(name: &str) -> Option<User> {
    look_up(name, |user| user.name == name)
}

/// Looks a user up in `/etc/passwd`, then with `getent`, which also queries directory services. `key` is a name or an
/// ID.
fn look_up(key: &str, is_it: impl Fn(&User) -> bool) -> Option<User> {
    let passwd = fs::read("/etc/passwd").unwrap_or_default();
    find(&String::from_utf8_lossy(&passwd), &is_it).or_else(|| {
        let output = Command::new("getent").args(["passwd", "--", key]).output().ok()?;
        find(&String::from_utf8_lossy(&output.stdout), &is_it)
    })
}

/// First user for which `is_it` holds, in a text in the format of `passwd(5)`: name, password, uid, gid, comment, home,
/// shell.
pub fn find(passwd: &str, is_it: impl Fn(&User) -> bool) -> Option<User> {
    let users = passwd.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        (fields.len() >= 6 && !fields[0].is_empty()).then_some(())?;
        let (uid, gid) = (fields[2].parse().ok()?, fields[3].parse().ok()?);
        Some(User { name: fields[0].to_owned(), uid, gid, home: PathBuf::from(fields[5]) })
    });
    users.into_iter().find(is_it)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PASSWD: &str = "\
root:x:0:0:root:/root:/bin/bash
toor:x:0:0::/root:/bin/sh
postgres:x:101:104:PostgreSQL administrator,,,:/var/lib/postgresql:/bin/bash
broken:x:abc:1::/:/bin/sh
short:x:1
";

    #[test]
    fn a_user_is_found_by_number() {
        let named = |uid| find(PASSWD, |user| user.uid == uid).map(|user| user.name);
        assert_eq!(named(0).as_deref(), Some("root"), "the first of two counts");
        assert_eq!((named(101).as_deref(), named(7)), (Some("postgres"), None));
        let me = of_process().expect("tests are run by somebody");
        assert_eq!(me.uid, rustix::process::geteuid().as_raw());
    }
}
