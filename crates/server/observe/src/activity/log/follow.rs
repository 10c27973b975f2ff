//! Follows a log while the server writes it.

use std::{
    fs::{self, File},
    io::{self, Read, Seek, SeekFrom},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::Duration,
};

use super::line::{LogEntry, LogFormat, LogParser};

/// Most bytes that are read at a time; the rest follows with the next look.
const MOST_READ_BYTES: u64 = 4 << 20;
/// Bytes of a line that are looked at; the rest is skipped.
const MOST_OF_LINE_BYTES: usize = 64 << 10;

/// Logs in several formats are written to within this time.
const ABOUT_AS_NEW: Duration = Duration::from_secs(60);

/// Follows a log from its present end on, meant to be read once a second. The log may be renamed, cut, or continued in
/// another file of its directory; of several files that were begun between two readings, the last one is followed.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    /// Whether the path is a directory, of which the newest file is followed.
    of_directory: bool,
    open: Option<Open>,
    parser: LogParser,
    unknown: u64,
}

/// What was logged since the last look.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LogNews {
    /// The events, in the order of the log.
    pub entries: Vec<LogEntry>,
    /// Lines that were not understood: another language than English (`lc_messages`), or not a server's.
    pub unknown_lines: u64,
    /// Whether a part of the log was lost, because it was cut before it was read.
    pub lost: bool,
    /// Whether more is waiting than is read at once.
    pub behind: bool,
}

#[derive(Debug)]
struct Open {
    path: PathBuf,
    file: File,
    inode: u64,
    at: u64,
    line: Vec<u8>,
    /// Whether the begin of a line was not read.
    inside_line: bool,
    /// Looks without anything new.
    quiet: u32,
}

impl LogFollower {
    /// Follows a file, or the newest log in a directory (`log_directory`), from its end on. A log that is not there yet
    /// is followed from its begin.
    ///
    /// # Errors
    /// The log is there, but cannot be read.
    pub fn begin(path: &Path) -> io::Result<Self> {
        let of_directory = path.is_dir();
        let now = if of_directory { newest(path)? } else { Some(path.to_owned()) };
        let open = match now {
            Some(file) => Open::at_end(&file)?,
            None => None,
        };
        let format = format_of(open.as_ref().map_or(path, |open| &open.path));
        Ok(Self { path: path.to_owned(), of_directory, open, parser: LogParser::new(format), unknown: 0 })
    }

    /// Reads what is new.
    ///
    /// # Errors
    /// The log cannot be read. The next look tries again.
    pub fn look(&mut self) -> io::Result<LogNews> {
        let mut news = LogNews::default();
        let mut left = MOST_READ_BYTES;
        if let Some(open) = &mut self.open {
            news.lost = open.cut()?;
            left -= open.read(left, &mut |line| news.entries.extend(self.parser.line(line)))?;
        }
        news.behind = left == 0;
        if !news.behind
            && let Some(next) = self.next_file()?
        {
            self.change_to(next, &mut news)?;
            let open = self.open.as_mut();
            let read =
                open.map(|open| open.read(left, &mut |line| news.entries.extend(self.parser.line(line))));
            news.behind = read.transpose()? == Some(left);
        }
        // A message may continue in the next line only if that is written with it.
        if self.open.as_ref().is_some_and(|open| open.quiet > 0) {
            news.entries.extend(self.parser.flush());
        }
        let unknown = self.parser.unknown_lines();
        news.unknown_lines = unknown - std::mem::replace(&mut self.unknown, unknown);
        Ok(news)
    }

