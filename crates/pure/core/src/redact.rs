//! Redacts secrets from what is recorded (invariant 2).

use crate::facts::SECRET_SETTINGS;

/// Replacement of a secret.
pub const REDACTED: &str = "***";

/// Prefix of the second connection string of a subject.
const ADMIN_DSN: &str = ",admin-dsn=";

/// Suffixes of keys whose value is a secret.
const SECRET_ENDINGS: [&str; 7] =
    ["password", "passwd", "passphrase", "secret", "token", "scram_client_key", "scram_server_key"];

/// Prefixes of an arm's terms; the next term ends the value of a setting.
const TERMS: [&str; 12] = [
    "set:",
    "pg=",
    "build=",
    "bindir=",
    "data=",
    "waldir=",
    "script=",
    "builtin=",
    "protocol=",
    "dsn=",
    "command=",
    "bundle",
];

/// Redacts the passwords in the arguments of a command: in URIs (`postgresql://user:SECRET@host`, and in the query
/// part), in conninfo strings (`password=SECRET`, quoted or not), in options (`--password=SECRET`,
/// `PGPASSWORD=SECRET`), and the whole values of settings that may contain one (`--set archive_command=…`). If a
/// malformed URI is ambiguous, more is redacted rather than less.
pub fn redact_command<S: AsRef<str>>(args: &[S]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(args.len());
    for arg in args {
        let arg = arg.as_ref();
        let before = out.last().map_or("", String::as_str);
        let value_of_secret_option =
            before.starts_with("--") && !before.contains(['=', ' ']) && is_secret_key(before);
        out.push(match value_of_secret_option && !arg.starts_with('-') {
            true => REDACTED.to_owned(),
            false if before == "--set" => redact_assignment(arg),
            false => match arg.strip_prefix("--set=") {
                Some(assignment) => format!("--set={}", redact_assignment(assignment)),
                None => redact(arg),
            },
        });
    }
    out
}

/// Redacts `NAME=VALUE` of a setting.
fn redact_assignment(text: &str) -> String {
    match text.split_once('=') {
        Some((name, value)) => format!("{name}={}", redact_setting(name, value)),
        None => redact(text),
    }
}

/// Redacts the value of a server setting: all of it if the setting may contain a secret.
pub fn redact_setting(name: &str, value: &str) -> String {
    let name = name.trim();
    let secret =
        SECRET_SETTINGS.iter().any(|secret| secret.eq_ignore_ascii_case(name)) || is_secret_key(name);
    if secret && !value.is_empty() { REDACTED.to_owned() } else { redact(value) }
}

/// Redacts a line of a server log: passwords in statements and connection strings, and shell commands run for a
/// setting.
pub fn redact_log_line(line: &str) -> String {
    let commands = ["archive command was: ", "command \""];
    let command = commands.iter().filter_map(|before| Some(line.find(before)? + before.len())).min();
    match command {
        Some(at) => format!("{}{REDACTED}", redact(&redact_sql(&line[..at]))),
        None => redact(&redact_sql(line)),
    }
}

/// The arguments as one shell command, quoted as needed, with passwords redacted.
pub fn command_line<S: AsRef<str>>(args: &[S]) -> String {
    redact_command(args).iter().map(|arg| quote(arg)).collect::<Vec<_>>().join(" ")
}

fn quote(arg: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+^".contains(c);
    match !arg.is_empty() && arg.chars().all(plain) {
        true => arg.to_owned(),
        false => format!("'{}'", arg.replace('\'', "'\\''")),
    }
}

/// Redacts the passwords in a text. A subject may have a second connection string after `,admin-dsn=`, with another
/// password.
pub fn redact(text: &str) -> String {
    let text = &redact_settings(text);
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (at, second) in lower.match_indices(ADMIN_DSN) {
        out.push_str(&redact_one(&text[done..at]));
        out.push_str(second);
        done = at + second.len();
    }
    out + &redact_one(&text[done..])
}

/// Redacts the values of settings that may contain a secret. Only in an arm is the end of the value known; elsewhere
/// the rest of the text is redacted.
fn redact_settings(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    while let Some((from, to)) = value_of_setting(&lower, done) {
        out.push_str(&text[done..from]);
        out.push_str(REDACTED);
        done = to;
    }
    out + &text[done..]
}

