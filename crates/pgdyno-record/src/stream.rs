//! A file to which lines are appended during a run: `NAME.partial`, finally `NAME` or `NAME.gz`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use pgdyno_core::problem::Problem;

use crate::{
    files::{could_not_write, rename_durably},
    redact::redact_log_line,
};

/// Streams over this many bytes are compressed at the end of a run.
pub const COMPRESS_OVER_BYTES: u64 = 10_000_000;
/// Limit on the length of a line.
const MAX_LINE_BYTES: u64 = 64 << 20;

/// A stream being written. The file is created with the first line.
#[derive(Debug)]
pub(crate) struct Stream {
    name: &'static str,
    file: Option<File>,
    bytes: u64,
}

impl Stream {
    pub(crate) fn new(name: &'static str) -> Self {
        Self { name, file: None, bytes: 0 }
    }

    /// Bytes written so far.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn partial_path(&self, dir: &Path) -> PathBuf {
        dir.join(format!("{}.partial", self.name))
    }

    /// Appends whole lines with one write and without a buffer, so a kill of the process loses none of them. There is
    /// no fsync, which would disturb the storage being measured.
    pub(crate) fn append(&mut self, dir: &Path, lines: &[u8]) -> Result<(), Problem> {
        let path = self.partial_path(dir);
        let written = self.open(&path).and_then(|file| file.write_all(lines));
        written.map_err(|e| could_not_write(&path, &e))?;
        self.bytes += lines.len() as u64;
        Ok(())
    }

    fn open(&mut self, path: &Path) -> io::Result<&mut File> {
        if self.file.is_none() {
            self.file = Some(OpenOptions::new().append(true).create_new(true).open(path)?);
        }
        Ok(self.file.as_mut().expect("it was opened above"))
    }

    /// A second handle of the file, for another writer of whole lines.
    pub(crate) fn shared(&mut self, dir: &Path) -> Result<File, Problem> {
        let path = self.partial_path(dir);
        let shared = self.open(&path).and_then(|file| file.try_clone());
        shared.map_err(|e| could_not_write(&path, &e))
    }

    /// Replaces the stream by the file `rewritten` and opens it for appending.
    pub(crate) fn reopen(&mut self, dir: &Path, rewritten: &Path) -> io::Result<()> {
        let path = self.partial_path(dir);
        fs::rename(rewritten, &path)?;
        let file = OpenOptions::new().append(true).open(&path)?;
        self.bytes = file.metadata()?.len();
        self.file = Some(file);
        Ok(())
    }

    /// Like [`Stream::reopen`], with a [`Problem`] that names the stream.
    pub(crate) fn replace(&mut self, dir: &Path, rewritten: &Path) -> Result<(), Problem> {
        let path = self.partial_path(dir);
        self.reopen(dir, rewritten).map_err(|e| could_not_write(&path, &e))
    }

    /// Renames the stream to its final name; compresses it if it is larger than `compress_over` bytes.
    pub(crate) fn finish(&mut self, dir: &Path, compress_over: u64) -> Result<(), Problem> {
        let Some(file) = self.file.take() else { return Ok(()) };
        let partial = self.partial_path(dir);
        let plain = dir.join(self.name);
        let finished = file.sync_all().and_then(|()| {
            if file.metadata()?.len() <= compress_over {
                return rename_durably(&partial, &plain);
            }
            let temporary = dir.join(format!("{}.gz.new", self.name));
            compress(&partial, &temporary)?;
            rename_durably(&temporary, &dir.join(format!("{}.gz", self.name)))?;
            fs::remove_file(&partial)
        });
        finished.map_err(|e| could_not_write(&plain, &e))
    }
}

/// Copies a server's log to `dir`/`name` without secrets; compresses it if it is larger than `compress_over` bytes.
/// Like the log itself, the copy is readable by its owner only.
pub(crate) fn keep(dir: &Path, name: &str, from: &Path, compress_over: u64) -> io::Result<()> {
    let large = fs::metadata(from)?.len() > compress_over;
    let kept = if large { format!("{name}.gz") } else { name.to_owned() };
    let temporary = dir.join(format!("{kept}.new"));
    let target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&temporary)?;
    if large {
        let mut encoder = GzEncoder::new(target, Compression::default());
        without_secrets(from, &mut encoder)?;
        encoder.finish()?.sync_all()?;
    } else {
        let mut target = BufWriter::new(target);
        without_secrets(from, &mut target)?;
        target.into_inner()?.sync_all()?;
    }
    rename_durably(&temporary, &dir.join(kept))
}