    /// The file that continues the log, if it is another one than before.
    fn next_file(&self) -> io::Result<Option<PathBuf>> {
        let path = if self.of_directory { newest(&self.path)? } else { Some(self.path.clone()) };
        let Some(path) = path else { return Ok(None) };
        let inode = match fs::metadata(&path) {
            Ok(metadata) => metadata.ino(),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(self.open.as_ref().is_none_or(|open| open.inode != inode).then_some(path))
    }

    /// Follows another file from its begin on.
    fn change_to(&mut self, path: PathBuf, news: &mut LogNews) -> io::Result<()> {
        news.entries.extend(self.parser.flush());
        self.parser = LogParser::new(format_of(&path));
        self.unknown = 0;
        let file = File::open(&path)?;
        let inode = file.metadata()?.ino();
        self.open = Some(Open { path, file, inode, at: 0, line: Vec::new(), inside_line: false, quiet: 0 });
        Ok(())
    }
}

impl Open {
    /// Opens a file at its end; `None` if it is not there.
    fn at_end(path: &Path) -> io::Result<Option<Self>> {
        let mut file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let (inode, end) = (file.metadata()?.ino(), file.seek(SeekFrom::End(0))?);
        let inside_line = end > 0 && {
            let mut last = [0];
            file.seek(SeekFrom::Start(end - 1))?;
            file.read_exact(&mut last)?;
            last != *b"\n"
        };
        Ok(Some(Self {
            path: path.to_owned(),
            file,
            inode,
            at: end,
            line: Vec::new(),
            inside_line,
            quiet: 0,
        }))
    }

    /// Whether the file became shorter: then it is read from its begin.
    fn cut(&mut self) -> io::Result<bool> {
        let cut = self.file.metadata()?.len() < self.at;
        if cut {
            self.file.seek(SeekFrom::Start(0))?;
            (self.at, self.inside_line) = (0, false);
            self.line.clear();
        }
        Ok(cut)
    }

    /// Reads at most so many bytes, and passes on the lines that are complete. Returns how many bytes it read.
    fn read(&mut self, most: u64, take: &mut dyn FnMut(&str)) -> io::Result<u64> {
        let mut chunk = vec![0; 64 << 10];
        let mut total = 0;
        while total < most {
            let room = chunk.len().min(usize::try_from(most - total).unwrap_or(usize::MAX));
            let read = self.file.read(&mut chunk[..room])?;
            if read == 0 {
                break;
            }
            total += read as u64;
            chunk[..read].split_inclusive(|byte| *byte == b'\n').for_each(|part| self.part(part, take));
        }
        self.at += total;
        self.quiet = if total == 0 { self.quiet.saturating_add(1) } else { 0 };
        Ok(total)
    }

    /// Takes a part of a line, which may end it.
    fn part(&mut self, part: &[u8], take: &mut dyn FnMut(&str)) {
        let (text, ends) = part.strip_suffix(b"\n").map_or((part, false), |text| (text, true));
        let room = MOST_OF_LINE_BYTES.saturating_sub(self.line.len()).min(text.len());
        self.line.extend_from_slice(&text[..room]);
        if ends {
            if !std::mem::take(&mut self.inside_line) {
                take(String::from_utf8_lossy(&self.line).trim_end_matches('\r'));
            }
            self.line.clear();
        }
    }
}

fn format_of(path: &Path) -> LogFormat {
    LogFormat::of_file(&path.to_string_lossy())
}

/// The file of a directory that was written to last. A server may log in several formats at a time: of the files that
/// are about as new, those of the format that says most.
fn newest(directory: &Path) -> io::Result<Option<PathBuf>> {
    let files: Vec<_> = fs::read_dir(directory)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let metadata = entry.metadata().ok().filter(fs::Metadata::is_file)?;
            Some((metadata.modified().ok()?, entry.path()))
        })
        .collect();
    let Some(last) = files.iter().map(|(modified, _)| *modified).max() else { return Ok(None) };
    let new = files.into_iter().filter(|(modified, _)| *modified + ABOUT_AS_NEW >= last);
    Ok(new
        .max_by_key(|(modified, path)| (preference(format_of(path)), *modified, path.clone()))
        .map(|(_, path)| path))
}

/// Which format of several is followed: the one that says most.
fn preference(format: LogFormat) -> u8 {
    match format {
        LogFormat::Text => 0,
        LogFormat::Csv => 1,
        LogFormat::Json => 2,
    }
}

#[cfg(test)]
mod tests {
    use std::{fs::OpenOptions, io::Write};

    use pgdyno_core::observe::LogEvent;

    use super::*;

    fn append(path: &Path, text: &[u8]) {
        let mut file = OpenOptions::new().create(true).append(true).open(path).expect("it can be written");
        file.write_all(text).expect("it is written");
    }

