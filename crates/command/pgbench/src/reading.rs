//! Parses the options in order, and checks each as it comes.

use std::{ffi::OsStr, fs, io::Read, os::unix::ffi::OsStrExt, path::PathBuf};

use pgdyno_postgres::load::{PartitionMethod, check_steps};
use pgdyno_script::{Builtin, Protocol};

use super::{
    builtin::{self, MAX_SCRIPTS, weighted},
    extras,
    flags::{EXTRA_FLAGS, Opt, PGBENCH_FLAGS},
    getopt::Getopt,
    limits,
    numbers::{atof, atoi, option_int},
    options::{Chosen, Options, Parsed},
    say::{ExitResult, Say, strerror},
    seed,
};

/// Adds a script by its name and text, or reports what is wrong with it.
pub type TakeScript<'a> = dyn FnMut(&Say, &str, &[u8]) -> ExitResult<()> + 'a;

/// Parses the arguments after the program's name.
///
/// # Errors
/// The exit status, after printing the error.
pub fn read(
    say: &mut Say,
    program: &str,
    args: Vec<Vec<u8>>,
    env: &dyn Fn(&str) -> Option<String>,
    take: &mut TakeScript<'_>,
) -> ExitResult<Parsed> {
    match args.first().map(Vec::as_slice) {
        Some(b"--help" | b"-?") => return Ok(Parsed::Help),
        Some(b"--version" | b"-V") => return Ok(Parsed::Version),
        _ => {}
    }
    let variable = env("PGBENCH_RANDOM_SEED");
    let source = "PGBENCH_RANDOM_SEED environment variable";
    let options = Options::new(seed::choose(say, variable.as_deref(), source)?);
    let mut reading = Reading { options, say, take, shown: false };
    let mut getopt = Getopt::new(program, [PGBENCH_FLAGS, EXTRA_FLAGS], args);
    while let Some(found) = getopt.next() {
        match found {
            Ok((option, value)) => {
                reading.take(option, &value)?;
                if reading.shown {
                    return Ok(Parsed::Shown);
                }
                continue;
            }
            Err(error) => reading.say.raw(format!("{error}\n")),
        }
        return reading.say.see_help();
    }
    let mut options = reading.options;
    if options.scripts.is_empty() && !options.initialize {
        add_builtin(&mut options, say, take, Builtin::TpcbLike, 1)?;
    }
    let operands = getopt.operands().iter().map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    Ok(Parsed::Options(Box::new(options), operands))
}

/// Whether `--setrandom` is among the arguments. It applies to the scripts before it, too.
pub fn takes_setrandom(program: &str, args: &[Vec<u8>]) -> bool {
    let mut getopt = Getopt::new(program, [PGBENCH_FLAGS, EXTRA_FLAGS], args.iter().cloned());
    std::iter::from_fn(|| getopt.next()).any(|found| matches!(found, Ok((Opt::Setrandom, _))))
}

fn add_builtin(
    options: &mut Options,
    say: &Say,
    take: &mut TakeScript<'_>,
    builtin: Builtin,
    weight: u32,
) -> ExitResult<()> {
    add_script(options, say, take, builtin::description(builtin), builtin.script_text().as_bytes(), weight)?;
    options.for_run = true;
    options.builtin_used = true;
    Ok(())
}

fn add_script(
    options: &mut Options,
    say: &Say,
    take: &mut TakeScript<'_>,
    name: &str,
    text: &[u8],
    weight: u32,
) -> ExitResult<()> {
    take(say, name, text)?;
    if options.scripts.len() >= MAX_SCRIPTS {
        return say.fatal(format!("at most {MAX_SCRIPTS} SQL scripts are allowed"));
    }
    options.scripts.push(Chosen { name: name.to_owned(), weight });
    options.texts.push(text.to_owned());
    Ok(())
}

struct Reading<'a, 'b> {
    options: Options,
    say: &'a mut Say,
    take: &'a mut TakeScript<'b>,
    shown: bool,
}

impl Reading<'_, '_> {
    fn take(&mut self, option: Opt, value: &[u8]) -> ExitResult<()> {
        let text = String::from_utf8_lossy(value).into_owned();
        match option {
            Opt::Builtin | Opt::File | Opt::SkipSomeUpdates | Opt::SelectOnly | Opt::ShowScript => {
                self.script(option, &text, value)
            }
            Opt::Host | Opt::Port | Opt::Username | Opt::Dbname | Opt::Server => {
                self.connection(option, text);
                Ok(())
            }
            Opt::Initialize | Opt::NoVacuum | Opt::Scale | Opt::Debug => self.either(option, &text),
            Opt::InitSteps
            | Opt::Fillfactor
            | Opt::Quiet
            | Opt::UnloggedTables
            | Opt::Tablespace
            | Opt::IndexTablespace
            | Opt::ForeignKeys
            | Opt::Partitions
            | Opt::PartitionMethod => {
                self.options.for_init = true;
                self.initialization(option, text)
            }
            _ => {
                self.options.for_run = true;
                self.benchmarking(option, text)
            }
        }
    }

