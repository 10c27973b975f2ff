//! A systemd unit for a server that `up` made.

use std::{fmt::Write as _, path::Path};

use pgdyno_core::cpus::CpuList;

use super::{registry::Record, version::version_words};

/// Directory of units that an administrator makes.
const UNITS: &str = "/etc/systemd/system";

/// The unit that starts the server of this record at boot, with the program, directories, user, CPUs and log that `up`
/// would use. `owner` is the user who made the server, for one without a user of its own; `log` is its log.
///
/// It follows the example in the manual of PostgreSQL ("Starting the Database Server"), but does not wait for a
/// notification, which only a program built with `--with-systemd` sends.
pub fn unit(record: &Record, owner: &str, log: &Path) -> String {
    let name = &record.name;
    let user = record.run_as.as_ref().map_or(owner, |user| &user.name);
    let mut text = format!(
        "# {UNITS}/pgdyno-{name}.service\n\
         # To use it, as root: write it there, then\n\
         #   pgdyno down {name}\n\
         #   systemctl daemon-reload\n\
         #   systemctl enable --now pgdyno-{name}\n\
         # The configuration stays that of the last `pgdyno up {name}`.\n\n"
    );
    let mut line = |line: &str| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{line}");
    };
    line("[Unit]");
    line(&format!("Description=PostgreSQL {}, server {name} of pgdyno", version_words(record.version_num)));
    line(match record.listen {
        None => "After=local-fs.target",
        // An address can be bound only once its interface has it.
        Some(_) => "Wants=network-online.target\nAfter=local-fs.target network-online.target",
    });
    let spaces = record.tablespaces.iter().map(|(_, place)| place);
    let places = [&record.data].into_iter().chain(&record.wal).chain(spaces).map(|place| &place.path);
    let mounts: Vec<String> = places.chain([&record.bindir]).map(|path| quoted(path)).collect();
    line(&format!("RequiresMountsFor={}", mounts.join(" ")));
    line("\n[Service]\nType=exec");
    line(&format!("User={user}"));
    let program = record.bindir.join("postgres");
    line(&format!("ExecStart={} -D {}", of_command(&program), of_command(&record.data.path)));
    line("ExecReload=/bin/kill -HUP $MAINPID");
    line(&format!("WorkingDirectory={}", escaped(&record.data.path)));
    line(&format!("StandardOutput=append:{}\nStandardError=inherit", escaped(log)));
    if let Ok(below_run) = record.socket.path.strip_prefix("/run") {
        line("# The directory of the socket, which a reboot removes.");
        line(&format!("RuntimeDirectory={}\nRuntimeDirectoryMode=0700", quoted(below_run)));
        line("RuntimeDirectoryPreserve=yes");
    }
    if let Some(cpus) = CpuList::of(record.cpus.clone()).filter(|cpus| !cpus.as_slice().is_empty()) {
        line(&format!("CPUAffinity={cpus}"));
    }
    line(SERVICE);
    text
}

/// What is the same for all servers.
const SERVICE: &str = "\
Environment=LANG=C LC_ALL=C PG_OOM_ADJUST_FILE=/proc/self/oom_score_adj PG_OOM_ADJUST_VALUE=0
# The kernel kills a backend that takes all memory rather than the postmaster, and with it all sessions.
OOMScoreAdjust=-900
# A fast shutdown, of the postmaster alone: it ends its children in their order.
KillMode=mixed
KillSignal=SIGINT
# Recovery and the checkpoint of a shutdown take as long as they take; killed, they only begin again.
TimeoutSec=infinity
# Files of io_uring and of many partitions, and processes of many sessions.
LimitNOFILE=524288
TasksMax=infinity
Restart=no

[Install]
WantedBy=multi-user.target";

/// A path without what systemd would expand (systemd.unit(5), "Specifiers").
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%")
}

/// A path as one of several words (systemd.syntax(7)).
fn quoted(path: &Path) -> String {
    let text = escaped(path);
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+:@%".contains(c);
    match text.chars().all(is_plain) {
        true => text,
        false => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
    }
}

/// A path as a word of a command line, where variables are expanded as well (systemd.service(5), "Command lines").
fn of_command(path: &Path) -> String {
    quoted(path).replace('$', "$$")
}

#[cfg(test)]
mod tests {
    use std::{collections::BTreeMap, path::PathBuf};

    use pgdyno_core::facts::ServerSource;
    use pgdyno_host::users::User;

    use super::*;
    use crate::{Place, registry::Phase};

    fn record() -> Record {
        let user =
            User { name: "postgres".into(), uid: 105, gid: 109, home: PathBuf::from("/var/lib/postgresql") };
        Record {
            format: crate::registry::FORMAT,
            name: "main".into(),
            phase: Phase::Stopped,
            version_num: 180_001,
            version: "18.1".into(),
            source: ServerSource::Installed,
            pinned: None,
            build: None,
            bindir: "/usr/lib/postgresql/18/bin".into(),
            data: Place::planned("/nvme/my data/100%".into()),
            wal: Some(Place::planned("/wal/pg".into())),
            tablespaces: vec![("fast".into(), Place::planned("/fast/$pg".into()))],
            socket: Place::planned("/run/pgdyno/main-0a1b2c3d".into()),
            port: 5432,
            listen: None,
            allow: Vec::new(),
            run_as: Some(user),
            wal_segsize_mb: None,
            cpus: Vec::new(),
            given: BTreeMap::new(),
            settings: Vec::new(),
            preset: None,
            preset_used: None,
        }
    }

    #[test]
    fn it_starts_what_up_would_start() {
        let text = unit(&record(), "root", Path::new("/var/lib/pgdyno/servers/main/server.log"));
        for line in [
            "Description=PostgreSQL 18.1, server main of pgdyno",
            "After=local-fs.target",
            "User=postgres",
            "ExecStart=/usr/lib/postgresql/18/bin/postgres -D \"/nvme/my data/100%%\"",
            "WorkingDirectory=/nvme/my data/100%%",
            "StandardOutput=append:/var/lib/pgdyno/servers/main/server.log",
            "RuntimeDirectory=pgdyno/main-0a1b2c3d",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        let mounts = text.lines().find(|line| line.starts_with("RequiresMountsFor=")).expect("there is one");
        for path in ["\"/nvme/my data/100%%\"", "/wal/pg", "\"/fast/$pg\"", "/usr/lib/postgresql/18/bin"] {
            assert!(mounts.contains(path), "{path} is not in {mounts}");
        }
        assert!(!text.contains("CPUAffinity"), "{text}");
    }

    #[test]
    fn cpus_addresses_and_owners_are_kept() {
        let made = Record {
            cpus: vec![0, 1, 2, 5],
            listen: Some("192.168.1.5".into()),
            run_as: None,
            socket: Place::planned("/home/ann/.local/share/pgdyno/servers/main/run".into()),
            ..record()
        };
        let text = unit(&made, "ann", Path::new("/l"));
        assert!(text.contains("\nCPUAffinity=0-2,5\n"), "{text}");
        assert!(text.contains("\nAfter=local-fs.target network-online.target\n"), "{text}");
        assert!(text.contains("\nUser=ann\n") && !text.contains("RuntimeDirectory"), "{text}");
    }
}
