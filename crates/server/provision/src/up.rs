//! From a request to a server that takes connections.

use std::{
    collections::BTreeMap,
    fs, io,
    net::{SocketAddr, TcpListener, ToSocketAddrs},
    path::{Path, PathBuf},
    process::Stdio,
};

use pgdyno_core::{
    facts::{Choice, ServerSource, block_bytes_of_configure, wal_segment_mb_of_configure},
    host::Inventory,
    problem::Problem,
};
use pgdyno_host::{facts, procs, users::User};
use pgdyno_plan::{
    advice::{config, will_it_start},
    preset::{Fit, Fitted},
};

use super::{
    Dirs, Event, Lifetime, Request, RunningServer, Wanted,
    builds::{self, Build},
    bundle,
    child::{ChildOptions, command},
    conf::{self, ServerConf},
    initdb::{Cluster, create_tablespaces, initdb, random_password},
    installation::{self, Installation},
    presets::{self, Program},
    process::{self, Start, start, wait_ready},
    ready::socket_path,
    refused_settings,
    registry::{FORMAT, Phase, Record, Slot, Status, check_name},
    run_as,
    safe::{Place, append_line, first_closed, make_open_dir, write_file},
    stop,
    template::Template,
};

/// What helps where a preset is too large for this machine.
const FIT_HINT: &str =
    "leave --as-published out, and the preset is fitted to this machine; --set overrides it";

/// Longest path of a socket in bytes (`unix(7)`: 108 with the final zero).
const LONGEST_SOCKET: usize = 107;

/// Returns a running server: one that already runs under this name, one that was stopped and is started again, or a new
/// one. A new server that cannot be started leaves nothing behind.
///
/// # Errors
/// If the request is invalid, contradicts the existing server of this name, or cannot be fulfilled on this machine.
pub fn up(request: &Request, dirs: &Dirs, progress: &mut dyn FnMut(Event)) -> Result<RunningServer, Problem> {
    check(request)?;
    let slot = Slot::lock(dirs, &request.name, progress)?;
    let mut up = Up { request, dirs, slot, progress };
    let Some(record) = up.slot.read()? else {
        return up.create_or_clean();
    };
    match record.status() {
        Status::Running { pid } => up.already_running(&record, pid),
        Status::Starting { .. } | Status::Stopping { .. } => Err(in_between(&record)),
        Status::Stopped | Status::Dead => up.again(record),
        Status::Unfinished => {
            (up.progress)(Event::CleaningUp { name: record.name.clone() });
            up.slot.discard(record)?;
            up.slot = Slot::lock(dirs, &request.name, up.progress)?;
            up.create_or_clean()
        }
    }
}

/// A server that is being made or started.
struct Up<'a> {
    request: &'a Request,
    dirs: &'a Dirs,
    slot: Slot,
    progress: &'a mut dyn FnMut(Event),
}

