//! Limits that a login of the server's user would get, by the files of pam_limits (limits.conf(5)).

use std::{fs, os::unix::fs::MetadataExt, path::Path};

use pgdyno_core::host::{LimitLine, Login};

use super::dir::{names, regular};
use super::file::text;
use crate::users;

/// Most files of `limits.d` that are read.
const MOST_FILES: usize = 64;
/// Most lines that are kept.
const MOST_LINES: usize = 512;

/// The user of packages and guides, where no data directory says another.
const USUAL_USER: &str = "postgres";

/// The user, by numbers as far as the files of this host know them.
#[derive(Debug, Default)]
struct Account {
    name: String,
    uid: Option<u32>,
    /// Names and numbers of all groups.
    groups: Vec<(String, u32)>,
}

/// Reads the lines that concern the owner of the data directory, its groups or everybody.
pub(super) fn read(root: &Path, data: Option<&Path>) -> Login {
    let account = account(root, data.and_then(|data| fs::metadata(data).ok()).map(|data| data.uid()));
    let dir = root.join("etc/security");
    let mut more: Vec<String> = names(&dir.join("limits.d"));
    more.retain(|name| name.ends_with(".conf"));
    // pam_limits reads them in the order of the C locale, after the main file.
    more.sort();
    let more = more.iter().take(MOST_FILES).map(|name| format!("limits.d/{name}"));
    let files = ["limits.conf".to_owned()].into_iter().chain(more);
    let (mut found, mut unread) = (Vec::new(), Vec::new());
    for file in files {
        let (path, name) = (dir.join(&file), format!("/etc/security/{file}"));
        match regular(&path) {
            Some(text) => found.extend(lines(&name, &text, &account)),
            None if may_exist(&path) => unread.push(name),
            None => {}
        }
    }
    let more = dir.join("limits.d");
    if fs::read_dir(&more).is_err() && may_exist(&more) {
        unread.push("/etc/security/limits.d".to_owned());
    }
    found.truncate(MOST_LINES);
    Login { lines: found, user: account.name, unread }
}

fn may_exist(path: &Path) -> bool {
    path.try_exists().unwrap_or(true)
}

fn account(root: &Path, uid: Option<u32>) -> Account {
    let passwd = text(root, "etc/passwd").unwrap_or_default();
    let owner = uid.and_then(|uid| users::find(&passwd, |user| user.uid == uid));
    let user = owner.or_else(|| users::find(&passwd, |user| user.name == USUAL_USER));
    let Some(user) = user else { return Account { name: USUAL_USER.to_owned(), ..Account::default() } };
    let groups = text(root, "etc/group").unwrap_or_default();
    let groups = groups.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let (name, gid) = (*fields.first()?, fields.get(2)?.parse().ok()?);
        let is_member = gid == user.gid || fields.get(3)?.split(',').any(|member| member == user.name);
        is_member.then(|| (name.to_owned(), gid))
    });
    Account { groups: groups.collect(), uid: Some(user.uid), name: user.name }
}

/// The lines of a file that concern an account: domain, type, item and value, with a comment behind `#`. A line of a
/// domain and `-` exempts it from all limits.
fn lines(file: &str, text: &str, account: &Account) -> Vec<LimitLine> {
    let found = text.lines().filter_map(|line| {
        let words: Vec<&str> = line.split('#').next()?.split_whitespace().collect();
        let (domain, kind, item, value) = match words[..] {
            [domain, kind @ ("soft" | "hard" | "-"), item, value, ..] => (domain, kind, item, value),
            [domain, "-"] => (domain, "-", "", ""),
            _ => return None,
        };
        let line = || LimitLine {
            file: file.to_owned(),
            domain: domain.to_owned(),
            kind: kind.to_owned(),
            item: item.to_owned(),
            value: value.to_owned(),
        };
        concerns(domain, account).then(line)
    });
    found.collect()
}

/// Whether a domain is the account, one of its groups, everybody, or a range of numbers that it is in. Limits of
/// everybody and of groups are not those of root.
fn concerns(domain: &str, account: &Account) -> bool {
    if domain == account.name {
        return true;
    }
    let is_root = account.uid == Some(0);
    match domain.strip_prefix(['@', '%']) {
        // `%` alone limits the logins of all groups together.
        Some("") => false,
        Some(group) => {
            let is_it = |(name, gid): &(String, u32)| name == group || is_in(group, *gid);
            !is_root && account.groups.iter().any(is_it)
        }
        None => (domain == "*" && !is_root) || account.uid.is_some_and(|uid| is_in(domain, uid)),
    }
}

