//! `pgdyno tpcc export`.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use pgdyno_core::{problem::Problem, stop::Stop, tpcc::DERIVED, units};
use pgdyno_host::facts;
use pgdyno_lab::draw_seed;
use pgdyno_rows::{
    Part, Population,
    tpcc::{CSV_FILES, CsvFile},
};

use super::in_order::in_order;
use crate::{args::target::processors, context::now_s, interrupt, output, progress::Progress};

/// Approximate size of a piece: of the rows that are generated at a time.
const PIECE_BYTES: f64 = 1_048_576.0;
/// Most threads by default; with more, the disk is the bottleneck.
const MOST_JOBS: usize = 8;
/// Share of the file system that must remain free.
const RESERVED: f64 = 0.02;

/// Flags of `pgdyno tpcc export`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "The files have the names, columns and column order of BenchmarkSQL 4.1, whose sqlTableCopies \
    (COPY … WITH CSV) loads them; NULL is an empty field. The same seed and time give the same bytes on any machine. \
    The rows are the initial population of clause 4.3.3.1, from which any TPC-C kit can start.\n\n\
    Example:\n  \
    pgdyno tpcc export --csv /data/csv --warehouses 1000 --jobs 8"
)]
pub struct Export {
    /// Directory for the files, new or empty
    #[arg(long, value_name = "DIR")]
    csv: PathBuf,
    /// Number of warehouses, about 73 MB each
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    warehouses: u64,
    /// Random seed [default: chosen and printed]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Timestamp of all date columns, in Unix seconds [default: now]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(0..=9_000_000_000))]
    at: Option<i64>,
    /// Threads that generate rows [default: the number of CPUs, at most 8]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Print what would be written and its size, and stop
    #[arg(long)]
    dry_run: bool,
}

/// A file to write.
struct Planned {
    file: CsvFile,
    units: u64,
    /// Average size of a unit in bytes.
    unit_bytes: f64,
}

impl Planned {
    fn bytes(&self) -> u64 {
        (self.units as f64 * self.unit_bytes) as u64
    }
}

/// A written file.
struct Written {
    name: &'static str,
    rows: u64,
    bytes: u64,
}

impl Export {
    /// Writes all files, or only prints what it would write (`--dry-run`).
    ///
    /// # Errors
    /// The problem to print.
    pub fn run(&self) -> Result<ExitCode, Problem> {
        let population = self.population();
        let planned: Vec<_> = CSV_FILES
            .into_iter()
            .map(|file| Planned {
                file,
                units: file.table.units(self.warehouses),
                unit_bytes: file.unit_bytes(&population, self.warehouses),
            })
            .collect();
        let bytes = planned.iter().map(Planned::bytes).sum();
        self.check(bytes)?;
        eprintln!("{}", self.announcement(&population, bytes));
        if self.dry_run {
            return Ok(ExitCode::SUCCESS);
        }
        let stop = interrupt::on_interrupt_saying(
            "stopping",
            "exited immediately; files named .part are incomplete",
        );
        let start = Instant::now();
        let written = self.write(&planned, &population, &stop)?;
        output::print(&summary(&written, start.elapsed().as_secs_f64()))?;
        Ok(ExitCode::SUCCESS)
    }

    fn population(&self) -> Population {
        let at_s = self.at.unwrap_or_else(now_s);
        Population { seed: self.seed.unwrap_or_else(draw_seed), at_us: at_s * 1_000_000 }
    }

    fn jobs(&self) -> usize {
        self.jobs.map_or_else(|| (processors() as usize).min(MOST_JOBS), usize::from)
    }