impl Up<'_> {
    fn create_or_clean(&mut self) -> Result<RunningServer, Problem> {
        self.create().inspect_err(|_| self.clean())
    }

    /// Removes what a failed request has made, ignoring errors: the first problem is the one to report.
    fn clean(&mut self) {
        let removed = match self.slot.read() {
            Ok(Some(record)) => {
                stop::stop(&record.data.path, Some(std::time::Duration::from_secs(5)), self.progress)
                    .and_then(|_| self.slot.discard(record))
            }
            _ => self.slot.remove_dir(),
        };
        // What could not be removed is still recorded, and listed by `ps`.
        drop(removed);
    }

    /// Makes a new server. Everything is recorded before it is made.
    fn create(&mut self) -> Result<RunningServer, Problem> {
        let (user, warning) = run_as::choose(self.request.run_as.as_deref())?;
        conf::check_allow(&self.request.allow, self.request.listen.is_some())?;
        let (program, source, pinned) = self.program()?;
        let mut record = self.plan(program, user)?;
        (record.source, record.pinned) = (source, pinned);
        let mut warnings: Vec<String> = warning.into_iter().collect();
        warnings.extend(size(self.request, &mut record, self.dirs)?);
        self.slot.close_to_others(record.run_as.as_ref())?;
        refuse_settings(&record, &self.slot)?;
        self.slot.write(&record)?;
        take_places(&mut record, &self.slot)?;
        (self.progress)(Event::MakingCluster { data_dir: record.data.path.clone() });
        self.make_cluster(&record)?;
        self.launch(record, warnings)
    }

    /// The program of a request: one that needs no bundle, else a bundle.
    fn program(&mut self) -> Result<(Installation, ServerSource, Option<bool>), Problem> {
        if let Some((found, source, _)) = program_here(self.request, self.dirs)? {
            return Ok((found, source, None));
        }
        let bundle = bundle::obtain(self.request.pg, &self.dirs.cache, self.progress)?;
        Ok((installation::inspect(&bundle.bindir())?, ServerSource::Bundle, Some(bundle.pinned)))
    }

    fn plan(&self, program: Installation, user: Option<User>) -> Result<Record, Problem> {
        let (request, home) = (self.request, self.slot.dir());
        let absolute = |path: &Path| {
            std::path::absolute(path)
                .map_err(|e| Problem::wrong_request(format!("`{}` is not a path: {e}", path.display())))
        };
        let place = |path: &Path| absolute(path).map(Place::planned);
        let port = request.port.unwrap_or(5432);
        let data = request.data.as_deref().map_or_else(|| Ok(Place::planned(home.join("data"))), place)?;
        let tablespaces = request.tablespaces.iter().map(|(name, dir)| Ok((name.clone(), place(dir)?)));
        Ok(Record {
            format: FORMAT,
            name: request.name.clone(),
            phase: Phase::Preparing,
            version_num: program.version_num,
            version: program.version,
            source: ServerSource::Installed,
            pinned: None,
            build: request.build.clone(),
            bindir: program.bindir,
            data,
            wal: request.waldir.as_deref().map(place).transpose()?,
            tablespaces: tablespaces.collect::<Result<_, Problem>>()?,
            socket: Place::planned(socket_dir(home, self.dirs, &request.name, port)?),
            port,
            listen: request.listen.clone(),
            allow: request.allow.clone(),
            run_as: user,
            wal_segsize_mb: request.wal_segsize_mb,
            cpus: request.cpus.clone(),
            given: request.settings.clone(),
            settings: Vec::new(),
            preset: request.preset.clone(),
            preset_used: None,
        })
    }

    fn make_cluster(&self, record: &Record) -> Result<(), Problem> {
        let (request, slot) = (self.request, &self.slot);
        let problem = |error: io::Error| {
            Problem::could_not(format!("could not write {}: {error}", slot.dir().display()))
        };
        let mut cluster = Cluster {
            bindir: &record.bindir,
            version_num: record.version_num,
            data_dir: &record.data.path,
            wal_dir: record.wal.as_ref().map(|place| place.path.as_path()),
            wal_segsize_mb: request.wal_segsize_mb,
            encoding: request.encoding.as_deref().unwrap_or("UTF8"),
            locale: request.locale.as_deref().unwrap_or("C"),
            collate: request.collate.as_deref(),
            ctype: request.ctype.as_deref(),
            data_checksums: request.data_checksums.unwrap_or(true),
            user: record.run_as.as_ref(),
            home: slot.dir(),
            password: random_password().map_err(problem)?,
        };
        let template = self.template(&cluster)?;
        if let Some(template) = &template {
            cluster.password = template.password();
        }
        write_file(&slot.dir().join("password"), format!("{}\n", cluster.password).as_bytes(), 0o600, None)
            .map_err(problem)?;
        template.map_or_else(|| initdb(&cluster), |template| template.make(&cluster))?;
        let tablespaces = record.tablespaces.iter().map(|(name, place)| (name.clone(), place.path.clone()));
        create_tablespaces(&cluster, &tablespaces.collect::<Vec<_>>())?;
        let include = format!("include {}", conf::quote(&slot.dir().join("pgdyno.conf").to_string_lossy()));
        append_line(&record.data.path, "postgresql.conf", &include).map_err(problem)
    }

    /// Template of a cluster in pgdyno's own tests. Programs in a directory of a test's own get none: it would not be
    /// used again.
    fn template(&self, cluster: &Cluster<'_>) -> Result<Option<Template>, Problem> {
        match &self.dirs.templates {
            Some(templates) if self.request.bindir.is_none() && self.request.build.is_none() => {
                Template::of(cluster, templates)
            }
            _ => Ok(None),
        }
    }

    fn already_running(&self, record: &Record, pid: u32) -> Result<RunningServer, Problem> {
        let request = self.request;
        refuse_contradiction(request, record)?;
        let changes = request.settings.iter().any(|(name, value)| record.given.get(name) != Some(value))
            || request.listen.as_ref().is_some_and(|listen| Some(listen) != record.listen.as_ref())
            || request.port.is_some_and(|port| port != record.port)
            || (!request.allow.is_empty() && request.allow != record.allow)
            || (request.preset.is_some() && request.preset != record.preset)
            || (!request.cpus.is_empty() && request.cpus != record.cpus);
        if changes {
            let name = &record.name;
            return Err(Problem::wrong_request(format!("server `{name}` runs already, with other settings"))
                .hint(format!("stop it first with `pgdyno down {name}`; its data stays")));
        }
        Ok(RunningServer {
            already_running: true,
            ..RunningServer::from_record(record, pid, self.dirs, Vec::new())
        })
    }

    /// Starts a server that was stopped or has died, with the settings of the request over those recorded.
    fn again(&mut self, mut record: Record) -> Result<RunningServer, Problem> {
        let request = self.request;
        refuse_contradiction(request, &record)?;
        process::settle(&record.data.path, &record.socket.path, record.port)?;
        let found = self.program_again(&record)?;
        if found.version_num / 100 != record.version_num / 100 {
            return Err(Problem::could_not(format!(
                "the programs in {} are another version now",
                found.bindir.display()
            ))
            .detail(format!("the cluster was made by {}, they are {}", record.version, found.version)));
        }
        (record.version_num, record.version, record.bindir) =
            (found.version_num, found.version, found.bindir);
        record.given.extend(request.settings.clone());
        record.listen = request.listen.clone().or(record.listen);
        record.port = request.port.unwrap_or(record.port);
        record.preset = request.preset.clone().or(record.preset);
        if !request.allow.is_empty() {
            record.allow.clone_from(&request.allow);
        }
        conf::check_allow(&record.allow, record.listen.is_some())?;
        if !request.cpus.is_empty() {
            record.cpus.clone_from(&request.cpus);
        }
        self.make_socket_dir(&mut record)?;
        let warnings = size(request, &mut record, self.dirs)?;
        refuse_settings(&record, &self.slot)?;
        self.launch(record, warnings)
    }

    /// The program of an existing server. A cached bundle is verified as for a new server.
    fn program_again(&mut self, record: &Record) -> Result<Installation, Problem> {
        if record.source == ServerSource::Bundle && record.runs_from(&self.dirs.cache) {
            let bundle =
                bundle::obtain(Some(Wanted::Exact(record.version_num)), &self.dirs.cache, self.progress)?;
            return installation::inspect(&bundle.bindir());
        }
        installation::inspect(&record.bindir)
    }

    /// Creates the socket directory again: the runtime directory may be empty after a reboot.
    fn make_socket_dir(&self, record: &mut Record) -> Result<(), Problem> {
        if record.socket.path.is_dir() {
            return Ok(());
        }
        let user = record.run_as.clone();
        record.socket.take("socket directory", user.as_ref())?;
        self.slot.write(record)
    }

    /// Writes the configuration, starts the server and waits for it. A server that does not come up is stopped.
    fn launch(&mut self, mut record: Record, warnings: Vec<String>) -> Result<RunningServer, Problem> {
        write_conf(&record, &self.slot)?;
        record.phase = Phase::Started;
        self.slot.write(&record)?;
        let log_path = self.slot.dir().join("server.log");
        let how = Start {
            bindir: &record.bindir,
            version_num: record.version_num,
            data_dir: &record.data.path,
            socket_dir: &record.socket.path,
            port: record.port,
            log_path: &log_path,
            user: record.run_as.as_ref(),
            cpus: &record.cpus,
            lifetime: self.request.lifetime,
            limit: self.request.start_limit,
        };
        let mut started = start(&how)?;
        let pid = started.pid();
        (self.progress)(Event::Starting { pid });
        if let Err(problem) = wait_ready(&how, &mut started, self.progress) {
            // The server may still be running without a report; the problem to report is known already.
            let _ = stop::stop(&record.data.path, Some(std::time::Duration::from_secs(5)), self.progress);
            return Err(refused_settings::blame_setting(problem, &record.asked_settings()));
        }
        Ok(RunningServer::from_record(&record, pid, self.dirs, warnings))
    }
}

