//! Where a server keeps its files: the devices below, and how full the file systems are.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use pgdyno_core::observe::{FileSystemSample, Place};

use crate::facts::{devices_below, mount_of};

/// Directories in which a server keeps its files, as far as they are on this machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Places {
    /// The data directory; `None` if it is not known.
    pub data: Option<PathBuf>,
    /// Directories of known tablespaces, with their names. Others are found in the data directory if that can be read,
    /// and have the number of their link as a name.
    pub tablespaces: Vec<(String, PathBuf)>,
}

impl Places {
    /// Every place with its directory, links resolved.
    fn all(&self) -> Vec<(Place, PathBuf)> {
        let mut all = Vec::new();
        let mut add = |place: Place, path: &Path| {
            if let Ok(path) = fs::canonicalize(path)
                && !all.iter().any(|(_, known)| *known == path)
            {
                all.push((place, path));
            }
        };
        if let Some(data) = &self.data {
            add(Place::Data, data);
            ["pg_wal", "pg_xlog"].iter().for_each(|wal| add(Place::Wal, &data.join(wal)));
        }
        for (name, path) in &self.tablespaces {
            add(Place::Tablespace(name.clone()), path);
        }
        let links = self.data.iter().filter_map(|data| fs::read_dir(data.join("pg_tblspc")).ok());
        for link in links.flatten().flatten() {
            add(Place::Tablespace(link.file_name().to_string_lossy().into_owned()), &link.path());
        }
        all
    }
}

/// A file system with what is kept on it.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Mounted {
    on: String,
    places: Vec<Place>,
}

/// What lies below the places of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ground {
    file_systems: Vec<Mounted>,
    /// Devices by name, with what is kept on them.
    pub devices: BTreeMap<String, Vec<Place>>,
}

/// File systems that may hang when their size is read.
const REMOTE: [&str; 8] = ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "glusterfs", "afs"];

impl Ground {
    /// Finds the file systems and devices below the places.
    pub(super) fn of(places: &Places) -> Self {
        let root = Path::new("/");
        let mut ground = Self::default();
        for (place, path) in places.all() {
            for device in devices_below(root, &path) {
                ground.devices.entry(device).or_default().push(place.clone());
            }
            let Some(mount) = mount_of(root, &path) else { continue };
            let mount_point = mount.mount_point.display().to_string();
            if REMOTE.contains(&&*mount.filesystem) || mount.filesystem.starts_with("fuse") {
                continue;
            }
            match ground.file_systems.iter_mut().find(|known| known.on == mount_point) {
                Some(known) => known.places.push(place),
                None => ground.file_systems.push(Mounted { on: mount_point, places: vec![place] }),
            }
        }
        ground
    }

    /// How full the file systems are.
    pub(super) fn samples(&self) -> Vec<FileSystemSample> {
        let sample = |mounted: &Mounted| {
            let space = rustix::fs::statvfs(&*mounted.on).ok()?;
            Some(FileSystemSample {
                places: mounted.places.clone(),
                mounted_on: mounted.on.clone(),
                total_bytes: space.f_blocks.saturating_mul(space.f_frsize),
                free_bytes: space.f_bavail.saturating_mul(space.f_frsize),
            })
        };
        self.file_systems.iter().filter_map(sample).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn wal_and_tablespaces_are_found_through_their_links() {
        let root = tempfile::tempdir().expect("a directory can be made");
        let dir = |name: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(&path).expect("it can be made");
            fs::canonicalize(path).expect("it is there")
        };
        let (data, wal, fast, slow) = (dir("data"), dir("elsewhere/wal"), dir("fast"), dir("slow"));
        dir("data/pg_tblspc");
        symlink(&wal, data.join("pg_wal")).expect("a link can be made");
        symlink(&fast, data.join("pg_tblspc/16400")).expect("a link can be made");
        symlink(&slow, data.join("pg_tblspc/16401")).expect("a link can be made");
        let tablespaces = vec![("fast".to_owned(), fast.clone())];
        let all = Places { data: Some(data.clone()), tablespaces }.all();
        let named = |name: &str| Place::Tablespace(name.to_owned());
        let expected =
            [(Place::Data, data), (Place::Wal, wal), (named("fast"), fast), (named("16401"), slow)];
        assert_eq!(all, expected);
        let ground = Ground::of(&Places { data: Some(root.path().to_owned()), tablespaces: Vec::new() });
        let samples = ground.samples();
        assert!(samples.iter().all(|fs| fs.places == [Place::Data] && fs.free_bytes <= fs.total_bytes));
        assert_eq!(Places::default().all(), []);
    }
}
