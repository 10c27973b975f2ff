//! An arm of a comparison, or one of several subjects, as one argument: `pg=18,set:shared_buffers=1GB`.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
};

use pgdyno_analysis::compare::{Asked, AskedProgram};
use pgdyno_core::problem::Problem;
use pgdyno_plan::{HostPlan, Plan, ServerPlan};
use pgdyno_rows::load::LoadRequest;
use pgdyno_script::{Builtin, Protocol};
use pgdyno_wire::ConnectOptions;

use super::{
    connection::Connection,
    load_option::load_option,
    own_server::{request, setting},
};
use pgdyno_lab::Wanted;

/// The properties requested of an arm; without any it is the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arm {
    /// Keys of a temporary server.
    pub server: ServerPlan,
    /// An existing server.
    pub dsn: Option<String>,
    /// Connection string for setup, checks and monitoring, if it differs from `dsn`.
    pub admin_dsn: Option<String>,
    /// Directory whose storage is measured, without a server.
    pub dir: Option<PathBuf>,
    /// Script file.
    pub script: Option<PathBuf>,
    /// Built-in script.
    pub builtin: Option<Builtin>,
    /// Query protocol.
    pub protocol: Option<Protocol>,
    /// External benchmark command.
    pub command: Option<String>,
    /// Options for loading its tables.
    pub load: LoadRequest,
    /// Client count.
    pub clients: Option<u32>,
    /// What of the host is changed for its runs.
    pub host: HostPlan,
}

/// The terms in the order in which help and errors list them.
const TERMS: &str = "default, pg=VERSION, build=NAME, bindir=DIR, bundle, data=DIR, waldir=DIR, dir=DIR, \
                     preset=NAME|FILE, as-published, listen=ADDR, set:NAME=VALUE, \
                     script=FILE, builtin=NAME, protocol=NAME, clients=N, load:NAME[=VALUE], \
                     host=default|recommended, host:NAME=VALUE, \
                     dsn=CONNINFO[,admin-dsn=CONNINFO], command=LINE";
/// Most clients of a run.
const MAX_CLIENTS: u32 = 100_000;
/// Separates the connection string of the clients from that for setup, checks and monitoring.
const ADMIN: &str = ",admin-dsn=";

impl Arm {
    /// Parses an arm. Terms are separated by commas. A comma that no term follows belongs to the value of the setting
    /// before it. `command=` includes the rest of the text, and `dsn=` that up to `,admin-dsn=`.
    ///
    /// # Errors
    /// A wrong request, with the wrong term.
    pub fn parse(text: &str) -> Result<Self, Problem> {
        let mut arm = Self::default();
        let mut rest = text;
        let mut last_setting: Option<String> = None;
        while !rest.is_empty() {
            if let Some(dsn) = rest.strip_prefix("dsn=") {
                let (dsn, admin) =
                    dsn.split_once(ADMIN).map_or((dsn, None), |(dsn, admin)| (dsn, Some(admin)));
                arm.dsn = Some(given(text, "dsn", dsn)?.to_owned());
                arm.admin_dsn =
                    admin.map(|admin| given(text, "admin-dsn", admin).map(str::to_owned)).transpose()?;
                break;
            }
            if let Some(command) = rest.strip_prefix("command=") {
                arm.command = Some(given(text, "command", command)?.to_owned());
                break;
            }
            let (term, behind) = rest.split_once(',').unwrap_or((rest, ""));
            let goes_on = last_setting.as_ref().filter(|_| is_part_of_a_value(term));
            match goes_on.and_then(|name| arm.server.settings.get_mut(name)) {
                Some(value) => value.extend([",", term]),
                None => last_setting = arm.term(text, term.trim())?,
            }
            rest = behind.trim_start();
        }
        if text.is_empty() { Err(wrong(text, "it is empty")) } else { Ok(arm) }
    }