/// Starts a stopped server with what its record says. Of the request only the lifetime and the limit of the start
/// count.
///
/// # Errors
/// The server does not start.
pub(super) fn launch(
    slot: Slot,
    record: Record,
    request: &Request,
    dirs: &Dirs,
) -> Result<RunningServer, Problem> {
    Up { request, dirs, slot, progress: &mut |_| () }.launch(record, Vec::new())
}

/// Checks what can be checked without facts, before anything is made.
///
/// # Errors
/// A wrong request, if a value is invalid or values exclude each other.
pub fn check(request: &Request) -> Result<(), Problem> {
    check_name(&request.name)?;
    conf::check_settings(&request.settings)?;
    refuse_strange_preset(request)?;
    run_as::choose(request.run_as.as_deref())?;
    refuse_several_programs(request)?;
    request.bindir.as_ref().map_or(Ok(()), |dir| installed(request, dir).map(drop))?;
    if let Some(size) = request.wal_segsize_mb.filter(|size| !size.is_power_of_two() || *size > 1024) {
        return Err(Problem::wrong_request(format!("a WAL segment cannot have {size} MB"))
            .hint("use a power of two from 1 to 1024"));
    }
    let words = [
        ("encoding", &request.encoding),
        ("locale", &request.locale),
        ("collate", &request.collate),
        ("ctype", &request.ctype),
        ("listen", &request.listen),
    ];
    for (flag, value) in words {
        if value.as_ref().is_some_and(|v| v.is_empty() || v.chars().any(|c| c.is_control() || c == '\'')) {
            return Err(Problem::wrong_request(format!("--{flag} has no usable value"))
                .hint("leave it out to use the default"));
        }
    }
    // A server that exists may listen already.
    conf::check_allow(&request.allow, true)?;
    check_tablespaces(&request.tablespaces)
}