    fn script(&mut self, option: Opt, text: &str, value: &[u8]) -> ExitResult<()> {
        let Self { options, say, take, .. } = self;
        match option {
            Opt::SkipSomeUpdates => add_builtin(options, say, take, Builtin::SimpleUpdate, 1),
            Opt::SelectOnly => add_builtin(options, say, take, Builtin::SelectOnly, 1),
            Opt::ShowScript => {
                let builtin = builtin::find(say, text)?;
                say.raw(builtin::show(builtin));
                self.shown = true;
                Ok(())
            }
            Opt::Builtin if text == "list" => {
                say.raw(builtin::list());
                self.shown = true;
                Ok(())
            }
            Opt::Builtin => {
                let (name, weight) = weighted(say, text)?;
                let builtin = builtin::find(say, name)?;
                add_builtin(options, say, take, builtin, weight)
            }
            _ => self.file(text, value),
        }
    }

    fn file(&mut self, text: &str, value: &[u8]) -> ExitResult<()> {
        let Self { options, say, take, .. } = self;
        let (name, weight) = weighted(say, text)?;
        // The bytes of the path, which need not be UTF-8, without the weight.
        let end = value.iter().rposition(|&byte| byte == b'@').unwrap_or(value.len());
        let script = read_script(say, name, &value[..end])?;
        add_script(options, say, take, name, &script, weight)?;
        options.for_run = true;
        Ok(())
    }

    fn connection(&mut self, option: Opt, text: String) {
        let options = &mut self.options;
        *match option {
            Opt::Host => &mut options.host,
            Opt::Port => &mut options.port,
            Opt::Username => &mut options.username,
            Opt::Server => &mut options.server,
            _ => &mut options.dbname,
        } = Some(text);
    }

    /// Parses options of both modes.
    fn either(&mut self, option: Opt, text: &str) -> ExitResult<()> {
        match option {
            Opt::Initialize => self.options.initialize = true,
            Opt::NoVacuum => self.options.no_vacuum = true,
            Opt::Scale => {
                self.options.scale_given = true;
                self.options.scale = option_int(self.say, text, "-s/--scale", 1..=i32::MAX)?;
            }
            _ => {
                self.say.show_debug();
                self.options.debug = true;
            }
        }
        Ok(())
    }

    fn initialization(&mut self, option: Opt, text: String) -> ExitResult<()> {
        let Self { options, say, .. } = self;
        match option {
            Opt::InitSteps => {
                match check_steps(&text) {
                    Ok(()) => {}
                    Err(None) => return say.fatal("no initialization steps specified"),
                    Err(Some(step)) => {
                        say.error(format!("unrecognized initialization step \"{step}\""));
                        say.detail("Allowed step characters are: \"dtgGvpf\".");
                        return Err(1);
                    }
                }
                options.init_steps = Some(text);
            }
            Opt::Fillfactor => options.fillfactor = option_int(say, &text, "-F/--fillfactor", 10..=100)?,
            Opt::Quiet => options.quiet = true,
            Opt::UnloggedTables => options.unlogged = true,
            Opt::Tablespace => options.tablespace = Some(text),
            Opt::IndexTablespace => options.index_tablespace = Some(text),
            Opt::ForeignKeys => options.foreign_keys = true,
            Opt::Partitions => options.partitions = option_int(say, &text, "--partitions", 0..=i32::MAX)?,
            _ => {
                options.partition_method = Some(match text.to_ascii_lowercase().as_str() {
                    "range" => PartitionMethod::Range,
                    "hash" => PartitionMethod::Hash,
                    _ => {
                        return say.fatal(format!(
                            "invalid partition method, expecting \"range\" or \"hash\", got: \"{text}\""
                        ));
                    }
                });
            }
        }
        Ok(())
    }

