use std::{
    fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{
    super::{Address, ChannelBinding, Method, Roots, SessionAttrs, SslMode, TlsVersion},
    *,
};

fn resolve(database: Option<&str>, env: &[(&str, &str)]) -> Result<ConnectOptions, Problem> {
    flagged(None, database, env)
}

fn flagged(
    host: Option<&str>,
    database: Option<&str>,
    env: &[(&str, &str)],
) -> Result<ConnectOptions, Problem> {
    let env = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let sources = Sources { host, port: None, user: None, database, env: &env, os_user: "me".to_owned() };
    ConnectOptions::resolve(&sources)
}

fn good(text: &str) -> ConnectOptions {
    resolve(Some(text), &[]).unwrap_or_else(|problem| panic!("{text}: {problem}"))
}

fn tcp(host: &str, port: u16) -> Address {
    Address::Tcp(host.to_owned(), port)
}

#[test]
fn a_uri_outweighs_the_environment() {
    let env = [("PGHOST", "other"), ("PGUSER", "someone"), ("PGPORT", "1")];
    let options = resolve(Some("postgresql://u%20x:p%40ss@db.example:6000/my%2Fdb?connect_timeout=3"), &env);
    let options = options.expect("it is a URI");
    assert_eq!(*options.address(), tcp("db.example", 6000));
    assert_eq!((options.user.as_str(), options.database.as_str()), ("u x", "my/db"));
    assert_eq!(options.hosts[0].password, Some(Password::new("p@ss")));
    assert_eq!(options.connect_timeout, Duration::from_secs(3));
}

#[test]
fn what_is_missing_comes_from_the_environment_and_the_system() {
    let options = resolve(None, &[("PGHOST", "/run/pg"), ("PGPORT", "5433")]).expect("defaults");
    assert_eq!(*options.address(), Address::Unix("/run/pg".into(), 5433));
    assert_eq!((options.user.as_str(), options.database.as_str()), ("me", "me"));
}

/// psql's manual: parameters of a connection string override conflicting options of the command line.
#[test]
fn a_connection_string_outweighs_flags_and_these_the_environment() {
    let host = |database, env: &[(&str, &str)]| {
        flagged(Some("flag"), database, env).expect("it is well formed").address().clone()
    };
    assert_eq!(host(Some("host=text"), &[("PGHOST", "env")]), tcp("text", 5432));
    assert_eq!(host(Some("user=x"), &[("PGHOST", "env")]), tcp("flag", 5432));
    assert_eq!(host(Some("host=''"), &[]), *resolve(None, &[]).expect("defaults").address());
}

#[test]
fn keyword_strings_and_socket_hosts_are_understood() {
    let options = good(r"host = /tmp/x user='a \'b' dbname=d port=77");
    assert_eq!(*options.address(), Address::Unix("/tmp/x".into(), 77));
    assert_eq!(options.user, "a 'b");
    assert_eq!(*good("postgres://%2Ftmp%2Fx:78/d").address(), Address::Unix("/tmp/x".into(), 78));
    assert_eq!(*good("host=@abstract").address(), Address::Unix("@abstract".into(), 5432));
    let options = good("postgres://[::1]:79/d?user=q");
    assert_eq!((options.address(), options.user.as_str()), (&tcp("::1", 79), "q"));
}

#[test]
fn several_hosts_have_ports_and_addresses_of_their_own() {
    let addresses = |text| good(text).hosts.into_iter().map(|host| host.address).collect::<Vec<_>>();
    assert_eq!(addresses("postgres://a:1,b,[::1]:3/d"), [tcp("a", 1), tcp("b", 5432), tcp("::1", 3)]);
    assert_eq!(addresses("host=a,b port=7"), [tcp("a", 7), tcp("b", 7)]);
    assert_eq!(addresses("host=a,/tmp/x port=7,8"), [tcp("a", 7), Address::Unix("/tmp/x".into(), 8)]);
    let options = good("host=a,b hostaddr=127.0.0.1,::1");
    let ips: Vec<_> = options.hosts.iter().map(|host| host.hostaddr.expect("it is given")).collect();
    assert_eq!(ips, ["127.0.0.1".parse::<IpAddr>().expect("an IP"), "::1".parse().expect("an IP")]);
    let alone = good("hostaddr=10.0.0.1");
    assert_eq!(*alone.address(), tcp("10.0.0.1", 5432));
}

#[test]
fn what_a_connection_is_made_with_is_read() {
    let options = good(
        "sslmode=verify-full sslrootcert=/r sslcert=/c sslkey=/k sslsni=0 ssl_min_protocol_version=TLSv1.3 \
         channel_binding=require require_auth=scram-sha-256,md5 target_session_attrs=prefer-standby \
         load_balance_hosts=random keepalives=0 keepalives_count=9 keepalives_idle=0 tcp_user_timeout=1500 \
         application_name=a fallback_application_name=f options='-c x=y' client_encoding=auto requirepeer=postgres \
         sslnegotiation=direct connect_timeout=1",
    );
    let tls = &options.tls;
    assert_eq!((tls.mode, tls.direct, tls.sni), (SslMode::VerifyFull, true, false));
    assert_eq!((tls.min, tls.max), (TlsVersion::V13, TlsVersion::V13));
    assert_eq!(tls.roots, Roots::File(Some(PathBuf::from("/r"))));
    let client = tls.client.as_ref().expect("it is named");
    assert_eq!((client.certificate.as_path(), client.key.as_path()), (Path::new("/c"), Path::new("/k")));
    assert_eq!(options.channel_binding, ChannelBinding::Require);
    let allowed = options.require_auth.clone().expect("it is given").allowed;
    assert_eq!(allowed, [Method::Md5, Method::ScramSha256]);
    assert_eq!(options.target, SessionAttrs::PreferStandby);
    assert!(options.load_balance && !options.tcp.keepalives);
    assert_eq!(
        (options.tcp.count, options.tcp.idle, options.tcp.user_timeout_ms),
        (Some(9), None, Some(1500))
    );
    assert_eq!(options.application_name(), "a");
    assert_eq!((options.options.as_deref(), options.client_encoding.as_str()), (Some("-c x=y"), "UTF8"));
    assert_eq!(options.require_peer.as_deref(), Some("postgres"));
    assert_eq!(options.connect_timeout, Duration::from_secs(2));
    assert_eq!(options.notices, Vec::<String>::new());
}

#[test]
fn the_environment_says_all_that_libpq_lets_it_say() {
    let env = [
        ("PGSSLMODE", "require"),
        ("PGREQUIREAUTH", "!password,!none"),
        ("PGTARGETSESSIONATTRS", "primary"),
        ("PGAPPNAME", "env"),
        ("PGTZ", "UTC"),
        ("PGGEQO", "off"),
        ("PGDATESTYLE", "default"),
        ("PGHOSTADDR", "127.0.0.1"),
        ("PGCONNECT_TIMEOUT", "-1"),
    ];
    let options = resolve(Some("d"), &env).expect("it is well formed");
    assert_eq!((options.tls.mode, options.target), (SslMode::Require, SessionAttrs::Primary));
    let allowed = options.require_auth.clone().expect("it is given").allowed;
    assert!(!allowed.contains(&Method::Password) && !allowed.contains(&Method::None));
    assert!(allowed.contains(&Method::ScramSha256) && allowed.contains(&Method::Md5));
    assert_eq!(options.application_name(), "env");
    let startup = [("timezone".to_owned(), "UTC".to_owned()), ("geqo".to_owned(), "off".to_owned())];
    assert_eq!(options.startup, startup);
    assert!(options.connect_timeout > Duration::from_secs(1_000_000), "less than 0 is for ever");
}

#[test]
fn a_system_root_is_for_whole_verification() {
    assert_eq!(good("sslrootcert=system").tls.mode, SslMode::VerifyFull);
    assert_eq!(good("sslrootcert=system").tls.roots, Roots::System);
    assert_eq!(good("requiressl=1").tls.mode, SslMode::Require);
    assert_eq!(good("ssl_min_protocol_version=TLSv1").tls.min, TlsVersion::V12);
}

/// Every wrong value, with a part of what is said about it.
#[test]
fn wrong_addresses_name_what_is_wrong() {
    let none = ("A", "");
    for (text, env, message) in [
        ("host=a hots=b", none, "unknown keyword `hots`"),
        ("postgres://h/d?hots=b", none, "unknown keyword `hots`"),
        ("postgres://h:0/d", none, "invalid port number: \"0\""),
        ("postgres://h:x/d", none, "invalid port number: \"x\""),
        ("host=a,b port=1,2,3", none, "could not match 3 port numbers to 2 hosts"),
        ("host=a,b hostaddr=127.0.0.1", none, "could not match 2 host names to 1 hostaddr values"),
        ("hostaddr=localhost", none, "could not parse network address \"localhost\""),
        ("d", ("PGPORT", "99999"), "invalid port number: \"99999\""),
        ("d", ("PGSSLMODE", "reqire"), "invalid sslmode value: \"reqire\""),
        ("d", ("PGCONNECT_TIMEOUT", "soon"), "invalid integer value \"soon\" for connection option"),
        (
            "keepalives_idle=1x",
            none,
            "invalid integer value \"1x\" for connection option \"keepalives_idle\"",
        ),
        ("channel_binding=yes", none, "invalid channel_binding value"),
        ("target_session_attrs=master", none, "invalid target_session_attrs value"),
        ("load_balance_hosts=on", none, "invalid load_balance_hosts value"),
        ("sslsni=yes", none, "invalid sslsni value"),
        ("sslcertmode=maybe", none, "invalid sslcertmode value"),
        ("sslnegotiation=direct", none, "weak sslmode cannot be used with sslnegotiation=direct"),
        ("sslnegotiation=dirct", none, "invalid sslnegotiation value"),
        ("sslrootcert=system sslmode=require", none, "weak sslmode cannot be used with sslrootcert=system"),
        ("ssl_min_protocol_version=SSLv3", none, "invalid ssl_min_protocol_version value"),
        ("ssl_max_protocol_version=TLSv1.1", none, "invalid ssl_max_protocol_version value"),
        (
            "ssl_min_protocol_version=TLSv1.3 ssl_max_protocol_version=TLSv1.2",
            none,
            "invalid SSL protocol version range",
        ),
        ("require_auth=md5,!password", none, "invalid require_auth value"),
        ("require_auth=md5,md5", none, "invalid require_auth value"),
        ("require_auth=kerberos", none, "invalid require_auth value"),
        ("sslcrldir=/no/such/dir", none, "could not read sslcrldir /no/such/dir"),
        ("gssencmode=require", none, "could not use gssencmode"),
        ("gssencmode=maybe", none, "could not use gssencmode"),
        ("replication=database", none, "could not use replication"),
        ("sslpassword=x", none, "could not use sslpassword"),
        ("sslkeylogfile=/x", none, "could not use sslkeylogfile"),
        ("scram_client_key=x", none, "could not use scram_client_key"),
        ("oauth_issuer=x", none, "could not use oauth_issuer"),
        ("min_protocol_version=3.2", none, "could not use min_protocol_version"),
        ("max_protocol_version=2.0", none, "invalid max_protocol_version value"),
        ("service=prod", none, "definition of service \"prod\" not found"),
        ("d", ("PGSERVICE", "prod"), "definition of service \"prod\" not found"),
        ("d", ("PGSERVICE", "prod\0"), "definition of service"),
        ("host='a", none, "unterminated quoted string"),
        ("host a=b", none, "missing \"=\""),
        ("postgres://u%zz@h/d", none, "percent"),
        ("postgres://[::1/d", none, "]"),
    ] {
        let problem = resolve(Some(text), &[env]).expect_err(text);
        assert!(problem.what.contains(message), "{text}: {}", problem.what);
        if env != none {
            let detail = problem.detail.unwrap_or_default();
            assert!(detail.contains(env.0), "{text}: the variable is named: {detail}");
        }
    }
}

#[test]
fn what_changes_nothing_is_told() {
    for (text, why) in [("sslcompression=1", "sslcompression has no effect"), ("krbsrvname=x", "GSSAPI")] {
        let notices = good(text).notices;
        assert!(notices.len() == 1 && notices[0].contains(why), "{text}: {notices:?}");
    }
    for silent in ["sslcompression=0", "gssencmode=prefer", "replication=false", "max_protocol_version=3.2"] {
        assert_eq!(good(silent).notices, Vec::<String>::new(), "{silent}");
    }
    let notices = good("postgres://u:secret@h/d").notices;
    assert!(notices[0].contains("list of processes") && !notices[0].contains("secret"), "{notices:?}");
}

#[test]
fn a_service_outweighs_the_environment_and_nothing_else() {
    let dir = tempfile::tempdir().expect("a directory");
    let own = dir.path().join("own");
    fs::write(&own, "[a]\nhost=service\nport=1\nuser=service\n").expect("it can be written");
    fs::write(dir.path().join("pg_service.conf"), "[b]\nhost=system\n").expect("it can be written");
    let path = |path: &Path| path.to_str().expect("UTF-8").to_owned();
    let (own, system) = (path(&own), path(dir.path()));
    let env = |more| {
        let mut env =
            vec![("PGSERVICEFILE", own.as_str()), ("PGSYSCONFDIR", system.as_str()), ("PGUSER", "env")];
        env.extend::<Vec<_>>(more);
        env
    };
    let options = resolve(Some("service=a port=2"), &env(vec![])).expect("it is there");
    assert_eq!((options.address(), options.user.as_str()), (&tcp("service", 2), "service"));
    let options = resolve(None, &env(vec![("PGSERVICE", "b")])).expect("it is there");
    assert_eq!((options.address(), options.user.as_str()), (&tcp("system", 5432), "env"));
    let problem = resolve(Some("service=c"), &env(vec![])).expect_err("it is not there");
    let detail = problem.detail.expect("where it was looked for");
    assert!(detail.contains(&own) && detail.contains("pg_service.conf"), "{detail}");
    fs::write(dir.path().join("own"), "[a]\nport=x\n").expect("it can be written");
    let problem = resolve(Some("service=a"), &env(vec![])).expect_err("its port is none");
    assert!(problem.detail.as_ref().is_some_and(|d| d.contains(":2 (service a)")), "{:?}", problem.detail);
    let missing = [("PGSERVICEFILE", "/no/such/file")];
    assert!(resolve(Some("service=a"), &missing).expect_err("no file").what.contains("/no/such/file"));
}

#[test]
fn every_host_has_its_line_of_the_password_file() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join("pass");
    fs::write(&path, "a:*:*:*:one\nb:*:*:*:two\n").expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let passwords = |text: &str| -> Vec<_> {
        let options = resolve(Some(text), &[("PGPASSFILE", path.to_str().expect("UTF-8"))]);
        options.expect("it is well formed").hosts.into_iter().map(|host| host.password).collect()
    };
    let (one, two) = (Some(Password::new("one")), Some(Password::new("two")));
    assert_eq!(passwords("host=a,b,c"), [one.clone(), two, None]);
    assert_eq!(passwords("host=a,b password=x"), vec![Some(Password::new("x")); 2]);
    // With both, the name is what the file is asked for.
    assert_eq!(passwords("host=a hostaddr=127.0.0.1"), [one]);
}

#[test]
fn a_password_is_never_printed() {
    let options = good("postgres://u:hunter2@h/d");
    assert!(!format!("{options:?}").contains("hunter2"));
    for text in ["host='a password=hunter2", "password=hunter2 a b", "postgres://u:hunter2%zz@h/d"] {
        let problem = resolve(Some(text), &[]).expect_err(text);
        assert!(!format!("{problem:?}").contains("hunter2"), "{problem:?}");
    }
}