/// Refuses a preset whose settings could not be written to a configuration file.
fn refuse_strange_preset(request: &Request) -> Result<(), Problem> {
    let Some(preset) = &request.preset else { return Ok(()) };
    // What pgdyno decides itself is left out of a preset, with a reason.
    let control = |text: &String| text.chars().any(char::is_control);
    let strange = preset.settings.iter().find(|(name, value)| control(name) || control(value));
    match strange {
        None => Ok(()),
        Some((name, _)) => Err(Problem::wrong_request(format!(
            "the preset {} has a control character in {name}",
            preset.name
        ))
        .hint("take it out of the file")),
    }
}

/// A directory, a build and the bundle each name the program: only one may be given.
fn refuse_several_programs(request: &Request) -> Result<(), Problem> {
    let named = [
        ("--build", request.build.is_some()),
        ("--bindir", request.bindir.is_some()),
        ("--bundle", request.bundle_only),
    ];
    let named: Vec<&str> = named.into_iter().filter_map(|(flag, given)| given.then_some(flag)).collect();
    match named[..] {
        [one, other, ..] => Err(Problem::wrong_request(format!("{one} and {other} both name the program"))
            .hint("leave one of the two out")),
        _ => Ok(()),
    }
}

/// Checks that the build of a request exists and has the requested version.
///
/// # Errors
/// A wrong request, if it does not.
pub fn check_build(request: &Request, dirs: &Dirs) -> Result<(), Problem> {
    request.build.as_ref().map_or(Ok(()), |name| built(request, name, dirs).map(drop))
}

/// Finds the build of a name, and checks its version.
fn built(request: &Request, name: &str, dirs: &Dirs) -> Result<Build, Problem> {
    let build = builds::find(dirs, name)?;
    let program = format!("the build `{name}` is {}", build.manifest.version);
    refuse_other_version(request, build.manifest.version_num, &program)?;
    Ok(build)
}

/// Refuses a program of another version than requested; `program` says which it is.
fn refuse_other_version(request: &Request, version_num: u32, program: &str) -> Result<(), Problem> {
    request.pg.filter(|pg| !pg.matches(version_num)).map_or(Ok(()), |pg| {
        Err(Problem::wrong_request(format!("--pg requests PostgreSQL {pg}, but {program}"))
            .hint("leave one of the two out"))
    })
}

