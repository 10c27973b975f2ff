//! No file contains the host name of a package registry: packages come through the registries' own clients.

use super::fault::Fault;
use crate::workspace::Tracked;

/// Host names, split so that this file does not contain them.
const HOSTS: [(&str, &str); 12] = [
    ("repo1", ".maven"),
    ("repo", ".maven."),
    ("crates.io", "/api"),
    ("static.", "crates"),
    ("index.", "crates"),
    ("registry.", "npmjs"),
    ("deb.", "debian"),
    ("archive.", "ubuntu"),
    ("pypi", ".org"),
    ("files.", "pythonhosted"),
    ("proxy.", "golang"),
    ("apt.", "postgresql"),
];

/// Finds the first such name of every line.
pub fn check(files: &[Tracked]) -> Vec<Fault> {
    let hosts = HOSTS.map(|(first, second)| format!("{first}{second}"));
    let mut faults = Vec::new();
    for file in files {
        for (at, line) in file.text().lines().enumerate() {
            if let Some(host) = hosts.iter().find(|host| line.contains(host.as_str())) {
                let what = format!("names a package registry (`{host}`): leave that to its client");
                faults.push(Fault::new(&file.path, at + 1, what));
            }
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn every_host_is_found() {
        for (first, second) in HOSTS {
            let files = [file("a.sh", &format!("set -e\ncurl https://{first}{second}"))];
            let faults = check(&files);
            assert_eq!(faults.len(), 1, "{first}{second}");
            assert_eq!(faults[0].line, 2);
        }
        assert_eq!(check(&[file("a.sh", "cargo fetch; apt-get update")]), []);
    }
}
