//! No circles between files of a crate: each file can be understood together with the files it needs, and these without
//! it.
//!
//! A file needs another if it uses a name defined there, however the name is imported. A module that declares other
//! modules and re-exports their names does not need them; a module whose own code uses them does, and if they use its
//! definitions in turn, that is a circle. Not detected: methods, names inside macros of other crates, and names in
//! strings.

use std::collections::{BTreeSet, VecDeque};

use super::{
    fault::Fault,
    modules::{Arrow, Arrows, Crate, crates},
    rust::Source,
};

/// Finds the circles.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    crates(sources).iter().flat_map(circles_of).collect()
}

fn circles_of(krate: &Crate) -> Vec<Fault> {
    let arrows = krate.arrows();
    let circles = circles(&arrows).into_iter();
    circles.filter_map(|files| Some(fault(krate, files.first()?, &inside(&arrows, &files)))).collect()
}

fn fault(krate: &Crate, first: &str, arrows: &Arrows<'_>) -> Fault {
    let files: BTreeSet<&str> = arrows.keys().map(|(from, _)| *from).collect();
    let shortest = arrows.keys().filter_map(|(from, to)| way(arrows, to, from)).min_by_key(Vec::len);
    let way = shortest.unwrap_or_default();
    let steps = way.iter().zip(way.iter().cycle().skip(1)).map(|(from, to)| {
        let name = arrows.get(&(*from, *to)).and_then(BTreeSet::first).map_or("?", String::as_str);
        format!("{from} -> {to} ({name})")
    });
    let steps: Vec<String> = steps.collect();
    let all = match files.len() {
        count if count > way.len() => {
            format!("; {count} files are connected: {}", files.into_iter().collect::<Vec<_>>().join(", "))
        }
        _ => String::new(),
    };
    Fault::new(format!("{}{first}", krate.src), 0, format!("circle: {}{all}", steps.join(", ")))
}

/// Every arrow of every circle, with the names that cause it.
pub fn list(sources: &[Source]) -> Vec<String> {
    let mut lines = Vec::new();
    for krate in crates(sources) {
        let arrows = krate.arrows();
        for files in circles(&arrows) {
            lines.push(format!("{}: {} files in a circle", krate.name, files.len()));
            lines.extend(inside(&arrows, &files).into_iter().map(|((from, to), names)| {
                format!("  {from} -> {to}: {}", names.into_iter().collect::<Vec<_>>().join(", "))
            }));
        }
    }
    lines
}

/// The arrows between these files.
fn inside<'a>(arrows: &Arrows<'a>, files: &BTreeSet<&str>) -> Arrows<'a> {
    let both = |(from, to): &Arrow<'_>| files.contains(from) && files.contains(to);
    arrows.iter().filter(|(arrow, _)| both(arrow)).map(|(arrow, names)| (*arrow, names.clone())).collect()
}

/// The files of each circle, as strongly connected components.
fn circles<'a>(arrows: &Arrows<'a>) -> Vec<BTreeSet<&'a str>> {
    let files: BTreeSet<&str> = arrows.keys().map(|(from, _)| *from).collect();
    let mut circles: Vec<BTreeSet<&str>> = Vec::new();
    for file in files {
        if circles.iter().all(|circle| !circle.contains(file)) {
            let back = |other: &&str| reached(arrows, other).contains(file);
            let circle: BTreeSet<&str> = reached(arrows, file).into_iter().filter(back).collect();
            circles.extend((!circle.is_empty()).then_some(circle));
        }
    }
    circles
}

fn needed<'a>(arrows: &Arrows<'a>, file: &'a str) -> impl Iterator<Item = &'a str> {
    arrows
        .range((file, "")..)
        .map(|(arrow, _)| *arrow)
        .take_while(move |(from, _)| *from == file)
        .map(|(_, to)| to)
}

/// All files that a file needs, directly or indirectly; itself only if it is in a circle.
fn reached<'a>(arrows: &Arrows<'a>, file: &'a str) -> BTreeSet<&'a str> {
    let mut reached: BTreeSet<&str> = needed(arrows, file).collect();
    let mut open: Vec<&str> = reached.iter().copied().collect();
    while let Some(file) = open.pop() {
        open.extend(needed(arrows, file).filter(|next| reached.insert(next)));
    }
    reached
}

