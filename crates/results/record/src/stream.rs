//! A file to which lines are appended during a run: `NAME.partial`, finally `NAME` or `NAME.gz`.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, BufWriter, Read, Write},
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
};

use flate2::{Compression, read::GzDecoder, write::GzEncoder};
use pgdyno_core::{problem::Problem, redact::redact_log_line};

use crate::files::{could_not_write, rename_durably};

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

/// Compresses a file with gzip if it is larger than [`COMPRESS_OVER_BYTES`], and returns its name then.
///
/// # Errors
/// It cannot be read, or the compressed file cannot be written; the file is unchanged then.
pub fn compress_if_large(path: &Path) -> io::Result<PathBuf> {
    if fs::metadata(path)?.len() <= COMPRESS_OVER_BYTES {
        return Ok(path.to_path_buf());
    }
    let with = |end: &str| {
        let mut name = path.as_os_str().to_owned();
        name.push(end);
        PathBuf::from(name)
    };
    let (compressed, temporary) = (with(".gz"), with(".gz.new"));
    let _ = fs::remove_file(&temporary); // left by a killed process
    compress(path, &temporary)?;
    rename_durably(&temporary, &compressed)?;
    fs::remove_file(path)?;
    Ok(compressed)
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

/// Compresses a file with gzip.
pub(crate) fn compress(from: &Path, to: &Path) -> io::Result<()> {
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
    let mut items = Vec::new();
    let torn = each(dir, name, parse, |item| items.push(item))?;
    Ok(Lines { items, torn })
}

/// Like [`read`], line by line. Returns whether an incomplete last line was ignored.
pub(crate) fn each<T>(
    dir: &Path,
    name: &str,
    parse: impl Fn(&str) -> Result<Option<T>, String>,
    take: impl FnMut(T),
) -> Result<bool, Problem> {
    let Some((path, _)) = form_of(dir, name) else { return Ok(false) };
    let opened =
        open(&path).map_err(|e| Problem::could_not(format!("could not read {}: {e}", path.display())));
    parse_lines(opened?, parse, take).map_err(|detail| {
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
    reader: Box<dyn BufRead>,
    parse: impl Fn(&str) -> Result<Option<T>, String>,
    mut take: impl FnMut(T),
) -> Result<bool, String> {
    let mut lines = LineReader::new(reader);
    while let Some(line) = lines.next_line()? {
        parse(line.trim_end()).map_err(|e| lines.at(&e))?.into_iter().for_each(&mut take);
    }
    Ok(lines.torn)
}

/// Reads whole lines.
pub(crate) struct LineReader {
    reader: Box<dyn BufRead>,
    number: u64,
    /// Whether an incomplete last line was ignored.
    pub torn: bool,
}

impl LineReader {
    pub(crate) fn new(reader: Box<dyn BufRead>) -> Self {
        Self { reader, number: 0, torn: false }
    }

    /// The next line with its line feed; `None` at the end.
    ///
    /// # Errors
    /// It cannot be read, and its number.
    pub(crate) fn next_line(&mut self) -> Result<Option<String>, String> {
        let mut line = Vec::new();
        self.number += 1;
        let read = self.reader.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
        if read.map_err(|e| self.at(&e))? == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            // Lines are written whole: one without a line feed was cut off by a kill.
            self.torn = true;
            return Ok(None);
        }
        String::from_utf8(line).map(Some).map_err(|e| self.at(&e.utf8_error()))
    }

    /// What is wrong with the last line that was read.
    pub(crate) fn at(&self, what: &dyn std::fmt::Display) -> String {
        format!("line {}: {what}", self.number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(bytes: &[u8]) -> Result<(Vec<String>, bool), String> {
        let mut lines = Vec::new();
        let reader = Box::new(BufReader::new(io::Cursor::new(bytes.to_vec())));
        let parse =
            |line: &str| if line == "bad" { Err("bad".to_owned()) } else { Ok(Some(line.to_owned())) };
        let torn = parse_lines(reader, parse, |line| lines.push(line))?;
        Ok((lines, torn))
    }

    #[test]
    fn a_fault_has_the_number_of_its_line() {
        assert_eq!(parsed(b"a\nb\nto"), Ok((vec!["a".to_owned(), "b".to_owned()], true)));
        assert_eq!(parsed(b"a\nbad\nb\n"), Err("line 2: bad".to_owned()));
        assert!(parsed(b"a\n\xff\n").is_err_and(|why| why.starts_with("line 2: invalid utf-8")));
    }
}
