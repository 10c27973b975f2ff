//! No secret in the record (invariant 2).

/// What stands where a secret was.
pub const REDACTED: &str = "***";

/// What stands before the second way to a subject's server.
const SECOND_WAY: &str = ",admin-dsn=";

/// Keys whose value is a secret end with one of these.
const SECRET_ENDINGS: [&str; 6] =
    ["password", "client_secret", "token", "passwd", "scram_client_key", "scram_server_key"];

/// The arguments of a command without the passwords in them: those of URIs (`postgresql://user:SECRET@host`,
/// and in their query), of conninfo strings (`password=SECRET`, quoted or not), and of options
/// (`--password=SECRET`, `PGPASSWORD=SECRET`). Where a malformed URI leaves a doubt about what is secret,
/// more is removed rather than less.
pub fn redact_command<S: AsRef<str>>(args: &[S]) -> Vec<String> {
    let mut out: Vec<String> = Vec::with_capacity(args.len());
    for arg in args {
        let arg = arg.as_ref();
        let value_of_secret_option = out.last().is_some_and(|before| {
            before.starts_with("--") && !before.contains(['=', ' ']) && is_secret_key(before)
        });
        out.push(match value_of_secret_option && !arg.starts_with('-') {
            true => REDACTED.to_owned(),
            false => redact(arg),
        });
    }
    out
}

/// One line for a shell that runs the arguments, quoted where they need it, without the passwords.
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

/// One text without the passwords in it. A subject of a comparison may have a second way to its server, behind
/// `,admin-dsn=`, with a password of its own.
pub fn redact(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let (mut out, mut done) = (String::with_capacity(text.len()), 0);
    for (at, second) in lower.match_indices(SECOND_WAY) {
        out.push_str(&redact_one(&text[done..at]));
        out.push_str(second);
        done = at + second.len();
    }
    out + &redact_one(&text[done..])
}

/// One text with at most one way to a server.
fn redact_one(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    let first = |scheme: &&str| lower.find(*scheme).map(|at| at + scheme.len());
    let uri = ["postgresql://", "postgres://"].iter().filter_map(first).min();
    match uri {
        Some(at) => format!("{}{}", redact_keys(&text[..at]), redact_uri(&text[at..])),
        None => redact_keys(text),
    }
}

/// A script or a statement without the passwords that follow the word: `PASSWORD 'SECRET'`, `password=SECRET`.
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

/// A URI from behind its scheme on.
fn redact_uri(rest: &str) -> String {
    let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
    let Some(colon) = rest.find(':') else { return redact_keys(rest) };
    let at = rest.rfind('@').filter(|at| *at > colon);
    // `host:5432/db?options=a@b` has an @ and no user: its colons are followed by port numbers.
    let no_user = !authority.contains('@') && authority.split(',').all(is_host);
    match at {
        Some(at) if !no_user => format!("{}{REDACTED}{}", &rest[..=colon], redact_keys(&rest[at..])),
        // No address follows: what stands there may be a password that was cut off.
        None if !no_user => format!("{}{REDACTED}", &rest[..=colon]),
        _ => redact_keys(rest),
    }
}

/// `host`, `host:port` or `[address]:port`.
fn is_host(text: &str) -> bool {
    let port = match text.rsplit_once(']') {
        Some((_, behind)) => behind.strip_prefix(':').unwrap_or(behind),
        None => text.split_once(':').map_or("", |(_, port)| port),
    };
    port.bytes().all(|b| b.is_ascii_digit())
}

/// Replaces the values of all `key = value` whose key is a secret's.
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

/// Whether the text before a `=` ends with the name of a secret. A key with a percent sign may hide one.
fn is_secret_key(before: &str) -> bool {
    let key = before.trim_end().rsplit([' ', '?', '&', ';', '\'', '"']).next().unwrap_or_default();
    let key = key.to_ascii_lowercase();
    key.contains('%') || SECRET_ENDINGS.iter().any(|ending| key.ends_with(ending))
}

/// Length of a value: to the closing quote, or to a blank or an `&`; a backslash protects what follows it.
fn value_length(value: &str) -> usize {
    // What was redacted before stays as it is, so that a quote of the shell behind it is not taken away.
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
        fn nothing_makes_it_panic(text in "\\PC*") {
            redact(&text);
            redact(&format!("postgres://{text}"));
        }
    }
}