/// Begin and end of the value of the next such setting in a lower-case text.
fn value_of_setting(lower: &str, from: usize) -> Option<(usize, usize)> {
    let found = SECRET_SETTINGS.iter().flat_map(|name| {
        lower[from..].match_indices(name).filter_map(move |(at, _)| {
            let (before, behind) = lower.split_at(from + at);
            let value = behind[name.len()..].trim_start().strip_prefix('=')?.trim_start();
            (!value.is_empty()).then_some((before, value))
        })
    });
    let (before, value) = found.min_by_key(|(before, _)| before.len())?;
    let start = lower.len() - value.len();
    let end = match before.ends_with("set:") {
        _ if value.starts_with(REDACTED) => REDACTED.len(),
        true => end_of_term(value),
        false => value.len(),
    };
    Some((start, start + end))
}

/// End of the value of an arm's setting: the comma before the next term.
fn end_of_term(value: &str) -> usize {
    let begins_term = |rest: &str| TERMS.iter().any(|term| rest.trim_start().starts_with(term));
    value.match_indices(',').find(|(at, _)| begins_term(&value[at + 1..])).map_or(value.len(), |(at, _)| at)
}

/// Redacts a text with at most one connection string.
fn redact_one(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let first = |scheme: &&str| lower.find(*scheme).map(|at| at + scheme.len());
    let uri = ["postgresql://", "postgres://"].iter().filter_map(first).min();
    match uri {
        Some(at) => format!("{}{}", redact_keys(&text[..at]), redact_uri(&text[at..])),
        None => redact_keys(text),
    }
}

/// Redacts a script or statement: `PASSWORD 'SECRET'`, `password=SECRET`.
pub fn redact_sql(text: &str) -> String {
    const WORD: &str = "password";
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (at, _) in lower.match_indices(WORD) {
        let behind = at + WORD.len();
        if behind < done {
            continue;
        }
        let gap =
            text[behind..].len() - text[behind..].trim_start_matches([' ', '\t', '\n', '\r', '=']).len();
        let (gap_text, value) = text[behind..].split_at(gap);
        let secret = match value.strip_prefix('\'') {
            Some(quoted) => quoted.find('\'').map_or(value.len(), |end| end + 2),
            None if gap_text.contains('=') => {
                value.find(|c: char| c.is_whitespace() || "'\"&;".contains(c)).unwrap_or(value.len())
            }
            None => continue,
        };
        out.push_str(&text[done..behind + gap]);
        out.push_str(REDACTED);
        done = behind + gap + secret;
    }
    out + &text[done..]
}

/// Redacts the part of a URI after the scheme.
fn redact_uri(rest: &str) -> String {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let Some(colon) = rest.find(':') else { return redact_keys(rest) };
    let at = rest.rfind('@').filter(|at| *at > colon);
    // `host:5432/db?options=a@b` has an @ but no user: the colons are followed by port numbers.
    let no_user = !authority.contains('@') && authority.split(',').all(is_host);
    match at {
        Some(at) if !no_user => format!("{}{REDACTED}{}", &rest[..=colon], redact_keys(&rest[at..])),
        // No address follows: this may be a truncated password.
        None if !no_user => format!("{}{REDACTED}", &rest[..=colon]),
        _ => redact_keys(rest),
    }
}

/// Whether a text is `host`, `host:port` or `[address]:port`.
fn is_host(text: &str) -> bool {
    let port = match text.rsplit_once(']') {
        Some((_, behind)) => behind.strip_prefix(':').unwrap_or(behind),
        None => text.split_once(':').map_or("", |(_, port)| port),
    };
    port.bytes().all(|b| b.is_ascii_digit())
}

/// Redacts the values of all `key = value` with a secret key.
fn redact_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(equals) = rest.find('=') {
        let (key, value) = (&rest[..equals], &rest[equals + 1..]);
        out.push_str(&rest[..=equals]);
        rest = value;
        if is_secret_key(key) {
            let blanks = value.len() - value.trim_start().len();
            out.push_str(&value[..blanks]);
            out.push_str(REDACTED);
            rest = &value[blanks + value_length(&value[blanks..])..];
        }
    }
    out + rest
}

