//! The main process of a running server.

use std::{collections::BTreeMap, path::Path};

use pgdyno_core::host::{Limit, ServerProcess};

use super::file::text;
use super::{
    dir::{number, regular},
    settings,
};
use crate::{procs::Stat, users};

/// Reads the server of a data directory; `None` if none runs, or if this user may not see it.
pub(super) fn read(root: &Path, data: &Path) -> Option<ServerProcess> {
    let file = regular(&data.join("postmaster.pid"))?;
    // A single-user server writes its process id as a negative number.
    let pid: u32 = file.lines().next()?.trim().parse().ok()?;
    let dir = root.join("proc").join(pid.to_string());
    let stat = Stat::parse(&text(&dir, "stat")?)?;
    // The file may be left from a server that was killed, and its process id in use again.
    (stat.name.contains("postgres") || stat.name.contains("postmaster")).then_some(())?;
    let limits = text(&dir, "limits").unwrap_or_default();
    Some(ServerProcess {
        pid,
        user: user(root, &text(&dir, "status").unwrap_or_default()),
        version_num: version_num(&regular(&data.join("PG_VERSION")).unwrap_or_default()),
        limits: limits.lines().skip(1).filter_map(limit).collect::<BTreeMap<_, _>>(),
        oom_score_adjustment: number(&dir, "oom_score_adj"),
        child_oom_score_adjustment: child(&dir, pid)
            .and_then(|child| number(&root.join("proc").join(child.to_string()), "oom_score_adj")),
        unit: unit(&text(&dir, "cgroup").unwrap_or_default()),
        settings: settings::read(data),
        // That takes a connection, which facts are read without.
        table_options: Vec::new(),
        huge_page_bytes: text(&dir, "maps").and_then(|maps| huge_page_bytes(&maps)),
    })
}

/// One of its children.
fn child(dir: &Path, pid: u32) -> Option<u32> {
    let children = text(dir, &format!("task/{pid}/children"))?;
    children.split_whitespace().next()?.parse().ok()
}

/// The real user by the line `Uid:`.
fn user(root: &Path, status: &str) -> Option<String> {
    let line = status.lines().find_map(|line| line.strip_prefix("Uid:"))?;
    let uid: u32 = line.split_whitespace().next()?.parse().ok()?;
    let passwd = text(root, "etc/passwd")?;
    users::find(&passwd, |user| user.uid == uid).map(|user| user.name)
}

/// 90600 of `9.6`, 180000 of `18`.
fn version_num(text: &str) -> Option<u32> {
    let mut numbers = text.trim().split('.').map(|number| number.parse::<u32>().ok());
    match (numbers.next()??, numbers.next().flatten()) {
        (major, None) if (10..1000).contains(&major) => Some(major * 10_000),
        (9, Some(minor)) if minor < 100 => Some(90_000 + minor * 100),
        _ => None,
    }
}

/// Name and values of a line of `/proc/PID/limits`, whose first column has 26 characters.
fn limit(line: &str) -> Option<(String, Limit)> {
    let (name, rest) = line.split_at_checked(26)?;
    let mut values = rest.split_whitespace().map(value);
    let (soft, hard) = (values.next()??, values.next()??);
    Some((name.trim().to_owned(), Limit { soft, hard }))
}

/// A number, or none for `unlimited`; `None` for anything else.
fn value(word: &str) -> Option<Option<u64>> {
    match word {
        "unlimited" => Some(None),
        number => number.parse().ok().map(Some),
    }
}

/// The service that a control group belongs to.
fn unit(groups: &str) -> Option<String> {
    let mut parts = groups.lines().flat_map(|line| line.splitn(3, ':').nth(2).unwrap_or_default().split('/'));
    parts.rfind(|part| part.ends_with(".service")).map(str::to_owned)
}

