//! Configuration files that pgdyno writes for a server, and the check of the user's settings.

use std::{collections::BTreeMap, fmt::Write, net::IpAddr, path::Path};

use pgdyno_core::{facts::Choice, problem::Problem};
use pgdyno_plan::preset::is_off;

/// Settings that decide on location and access; each is set by a flag or by pgdyno alone.
const RESERVED: [(&str, &str); 8] = [
    (
        "listen_addresses",
        "a plan has listen in [server], a comparison listen= of an arm, `pgdyno up` --listen",
    ),
    ("port", "leave it out: a free port is chosen; `pgdyno up --port` starts a server on one of your choice"),
    ("data_directory", "use --data"),
    ("unix_socket_directories", "pgdyno chooses it, with a name short enough for a socket"),
    ("hba_file", "pgdyno writes it: the socket for its owner, TCP by password only"),
    ("config_file", "pgdyno writes it"),
    ("ident_file", "pgdyno needs none"),
    ("external_pid_file", "pgdyno finds the server by its data directory"),
];

/// Checks names and values of settings before they are written anywhere.
///
/// # Errors
/// If a name is not a valid setting name, a value cannot be written to a configuration file, or pgdyno sets the setting
/// itself.
pub fn check_settings(settings: &BTreeMap<String, String>) -> Result<(), Problem> {
    for (name, value) in settings {
        let letters = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') || !name.chars().all(letters) {
            return Err(Problem::wrong_request(format!("`{name}` cannot be the name of a setting"))
                .hint("write --set name=value, for example --set work_mem=64MB"));
        }
        if value.chars().any(|c| c.is_control()) {
            return Err(Problem::wrong_request(format!("the value of {name} has a control character in it")));
        }
        let reserved = RESERVED.iter().find(|(reserved, _)| name.eq_ignore_ascii_case(reserved));
        if let Some((reserved, instead)) = reserved {
            return Err(
                Problem::wrong_request(format!("{reserved} cannot be given as a setting")).hint(*instead)
            );
        }
    }
    Ok(())
}

/// Warns of settings that make acknowledged commits or the data less safe than the server's defaults do.
pub fn weakened(settings: &BTreeMap<String, String>) -> Vec<String> {
    let named = ["fsync", "full_page_writes", "synchronous_commit"];
    settings
        .iter()
        .filter(|(name, value)| named.iter().any(|n| name.eq_ignore_ascii_case(n)) && is_off(value))
        .map(|(name, value)| format!("{name} = {value} weakens durability: a crash may lose data"))
        .collect()
}

/// Merges the user's settings over the chosen ones.
pub fn merge(chosen: Vec<Choice>, given: &BTreeMap<String, String>) -> Vec<Choice> {
    let mut merged: Vec<Choice> = chosen
        .into_iter()
        .filter(|choice| !given.keys().any(|name| name.eq_ignore_ascii_case(&choice.name)))
        .collect();
    merged.extend(given.iter().map(|(name, value)| Choice {
        name: name.clone(),
        value: value.clone(),
        reason: "given".to_owned(),
    }));
    merged
}

/// Location of a server, and files it reads.
#[derive(Debug, Clone, Copy)]
pub struct ServerConf<'a> {
    /// Name of the server.
    pub name: &'a str,
    /// Directory of the socket.
    pub socket_dir: &'a Path,
    /// Port, for TCP and in the name of the socket.
    pub port: u16,
    /// Addresses to listen on by TCP; `None` is no TCP.
    pub listen: Option<&'a str>,
    /// Path of the server's `pg_hba.conf`.
    pub hba_file: &'a Path,
}