/// Whether the text before a `=` ends with the name of a secret. A key with a percent sign may be an encoded one.
fn is_secret_key(before: &str) -> bool {
    let key = before.trim_end().rsplit([' ', '?', '&', ';', '\'', '"']).next().unwrap_or_default();
    let key = key.to_ascii_lowercase();
    key.contains('%') || SECRET_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// Length of a value: up to the closing quote, or to a blank or an `&`; a backslash escapes the next character.
fn value_length(value: &str) -> usize {
    // An earlier redaction is left unchanged, so that a shell quote after it is not removed.
    if value.starts_with(REDACTED) {
        return REDACTED.len();
    }
    let quoted = value.starts_with('\'');
    let mut escaped = false;
    for (at, c) in value.char_indices().skip(usize::from(quoted)) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '\'' if quoted => return at + 1,
            c if !quoted && (c.is_whitespace() || c == '&') => return at,
            _ => {}
        }
    }
    value.len()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn passwords_go_and_the_rest_stays() {
        let cases = [
            ("postgresql://bob:s3cret@db:5432/x", "postgresql://bob:***@db:5432/x"),
            ("--dsn=postgres://bob:p@ss@db/x", "--dsn=postgres://bob:***@db/x"),
            (
                "postgresql://bob@db/x?password=s3&sslmode=require",
                "postgresql://bob@db/x?password=***&sslmode=require",
            ),
            (
                "postgresql://db:5432,[::1]:5433/x?application_name=a@b",
                "postgresql://db:5432,[::1]:5433/x?application_name=a@b",
            ),
            ("postgresql://bob:pa/ss@db/x", "postgresql://bob:***@db/x"),
            ("host=db password = 's e\\'c' user=bob", "host=db password = *** user=bob"),
            ("host=db password=s\\ e user=bob", "host=db password=*** user=bob"),
            ("host=db sslpassword=s3", "host=db sslpassword=***"),
            ("PGPASSWORD=s3cret", "PGPASSWORD=***"),
            (
                "dsn=postgres://pool:6432/b,admin-dsn=postgres://bob:s3@db/b",
                "dsn=postgres://pool:6432/b,admin-dsn=postgres://bob:***@db/b",
            ),
            (
                "dsn=postgres://app:p@pool:6432/b,admin-dsn=postgresql://bob:s3@db/b",
                "dsn=postgres://app:***@pool:6432/b,admin-dsn=postgresql://bob:***@db/b",
            ),
            (
                "dsn=host=a password=x,admin-dsn=host=b password='s 3'",
                "dsn=host=a password=***,admin-dsn=host=b password=***",
            ),
            ("postgres://bob:s3cret", "postgres://bob:***"),
            ("--clients=1,4", "--clients=1,4"),
            ("passfile=/root/.pgpass", "passfile=/root/.pgpass"),
        ];
        for (arg, want) in cases {
            assert_eq!(redact(arg), want);
        }
        assert_eq!(
            redact_command(&["pgdyno", "--password", "s3", "bench"]),
            ["pgdyno", "--password", "***", "bench"]
        );
    }

    #[test]
    fn settings_that_may_contain_a_secret_are_redacted_completely() {
        let cases = [
            (vec!["--set", "primary_conninfo=host=db password='s3 c'"], "--set 'primary_conninfo=***'"),
            (vec!["--set=Archive_Command=curl -u me:s3 %p"], "'--set=Archive_Command=***'"),
            (
                vec!["--set", "ssl_passphrase_command=echo s3", "--quick"],
                "--set 'ssl_passphrase_command=***' --quick",
            ),
            (vec!["--set", "my.password=s3 and s3", "--quick"], "--set 'my.password=***' --quick"),
            (vec!["--set", "my.uri=postgres://u:s3@h/d"], "--set 'my.uri=postgres://u:***@h/d'"),
            (vec!["--set", "password_encryption=md5"], "--set password_encryption=md5"),
            (
                vec!["--a", "pg=18,set:restore_command=cp s3 %p,s3 x,set:jit=off,script=s.sql"],
                "--a 'pg=18,set:restore_command=***,set:jit=off,script=s.sql'",
            ),
        ];
        for (args, want) in cases {
            assert_eq!(command_line(&args), want);
            assert_eq!(redact(&command_line(&args)), want, "redacting twice changes nothing");
        }
        assert_eq!(redact("could not set archive_command = 'cp s3'"), "could not set archive_command = ***");
        assert_eq!(redact_setting("RESTORE_command", "cp s3"), REDACTED);
        assert_eq!(redact_setting("archive_command", ""), "");
        assert_eq!(redact_setting("work_mem", "64MB"), "64MB");
    }

    #[test]
    fn a_log_shows_no_password_and_no_command() {
        let cases = [
            (
                "DETAIL:  The failed archive command was: curl -u me:s3 pg_wal/1",
                "DETAIL:  The failed archive command was: ***",
            ),
            ("LOG:  command \"echo s3\" failed", "LOG:  command \"***"),
            ("LOG:  statement: ALTER ROLE x PASSWORD 's3';", "LOG:  statement: ALTER ROLE x PASSWORD ***;"),
            (
                "LOG:  checkpoint starting: immediate force wait",
                "LOG:  checkpoint starting: immediate force wait",
            ),
        ];
        for (line, want) in cases {
            assert_eq!(redact_log_line(line), want);
        }
    }

    #[test]
    fn a_script_keeps_all_but_its_passwords() {
        let cases = [
            ("ALTER USER bob PASSWORD 's3cret';\nSELECT 1;", "ALTER USER bob PASSWORD ***;\nSELECT 1;"),
            ("CREATE ROLE x Encrypted Password  'a b' LOGIN", "CREATE ROLE x Encrypted Password  *** LOGIN"),
            ("SELECT dblink('host=h password=s3 user=u')", "SELECT dblink('host=h password=*** user=u')"),
            ("SELECT password FROM users WHERE token = :t", "SELECT password FROM users WHERE token = :t"),
            ("VALID UNTIL 'x' PASSWORD 'open", "VALID UNTIL 'x' PASSWORD ***"),
        ];
        for (text, want) in cases {
            assert_eq!(redact_sql(text), want);
            assert_eq!(redact_sql(want), want);
        }
    }

    #[test]
    fn redacting_twice_changes_nothing() {
        let line = command_line(&[
            "pgdyno",
            "--dsn",
            "host=db password='a b'",
            "postgresql://bob:x@db/x",
            "--scale",
        ]);
        assert_eq!(redact(&line), line);
    }

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        let args = ["pgdyno", "bench", "--dsn", "host=db password=x", "--name", "it's", ""];
        assert_eq!(command_line(&args), r"pgdyno bench --dsn 'host=db password=***' --name 'it'\''s' ''");
    }

    /// All that a password may hold and that means something in a URI, a conninfo string or a shell.
    const WILD: &str = "[A-Za-z0-9:@/?#%&=+ '\"\\\\!$*,;-]";

    /// Secrets that occur in nothing else that is written here.
    fn secret(alphabet: &'static str) -> impl Strategy<Value = String> {
        prop::string::string_regex(&format!("Q{alphabet}{{4,20}}Z")).expect("a regular expression")
    }

    proptest! {
        #[test]
        fn no_password_of_a_uri_survives(
            secret in secret(WILD), user in "[a-z]{1,8}", host in "[a-z.]{1,12}"
        ) {
            let uri = format!("postgresql://{user}:{secret}@{host}:5432/db?sslmode=require");
            let redacted = redact_command(&[format!("--dsn={uri}"), uri]).join(" ");
            prop_assert!(!redacted.contains(&secret) && !redacted.contains(&secret[..4]), "{redacted}");
        }

        #[test]
        fn no_password_of_two_ways_survives(
            secret in secret(WILD), host in "[a-z.]{1,12}", user in "[a-z]{0,8}", long in any::<bool>()
        ) {
            let scheme = if long { "postgresql" } else { "postgres" };
            let at = if user.is_empty() { String::new() } else { format!("{user}:{secret}@") };
            let word = format!("dsn=postgres://{at}{host}:6432/b,admin-dsn={scheme}://bob:{secret}@{host}/b");
            let redacted = redact(&word);
            prop_assert!(!redacted.contains(&secret) && !redacted.contains(&secret[..4]), "{redacted}");
            prop_assert!(redacted.starts_with(&format!("dsn=postgres://{user}")), "{redacted}");
            prop_assert!(redacted.contains(&format!("{host}:6432/b,admin-dsn=")), "{redacted}");
        }

        #[test]
        fn no_password_of_a_conninfo_survives(secret in secret(WILD), space in " {0,2}") {
            let quoted = secret.replace('\\', "\\\\").replace('\'', "\\'");
            let redacted = redact(&format!("host=db password{space}={space}'{quoted}' user=bob"));
            prop_assert_eq!(redacted, format!("host=db password{space}={space}*** user=bob"));
        }

        #[test]
        fn no_password_of_an_option_survives(secret in secret("[A-Za-z0-9:@/?#%+!$*,;-]")) {
            for key in ["PGPASSWORD", "--password", "password"] {
                let form = format!("{key}={secret}");
                prop_assert!(!redact(&form).contains(&secret));
            }
        }

        #[test]
        fn no_secret_of_a_setting_survives(secret in secret(WILD), which in 0..SECRET_SETTINGS.len()) {
            let assignment = format!("{}={secret}", SECRET_SETTINGS[which]);
            let arm = format!("pg=18,set:{assignment}");
            let redacted = command_line(&["--set", &assignment, &format!("--set={assignment}"), &arm]);
            // A value of an arm cannot hold what begins another term.
            prop_assert!(!redacted.contains(&secret[..4]), "{redacted}");
        }

        #[test]
        fn nothing_makes_it_panic(text in "\\PC*") {
            redact(&text);
            redact(&format!("set:archive_command={text}"));
            redact_log_line(&text);
            redact(&format!("postgres://{text}"));
        }
    }
}