/// Bytes of mappings of shared memory in explicit huge pages. With `shared_memory_type = sysv` a segment does not show
/// its pages, so that nothing is known.
fn huge_page_bytes(maps: &str) -> Option<u64> {
    /// A server with `mmap` has a segment of a few bytes too, for its identity.
    const OF_IDENTITY: u64 = 1 << 20;
    let mut sum = 0_u64;
    for line in maps.lines() {
        let Some((range, rest)) = line.split_once(' ') else { continue };
        let bounds = range.split_once('-').map(|(from, to)| [from, to].map(|at| u64::from_str_radix(at, 16)));
        let Some([Ok(from), Ok(to)]) = bounds else { continue };
        let bytes = to.saturating_sub(from);
        if rest.contains("/SYSV") && bytes > OF_IDENTITY {
            return None;
        }
        if rest.contains("/anon_hugepage") {
            sum = sum.saturating_add(bytes);
        }
    }
    (!maps.is_empty()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::facts::tests::tree;

    const LIMITS: &str = "\
Limit                     Soft Limit           Hard Limit           Units     
Max cpu time              unlimited            unlimited            seconds   
Max open files            1024                 524288               files     
Max locked memory         8388608              unlimited            bytes     
Max nice priority         0                    0                    
nonsense
";

    #[test]
    fn a_running_server_is_read() {
        let root = tree(&[
            ("data/postmaster.pid", "4242\n/data\n1700000000\n5432\n"),
            ("data/PG_VERSION", "18\n"),
            ("data/postgresql.conf", "shared_buffers = 1GB\n"),
            ("etc/passwd", "root:x:0:0:root:/root:/bin/sh\npostgres:x:101:104::/home:/bin/sh\n"),
            ("proc/4242/stat", "4242 (postgres) S 1 2 3 0 -1 4 5 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200\n"),
            ("proc/4242/status", "Name:\tpostgres\nUid:\t101\t101\t101\t101\n"),
            ("proc/4242/limits", LIMITS),
            ("proc/4242/oom_score_adj", "-900\n"),
            ("proc/4242/cgroup", "0::/system.slice/system-postgresql.slice/postgresql@18-main.service\n"),
            (
                "proc/4242/maps",
                "7f0000000000-7f0040000000 rw-s 00000000 00:0f 1 /anon_hugepage (deleted)\n\
                 7f0050000000-7f0050001000 rw-s 00000000 00:01 2 /SYSV0052e2c1 (deleted)\n",
            ),
        ]);
        let server = read(root.path(), &root.path().join("data")).expect("it runs");
        assert_eq!((server.pid, server.user.as_deref()), (4242, Some("postgres")));
        assert_eq!((server.version_num, server.oom_score_adjustment), (Some(180_000), Some(-900)));
        assert_eq!(server.unit.as_deref(), Some("postgresql@18-main.service"));
        assert_eq!(server.limits["Max open files"], Limit { soft: Some(1024), hard: Some(524_288) });
        assert_eq!(server.limits["Max locked memory"], Limit { soft: Some(8_388_608), hard: None });
        assert_eq!((server.limits.len(), server.huge_page_bytes), (4, Some(1 << 30)));
        assert_eq!(server.settings["shared_buffers"], "1GB");
    }

    #[test]
    fn a_process_id_that_is_in_use_again_is_no_server() {
        for (file, name) in
            [("4242\n", "bash"), ("-4242\n", "postgres"), ("", "postgres"), ("7\n", "postgres")]
        {
            let stat = format!("4242 ({name}) S 1 2 3 0 -1 4 5 0 0 0 1 2 0 0 20 0 1 0 987654 1000 200\n");
            let root = tree(&[("data/postmaster.pid", file), ("proc/4242/stat", &stat)]);
            assert_eq!(read(root.path(), &root.path().join("data")), None, "{file:?} {name}");
        }
    }

    #[test]
    fn versions_have_numbers() {
        for (text, number) in [
            ("18\n", Some(180_000)),
            ("9.6\n", Some(90_600)),
            ("10", Some(100_000)),
            ("9", None),
            ("x", None),
            ("", None),
        ] {
            assert_eq!(version_num(text), number, "{text:?}");
        }
    }

    #[test]
    fn pages_of_a_system_v_segment_are_unknown() {
        assert_eq!(huge_page_bytes("10000000-90000000 rw-s 0 00:01 2 /SYSV0052e2c1 (deleted)\n"), None);
        assert_eq!(huge_page_bytes("10000000-90000000 rw-s 0 00:01 2 /dev/zero (deleted)\n"), Some(0));
        assert_eq!(huge_page_bytes(""), None);
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "(?s).{0,200}", range in "[0-9a-f-]{0,40} .{0,20}/anon_hugepage") {
            let _ = (version_num(&text), limit(&text), unit(&text), huge_page_bytes(&text));
            let _ = huge_page_bytes(&range);
        }
    }
}