    fn benchmarking(&mut self, option: Opt, text: String) -> ExitResult<()> {
        let Self { options, say, .. } = self;
        match option {
            Opt::Connect => options.connect_each = true,
            Opt::Log => options.log = true,
            Opt::ReportPerCommand => options.report_per_command = true,
            Opt::VacuumAll => options.vacuum_all = true,
            Opt::ProgressTimestamp => options.progress_timestamp = true,
            Opt::FailuresDetailed => options.failures_detailed = true,
            Opt::VerboseErrors => options.verbose_errors = true,
            Opt::ExitOnAbort => options.exit_on_abort = true,
            Opt::ContinueOnError => options.continue_on_error = true,
            Opt::LogPrefix => options.log_prefix = Some(text),
            Opt::Define => match text.parse() {
                Ok(definition) => options.define.push(definition),
                Err(error) => return say.fatal(error.to_string()),
            },
            Opt::RandomSeed => options.seed = seed::choose(say, Some(&text), "--random-seed option")?,
            Opt::Protocol => match protocol(&text) {
                Some(protocol) => options.protocol = protocol,
                None => return say.fatal(format!("invalid query mode (-M): \"{text}\"")),
            },
            Opt::Clients => {
                options.clients = option_int(say, &text, "-c/--client", 1..=i32::MAX)? as u32;
                limits::raise_open_files(say, options.clients)?;
            }
            Opt::Jobs => options.jobs = option_int(say, &text, "-j/--jobs", 1..=i32::MAX)? as u32,
            Opt::Progress => options.progress_s = option_int(say, &text, "-P/--progress", 1..=i32::MAX)?,
            Opt::Transactions => {
                options.transactions = option_int(say, &text, "-t/--transactions", 1..=i32::MAX)?;
            }
            Opt::Time => options.time_s = option_int(say, &text, "-T/--time", 1..=i32::MAX)?,
            Opt::AggregateInterval => {
                options.aggregate_s = option_int(say, &text, "--aggregate-interval", 1..=i32::MAX)?;
            }
            Opt::LatencyLimit | Opt::Rate | Opt::SamplingRate | Opt::MaxTries => {
                return self.fraction(option, &text);
            }
            _ => return extras::take(&mut options.extras, say, option, &text),
        }
        Ok(())
    }

    /// Parses options whose value is the number at the start of the text.
    fn fraction(&mut self, option: Opt, text: &str) -> ExitResult<()> {
        let Self { options, say, .. } = self;
        let value = atof(text);
        match option {
            Opt::LatencyLimit if value > 0.0 => options.latency_limit_us = (value * 1000.0) as i64,
            Opt::LatencyLimit => return say.fatal(format!("invalid latency limit: \"{text}\"")),
            Opt::Rate if value > 0.0 => options.rate_per_s = Some(value),
            Opt::Rate => return say.fatal(format!("invalid rate limit: \"{text}\"")),
            Opt::SamplingRate if value > 0.0 && value <= 1.0 => options.sampling_rate = value,
            Opt::SamplingRate => return say.fatal(format!("invalid sampling rate: \"{text}\"")),
            _ => match u32::try_from(atoi(text)) {
                Ok(tries) => options.max_tries = tries,
                Err(_) => return say.fatal(format!("invalid number of maximum tries: \"{text}\"")),
            },
        }
        Ok(())
    }
}

fn protocol(text: &str) -> Option<Protocol> {
    [Protocol::Simple, Protocol::Extended, Protocol::Prepared].into_iter().find(|known| known.name() == text)
}

/// Maximum size of a script in bytes. More is no script, but a device or a dump of a database.
const MAX_SCRIPT_BYTES: u64 = 64 << 20;

/// Reads a script file, which may be a pipe; `-` is standard input.
fn read_script(say: &Say, name: &str, path: &[u8]) -> ExitResult<Vec<u8>> {
    if path == b"-" {
        return read_all(say, name, std::io::stdin().lock());
    }
    match fs::File::open(PathBuf::from(OsStr::from_bytes(path))) {
        Err(error) => say.fatal(format!("could not open file \"{name}\": {}", strerror(&error))),
        Ok(file) => read_all(say, name, file),
    }
}

fn read_all(say: &Say, name: &str, from: impl Read) -> ExitResult<Vec<u8>> {
    let mut text = Vec::new();
    match from.take(MAX_SCRIPT_BYTES + 1).read_to_end(&mut text) {
        Err(error) => say.fatal(format!("could not read file \"{name}\": {}", strerror(&error))),
        Ok(_) if text.len() as u64 > MAX_SCRIPT_BYTES => {
            say.fatal(format!("could not read file \"{name}\": it is longer than 64 MiB"))
        }
        Ok(_) => Ok(text),
    }
}