    fn reasons(news: &LogNews) -> Vec<String> {
        let reason = |entry: &LogEntry| match &entry.sample.event {
            LogEvent::CheckpointBegan { reason } => Some(reason.clone()),
            _ => None,
        };
        news.entries.iter().filter_map(reason).collect()
    }

    /// Looks twice: a message of the last line ends with the second look.
    fn look(reader: &mut LogFollower) -> LogNews {
        let mut news = reader.look().expect("it can be read");
        let more = reader.look().expect("it can be read");
        news.entries.extend(more.entries);
        news.unknown_lines += more.unknown_lines;
        news
    }

    #[test]
    fn only_what_is_new_is_returned_and_partial_lines_wait() {
        let place = tempfile::tempdir().expect("there is room");
        let log = place.path().join("server.log");
        append(&log, b"LOG:  checkpoint starting: old\nLOG:  checkpoint starting: ha");
        let mut reader = LogFollower::begin(&log).expect("it is there");
        append(&log, b"lf\nLOG:  checkpoint starting: \xff\xfeone\nLOG:  checkpoint sta");
        assert_eq!(reasons(&look(&mut reader)), ["\u{fffd}\u{fffd}one"]);
        append(&log, b"rting: two\n");
        assert_eq!(reasons(&look(&mut reader)), ["two"]);
        append(&log, &[b"LOG:  checkpoint starting: " as &[u8], &vec![b'x'; 1 << 20], b"\n"].concat());
        append(&log, b"LOG:  checkpoint starting: three\n");
        let news = look(&mut reader);
        let long = reasons(&news);
        assert!(long[0].len() < MOST_OF_LINE_BYTES && long[1] == "three", "{} entries", long.len());
        assert!(news.entries[0].sample.message.chars().count() <= 400);
    }

    #[test]
    fn a_log_that_is_renamed_cut_or_created_is_followed() {
        let place = tempfile::tempdir().expect("there is room");
        let log = place.path().join("server.log");
        let mut reader = LogFollower::begin(&log).expect("it may come later");
        assert_eq!(look(&mut reader), LogNews::default());
        append(&log, b"LOG:  checkpoint starting: first\n");
        assert_eq!(reasons(&look(&mut reader)), ["first"]);
        append(&log, b"LOG:  checkpoint starting: before\n");
        fs::rename(&log, place.path().join("server.log.1")).expect("it can be renamed");
        append(&log, b"LOG:  checkpoint starting: behind\n");
        assert_eq!(reasons(&look(&mut reader)), ["before", "behind"]);
        fs::write(&log, "LOG:  checkpoint starting: a\n").expect("it can be cut");
        let news = reader.look().expect("it can be read");
        assert!(news.lost);
        assert_eq!(reasons(&look(&mut reader)), ["a"]);
        fs::remove_file(&log).expect("it can be removed");
        assert_eq!(reasons(&look(&mut reader)), [""; 0]);
    }

    #[test]
    fn the_next_file_of_a_directory_continues_the_log() {
        let place = tempfile::tempdir().expect("there is room");
        append(&place.path().join("postgresql-1.log"), b"LOG:  checkpoint starting: old\n");
        let mut reader = LogFollower::begin(place.path()).expect("it is there");
        append(&place.path().join("postgresql-1.log"), b"LOG:  checkpoint starting: one\n");
        append(&place.path().join("postgresql-2.log"), b"LOG:  checkpoint starting: two\nPROTOKOLL:  x\n");
        let news = look(&mut reader);
        assert_eq!((reasons(&news), news.unknown_lines), (vec!["one".to_owned(), "two".to_owned()], 1));
    }

    #[test]
    fn a_flood_is_read_bit_by_bit() {
        let place = tempfile::tempdir().expect("there is room");
        let log = place.path().join("server.log");
        append(&log, b"");
        let mut reader = LogFollower::begin(&log).expect("it is there");
        let line = b"LOG:  checkpoint starting: x\n".repeat(200_000);
        append(&log, &line);
        let first = reader.look().expect("it can be read");
        assert!(first.behind && first.entries.len() < 200_000);
        let second = look(&mut reader);
        assert_eq!((first.entries.len() + second.entries.len(), second.behind), (200_000, false));
    }
}