/// The shortest path from a file to another, including both.
fn way<'a>(arrows: &Arrows<'a>, from: &'a str, to: &str) -> Option<Vec<&'a str>> {
    let mut ways = VecDeque::from([vec![from]]);
    let mut seen = BTreeSet::from([from]);
    while let Some(way) = ways.pop_front() {
        let last = way.last().copied()?;
        if last == to {
            return Some(way);
        }
        let further = needed(arrows, last).filter(|next| seen.insert(next));
        ways.extend(further.map(|next| [way.as_slice(), &[next]].concat()));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::{file, rust};
    use super::*;

    /// The faults in a crate of these files.
    fn faults(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| file(&format!("crates/x/src/{path}"), text)).collect();
        check(&rust::parse(&files).expect("it is Rust")).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_circle_through_re_exports_of_the_parent_is_found() {
        let files = [
            ("lib.rs", "pub mod a;"),
            ("a/mod.rs", "mod b; mod c; pub use b::Line; pub use c::parse as read;"),
            ("a/b.rs", "pub struct Line; impl Line { fn new() { super::read(); } }"),
            ("a/c.rs", "pub fn parse() { vec![crate::a::Line::default()]; }"),
        ];
        let found = "crates/x/src/a/b.rs: circle: a/c.rs -> a/b.rs (Line), a/b.rs -> a/c.rs (parse)";
        assert_eq!(faults(&files), [found]);
    }

    #[test]
    fn declaring_and_re_exporting_makes_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; mod e; pub use a::A; pub(crate) use b::*; pub use e::f;"),
            ("a.rs", "use crate::b; pub struct A(b::B);"),
            ("b.rs", "use crate::f; pub struct B;"),
            ("e.rs", "use super::g; pub mod f; fn h() { f::g(); }"),
            ("e/f.rs", "pub fn g() {}"),
        ];
        assert_eq!(faults(&files), [""; 0]);
    }

    #[test]
    fn a_parent_that_uses_its_child_and_is_used_by_it_is_a_circle() {
        let child = ("a.rs", "pub fn f() -> usize { super::LIMIT }");
        let parent = "mod a; const LIMIT: usize = 3;";
        assert_eq!(faults(&[("main.rs", parent), child]), [""; 0]);
        let using = format!("{parent} fn main() {{ a::f(); }}");
        let found = "crates/x/src/a.rs: circle: main.rs -> a.rs (f), a.rs -> main.rs (LIMIT)";
        assert_eq!(faults(&[("main.rs", &using), child]), [found]);
    }

    #[test]
    fn tests_make_no_circle() {
        let files = [
            ("lib.rs", "mod a; mod b; #[cfg(test)] mod c; #[cfg(test)] impl c::T for a::A {}"),
            (
                "a.rs",
                "pub struct A; #[cfg(test)] use super::b::B; #[cfg(test)] mod tests { fn f() { crate::b::g() } }",
            ),
            ("b.rs", "pub struct B(super::a::A); #[cfg(test)] fn g() {}"),
            ("c.rs", "use crate::a::A;"),
        ];
        assert_eq!(faults(&files), [""; 0]);
    }

    #[test]
    fn only_renames_and_globs_inside_the_crate_are_followed() {
        let files = [
            (
                "lib.rs",
                "mod a; mod b; mod c; pub mod all { pub use crate::{a::*, b::f as g}; pub use std::fmt::*; }",
            ),
            ("a.rs", "use crate::all as every; pub struct A; fn h() { every::g(); std::mem::take(); }"),
            ("b.rs", "use super::c::*; pub fn f(_: A) {}"),
            ("c.rs", "pub use crate::all::*; use std::io::Error as A2;"),
        ];
        let found = "crates/x/src/a.rs: circle: b.rs -> a.rs (A), a.rs -> b.rs (f)";
        assert_eq!(faults(&files), [found]);
    }

    #[test]
    fn a_long_circle_names_its_files_and_its_shortest_path() {
        let files = [
            ("lib.rs", "mod a; mod b; mod c;"),
            ("a.rs", "use x::b::B; pub struct A;"),
            ("b.rs", "use crate::{a::A, c::C}; pub struct B;"),
            ("c.rs", "use crate::a::A; pub struct C;"),
        ];
        let found = "crates/x/src/a.rs: circle: b.rs -> a.rs (A), a.rs -> b.rs (B); \
                     3 files are connected: a.rs, b.rs, c.rs";
        assert_eq!(faults(&files), [found]);
    }
}