/// Whether a number is in `MIN:MAX`, at least `MIN:`, or exactly `:MAX`.
fn is_in(range: &str, number: u32) -> bool {
    let Some((least, most)) = range.split_once(':') else { return false };
    let parsed = (least.parse::<u32>().ok(), most.parse::<u32>().ok());
    match (parsed, least.is_empty(), most.is_empty()) {
        ((Some(least), Some(most)), ..) => (least..=most).contains(&number),
        ((Some(least), None), _, true) => number >= least,
        ((None, Some(most)), true, _) => number == most,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const PASSWD: &str = "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/var/lib/postgresql:/bin/sh\n";
    const GROUP: &str = "root:x:0:\nssl-cert:x:110:www,postgres\npostgres:x:104:\nother:x:5:www\n";

    #[test]
    fn lines_are_in_the_order_of_pam_limits() {
        let root = tree(&[
            ("etc/passwd", PASSWD),
            ("etc/group", GROUP),
            (
                "etc/security/limits.conf",
                "# a comment\n* soft nofile 1024000 # x\n@ssl-cert - memlock unlimited\n@other hard nproc 1\n\
                 postgres hard core 0\nwww soft core 0\n* soft\npostgres -\n",
            ),
            ("etc/security/limits.d/20-nproc.conf", "* soft nproc 4096\nroot soft nproc unlimited\n"),
            ("etc/security/limits.d/10-x.conf", "100:200 soft stack 8192\n"),
            ("etc/security/limits.d/README", "* soft nproc 1\n"),
        ]);
        let login = read(root.path(), None);
        let found: Vec<_> = login
            .lines
            .iter()
            .map(|line| format!("{} {} {} {}", line.domain, line.kind, line.item, line.value))
            .collect();
        assert_eq!(login.user, "postgres");
        assert_eq!(
            found,
            [
                "* soft nofile 1024000",
                "@ssl-cert - memlock unlimited",
                "postgres hard core 0",
                "postgres -  ",
                "100:200 soft stack 8192",
                "* soft nproc 4096"
            ]
        );
        assert_eq!(login.lines[5].file, "/etc/security/limits.d/20-nproc.conf");
        assert!(login.unread.is_empty());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let root =
            tree(&[("etc/security/limits.d/1.conf/x", ""), ("etc/security/limits.d/2.conf", "* - core 0\n")]);
        let login = read(root.path(), None);
        assert_eq!(
            (login.lines.len(), &login.unread[..]),
            (1, &["/etc/security/limits.d/1.conf".to_owned()][..])
        );
        let root = tree(&[("etc/security/limits.d", "no directory")]);
        assert_eq!(read(root.path(), None).unread, ["/etc/security/limits.d"]);
        assert!(read(tree(&[]).path(), None).unread.is_empty());
    }

    #[test]
    fn root_has_no_limits_of_others() {
        let root = Account { name: "root".into(), uid: Some(0), groups: vec![("root".into(), 0)] };
        for (domain, expected) in [("*", false), ("@root", false), ("root", true), ("0:10", true)] {
            assert_eq!(concerns(domain, &root), expected, "{domain}");
        }
    }

    #[test]
    fn ranges_have_open_ends() {
        for (range, number, expected) in [
            ("100:200", 200, true),
            ("100:200", 201, false),
            ("100:", 5000, true),
            ("100:", 99, false),
            (":100", 100, true),
            (":100", 50, false),
            (":", 0, false),
            ("x:200", 100, false),
            ("postgres", 101, false),
        ] {
            assert_eq!(is_in(range, number), expected, "{range} {number}");
        }
    }

    #[test]
    fn without_files_the_usual_user_has_no_lines() {
        let login = read(tree(&[]).path(), None);
        assert_eq!((login.user.as_str(), login.lines.len()), ("postgres", 0));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}", number in any::<u32>()) {
            let account = Account { name: "a".into(), uid: Some(number), groups: vec![(text.clone(), number)] };
            let _ = (lines("x", &text, &account), concerns(&text, &account), is_in(&text, number));
            let root = tree(&[("etc/passwd", &text), ("etc/group", &text), ("etc/security/limits.conf", &text)]);
            let _ = read(root.path(), None);
        }
    }
}