/// Copies a log line by line and redacts secrets. Lines without secrets are copied unchanged, including bytes that are
/// not UTF-8. Lines longer than [`MAX_LINE_BYTES`] are processed in pieces.
fn without_secrets(from: &Path, to: &mut impl Write) -> io::Result<()> {
    let mut from = BufReader::new(File::open(from)?);
    let mut line = Vec::new();
    while from.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line)? > 0 {
        let text = String::from_utf8_lossy(&line);
        let (text, end) = text.strip_suffix('\n').map_or((&*text, ""), |text| (text, "\n"));
        match redact_log_line(text) {
            same if same == text => to.write_all(&line)?,
            redacted => to.write_all(format!("{redacted}{end}").as_bytes())?,
        }
        line.clear();
    }
    Ok(())
}

fn compress(from: &Path, to: &Path) -> io::Result<()> {
    let target = OpenOptions::new().write(true).create_new(true).open(to)?;
    let mut encoder = GzEncoder::new(target, Compression::default());
    io::copy(&mut File::open(from)?, &mut encoder)?;
    encoder.finish()?.sync_all()
}

/// The lines of a stream.
#[derive(Debug, Clone, PartialEq)]
pub struct Lines<T> {
    /// The lines in order.
    pub items: Vec<T>,
    /// Whether an incomplete last line was ignored: the writer was killed during the write.
    pub torn: bool,
}

impl<T> Default for Lines<T> {
    fn default() -> Self {
        Self { items: Vec::new(), torn: false }
    }
}

/// Reads a stream, whether complete, compressed or partial. A missing file has no lines.
pub(crate) fn read<T>(
    dir: &Path,
    name: &str,
    parse: impl Fn(&str) -> Result<Option<T>, String>,
) -> Result<Lines<T>, Problem> {
    let Some((path, _)) = form_of(dir, name) else { return Ok(Lines::default()) };
    let opened =
        open(&path).map_err(|e| Problem::could_not(format!("could not read {}: {e}", path.display())));
    parse_lines(opened?, parse).map_err(|detail| {
        Problem::could_not(format!("could not read {}", path.display()))
            .detail(detail)
            .hint("the other files of the run may still be readable; run.json has all results")
    })
}

/// The file of a stream, and the names of complete files.
pub(crate) fn form_of(dir: &Path, name: &str) -> Option<(PathBuf, [PathBuf; 2])> {
    let finals = [dir.join(name), dir.join(format!("{name}.gz"))];
    let partial = dir.join(format!("{name}.partial"));
    let path = finals.iter().chain([&partial]).find(|path| path.exists())?.clone();
    Some((path, finals))
}

pub(crate) fn open(path: &Path) -> io::Result<Box<dyn BufRead>> {
    let file = BufReader::new(File::open(path)?);
    Ok(match path.extension().is_some_and(|e| e == "gz") {
        true => Box::new(BufReader::new(GzDecoder::new(file))),
        false => Box::new(file),
    })
}

fn parse_lines<T>(
    mut reader: Box<dyn BufRead>,
    parse: impl Fn(&str) -> Result<Option<T>, String>,
) -> Result<Lines<T>, String> {
    let mut lines = Lines::default();
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|e| format!("line {number}: {e}"))? == 0 {
            break;
        }
        if line.last() != Some(&b'\n') {
            // Lines are written whole: one without a line feed was cut off by a kill.
            lines.torn = true;
            break;
        }
        let text = std::str::from_utf8(&line).map_err(|e| format!("line {number}: {e}"))?;
        lines.items.extend(parse(text.trim_end()).map_err(|e| format!("line {number}: {e}"))?);
    }
    Ok(lines)
}