fn check_tablespaces(tablespaces: &[(String, PathBuf)]) -> Result<(), Problem> {
    for (at, (name, dir)) in tablespaces.iter().enumerate() {
        let twice = tablespaces[..at].iter().any(|(other, _)| other == name);
        let control = dir.to_string_lossy().chars().chain(name.chars()).any(char::is_control);
        if name.is_empty() || name.len() > 63 || name.starts_with("pg_") || twice || control {
            return Err(Problem::wrong_request(format!("`{name}` cannot be the name of a tablespace"))
                .hint("use each name once, up to 63 bytes, not beginning with pg_"));
        }
        if dir.to_string_lossy().contains('\'') {
            return Err(Problem::wrong_request(format!("a tablespace cannot lie in {}", dir.display()))
                .hint("PostgreSQL allows no single quote in the name of its directory"));
        }
    }
    Ok(())
}

fn in_between(record: &Record) -> Problem {
    let (name, word) = (&record.name, record.status().word());
    Problem::could_not(format!("server `{name}` is {word} just now"))
        .hint(format!("wait for it (`pgdyno ps`), or stop it with `pgdyno down {name}`"))
}

/// Describes how the request contradicts the existing server of this name.
fn contradiction(request: &Request, record: &Record) -> Option<String> {
    let other =
        |flag: &str, wanted: String, has: String| Some(format!("{flag} requests {wanted}, but it has {has}"));
    let path = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(pg) = request.pg.filter(|pg| !pg.matches(record.version_num)) {
        return other("--pg", pg.to_string(), record.version.clone());
    }
    if let Some(build) = request.build.as_ref().filter(|build| Some(*build) != record.build.as_ref()) {
        let has = record.build.as_ref().map_or("none".to_owned(), |has| format!("`{has}`"));
        return other("--build", format!("`{build}`"), has);
    }
    if let Some(bindir) =
        request.bindir.as_deref().filter(|dir| fs::canonicalize(dir).ok().as_ref() != Some(&record.bindir))
    {
        return other("--bindir", bindir.display().to_string(), record.bindir.display().to_string());
    }
    if let Some(data) = request.data.as_deref().filter(|data| path(data) != record.data.path) {
        return other("--data", data.display().to_string(), record.data.path.display().to_string());
    }
    let wal = record.wal.as_ref().map(|place| place.path.clone());
    if let Some(waldir) = request.waldir.as_deref().filter(|dir| Some(path(dir)) != wal) {
        return other(
            "--waldir",
            waldir.display().to_string(),
            wal.map_or("none".into(), |w| w.display().to_string()),
        );
    }
    let fixed = [
        ("--wal-segsize", request.wal_segsize_mb.is_some_and(|size| Some(size) != record.wal_segsize_mb)),
        ("--encoding", request.encoding.is_some()),
        ("--locale", request.locale.is_some()),
        ("--collate", request.collate.is_some()),
        ("--ctype", request.ctype.is_some()),
        ("--data-checksums", request.data_checksums.is_some()),
        ("--tablespace", !request.tablespaces.is_empty()),
    ];
    fixed.iter().find(|(_, said)| *said).map(|(flag, _)| format!("{flag} is decided when a server is made"))
}

fn refuse_contradiction(request: &Request, record: &Record) -> Result<(), Problem> {
    contradiction(request, record).map_or(Ok(()), |detail| {
        let name = &record.name;
        Err(Problem::wrong_request(format!("server `{name}` already exists and differs from the request"))
            .detail(detail)
            .hint(format!("choose another name, or remove it with `pgdyno down {name} --remove`")))
    })
}

/// The programs in a directory, checked against the requested version.
fn installed(request: &Request, bindir: &Path) -> Result<Installation, Problem> {
    let found = installation::inspect(bindir)?;
    refuse_other_version(request, found.version_num, &format!("--bindir holds {}", found.version))?;
    Ok(found)
}

/// The program of a request that needs no bundle: the one named, else an installed one. A build comes with its name.
///
/// # Errors
/// If the named program does not exist, or has another version than requested.
pub(super) fn program_here(
    request: &Request,
    dirs: &Dirs,
) -> Result<Option<(Installation, ServerSource, Option<Build>)>, Problem> {
    if let Some(name) = &request.build {
        let build = built(request, name, dirs)?;
        return Ok(Some((installation::inspect(&build.bindir())?, ServerSource::Built, Some(build))));
    }
    if let Some(bindir) = &request.bindir {
        return Ok(Some((installed(request, bindir)?, ServerSource::Installed, None)));
    }
    if request.bundle_only {
        return Ok(None);
    }
    let installed = installation::find(request.search_path.as_deref());
    let found = installation::choose(&installed, request.pg);
    Ok(found.map(|found| (found.clone(), ServerSource::Installed, None)))
}

