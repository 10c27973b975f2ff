use std::{
    fs,
    net::IpAddr,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
};

use super::{
    super::{Address, ChannelBinding, Method, ProtocolVersion, Roots, SessionAttrs, SslMode, TlsVersion},
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
    let os_user = &me();
    ConnectOptions::resolve(&Sources { host, port: None, user: None, database, env: &env, os_user })
}

fn me() -> OsUser {
    OsUser { name: Ok("me".to_owned()), home: None }
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
         sslnegotiation=direct connect_timeout=1 sslkeylogfile=/log replication=database max_protocol_version=3.2",
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
    assert_eq!(options.options.as_deref(), Some("-c x=y"));
    assert_eq!(options.require_peer.as_deref(), Some("postgres"));
    assert_eq!(options.connect_timeout, Duration::from_secs(1));
    assert_eq!(options.tls.key_log.as_deref(), Some(Path::new("/log")));
    assert_eq!(options.replication.as_deref(), Some("database"));
    assert_eq!(options.protocol, (ProtocolVersion::V30, ProtocolVersion::V32));
    // As in libpq, a given minimum version also requests the newest.
    assert_eq!(good("min_protocol_version=3.2").protocol, (ProtocolVersion::V32, ProtocolVersion::V32));
    assert_eq!(good("host=a").protocol, (ProtocolVersion::V30, ProtocolVersion::V30));
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

/// As in `PQconnectdbParams`: an empty flag or database name counts as absent; an empty variable, or key in a
/// connection string, gives the default.
#[test]
fn what_is_empty_is_not_given() {
    let env = [("PGHOST", "env"), ("PGPORT", "7"), ("PGUSER", "someone"), ("PGDATABASE", "there")];
    let get = |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let empty = Some("");
    let sources =
        Sources { host: empty, port: empty, user: empty, database: empty, env: &get, os_user: &me() };
    let options = ConnectOptions::resolve(&sources).expect("it is as if nothing were given");
    assert_eq!(*options.address(), tcp("env", 7));
    assert_eq!((options.user.as_str(), options.database.as_str()), ("someone", "there"));
    let empty = env.map(|(name, _)| (name, ""));
    let options = resolve(None, &empty).expect("defaults");
    assert!(matches!(options.address(), Address::Unix(_, 5432)));
    assert_eq!((options.user.as_str(), options.database.as_str()), ("me", "me"));
    assert_eq!(resolve(Some("application_name=''"), &[]).expect("it is given").application_name(), "");
    assert_eq!(resolve(None, &[("PGAPPNAME", "")]).expect("it is given").application_name(), "");
}

#[test]
fn ports_are_one_for_all_hosts_or_one_for_each() {
    let ports = |host, port| {
        let os_user = &me();
        let options = ConnectOptions::resolve(&Sources {
            host: Some(host),
            port: Some(port),
            user: None,
            database: None,
            env: &|_| None,
            os_user,
        });
        options.map(|options| options.hosts.into_iter().map(|host| host.address).collect::<Vec<_>>())
    };
    assert_eq!(ports("a,b", "1,5432").expect("one for each"), [tcp("a", 1), tcp("b", 5432)]);
    assert_eq!(ports("a,b", "1").expect("one for all"), [tcp("a", 1), tcp("b", 1)]);
    assert_eq!(ports("a,b", "1,").expect("an empty one is the default"), [tcp("a", 1), tcp("b", 5432)]);
    let problem = ports("a", "1,5432").expect_err("there is one host");
    assert_eq!(problem.what, "could not match 2 port numbers to 1 hosts");
}

/// As in libpq, no encoding is sent by default, and the server takes the database's.
#[test]
fn an_encoding_is_asked_for_where_somebody_asks() {
    let encoding = |text: &str, env: &[(&str, &str)]| {
        resolve(Some(text), env).expect("it is well formed").client_encoding
    };
    assert_eq!(encoding("d", &[]), None);
    assert_eq!(encoding("d", &[("PGCLIENTENCODING", "")]), None);
    assert_eq!(encoding("d", &[("PGCLIENTENCODING", "LATIN1")]).as_deref(), Some("LATIN1"));
    assert_eq!(encoding("client_encoding=KOI8R", &[("PGCLIENTENCODING", "x")]).as_deref(), Some("KOI8R"));
    // pgbench 15 to 18 set no locale, whatever LC_ALL says: `SHOW client_encoding` is SQL_ASCII then.
    assert_eq!(encoding("client_encoding=auto", &[]).as_deref(), Some("SQL_ASCII"));
    let own = |text| good(text).in_utf8().client_encoding;
    assert_eq!(
        (own("d").as_deref(), own("client_encoding=LATIN1").as_deref()),
        (Some("UTF8"), Some("LATIN1"))
    );
}

#[test]
fn who_runs_this_is_the_role_and_has_a_home() {
    let dir = tempfile::tempdir().expect("a directory");
    let path = dir.path().join(".pgpass");
    fs::write(&path, "*:*:*:*:secret\n").expect("it can be written");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("it is ours");
    let home = dir.path().to_str().expect("UTF-8").to_owned();
    let resolve = |os_user: &OsUser, env: &[(&str, &str)]| {
        let env =
            |name: &str| env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let none = None;
        ConnectOptions::resolve(&Sources {
            host: none,
            port: none,
            user: none,
            database: none,
            env: &env,
            os_user,
        })
    };
    let at_home = OsUser { home: Some(home), ..me() };
    let password = |env| resolve(&at_home, env).expect("defaults").hosts.remove(0).password;
    assert_eq!(password(&[("USER", "other"), ("LOGNAME", "other")]), Some(Password::new("secret")));
    assert_eq!(password(&[("HOME", "")]), Some(Password::new("secret")));
    assert_eq!(password(&[("HOME", "/nonexistent")]), None);
    let nobody = OsUser { name: Err("local user with ID 4711 does not exist".to_owned()), home: None };
    let problem = resolve(&nobody, &[("USER", "other")]).expect_err("nobody is the role");
    assert_eq!(problem.what, "local user with ID 4711 does not exist");
    assert_eq!(resolve(&nobody, &[("PGUSER", "me")]).expect("the role is named").user, "me");
}

#[test]
fn a_system_root_is_for_whole_verification() {
    assert_eq!(good("sslrootcert=system").tls.mode, SslMode::VerifyFull);
    assert_eq!(good("sslrootcert=system").tls.roots, Roots::System);
    assert_eq!(good("requiressl=1").tls.mode, SslMode::Require);
    assert_eq!(good("ssl_min_protocol_version=TLSv1").tls.min, TlsVersion::V12);
    assert_eq!(good("ssl_min_protocol_version=tlsv1.3").tls.min, TlsVersion::V13);
}

/// Invalid values, each with a part of its message.
#[test]
fn wrong_addresses_name_what_is_wrong() {
    let none = ("A", "");
    for (text, env, message) in [
        ("host=a hots=b", none, "unknown keyword `hots`"),
        ("postgres://h/d?hots=b", none, "unknown keyword `hots`"),
        ("postgres://h:0/d", none, "invalid port number: \"0\""),
        ("postgres://h:x/d", none, "invalid integer value \"x\" for connection option \"port\""),
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
        ("sslpassword=x", none, "could not use sslpassword"),
        ("scram_client_key=x", none, "invalid SCRAM client key"),
        ("scram_server_key=eA==", none, "invalid SCRAM server key length: 1"),
        (
            "scram_client_key=pg/JI9Z+hkSpLRa5btpe9GVrDHJcSEN0viVTVXaZbos=",
            none,
            "could not use one key of SCRAM without the other",
        ),
        ("oauth_issuer=x", none, "could not use oauth_issuer"),
        (
            "min_protocol_version=latest max_protocol_version=3.0",
            none,
            "\"min_protocol_version\" is greater than \"max_protocol_version\"",
        ),
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
fn what_changes_nothing_is_reported() {
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
    // With both given, the password file is searched for the name.
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