    /// Checks that the directory is new or empty, and that its file system has enough free space.
    fn check(&self, bytes: u64) -> Result<(), Problem> {
        let (dir, shown) = (&self.csv, self.csv.display());
        let entries = match fs::read_dir(dir) {
            Ok(entries) => entries.count(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
            Err(error) => {
                return Err(Problem::wrong_request(format!("could not write CSV files to {shown}: {error}")));
            }
        };
        if entries > 0 {
            let what = format!("could not write CSV files to {shown}: it is not empty");
            return Err(
                Problem::wrong_request(what).hint("name a new or empty directory; nothing was changed")
            );
        }
        let storage = facts::storage(dir).map_err(|error| {
            Problem::could_not(format!("could not determine the free space of {shown}: {error}"))
        })?;
        let needed = bytes + (storage.size_bytes as f64 * RESERVED) as u64;
        if storage.available_bytes < needed {
            let (free, bytes) = (units::bytes(storage.available_bytes), units::bytes(bytes));
            let what =
                format!("could not write CSV files to {shown}: they need about {bytes}, and {free} are free");
            return Err(Problem::wrong_request(what)
                .detail("2 % of the file system must remain free")
                .hint("use fewer --warehouses, or another disk; nothing was changed"));
        }
        Ok(())
    }

    fn announcement(&self, population: &Population, bytes: u64) -> String {
        format!(
            "pgdyno tpcc export: {} of TPC-C as CSV\n  writes  about {} in {}\n  jobs    {}\n  \
             repeat  --seed {} --at {}",
            units::plural(self.warehouses, "warehouse"),
            units::bytes(bytes),
            self.csv.display(),
            self.jobs(),
            population.seed,
            population.at_us / 1_000_000
        )
    }

    /// Writes the files one after the other. After a failure only the files created here are removed: another process
    /// may have started to write to the same directory.
    fn write(
        &self,
        planned: &[Planned],
        population: &Population,
        stop: &Stop,
    ) -> Result<Vec<Written>, Problem> {
        let created_dir = !self.csv.exists();
        fs::create_dir_all(&self.csv).map_err(|error| unwritable(&self.csv, &error))?;
        let progress = Progress::new();
        let (mut written, mut created) = (Vec::new(), Vec::new());
        for plan in planned {
            match self.write_file(plan, population, &progress, stop, &mut created) {
                Ok(file) => written.push(file),
                Err(problem) => {
                    progress.finish();
                    created.into_iter().for_each(|path| drop(fs::remove_file(path)));
                    if created_dir {
                        let _ = fs::remove_dir(&self.csv); // fails unless it is empty
                    }
                    return Err(problem.hint("all files written so far were removed"));
                }
            }
        }
        progress.finish();
        File::open(&self.csv)
            .and_then(|dir| dir.sync_all())
            .map_err(|error| unwritable(&self.csv, &error))?;
        Ok(written)
    }

    /// Writes one file, which gets its final name when it is complete and on disk. `created` keeps its current name.
    fn write_file(
        &self,
        plan: &Planned,
        population: &Population,
        progress: &Progress,
        stop: &Stop,
        created: &mut Vec<PathBuf>,
    ) -> Result<Written, Problem> {
        let complete = self.csv.join(plan.file.name);
        let part = part_of(&complete);
        let failed = |error: io::Error| unwritable(&part, &error);
        let mut file = File::create_new(&part).map_err(failed)?;
        created.push(part.clone());
        let piece_units = ((PIECE_BYTES / plan.unit_bytes) as u64).max(1);
        let make = |piece: u64| {
            let (mut text, first) = (Vec::new(), piece * piece_units);
            let end = (first + piece_units).min(plan.units);
            let rows = plan.file.write(population, Part { first, end }, &mut text);
            (text, rows)
        };
        let mut written = Written { name: plan.file.name, rows: 0, bytes: 0 };
        progress.counted(plan.file.name, plan.bytes(), "bytes");
        in_order(self.jobs(), plan.units.div_ceil(piece_units), make, |(text, rows): (Vec<u8>, u64)| {
            if stop.requested() {
                return Err(Problem::could_not("could not finish the CSV files: stopped"));
            }
            file.write_all(&text).map_err(failed)?;
            written.rows += rows;
            written.bytes += text.len() as u64;
            progress.at(written.bytes);
            Ok(())
        })?;
        file.sync_all().and_then(|()| fs::rename(&part, &complete)).map_err(failed)?;
        created.pop();
        created.push(complete);
        Ok(written)
    }
}

fn part_of(complete: &Path) -> PathBuf {
    let mut name = complete.as_os_str().to_owned();
    name.push(".part");
    PathBuf::from(name)
}

fn unwritable(path: &Path, error: &io::Error) -> Problem {
    Problem::could_not(format!("could not write {}: {error}", path.display()))
}

fn summary(written: &[Written], seconds: f64) -> String {
    let mut text = format!("  {:<15}{:>16}{:>14}\n", "file", "rows", "size");
    for Written { name, rows, bytes } in written {
        text += &format!("  {name:<15}{:>16}{:>14}\n", units::count(*rows), units::bytes(*bytes));
    }
    let bytes: u64 = written.iter().map(|file| file.bytes).sum();
    let rate = units::bytes_per_s(bytes as f64 / seconds);
    text += &format!(
        "{} in {}, {rate}; synced to disk\n{DERIVED}\n",
        units::bytes(bytes),
        units::duration(seconds)
    );
    text
}