/// Directory of the socket: next to the data if the path is short enough for a socket, else in the runtime directory,
/// made unique by a hash of the server's own directory.
fn socket_dir(home: &Path, dirs: &Dirs, name: &str, port: u16) -> Result<PathBuf, Problem> {
    let hash = fnv1a(home.as_os_str().as_encoded_bytes());
    let candidates = [home.join("run"), dirs.runtime.join(format!("{name}-{hash:08x}"))];
    let fits = |dir: &PathBuf| socket_path(dir, port).as_os_str().len() <= LONGEST_SOCKET;
    candidates.iter().find(|dir| fits(dir)).cloned().ok_or_else(|| {
        Problem::could_not(format!("the name of the socket in {} is too long", candidates[1].display())).hint(
            "set PGDYNO_STATE to a directory with a shorter name, or choose a shorter name for the server",
        )
    })
}

fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193))
}

/// Compiled-in sizes that settings depend on: block size in bytes and WAL segment size in MB. A program that is not a
/// pgdyno build is inspected only if necessary.
fn compiled_sizes(record: &Record, dirs: &Dirs) -> (u32, u32) {
    let build = record.build.as_ref().and_then(|name| builds::find(dirs, name).ok());
    let without_unit = |value: &String| value.trim().bytes().all(|byte| byte.is_ascii_digit());
    let counts_blocks = record
        .given
        .iter()
        .any(|(name, value)| name.eq_ignore_ascii_case("shared_buffers") && without_unit(value));
    let configure = match &build {
        Some(build) => build.manifest.configure.join(" "),
        None if counts_blocks || record.version_num < 110_000 => {
            installation::build(&record.bindir).configure.unwrap_or_default()
        }
        None => String::new(),
    };
    let block_bytes = match &build {
        Some(build) => build.manifest.block_kb << 10,
        None => block_bytes_of_configure(&configure),
    };
    let segment_mb = record.wal_segsize_mb.or_else(|| wal_segment_mb_of_configure(&configure));
    (block_bytes, segment_mb.unwrap_or(16))
}

/// Chooses the settings from facts, and refuses what cannot start. Returns warnings.
fn size(request: &Request, record: &mut Record, dirs: &Dirs) -> Result<Vec<String>, Problem> {
    let unreadable =
        |error: io::Error| Problem::could_not(format!("could not read the facts of this machine: {error}"));
    let host = facts::host().map_err(unreadable)?;
    check_cpus(&record.cpus, &host)?;
    let data = facts::storage(&record.data.path).map_err(unreadable)?;
    let wal = record.wal.as_ref().map(|place| facts::storage(&place.path)).transpose().map_err(unreadable)?;
    let (block_bytes, segment_mb) = compiled_sizes(record, dirs);
    let inputs = config::Inputs {
        host: &host,
        data: &data,
        wal: wal.as_ref(),
        version_num: record.version_num,
        clients: request.clients,
        relations: request.relations,
        key_workers: request.key_workers,
        wal_segment_bytes: u64::from(segment_mb) << 20,
        server_cpus: (!record.cpus.is_empty()).then_some(record.cpus.len() as u32),
        purpose: config::Purpose::Oltp,
    };
    let fit = Fit {
        inputs,
        side_by_side: request.side_by_side.max(1),
        block_bytes: block_bytes.into(),
        given: &record.given,
    };
    let program = Program { bindir: &record.bindir, version: &record.version, user: record.run_as.as_ref() };
    let fitted = record.preset.as_ref().map(|preset| presets::fit_program(preset, &fit, &program));
    let (mut chosen, used) = match fitted {
        None => (config::settings(&inputs), None),
        Some(Fitted { choices, facts }) => (choices, Some(facts)),
    };
    record.preset_used = used;
    if request.lifetime == Lifetime::DiesWithUs {
        chosen.push(Choice {
            name: "restart_after_crash".to_owned(),
            value: "off".to_owned(),
            reason: "a crash ends the run: nothing after it would be the same server".to_owned(),
        });
    }
    record.settings = conf::merge(chosen, &record.given);
    let in_force =
        record.settings.iter().map(|choice| (choice.name.to_ascii_lowercase(), choice.value.clone()));
    let in_force: BTreeMap<String, String> = in_force.collect();
    let problems = will_it_start::problems(&host, record.version_num, block_bytes.into(), &in_force);
    if let Some(problem) = problems.into_iter().next() {
        let as_published = record.preset.as_ref().is_some_and(|preset| preset.as_published);
        return Err(if as_published { problem.hint(FIT_HINT) } else { problem });
    }
    refuse_taken_port(record)?;
    Ok(conf::weakened(&record.asked_settings()))
}

