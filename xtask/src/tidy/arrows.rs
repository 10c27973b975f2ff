//! Dependencies between crates run one way, as ARCHITECTURE.md draws them; those of tests too.

use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

use super::fault::Fault;
use crate::{Failure, workspace::root};

/// Every crate of the workspace but the program, and those it may use.
const ALLOWED: [(&str, &[&str]); 24] = [
    ("pgdyno-core", &[]),
    ("pgdyno-rules", &["pgdyno-core"]),
    ("pgdyno-layout", &["pgdyno-core"]),
    ("pgdyno-script", &["pgdyno-core"]),
    ("pgdyno-rows", &["pgdyno-core"]),
    ("pgdyno-plan", &["pgdyno-rules", "pgdyno-rows", "pgdyno-script", "pgdyno-core"]),
    ("pgdyno-record", &["pgdyno-plan", "pgdyno-rules", "pgdyno-rows", "pgdyno-script", "pgdyno-core"]),
    ("pgdyno-analysis", &["pgdyno-record", "pgdyno-rules", "pgdyno-rows", "pgdyno-script", "pgdyno-core"]),
    ("testkit", &["pgdyno-analysis", "pgdyno-record", "pgdyno-plan", "pgdyno-rows", "pgdyno-core"]),
    ("pgdyno-engine", &["pgdyno-core"]),
    ("pgdyno-host", &["pgdyno-core"]),
    ("pgdyno-knobs", &["pgdyno-core"]),
    ("pgdyno-disk", &["pgdyno-engine", "pgdyno-host", "pgdyno-core"]),
    ("pgdyno-wire", &["pgdyno-host", "pgdyno-core"]),
    ("pgdyno-provision", &["pgdyno-plan", "pgdyno-host", "pgdyno-core"]),
    ("pgdyno-build", &["pgdyno-provision", "pgdyno-host", "pgdyno-core"]),
    (
        "pgdyno-postgres",
        &[
            "pgdyno-plan",
            "pgdyno-rows",
            "pgdyno-script",
            "pgdyno-wire",
            "pgdyno-host",
            "pgdyno-engine",
            "pgdyno-core",
        ],
    ),
    ("pgdyno-observe", &["pgdyno-wire", "pgdyno-host", "pgdyno-core"]),
    ("pgdyno-document", &["pgdyno-core"]),
    (
        "pgdyno-report",
        &[
            "pgdyno-document",
            "pgdyno-record",
            "pgdyno-analysis",
            "pgdyno-rules",
            "pgdyno-rows",
            "pgdyno-layout",
            "pgdyno-core",
        ],
    ),
    (
        "pgdyno-lab",
        &[
            "pgdyno-record",
            "pgdyno-analysis",
            "pgdyno-observe",
            "pgdyno-disk",
            "pgdyno-postgres",
            "pgdyno-provision",
            "pgdyno-wire",
            "pgdyno-plan",
            "pgdyno-rows",
            "pgdyno-script",
            "pgdyno-knobs",
            "pgdyno-rules",
            "pgdyno-host",
            "pgdyno-engine",
            "pgdyno-core",
        ],
    ),
    ("pgdyno-top", &["pgdyno-observe", "pgdyno-postgres", "pgdyno-wire", "pgdyno-host", "pgdyno-core"]),
    (
        "pgdyno-pgbench",
        &[
            "pgdyno-lab",
            "pgdyno-report",
            "pgdyno-record",
            "pgdyno-analysis",
            "pgdyno-observe",
            "pgdyno-postgres",
            "pgdyno-wire",
            "pgdyno-rows",
            "pgdyno-script",
            "pgdyno-host",
            "pgdyno-engine",
            "pgdyno-core",
        ],
    ),
    (
        "xtask",
        &[
            "pgdyno-analysis",
            "pgdyno-postgres",
            "pgdyno-provision",
            "pgdyno-wire",
            "pgdyno-rows",
            "pgdyno-script",
            "pgdyno-engine",
            "pgdyno-core",
        ],
    ),
];

/// The program may use every library.
const PROGRAM: &str = "pgdyno";
const NO_LIBRARIES: [&str; 2] = ["testkit", "xtask"];

