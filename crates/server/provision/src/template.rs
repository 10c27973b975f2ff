//! Clusters of pgdyno's own tests: `initdb` makes the first of a kind, and the others are copies of it, as in
//! PostgreSQL's own tests (its `INITDB_TEMPLATE`).
//!
//! Copies have the system identifier and the superuser's password of the first, and are not synced to disk. Only tests
//! can bear that: a build without debug assertions knows no templates, see [`Dirs::templates`](super::Dirs::templates).

use std::{
    fs::{self, DirBuilder, File, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use pgdyno_core::problem::Problem;
use pgdyno_host::users::User;
use sha2::{Digest, Sha256};

use super::{
    initdb::{Cluster, arguments, initdb},
    safe::{give, open_dir},
};

/// Place of the template of a cluster.
#[derive(Debug)]
pub struct Template {
    /// Directory of the template, which exists once it is complete.
    dir: PathBuf,
    /// Digest of everything that the content of the cluster depends on.
    digest: String,
}

impl Template {
    /// The template for a cluster in this directory of templates. `None` for a cluster with a separate WAL directory,
    /// which is more than one directory to copy.
    ///
    /// # Errors
    /// If the version lacks an option of the cluster, or its programs cannot be found.
    pub fn of(cluster: &Cluster<'_>, templates: &Path) -> Result<Option<Self>, Problem> {
        if cluster.wal_dir.is_some() {
            return Ok(None);
        }
        let digest = digest(cluster)?;
        Ok(Some(Self { dir: templates.join(&digest), digest }))
    }

    /// Password of the superuser in every copy.
    pub fn password(&self) -> String {
        self.digest.chars().take(32).collect()
    }

    /// Copies the template to the data directory of a cluster; if there is none yet, makes the cluster with `initdb`
    /// and keeps a copy as the template.
    ///
    /// # Errors
    /// If `initdb` fails, or a file cannot be copied.
    pub fn make(&self, cluster: &Cluster<'_>) -> Result<(), Problem> {
        if self.dir.is_dir() {
            return copy(&self.dir, cluster.data_dir, cluster.user).map_err(|error| self.problem(&error));
        }
        initdb(cluster)?;
        self.keep(cluster.data_dir).map_err(|error| self.problem(&error))
    }

    /// Keeps a cluster that no server has run on yet. Of several processes that do so at once the first one succeeds.
    fn keep(&self, data_dir: &Path) -> io::Result<()> {
        let templates = self.dir.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(templates)?;
        let partial = tempfile::Builder::new().prefix("partial-").tempdir_in(templates)?;
        copy(data_dir, partial.path(), None)?;
        match fs::rename(partial.path(), &self.dir) {
            Err(error) if !self.dir.is_dir() => Err(error),
            _ => Ok(()),
        }
    }

    fn problem(&self, error: &io::Error) -> Problem {
        Problem::could_not(format!("could not use the template {} of clusters: {error}", self.dir.display()))
    }
}

/// Two clusters of the same digest are alike: their programs are the same files, and get the same arguments.
fn digest(cluster: &Cluster<'_>) -> Result<String, Problem> {
    let mut hasher = Sha256::new();
    let arguments = arguments(&Cluster { data_dir: Path::new(""), ..cluster.clone() })?;
    for word in arguments.iter().map(|word| word.as_encoded_bytes()) {
        hasher.update(word);
        hasher.update([0]);
    }
    // `initdb` writes the time zone of its environment into postgresql.conf.
    hasher.update(format!("{} {:?}", cluster.version_num, std::env::var_os("TZ")));
    for program in ["initdb", "postgres"].map(|name| cluster.bindir.join(name)) {
        let file = fs::metadata(&program).map_err(|error| {
            Problem::could_not(format!("could not inspect {}: {error}", program.display()))
        })?;
        let identity = (file.dev(), file.ino(), file.len(), file.mtime(), file.mtime_nsec());
        hasher.update(format!("{} {identity:?}", program.display()));
    }
    Ok(hex::encode(hasher.finalize()))
}

/// Copies what is in a data directory, for its server alone. Only plain files and directories are expected.
fn copy(from: &Path, to: &Path, owner: Option<&User>) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, to) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_dir() {
            DirBuilder::new().mode(0o700).create(&to)?;
            copy(&entry.path(), &to, owner)?;
            give(&open_dir(&to)?, owner, 0o700)?;
        } else if kind.is_file() {
            copy_file(&entry.path(), &to, owner)?;
        } else {
            return Err(io::Error::other(format!("{} is not a plain file", entry.path().display())));
        }
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, owner: Option<&User>) -> io::Result<()> {
    let mut new = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
    // The kernel copies, and shares blocks where the file system can.
    io::copy(&mut File::open(from)?, &mut new)?;
    give(&new, owner, 0o600)
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// A directory with an `initdb` that leaves its arguments and the sum of its calls.
    fn bindir(root: &Path) -> PathBuf {
        use std::os::unix::fs::PermissionsExt;
        let dir = root.join("bin");
        fs::create_dir_all(&dir).expect("it can be made");
        let script = "#!/bin/sh\necho \"$@\" >>\"$(dirname \"$0\")/calls\"\n\
                      while [ \"$1\" != -D ]; do shift; done\n\
                      mkdir -p \"$2/base/1\" && echo 18 >\"$2/base/1/PG_VERSION\"\n";
        let written = root.join("script");
        fs::write(&written, script).expect("it can be written");
        fs::set_permissions(&written, fs::Permissions::from_mode(0o755)).expect("it is ours");
        for name in ["initdb", "postgres"] {
            // By another process: a child of another test may have inherited what this one has open for writing, which
            // then cannot be run.
            let copied = Command::new("cp").arg("-p").arg(&written).arg(dir.join(name)).status();
            assert!(copied.is_ok_and(|status| status.success()));
        }
        dir
    }

    fn cluster<'a>(bindir: &'a Path, data_dir: &'a Path) -> Cluster<'a> {
        Cluster {
            bindir,
            version_num: 180_000,
            data_dir,
            wal_dir: None,
            wal_segsize_mb: None,
            encoding: "UTF8",
            locale: "C",
            collate: None,
            ctype: None,
            data_checksums: true,
            user: None,
            home: bindir,
            password: "x".to_owned(),
        }
    }

    fn calls(bindir: &Path) -> usize {
        fs::read_to_string(bindir.join("calls")).map_or(0, |calls| calls.lines().count())
    }

    #[test]
    fn the_second_cluster_of_a_kind_is_a_copy() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let (bindir, templates) = (bindir(root.path()), root.path().join("templates"));
        for name in ["a", "b", "c"] {
            let data = root.path().join(name);
            fs::create_dir(&data).expect("it can be made");
            let cluster = cluster(&bindir, &data);
            let template = Template::of(&cluster, &templates).expect("it is there").expect("it has one");
            template.make(&cluster).expect("it can be made");
            let version = data.join("base/1/PG_VERSION");
            assert_eq!(fs::read_to_string(&version).expect("it is there"), "18\n");
            if name != "a" {
                assert_eq!(fs::metadata(&version).expect("it is there").mode() & 0o777, 0o600);
                assert_eq!(fs::metadata(data.join("base")).expect("it is there").mode() & 0o777, 0o700);
            }
        }
        assert_eq!(calls(&bindir), 1);
        assert_eq!(fs::read_dir(&templates).expect("it is there").count(), 1, "nothing partial is left");
    }

    #[test]
    fn clusters_that_differ_have_templates_of_their_own() {
        let root = tempfile::tempdir().expect("a temporary directory can be made");
        let bindir = bindir(root.path());
        let (data, wal) = (root.path().join("data"), root.path().join("wal"));
        let like = cluster(&bindir, &data);
        let place = |cluster: &Cluster<'_>| {
            Template::of(cluster, Path::new("/t")).expect("it is there").map(|template| template.dir)
        };
        let others = [
            like.clone(),
            Cluster { data_checksums: false, ..like.clone() },
            Cluster { locale: "C.UTF-8", ..like.clone() },
            Cluster { encoding: "LATIN1", ..like.clone() },
            Cluster { wal_segsize_mb: Some(64), ..like.clone() },
            Cluster { version_num: 180_001, ..like.clone() },
        ];
        let mut places: Vec<_> = others.iter().map(place).collect();
        fs::write(bindir.join("postgres"), "another").expect("it can be written");
        places.push(place(&like));
        let distinct: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(distinct.len(), places.len(), "{places:?}");
        assert_eq!(place(&Cluster { data_dir: &wal, ..like.clone() }), places[6], "wherever its data are");
        assert_eq!(place(&Cluster { wal_dir: Some(&wal), ..like }), None);
    }
}