fn check_cpus(cpus: &[u32], host: &Inventory) -> Result<(), Problem> {
    let allowed = host.allowed_cpus();
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        Some(cpu) => {
            Err(Problem::wrong_request(format!("processor {cpu} is not one that this process may use"))
                .detail(format!("allowed are {allowed:?}"))
                .hint("choose among them with --cpus, for example --cpus 0-3"))
        }
        None => Ok(()),
    }
}

/// Tries to bind the port as the server will, and names the process that has it.
fn refuse_taken_port(record: &Record) -> Result<(), Problem> {
    let Some(listen) = &record.listen else { return Ok(()) };
    for name in listen.split(',').map(str::trim) {
        let name = if name == "*" { "0.0.0.0" } else { name };
        let addresses = (name, record.port).to_socket_addrs().map_err(|error| {
            Problem::wrong_request(format!("cannot listen on `{name}`: {error}"))
                .hint("give an address of this machine, such as 127.0.0.1, or * for all")
        })?;
        for address in addresses {
            try_bind(address)?;
        }
    }
    Ok(())
}

fn try_bind(address: SocketAddr) -> Result<(), Problem> {
    let Err(error) = TcpListener::bind(address) else { return Ok(()) };
    let port = address.port();
    if error.kind() != io::ErrorKind::AddrInUse {
        return Err(Problem::wrong_request(format!("cannot listen on {address}: {error}"))
            .hint("give an address of this machine, such as 127.0.0.1, or * for all"));
    }
    let problem = Problem::could_not(format!("could not start the server: port {port} is already in use"))
        .hint("choose another with --port, or stop that server. Nothing was changed.");
    let detail = procs::listeners(port).into_iter().next().map(|listener| match listener.process {
        Some((pid, name)) => format!("process {pid} ({name}) listens on {}", listener.address),
        None => format!("another user's process listens on {}", listener.address),
    });
    Err(Problem { detail, ..problem })
}

/// Claims every directory of the server, recording each at once.
fn take_places(record: &mut Record, slot: &Slot) -> Result<(), Problem> {
    let user = record.run_as.clone();
    let user = user.as_ref();
    if let Some(parent) = record.socket.path.parent() {
        make_runtime_dir(parent, slot.dir())?;
    }
    record.socket.take("socket directory", user)?;
    slot.write(record)?;
    record.data.take("data directory", user)?;
    slot.write(record)?;
    if let Some(wal) = &mut record.wal {
        wal.take("WAL directory", user)?;
        slot.write(record)?;
    }
    for at in 0..record.tablespaces.len() {
        record.tablespaces[at].1.take("tablespace directory", user)?;
        slot.write(record)?;
    }
    user.map_or(Ok(()), |user| refuse_unreachable(record, user))
}

/// Makes the runtime directory, which must be the user's own, since its parent may be writable for all.
fn make_runtime_dir(dir: &Path, home: &Path) -> Result<(), Problem> {
    use std::os::unix::fs::MetadataExt;
    if dir == home {
        return Ok(());
    }
    let ours = |dir: &Path| {
        let metadata = fs::symlink_metadata(dir)?;
        Ok(metadata.is_dir() && metadata.uid() == rustix::process::geteuid().as_raw())
    };
    match make_open_dir(dir).and_then(|()| ours(dir)) {
        Ok(true) => Ok(()),
        Ok(false) => Err(Problem::could_not(format!("{} belongs to another user", dir.display()))
            .hint("set XDG_RUNTIME_DIR to a directory of your own")),
        Err(error) => Err(Problem::could_not(format!("could not make {}: {error}", dir.display()))),
    }
}

