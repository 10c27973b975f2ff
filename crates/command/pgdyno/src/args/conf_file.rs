//! A `postgresql.conf` of this host, with the files that it includes.

use std::{
    ffi::OsString,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use pgdyno_settings::{File, Include, Included, Unreadable, read_all};

/// Reads a configuration file. What it includes and cannot be read is kept next to the settings.
///
/// # Errors
/// The file itself cannot be read, or the server would not accept a line of it.
pub fn read(file: &Path) -> Result<File, Problem> {
    let text = fs::read_to_string(file)
        .map_err(|error| Problem::wrong_request(format!("could not read {}: {error}", file.display())))?;
    read_all(&file.display().to_string(), &text, &included)
}

/// What a line includes, as the server finds it (`guc-file.l`): a path that is not absolute is below the directory of
/// the file with the line, and of a directory all files `*.conf` count, in the order of their bytes.
fn included(include: &Include<'_>) -> Vec<Included> {
    let place = Path::new(include.from).parent().unwrap_or(Path::new("")).join(include.value);
    let files = match include.directive {
        "include_dir" => files_of(&place),
        _ => Ok(vec![place.clone()]),
    };
    let found: Vec<Included> = match files {
        Ok(files) => files.iter().map(|file| named(file, text_of(file))).collect(),
        Err(error) => vec![named(&place, Err(unreadable(&error)))],
    };
    let may_miss = include.directive == "include_if_exists";
    found.into_iter().filter(|file| !may_miss || file.text != Err(Unreadable::Missing)).collect()
}

fn named(file: &Path, text: Result<String, Unreadable>) -> Included {
    Included { name: file.display().to_string(), text }
}

fn files_of(directory: &Path) -> io::Result<Vec<PathBuf>> {
    let names = fs::read_dir(directory)?
        .map(|entry| Ok(entry?.file_name()))
        .collect::<io::Result<Vec<OsString>>>()?;
    let is_one = |name: &OsString| {
        let name = name.as_bytes();
        !name.starts_with(b".") && name.ends_with(b".conf")
    };
    let mut names: Vec<OsString> = names.into_iter().filter(is_one).collect();
    names.sort();
    Ok(names.iter().map(|name| directory.join(name)).filter(|file| !file.is_dir()).collect())
}

fn text_of(file: &Path) -> Result<String, Unreadable> {
    // A pipe would be waited for.
    match fs::metadata(file) {
        Ok(metadata) if metadata.is_file() => fs::read_to_string(file).map_err(|error| unreadable(&error)),
        Ok(_) => Err(Unreadable::Other("it is no file".to_owned())),
        Err(error) => Err(unreadable(&error)),
    }
}

fn unreadable(error: &io::Error) -> Unreadable {
    match error.kind() {
        io::ErrorKind::NotFound => Unreadable::Missing,
        _ => Unreadable::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files with their texts, in a directory of their own.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory can be made");
        for (name, text) in files {
            let file = root.path().join(name);
            fs::create_dir_all(file.parent().expect("it has one")).expect("a directory can be made");
            fs::write(file, text).expect("a file can be written");
        }
        root
    }

    #[test]
    fn includes_are_followed_as_the_server_does() {
        let root = tree(&[
            (
                "main/postgresql.conf",
                "work_mem = 1MB\ninclude_dir = 'conf.d'\ninclude_if_exists = 'nothing.conf'\nport = 1\n\
                 include '../common.conf'\n",
            ),
            ("main/conf.d/10.conf", "work_mem = 10MB\njit = off\n"),
            ("main/conf.d/9.conf", "work_mem = 9MB\n"),
            ("main/conf.d/.hidden.conf", "fsync = off\n"),
            ("main/conf.d/README", "fsync = off\n"),
            ("main/conf.d/dir.conf/x.conf", "fsync = off\n"),
            ("common.conf", "port = 2\n"),
        ]);
        let file = read(&root.path().join("main/postgresql.conf")).expect("it is right");
        let pairs: Vec<_> =
            file.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        // By bytes 10 comes before 9.
        assert_eq!(pairs, [("jit", "off"), ("port", "2"), ("work_mem", "9MB")]);
        assert_eq!(file.unread, []);
    }

    #[test]
    fn what_cannot_be_read_is_kept() {
        let text = "include 'gone.conf'\ninclude_dir 'gone.d'\ninclude 'conf.d'\nport = 1\n";
        let root = tree(&[("x.conf", text), ("conf.d/x", "")]);
        let file = read(&root.path().join("x.conf")).expect("it is right");
        let why: Vec<_> = file.unread.iter().map(|unread| &unread.why).collect();
        let no_file = Unreadable::Other("it is no file".to_owned());
        assert_eq!(why, [&Unreadable::Missing, &Unreadable::Missing, &no_file]);
        assert_eq!(file.settings.len(), 1);
        assert!(read(&root.path().join("nothing")).is_err());
    }
}