    /// Parses one term. Returns the name of the setting if it sets one.
    fn term(&mut self, text: &str, term: &str) -> Result<Option<String>, Problem> {
        let because = |why: String| wrong(text, &format!("`{term}`: {why}"));
        if let Some(assignment) = term.strip_prefix("set:") {
            let (name, value) = setting(assignment).map_err(because)?;
            return match self.server.settings.insert(name.clone(), value) {
                Some(_) => Err(wrong(text, &format!("it sets {name} twice"))),
                None => Ok(Some(name)),
            };
        }
        let twice = if let Some(option) = term.strip_prefix("load:") {
            let twice = self.adds_load_twice(option).map_err(because)?;
            twice.then(|| format!("`{term}` gives an option twice"))
        } else if let Some(assignment) = term.strip_prefix("host:") {
            let twice = self.adds_host_twice(assignment).map_err(because)?;
            twice.then(|| format!("`{term}` gives a value twice"))
        } else {
            let (key, value) = match term.split_once('=') {
                Some((key, value)) => (key, Some(given(text, key, value)?)),
                None => (term, None),
            };
            let known = self.sets_twice(key, value).map_err(because)?;
            let twice = known.ok_or_else(|| wrong(text, &format!("`{term}` is not a term of an arm")))?;
            twice.then(|| format!("`{key}` is given twice"))
        };
        twice.map_or(Ok(None), |why| Err(wrong(text, &why)))
    }

    /// Adds an option of loads. Returns whether it was given before.
    fn adds_load_twice(&mut self, option: &str) -> Result<bool, String> {
        let option = load_option(option)?;
        let known = self.load.by_name();
        let is_known = |name: &str| known.iter().any(|(other, _)| *other == name);
        let twice = option.by_name().iter().any(|(name, _)| is_known(name));
        self.load = option.over(&self.load);
        Ok(twice)
    }

    /// Adds a value of the host. Returns whether it was given before.
    fn adds_host_twice(&mut self, assignment: &str) -> Result<bool, String> {
        let of = host(assignment)?;
        let twice = of.set.keys().any(|name| self.host.set.contains_key(name));
        self.host.apply = of.apply;
        self.host.set.extend(of.set);
        Ok(twice)
    }

    /// Sets what a key names. Returns whether it was set before; `None` if there is no such key.
    fn sets_twice(&mut self, key: &str, value: Option<&str>) -> Result<Option<bool>, String> {
        Ok(Some(match (key, value) {
            ("default", None) => false,
            ("bundle", None) => std::mem::replace(&mut self.server.bundle, true),
            ("as-published", None) => std::mem::replace(&mut self.server.as_published, true),
            ("dir", Some(value)) => self.dir.replace(value.into()).is_some(),
            ("script", Some(value)) => self.script.replace(value.into()).is_some(),
            ("builtin", Some(value)) => self.builtin.replace(builtin(value)?).is_some(),
            ("protocol", Some(value)) => self.protocol.replace(protocol(value)?).is_some(),
            ("host", Some(value)) => !std::mem::replace(&mut self.host, state(value)?).is_default(),
            ("clients", Some(value)) => self.clients.replace(clients(value)?).is_some(),
            _ => {
                let of_server = self.server.terms().into_iter().find(|(name, _)| *name == key);
                return Ok(of_server
                    .zip(value)
                    .map(|((_, slot), value)| slot.replace(value.to_owned()).is_some()));
            }
        }))
    }

    /// This arm, with the properties of `base` that it does not set itself.
    #[must_use]
    pub fn over(self, base: &Self) -> Self {
        let base = base.clone();
        let work = self.script.is_some() || self.builtin.is_some() || self.command.is_some();
        Self {
            server: self.server.over(&base.server),
            dsn: self.dsn.or(base.dsn),
            admin_dsn: self.admin_dsn.or(base.admin_dsn),
            dir: self.dir.or(base.dir),
            script: if work { self.script } else { base.script },
            builtin: if work { self.builtin } else { base.builtin },
            command: if work { self.command } else { base.command },
            protocol: self.protocol.or(base.protocol),
            load: self.load.over(&base.load),
            clients: self.clients.or(base.clients),
            host: self.host.over(&base.host),
        }
    }