/// Renders the configuration file.
pub fn render(server: &ServerConf<'_>, settings: &[Choice]) -> String {
    let mut text =
        String::from("# Written by pgdyno at every start of this server; changes made here are lost.\n");
    let mut line = |name: &str, value: &str, reason: &str| {
        let comment = if reason.is_empty() { String::new() } else { format!("  # {}", one_line(reason)) };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{name} = {}{comment}", quote(value));
    };
    line("cluster_name", &format!("pgdyno-{}", server.name), "");
    line("listen_addresses", server.listen.unwrap_or(""), "");
    line("port", &server.port.to_string(), "");
    // This setting is a list: a name that contains a comma needs double quotes.
    let socket_dir = server.socket_dir.to_string_lossy().replace('"', "\"\"");
    line("unix_socket_directories", &format!("\"{socket_dir}\""), "");
    line("hba_file", &server.hba_file.to_string_lossy(), "");
    line("lc_messages", "C", "");
    for setting in settings {
        line(&setting.name, &setting.value, &setting.reason);
    }
    text
}

/// A reason without line breaks, which would end a comment.
fn one_line(reason: &str) -> String {
    reason.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Quotes a value for `guc-file.l`: quotes are doubled, and backslashes too, since they begin an escape.
pub fn quote(value: &str) -> String {
    format!("'{}'", value.replace('\\', "\\\\").replace('\'', "''"))
}

/// Clients that TCP admits if nothing else is said: those of the networks that this machine is part of.
const DEFAULT_ALLOW: &str = "samenet";
/// Words of `pg_hba.conf` that name networks.
const NETWORKS: [&str; 3] = ["all", "samehost", "samenet"];

/// Checks the networks whose clients TCP admits, and that there is TCP.
///
/// # Errors
/// A wrong request, with the wrong network.
pub fn check_allow(allow: &[String], listens: bool) -> Result<(), Problem> {
    if !allow.is_empty() && !listens {
        let what = "networks are allowed, but the server does not listen on TCP";
        return Err(Problem::wrong_request(what).hint("give the address to listen on, too (--listen)"));
    }
    match allow.iter().find(|network| !is_network(network)) {
        None => Ok(()),
        Some(network) => Err(Problem::wrong_request(format!("`{network}` is no network")).hint(
            "write an address with its prefix length, such as 192.168.1.0/24, or samehost, samenet or all",
        )),
    }
}

/// Whether `pg_hba.conf` takes this for addresses: a word, an address, or an address with a prefix length. Names of
/// hosts are not taken: they would be looked up at every connection.
fn is_network(text: &str) -> bool {
    let (address, length) = text.split_once('/').map_or((text, None), |(of, length)| (of, Some(length)));
    let Ok(address) = address.parse::<IpAddr>() else { return NETWORKS.contains(&text) };
    let most = if address.is_ipv4() { 32 } else { 128 };
    length.is_none_or(|length| length.parse::<u8>().is_ok_and(|length| length <= most))
}

/// A network as `pg_hba.conf` has it, where an address needs a prefix length.
fn network(text: &str) -> String {
    match text.parse::<IpAddr>() {
        Ok(IpAddr::V4(address)) => format!("{address}/32"),
        Ok(IpAddr::V6(address)) => format!("{address}/128"),
        Err(_) => text.to_owned(),
    }
}

/// The networks whose clients TCP admits: these, or else [`DEFAULT_ALLOW`].
pub fn networks(allow: &[String]) -> Vec<String> {
    match allow {
        [] => vec![DEFAULT_ALLOW.to_owned()],
        given => given.iter().map(|text| network(text)).collect(),
    }
}

/// Renders `pg_hba.conf`. The socket trusts everybody who can enter its directory, which only the owner can; TCP, if
/// enabled, admits clients of these networks, by default those of [`DEFAULT_ALLOW`], with a password (SCRAM from 10
/// on).
pub fn render_hba(version_num: u32, listens: bool, allow: &[String]) -> String {
    let mut text = String::from("local all all trust\nlocal replication all trust\n");
    let method = password_method(version_num);
    for network in networks(allow).into_iter().filter(|_| listens) {
        // Writing to a String cannot fail.
        let _ = write!(text, "host all all {network} {method}\nhost replication all {network} {method}\n");
    }
    text
}

/// The most secure password method of a version.
pub fn password_method(version_num: u32) -> &'static str {
    if version_num >= 100_000 { "scram-sha-256" } else { "md5" }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn wrong_settings_are_refused() {
        assert_eq!(check_settings(&settings(&[("work_mem", "64MB"), ("my.own", "x y 'z'")])), Ok(()));
        for (name, value) in [
            ("", "x"),
            ("a b", "x"),
            ("a=b", "x"),
            ("1a", "x"),
            ("a", "x\ny"),
            ("port", "1"),
            ("HBA_File", "x"),
        ] {
            assert!(check_settings(&settings(&[(name, value)])).is_err(), "{name:?}");
        }
    }

    #[test]
    fn weak_durability_is_named() {
        for value in ["off", "OFF", "of", "no", "false", "f", "0"] {
            assert_eq!(weakened(&settings(&[("fsync", value)])).len(), 1, "{value}");
        }
        assert_eq!(
            weakened(&settings(&[("fsync", "on"), ("synchronous_commit", "local"), ("jit", "off")])).len(),
            0
        );
    }

    #[test]
    fn the_user_wins_over_the_rules() {
        let chosen = vec![
            Choice { name: "work_mem".into(), value: "4MB".into(), reason: "r".into() },
            Choice { name: "max_connections".into(), value: "100".into(), reason: "r".into() },
        ];
        let merged = merge(chosen, &settings(&[("WORK_MEM", "8MB")]));
        let values: Vec<&str> = merged.iter().map(|choice| choice.value.as_str()).collect();
        assert_eq!(values, ["100", "8MB"]);
    }

    #[test]
    fn the_text_of_the_files() {
        let server = ServerConf {
            name: "x",
            socket_dir: Path::new("/run/it's"),
            port: 5433,
            listen: None,
            hba_file: Path::new("/s/pg_hba.conf"),
        };
        let text =
            render(&server, &[Choice { name: "a".into(), value: "b\\c".into(), reason: "why".into() }]);
        for line in
            ["listen_addresses = ''", "unix_socket_directories = '\"/run/it''s\"'", "a = 'b\\\\c'  # why"]
        {
            assert!(text.lines().any(|l| l == line), "{line} is not in\n{text}");
        }
        let hba = |version_num, listens, allow: &[&str]| {
            let allow: Vec<_> = allow.iter().map(|network| (*network).to_owned()).collect();
            render_hba(version_num, listens, &allow)
        };
        assert!(
            !hba(180_000, false, &[]).contains("host") && !hba(180_000, false, &["all"]).contains("host")
        );
        assert!(hba(180_000, true, &[]).contains("host all all samenet scram-sha-256"));
        assert!(!hba(180_000, true, &[]).contains(" all all all "), "not everybody, unless that is said");
        assert!(hba(90_600, true, &["all"]).contains("host all all all md5"));
        let two = hba(180_000, true, &["10.0.0.0/8", "::1"]);
        assert!(
            two.contains("host all all 10.0.0.0/8 scram-sha-256")
                && two.contains(" all ::1/128 scram-sha-256")
        );
        assert!(
            !two.contains("samenet") && !two.lines().any(|l| l.starts_with("host") && l.contains("trust"))
        );
    }

    #[test]
    fn networks_are_checked() {
        let check = |networks: &[&str], listens| {
            check_allow(&networks.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>(), listens)
        };
        assert_eq!(check(&["all", "samehost", "10.0.0.0/8", "::/0", "fe80::1", "10.1.2.3"], true), Ok(()));
        assert_eq!(check(&[], false), Ok(()));
        for wrong in
            ["", "host.example", "10.0.0.0/33", "10.0.0/8", "::/129", "0.0.0.0/0 trust", "10.0.0.0/8\nhost"]
        {
            let problem = check(&[wrong], true).expect_err(wrong);
            assert!(problem.what.ends_with("is no network"), "{}", problem.what);
        }
        assert!(check(&["all"], false).expect_err("nothing listens").what.contains("does not listen"));
    }

    proptest! {
        #[test]
        fn a_quoted_value_is_one_line_and_closes(value in "[^\\p{Cc}]*") {
            let quoted = quote(&value);
            let inside = &quoted[1..quoted.len() - 1];
            prop_assert_eq!(inside.replace("''", "'").replace("\\\\", "\\"), value);
            prop_assert_eq!(inside.matches('\'').count() % 2, 0);
        }
    }
}
