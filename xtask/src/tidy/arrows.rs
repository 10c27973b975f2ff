//! Dependencies between crates run downwards in the drawing of ARCHITECTURE.md, which is read here; those of tests too.

use std::collections::BTreeMap;

use cargo_metadata::{Dependency, DependencyKind, MetadataCommand, Package};

use super::fault::Fault;
use crate::{
    Failure,
    workspace::{Tracked, root},
};

const PAGE: &str = "ARCHITECTURE.md";
/// Between the sides of the drawing: crates on its right do no I/O.
const BETWEEN: &str = "│";
/// For the tests of all crates.
const TESTKIT: &str = "testkit";
/// What the tests of a crate may use besides: they start servers of pgdyno's own.
const IN_TESTS: [(&str, &str); 1] = [("postgres", "provision")];

/// Place of a crate in the drawing.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// Number of its line, from the top.
    row: usize,
    /// Folder of its floor in `crates/`.
    floor: String,
    /// Whether it is on the right.
    is_pure: bool,
}

/// Places by the names of crates.
#[derive(Debug, Default)]
struct Drawing(BTreeMap<String, Place>);

/// One crate uses another; names are without `pgdyno-`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Arrow {
    /// From the root of the workspace.
    manifest: String,
    from: String,
    to: String,
    kind: DependencyKind,
}

/// Checks the crates and arrows that Cargo knows.
pub fn check(files: &[Tracked]) -> Result<Vec<Fault>, Failure> {
    let page = files.iter().find(|file| file.path == PAGE).ok_or_else(|| format!("{PAGE} does not exist"))?;
    let drawing = Drawing::read(page.text()).ok_or_else(|| format!("{PAGE} has no drawing of the crates"))?;
    let metadata = MetadataCommand::new().manifest_path(root().join("Cargo.toml")).no_deps().exec()?;
    let manifests: Vec<(&str, String)> =
        metadata.packages.iter().map(|package| (short(&package.name), manifest(package))).collect();
    let arrows: Vec<Arrow> =
        metadata.packages.iter().flat_map(|package| arrows_of(package, &manifests)).collect();
    Ok([drawing.misplaced(&manifests), drawing.wrong(&arrows)].concat())
}

/// Name of a crate in the drawing.
fn short(name: &str) -> &str {
    name.strip_prefix("pgdyno-").unwrap_or(name)
}

fn manifest(package: &Package) -> String {
    package.manifest_path.strip_prefix(root()).unwrap_or(&package.manifest_path).to_string()
}

fn arrows_of(package: &Package, ours: &[(&str, String)]) -> Vec<Arrow> {
    let is_ours = |to: &&Dependency| ours.iter().any(|(name, _)| *name == short(&to.name));
    let arrow = |to: &Dependency| Arrow {
        manifest: manifest(package),
        from: short(&package.name).to_owned(),
        to: short(&to.name).to_owned(),
        kind: to.kind,
    };
    package.dependencies.iter().filter(is_ours).map(arrow).collect()
}

impl Drawing {
    /// Reads the first block of text below the heading `Crates`. A row may begin with the name of a floor on either
    /// side, which lasts until the next one.
    fn read(page: &str) -> Option<Self> {
        let (_, section) = page.split_once("\n## Crates\n")?;
        let (_, drawing) = section.split_once("\n```text\n")?;
        let (drawing, _) = drawing.split_once("\n```")?;
        let (mut places, mut floors) = (BTreeMap::new(), ["", ""]);
        for (row, line) in drawing.lines().enumerate() {
            for ((side, floor), is_pure) in line.split(BETWEEN).zip(&mut floors).zip([false, true]) {
                let side = if is_pure { side.strip_prefix(' ').unwrap_or(side) } else { side };
                let mut names = side.split_whitespace();
                if !side.starts_with(' ') {
                    *floor = names.next().unwrap_or(floor);
                }
                let place = || Place { row, floor: (*floor).to_owned(), is_pure };
                places.extend(names.map(|name| (name.to_owned(), place())));
            }
        }
        Some(Self(places))
    }

    /// Crates without a place, or in the folder of another floor, and places without a crate. A crate may also have no
    /// floor's folder around it.
    fn misplaced(&self, manifests: &[(&str, String)]) -> Vec<Fault> {
        let unknown = self.0.keys().filter(|name| manifests.iter().all(|(other, _)| other != name));
        let unknown = unknown.map(|name| Fault::new(PAGE, 0, format!("draws `{name}`, which is no crate")));
        let misplaced = manifests.iter().filter_map(|(name, manifest)| {
            let Some(place) = self.0.get(*name) else {
                return Some(Fault::new(PAGE, 0, format!("does not draw the crate `{name}`")));
            };
            let expected = format!("crates/{}/{name}/Cargo.toml", place.floor);
            let alone = [format!("crates/{name}/Cargo.toml"), format!("{name}/Cargo.toml")];
            let is_there = expected == *manifest || alone.contains(manifest);
            (!is_there).then(|| Fault::new(manifest, 0, format!("{PAGE} draws it as {expected}")))
        });
        unknown.chain(misplaced).collect()
    }