    /// The server of the arm: an existing one, else a temporary one called `name`, whose settings override those of the
    /// plan. `None` if a connection string names no server.
    ///
    /// # Errors
    /// A connection string that cannot be parsed, or a missing program.
    pub fn server(
        &self,
        plan: &Plan,
        run_as: Option<String>,
        name: String,
    ) -> Result<Option<Wanted>, Problem> {
        if let Some(dsn) = &self.dsn {
            let (dbname, admin_dsn) = (Some(dsn.clone()), self.admin_dsn.clone());
            let connection = Connection { dbname, admin_dsn, ..Connection::default() };
            return Ok(connection.resolve()?.map(|external| Wanted::External(Box::new(external))));
        }
        let server = self.server.clone().over(&plan.server);
        Ok(Some(Wanted::Own(Box::new(request(server, run_as, name)?))))
    }

    /// Whether it describes a temporary server, by more than settings: those can be of sessions on an existing server.
    pub fn describes_server(&self) -> bool {
        !ServerPlan { settings: BTreeMap::new(), ..self.server.clone() }.is_default()
    }

    /// How its clients connect to an existing server with the settings of their own; `None` if they have none and
    /// connect in no other way than those of the other arm.
    pub fn drive(&self, server: &Wanted, differs: bool) -> Option<ConnectOptions> {
        let Wanted::External(external) = server else { return None };
        if self.server.settings.is_empty() && !differs {
            return None;
        }
        let mut drive = external.drive.clone();
        let settings = &self.server.settings;
        drive.startup.extend(settings.iter().map(|(name, value)| (name.clone(), value.clone())));
        Some(drive)
    }

    /// The requested differences between two arms.
    pub fn asked(&self, other: &Self) -> Asked {
        let (own, theirs) = (&self.server, &other.server);
        let programs = |server: &ServerPlan| (server.build.clone(), server.bindir.clone(), server.bundle);
        let program = match () {
            () if programs(own) != programs(theirs) => AskedProgram::Build,
            () if own.pg != theirs.pg => AskedProgram::Version,
            () => AskedProgram::Nothing,
        };
        let names = own.settings.keys().chain(theirs.settings.keys());
        let differing = names.filter(|name| own.settings.get(*name) != theirs.settings.get(*name));
        let settings = differing.map(|name| name.to_ascii_lowercase()).collect();
        let work = [
            ("script", (&self.script, self.builtin) != (&other.script, other.builtin)),
            ("protocol", self.protocol != other.protocol),
            ("command", self.command != other.command),
            ("state of the host", self.host != other.host),
        ];
        let work = work.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name.to_owned());
        let places = (&own.data, &own.waldir, &self.dir) != (&theirs.data, &theirs.waldir, &other.dir);
        let (of_own, of_other) = (self.load.by_name(), other.load.by_name());
        let only = of_own.iter().filter(|term| !of_other.contains(term));
        let only = only.chain(of_other.iter().filter(|term| !of_own.contains(term)));
        let mut load: BTreeSet<String> = only.map(|(name, _)| name.clone()).collect();
        if load.contains("partitions") {
            // Where only one has partitions, only one has a method.
            load.insert("partition-method".to_owned());
        }
        Asked {
            program,
            settings,
            preset: (&own.preset, own.as_published) != (&theirs.preset, theirs.as_published),
            connection: own.listen != theirs.listen,
            places,
            work: work.collect(),
            clients: self.clients != other.clients,
            load,
        }
    }

    /// The arm as an argument, without the terms that it shares with the other.
    pub fn said_next_to(&self, other: &Self) -> String {
        let shared = other.terms();
        in_one_word(self.terms().into_iter().filter(|term| !shared.contains(term)).collect())
    }

    /// The arm as an argument.
    pub fn said(&self) -> String {
        in_one_word(self.terms())
    }

    fn admin(&self) -> String {
        self.admin_dsn.as_ref().map(|dsn| format!("{ADMIN}{dsn}")).unwrap_or_default()
    }

    /// The terms of the arm; `dsn=` and `command=` come last, since they include the rest. Recording redacts secrets.
    fn terms(&self) -> Vec<String> {
        let mut server = self.server.clone();
        let [pg, build, bindir, data, waldir, preset, listen] =
            server.terms().map(|(key, value)| value.as_ref().map(|value| format!("{key}={value}")));
        let bundle = self.server.bundle.then(|| "bundle".to_owned());
        let as_published = self.server.as_published.then(|| "as-published".to_owned());
        let mut terms = vec![pg, build, bindir, bundle, data, waldir, preset, as_published, listen];
        terms.extend(self.server.settings.iter().map(|(name, value)| Some(format!("set:{name}={value}"))));
        terms.extend([
            self.dir.as_ref().map(|path| format!("dir={}", path.display())),
            self.script.as_ref().map(|path| format!("script={}", path.display())),
            self.builtin.map(|builtin| format!("builtin={}", builtin.name())),
            self.protocol.map(|protocol| format!("protocol={}", protocol.name())),
            self.clients.map(|clients| format!("clients={clients}")),
        ]);
        terms.extend(host_terms(&self.host).into_iter().map(Some));
        terms.extend(self.load.terms().into_iter().map(|(name, value)| {
            let value = value.map(|value| format!("={value}")).unwrap_or_default();
            Some(format!("load:{name}{value}"))
        }));
        terms.extend([
            self.dsn.as_ref().map(|dsn| format!("dsn={dsn}{}", self.admin())),
            self.command.as_ref().map(|command| format!("command={command}")),
        ]);
        terms.into_iter().flatten().collect()
    }
}