/// Runs the program as its user in the data directory: if that works, both can be reached.
fn refuse_unreachable(record: &Record, user: &User) -> Result<(), Problem> {
    let options = ChildOptions { user: Some(user), ..ChildOptions::default() };
    let mut probe = command(&record.bindir.join("postgres"), &record.data.path, options);
    let run =
        probe.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let Err(error) = run else { return Ok(()) };
    let name = &user.name;
    let others = record.places().map(|place| place.path.as_path());
    let closed =
        others.chain([record.bindir.as_path()]).find_map(|path| Some((path, first_closed(path, user)?)));
    let problem = match closed {
        Some((path, closed)) => Problem::could_not(format!("user `{name}` cannot reach {}", path.display()))
            .detail(format!("only its owner can enter {}", closed.display())),
        None => Problem::could_not(format!("user `{name}` cannot run the server: {error}")),
    };
    Err(problem.hint("choose a directory that this user can reach, or another user with --run-as"))
}

fn write_conf(record: &Record, slot: &Slot) -> Result<(), Problem> {
    let problem =
        |error: io::Error| Problem::could_not(format!("could not write {}: {error}", slot.dir().display()));
    let hba_file = slot.dir().join("pg_hba.conf");
    let server = ServerConf {
        name: &record.name,
        socket_dir: &record.socket.path,
        port: record.port,
        listen: record.listen.as_deref(),
        hba_file: &hba_file,
    };
    let hba = conf::render_hba(record.version_num, record.listen.is_some(), &record.allow);
    // Only for the server's user: settings may contain passwords.
    let user = record.run_as.as_ref();
    write_file(&hba_file, hba.as_bytes(), 0o600, user).map_err(problem)?;
    let text = conf::render(&server, &record.settings);
    write_file(&slot.dir().join("pgdyno.conf"), text.as_bytes(), 0o600, user).map_err(problem)
}

/// Has the program check the user's settings; those chosen by pgdyno need no check.
fn refuse_settings(record: &Record, slot: &Slot) -> Result<(), Problem> {
    if record.given.is_empty() {
        return Ok(());
    }
    write_conf(record, slot)?;
    refused_settings::refuse_settings(record, slot.dir(), &slot.dir().join("pgdyno.conf"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_requests_are_refused_before_anything_is_done() {
        let good = Request::named("x");
        assert_eq!(check(&good), Ok(()));
        let set = |name: &str| BTreeMap::from([(name.to_owned(), "x".to_owned())]);
        let tablespace = |name: &str| vec![(name.to_owned(), PathBuf::from("/t"))];
        for wrong in [
            Request::named("a/b"),
            Request { settings: set("port"), ..good.clone() },
            Request { wal_segsize_mb: Some(3), ..good.clone() },
            Request { wal_segsize_mb: Some(2048), ..good.clone() },
            Request { encoding: Some(String::new()), ..good.clone() },
            Request { listen: Some("a'b".into()), ..good.clone() },
            Request { tablespaces: tablespace("pg_x"), ..good.clone() },
            Request { tablespaces: [tablespace("a"), tablespace("a")].concat(), ..good.clone() },
        ] {
            assert!(check(&wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sockets_have_short_names() {
        let (state, cache, runtime) = ("/s".into(), "/c".into(), "/run/pgdyno".into());
        let dirs = Dirs { state, cache, runtime, templates: None };
        let short = socket_dir(Path::new("/s/servers/x"), &dirs, "x", 5432).expect("it fits");
        assert_eq!(short, Path::new("/s/servers/x/run"));
        let long = PathBuf::from(format!("/{}", "d".repeat(100)));
        let elsewhere = socket_dir(&long, &dirs, "x", 5432).expect("it fits elsewhere");
        assert!(elsewhere.starts_with("/run/pgdyno"));
        let dirs = Dirs { runtime: long.clone(), ..dirs };
        assert!(socket_dir(&long, &dirs, "x", 5432).is_err());
    }

    #[test]
    fn a_taken_port_names_its_holder() {
        let held = TcpListener::bind("127.0.0.1:0").expect("a port is free");
        let address = held.local_addr().expect("it is bound");
        let problem = try_bind(address).expect_err("it is taken");
        assert!(problem.what.contains("already in use"));
        assert!(problem.detail.is_some_and(|detail| detail.contains(&std::process::id().to_string())));
    }
}