/// What the tests of a crate may use besides.
const IN_TESTS: [(&str, &[&str]); 11] = [
    // Its tests measure a layer with planted delays.
    ("pgdyno-disk", &["testkit"]),
    // The limits of plans are those of comparisons.
    ("pgdyno-analysis", &["pgdyno-plan", "testkit"]),
    ("pgdyno-record", &["testkit"]),
    ("pgdyno-report", &["testkit"]),
    ("pgdyno-lab", &["testkit"]),
    ("pgdyno-wire", &["testkit"]),
    // Their tests work at servers of pgdyno's own; an example finds the postmaster of a session.
    ("pgdyno-observe", &["pgdyno-postgres", "pgdyno-provision", "testkit"]),
    ("pgdyno-postgres", &["pgdyno-provision", "testkit"]),
    ("pgdyno-knobs", &["testkit"]),
    ("pgdyno-layout", &["testkit"]),
    (PROGRAM, &["testkit"]),
];

/// One crate uses another.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    /// From the root of the workspace.
    manifest: String,
    from: String,
    to: String,
    kind: DependencyKind,
}

/// Checks the arrows that Cargo knows.
pub fn check() -> Result<Vec<Fault>, Failure> {
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec()?;
    let ours: Vec<&str> = metadata.packages.iter().map(|package| package.name.as_str()).collect();
    let unknown = ours.iter().filter(|name| **name != PROGRAM && allowed(name).is_none()).map(|name| {
        Fault::new("Cargo.toml", 0, format!("crate `{name}` has no place in the list of arrows of xtask"))
    });
    let arrows: Vec<Arrow> = metadata.packages.iter().flat_map(|package| arrows_of(package, &ours)).collect();
    Ok(unknown.chain(wrong(&arrows)).collect())
}

fn arrows_of(package: &Package, ours: &[&str]) -> Vec<Arrow> {
    let inner = package.dependencies.iter().filter(|dependency| ours.contains(&dependency.name.as_str()));
    let manifest = package.manifest_path.strip_prefix(root()).unwrap_or(&package.manifest_path);
    let arrow = |to: &Dependency| Arrow {
        manifest: manifest.to_string(),
        from: package.name.to_string(),
        to: to.name.clone(),
        kind: to.kind,
    };
    inner.map(arrow).collect()
}

fn allowed(name: &str) -> Option<&'static [&'static str]> {
    ALLOWED.iter().find(|(from, _)| *from == name).map(|(_, to)| *to)
}

fn allowed_in_tests(from: &str, to: &str) -> bool {
    IN_TESTS.iter().any(|(name, more)| *name == from && more.contains(&to))
}

fn wrong(arrows: &[Arrow]) -> Vec<Fault> {
    let may = |Arrow { from, to, kind, .. }: &Arrow| {
        // A crate may name itself for its tests, to turn on a feature.
        from == to
            || (from == PROGRAM && !NO_LIBRARIES.contains(&to.as_str()))
            || allowed(from).is_some_and(|allowed| allowed.contains(&to.as_str()))
            || (*kind == DependencyKind::Development && allowed_in_tests(from, to))
    };
    let against = arrows.iter().filter(|arrow| !may(arrow));
    against
        .map(|Arrow { manifest, from, to, kind }| {
            let tests = if *kind == DependencyKind::Development { " in tests" } else { "" };
            Fault::new(manifest, 0, format!("`{from}` must not use `{to}`{tests}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arrow(from: &str, to: &str, kind: DependencyKind) -> Arrow {
        Arrow { manifest: format!("{from}/Cargo.toml"), from: from.into(), to: to.into(), kind }
    }

    #[test]
    fn an_arrow_against_the_direction_is_found_in_tests_too() {
        let normal = DependencyKind::Normal;
        assert_eq!(wrong(&[arrow("pgdyno-host", "pgdyno-core", normal)]), []);
        let provisioned = |kind| wrong(&[arrow("pgdyno-postgres", "pgdyno-provision", kind)]).len();
        assert_eq!((provisioned(DependencyKind::Development), provisioned(normal)), (0, 1));
        let faults = wrong(&[
            arrow("pgdyno-core", "pgdyno-host", normal),
            arrow("pgdyno-record", "pgdyno-engine", DependencyKind::Development),
        ]);
        assert_eq!(
            faults,
            [
                Fault::new("pgdyno-core/Cargo.toml", 0, "`pgdyno-core` must not use `pgdyno-host`"),
                Fault::new(
                    "pgdyno-record/Cargo.toml",
                    0,
                    "`pgdyno-record` must not use `pgdyno-engine` in tests"
                ),
            ]
        );
    }

    #[test]
    fn the_list_itself_has_no_circle() {
        // In the order of the list, a crate only uses crates that stand before it.
        let place = |name: &str| ALLOWED.iter().position(|(from, _)| *from == name);
        for (from, to) in ALLOWED {
            assert!(to.iter().all(|to| place(to) < place(from)), "{from}");
        }
    }
}