fn in_one_word(terms: Vec<String>) -> String {
    if terms.is_empty() { "default".to_owned() } else { terms.join(",") }
}

/// Whether a part between commas must belong to the value before it: a term has a `=` or `:`, or is a known word.
fn is_part_of_a_value(term: &str) -> bool {
    !term.contains(['=', ':']) && !matches!(term.trim(), "default" | "bundle" | "as-published")
}

fn given<'a>(text: &str, key: &str, value: &'a str) -> Result<&'a str, Problem> {
    if value.trim().is_empty() { Err(wrong(text, &format!("`{key}=` has no value"))) } else { Ok(value) }
}

fn wrong(text: &str, why: &str) -> Problem {
    let text = pgdyno_record::redact(text);
    Problem::wrong_request(format!("could not use `{text}` as an arm: {}", pgdyno_record::redact(why)))
        .hint(format!("an arm is one or more of these, separated by commas: {TERMS}"))
}

/// Parses the name of a built-in script.
///
/// # Errors
/// The possible names.
pub fn builtin(name: &str) -> Result<Builtin, String> {
    Builtin::by_name(name).ok_or_else(|| "one of tpcb-like, simple-update, select-only".to_owned())
}

/// Parses a client count.
///
/// # Errors
/// The possible counts.
pub fn clients(text: &str) -> Result<u32, String> {
    let count: u32 = text.parse().map_err(|_| format!("it is a number from 1 to {MAX_CLIENTS}"))?;
    match count {
        1..=MAX_CLIENTS => Ok(count),
        _ => Err(format!("{count} is not between 1 and {MAX_CLIENTS}")),
    }
}

/// The terms of a state of the host.
fn host_terms(host: &HostPlan) -> Vec<String> {
    match host.apply {
        None => Vec::new(),
        Some(false) => vec!["host=default".to_owned()],
        Some(true) if host.set.is_empty() => vec!["host=recommended".to_owned()],
        Some(true) => host.set.iter().map(|(name, value)| format!("host:{name}={value}")).collect(),
    }
}

/// Parses a state of the host: its name, or one value.
///
/// # Errors
/// The possible states.
pub fn host(text: &str) -> Result<HostPlan, String> {
    let Some((name, value)) = text.split_once('=') else { return state(text) };
    if name.trim().is_empty() || value.trim().is_empty() {
        return Err("one side of the `=` is empty".to_owned());
    }
    Ok(HostPlan { apply: Some(true), set: [(name.to_owned(), value.to_owned())].into() })
}

/// Parses the name of a state of the host.
fn state(text: &str) -> Result<HostPlan, String> {
    match text {
        "default" => Ok(HostPlan::unchanged()),
        "recommended" => Ok(HostPlan::recommended()),
        _ => Err("it is default, recommended, or a value such as vm.swappiness=1".to_owned()),
    }
}