    /// Arrows that do not point downwards, or from the right to the left.
    fn wrong(&self, arrows: &[Arrow]) -> Vec<Fault> {
        let is_wrong = |arrow: &&Arrow| !self.points_down(arrow) && !is_for_tests(arrow);
        let fault = |Arrow { manifest, from, to, kind }: &Arrow| {
            let tests = if *kind == DependencyKind::Development { " in tests" } else { "" };
            Fault::new(manifest, 0, format!("`{from}` must not use `{to}`{tests}"))
        };
        arrows.iter().filter(is_wrong).map(fault).collect()
    }

    fn points_down(&self, arrow: &Arrow) -> bool {
        // A crate without a place is a fault already.
        let (Some(from), Some(to)) = (self.0.get(&arrow.from), self.0.get(&arrow.to)) else { return true };
        from.row < to.row && (to.is_pure || !from.is_pure)
    }
}

fn is_for_tests(Arrow { from, to, kind, .. }: &Arrow) -> bool {
    // A crate may name itself for its tests, to turn on a feature.
    let may = from == to || to == TESTKIT || IN_TESTS.contains(&(from.as_str(), to.as_str()));
    *kind == DependencyKind::Development && may
}

#[cfg(test)]
mod tests {
    use DependencyKind::{Development, Normal};

    use super::*;

    const DRAWING: &str = "# Page\n```text\nnot this one\n```\n## Crates\n\n```text\n\
                           tools    xtask   testkit\n\
                           lab      lab          │ results  report\n\
                           server   postgres     │ pure     plan\n         \
                                    wire         │          script  rules\n\
                           kernel   host\n                      \
                                                 │          core\n```\n";

    fn drawing() -> Drawing {
        Drawing::read(DRAWING).expect("it has a drawing")
    }

    fn wrong(from: &str, to: &str, kind: DependencyKind) -> Vec<String> {
        let arrow = Arrow { manifest: "Cargo.toml".into(), from: from.into(), to: to.into(), kind };
        drawing().wrong(&[arrow]).into_iter().map(|fault| fault.what).collect()
    }

    #[test]
    fn an_arrow_that_does_not_point_downwards_is_found_in_tests_too() {
        for (from, to) in [("lab", "wire"), ("wire", "host"), ("postgres", "script"), ("plan", "core")] {
            assert_eq!(
                [wrong(from, to, Normal), wrong(from, to, Development)].concat(),
                [""; 0],
                "{from} {to}"
            );
        }
        for (from, to) in [("host", "wire"), ("wire", "rules"), ("report", "host")] {
            let expected = format!("`{from}` must not use `{to}`");
            let faults = [wrong(from, to, Normal), wrong(from, to, Development)].concat();
            assert_eq!(faults, [expected.clone(), expected + " in tests"]);
        }
    }

    #[test]
    fn tests_may_use_the_testkit_themselves_and_what_is_listed() {
        for (from, to) in [("core", "testkit"), ("core", "core"), ("postgres", "provision")] {
            assert_eq!(wrong(from, to, Development), [""; 0], "{from} {to}");
        }
        assert_eq!(wrong("core", "testkit", Normal), ["`core` must not use `testkit`"]);
    }

    #[test]
    fn every_crate_is_drawn_in_the_folder_of_its_floor() {
        let paths = [
            "xtask",
            "crates/testkit",
            "crates/lab",
            "crates/results/report",
            "crates/server/postgres",
            "crates/pure/plan",
            "crates/kernel/wire",
            "crates/pure/script",
            "crates/kernel/host",
            "crates/pure/core",
            "crates/pure/rows",
        ];
        let manifests: Vec<(&str, String)> = paths
            .iter()
            .map(|path| (path.rsplit('/').next().unwrap_or(path), format!("{path}/Cargo.toml")))
            .collect();
        let found: Vec<String> = drawing().misplaced(&manifests).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "ARCHITECTURE.md: draws `rules`, which is no crate",
                "crates/kernel/wire/Cargo.toml: ARCHITECTURE.md draws it as crates/server/wire/Cargo.toml",
                "ARCHITECTURE.md: does not draw the crate `rows`",
            ]
        );
        assert!(Drawing::read("# Page\n").is_none());
    }
}
