//! Adds observations to a run that has ended, and rewrites its record.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    io::{self, BufWriter, Write},
    path::{Path, PathBuf},
};

use pgdyno_core::{observe::Observed, problem::Problem};

use crate::{
    RunRecord,
    files::{could_not_write, lock, rename_durably, write_atomically},
    names::{OBSERVATIONS, RUN_JSON},
    sealing,
    stream::{self, COMPRESS_OVER_BYTES, LineReader},
};

/// A run directory that is locked for a change.
///
/// A kill at any instant leaves a readable run without a broken seal: while its observations are exchanged, the record
/// has no digest of them. [`Amendment::merge`] can be repeated then.
#[derive(Debug)]
pub struct Amendment {
    path: PathBuf,
    _lock: File,
}

impl Amendment {
    /// Locks the directory of a run that has ended.
    ///
    /// # Errors
    /// Another process writes to it.
    pub fn begin(path: &Path) -> Result<Self, Problem> {
        Ok(Self { path: path.to_path_buf(), _lock: lock(path)? })
    }

    /// Merges lines into the observations by their time; both are nearly in its order. Of the lines that are there
    /// those for which `stays` is false are removed. `record` is the record as it was read.
    ///
    /// # Errors
    /// A file cannot be read or written, or `more` has an error; the observations are unchanged then.
    pub fn merge(
        &self,
        record: &RunRecord,
        stays: &dyn Fn(&Observed) -> bool,
        more: &mut dyn Iterator<Item = Result<Observed, Problem>>,
    ) -> Result<(), Problem> {
        let [plain, compressed] = ["", ".gz"].map(|end| self.path.join(format!("{OBSERVATIONS}{end}")));
        let merged = self.path.join(format!("{OBSERVATIONS}.new"));
        let written = self.write_merged(&merged, stays, more).and_then(|()| {
            self.save_with(record.clone(), |files| files.retain(|name, _| !name.starts_with(OBSERVATIONS)))?;
            exchange(&merged, &plain, &compressed).map_err(|error| could_not_write(&plain, &error))
        });
        if written.is_err() {
            let _ = fs::remove_file(&merged); // it may not have been made
        }
        written
    }

    fn write_merged(
        &self,
        merged: &Path,
        stays: &dyn Fn(&Observed) -> bool,
        more: &mut dyn Iterator<Item = Result<Observed, Problem>>,
    ) -> Result<(), Problem> {
        let failed = |error: io::Error| could_not_write(merged, &error);
        let mut target = BufWriter::new(File::create(merged).map_err(failed)?);
        let mut more = more.peekable();
        if let Some((path, _)) = stream::form_of(&self.path, OBSERVATIONS) {
            let unreadable =
                |why: String| Problem::could_not(format!("could not read {}: {why}", path.display()));
            let mut lines = LineReader::new(stream::open(&path).map_err(|e| unreadable(e.to_string()))?);
            while let Some(line) = lines.next_line().map_err(unreadable)? {
                let known: Observed =
                    serde_json::from_slice(line.as_bytes()).map_err(|error| unreadable(lines.at(&error)))?;
                while let Some(next) =
                    more.next_if(|next| !next.as_ref().is_ok_and(|next| next.at_s >= known.at_s))
                {
                    write_line(&mut target, &next?).map_err(failed)?;
                }
                if stays(&known) {
                    target.write_all(line.as_bytes()).map_err(failed)?;
                }
            }
        }
        for next in more {
            write_line(&mut target, &next?).map_err(failed)?;
        }
        let file = target.into_inner().map_err(|error| failed(error.into_error()))?;
        file.sync_all().map_err(failed)
    }

    /// Writes the record with a new seal.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn save(&self, record: RunRecord) -> Result<(), Problem> {
        let digests = sealing::files(&self.path).map_err(|error| could_not_write(&self.path, &error))?;
        self.save_with(record, |files| *files = digests)
    }

    fn save_with(
        &self,
        record: RunRecord,
        change: impl FnOnce(&mut BTreeMap<String, String>),
    ) -> Result<(), Problem> {
        let path = self.path.join(RUN_JSON);
        let mut files = record.seal.as_ref().map(|seal| seal.files.clone()).unwrap_or_default();
        change(&mut files);
        let json = sealing::sealed(record, files).map_err(io::Error::other);
        json.and_then(|json| write_atomically(&path, &json)).map_err(|error| could_not_write(&path, &error))
    }
}

/// Gives a new stream its name, as at the end of a run, and removes the one that it replaces.
fn exchange(merged: &Path, plain: &Path, compressed: &Path) -> io::Result<()> {
    let (kept, other) = match fs::metadata(merged)?.len() > COMPRESS_OVER_BYTES {
        true => {
            let temporary = compressed.with_extension("gz.new");
            let _ = fs::remove_file(&temporary); // left by a killed process
            stream::compress(merged, &temporary)?;
            fs::rename(&temporary, merged)?;
            (compressed, plain)
        }
        false => (plain, compressed),
    };
    rename_durably(merged, kept)?;
    if other.exists() { fs::remove_file(other) } else { Ok(()) }
}

fn write_line(target: &mut impl Write, line: &Observed) -> io::Result<()> {
    serde_json::to_writer(&mut *target, line)?;
    target.write_all(b"\n")
}