/// Parses the name of a protocol.
///
/// # Errors
/// The possible names.
pub fn protocol(name: &str) -> Result<Protocol, String> {
    let all = [Protocol::Simple, Protocol::Extended, Protocol::Prepared];
    let found = all.into_iter().find(|protocol| protocol.name() == name);
    found.ok_or_else(|| "one of simple, extended, prepared".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_both_share_is_not_said() {
        let arm = |text| Arm::parse(text).expect("it is one");
        let (a, b) =
            (arm("pg=15,set:jit=on,builtin=select-only"), arm("pg=18,set:jit=on,builtin=select-only"));
        assert_eq!((a.said_next_to(&b), b.said_next_to(&a)), ("pg=15".into(), "pg=18".into()));
        assert_eq!(a.said_next_to(&a), "default");
    }

    #[test]
    fn what_was_asked_to_differ_is_what_the_arms_do_not_share() {
        let arm = |text| Arm::parse(text).expect("it is one");
        let asked = |a, b| arm(a).asked(&arm(b));
        assert_eq!(asked("pg=18,set:jit=on", "pg=18,set:jit=on"), Asked::default());
        assert_eq!(asked("pg=15", "pg=18").program, AskedProgram::Version);
        for (a, b) in
            [("build=a", "build=b"), ("pg=15", "build=b"), ("default", "bundle"), ("bindir=/x", "pg=18")]
        {
            assert_eq!(asked(a, b).program, AskedProgram::Build, "{a} {b}");
        }
        let settings = asked("set:JIT=on,set:work_mem=4MB", "set:work_mem=4MB,set:fsync=off").settings;
        assert_eq!(settings.into_iter().collect::<Vec<_>>(), ["fsync", "jit"]);
        let work = asked("script=a.sql,protocol=simple", "builtin=select-only").work;
        assert_eq!(work, ["script", "protocol"]);
        let host = asked("host:vm.swappiness=1", "host=default").work;
        assert_eq!(host, ["state of the host"]);
        assert!(asked("data=/a,pg=18", "pg=18").places && !asked("pg=18", "pg=17").places);
        assert!(asked("preset=tpcc-9.5", "pg=18").preset && !asked("preset=a", "preset=a").preset);
        assert!(asked("preset=a,as-published", "preset=a").preset && asked("listen=*", "pg=18").connection);
        let options = asked("load:table-option=a=1,load:table-option=b=1", "load:table-option=a=1").load;
        assert_eq!(options.into_iter().collect::<Vec<_>>(), ["table-option b"]);
        let own = asked("clients=8,load:unlogged,load:jobs=2", "clients=9,load:jobs=2,load:partitions=4");
        assert!(own.clients && !asked("clients=8", "clients=8").clients);
        assert_eq!(own.load.into_iter().collect::<Vec<_>>(), ["partition-method", "partitions", "unlogged"]);
    }

    #[test]
    fn terms_are_read_and_written() {
        for text in [
            "default",
            "pg=18",
            "bindir=/usr/lib/postgresql/15/bin",
            "build=pg18-clang,set:jit=off",
            "pg=18,bundle,data=/srv/a,waldir=/srv/w",
            "pg=18,set:jit=off,set:shared_buffers=1GB",
            "set:search_path=a,b,c,set:work_mem=64MB",
            "set:shared_preload_libraries=auto_explain,pg_stat_statements,script=a.sql,protocol=simple",
            "builtin=select-only",
            "dir=/srv/a",
            "protocol=simple,clients=8,load:partitions=8,load:partition-method=hash,load:unlogged",
            "load:fillfactor=50,load:method=chunks,load:jobs=2",
            "pg=18,preset=tpcc-9.5,as-published,listen=127.0.0.1,set:work_mem=4MB",
            "load:table-option=autovacuum_enabled=off,load:table-option=accounts.parallel_workers=8",
            "dsn=host=/tmp dbname=a,b",
            "dsn=host=pool port=6432,admin-dsn=host=db dbname=a,b",
            "pg=18,command=pgbench -n -S -T {seconds} -c 4, or so",
        ] {
            let arm = Arm::parse(text).unwrap_or_else(|problem| panic!("{text}: {problem:?}"));
            assert_eq!(arm.said(), text);
            assert_eq!(Arm::parse(&arm.said()).expect("what is written can be read"), arm);
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, words) in [
            ("", "it is empty"),
            ("pg", "`pg` is not a term of an arm"),
            ("pg=", "`pg=` has no value"),
            ("pgs=18", "`pgs=18` is not a term of an arm"),
            ("pg=18,bindr=/x", "`bindr=/x` is not a term of an arm"),
            ("pg=18,pg=15", "`pg` is given twice"),
            ("set:jit=off,set:jit=on", "it sets jit twice"),
            ("set:jit", "a setting is written NAME=VALUE"),
            ("set:jit=off,sett:jit=on", "`sett:jit=on` is not a term of an arm"),
            ("builtin=tpch", "one of tpcb-like"),
            ("protocol=udp", "one of simple"),
            ("clients=0", "`clients=0`: 0 is not between 1 and 100000"),
            ("clients=many", "it is a number from 1 to 100000"),
            ("clients", "`clients` is not a term of an arm"),
            ("clients=1,clients=2", "`clients` is given twice"),
            ("load:fillfactor=5", "`load:fillfactor=5`: invalid value '5'"),
            ("load:rows=5", "`load:rows=5`: there is no such option; the options are partitions,"),
            ("load:jobs=1,load:load-jobs=2", "`load:load-jobs=2` gives an option twice"),
            ("load:unlogged,load:unlogged", "gives an option twice"),
            ("load:table-option=a=1,load:table-option=a=2", "`load:table-option=a=2` gives an option twice"),
            ("preset=a,preset=b", "`preset` is given twice"),
            ("dsn=", "`dsn=` has no value"),
        ] {
            let problem = Arm::parse(text).expect_err(text);
            assert!(problem.what.contains(words), "{text}: {}", problem.what);
        }
    }

    #[test]
    fn a_password_is_not_repeated() {
        let problem = Arm::parse("nonsense,dsn=postgres://me:hush@host/db").expect_err("it is wrong");
        assert!(!problem.what.contains("hush"), "{}", problem.what);
    }

    #[test]
    fn what_is_said_of_an_arm_overrides_what_is_said_of_both() {
        let base = Arm::parse("pg=15,set:jit=on,set:work_mem=4MB,builtin=select-only").expect("it is one");
        let over = |text: &str| Arm::parse(text).expect("it is one").over(&base).said();
        assert_eq!(over("default"), base.said());
        assert_eq!(over("set:jit=off"), "pg=15,set:jit=off,set:work_mem=4MB,builtin=select-only");
        assert_eq!(over("build=x"), "build=x,set:jit=on,set:work_mem=4MB,builtin=select-only");
        assert_eq!(over("bindir=/x"), "bindir=/x,set:jit=on,set:work_mem=4MB,builtin=select-only");
        assert_eq!(over("script=a.sql"), "pg=15,set:jit=on,set:work_mem=4MB,script=a.sql");
        let both = Arm::parse("clients=4,load:fillfactor=50").expect("it is one");
        let own = Arm::parse("clients=8,load:unlogged").expect("it is one").over(&both);
        assert_eq!(own.said(), "clients=8,load:fillfactor=50,load:unlogged");
        let bundles = Arm::parse("bundle").expect("it is one");
        let over = |text: &str| Arm::parse(text).expect("it is one").over(&bundles).said();
        assert_eq!(over("pg=9.6"), "pg=9.6,bundle", "a version does not choose where it comes from");
        assert_eq!((over("default"), over("build=x")), ("bundle".into(), "build=x".into()));
        let version = Arm::parse("pg=9.6").expect("it is one");
        assert_eq!(Arm::parse("bundle").expect("it is one").over(&version).said(), "pg=9.6,bundle");
        assert_eq!(over("bindir=/x"), "bindir=/x");
    }
}
