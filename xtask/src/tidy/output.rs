//! Only `pgdyno` and `pgdyno-pgbench` print and exit (invariant 3); chores, examples and tests may do so, too.

use super::{
    fault::Fault,
    rust::{Source, named},
};

const PRINTING: [&str; 5] = ["print", "println", "eprint", "eprintln", "dbg"];
const MAY_PRINT: [&str; 3] = ["crates/pgdyno/", "crates/pgdyno-pgbench/", "xtask/"];

/// Finds printing macros and `process::exit` in libraries.
pub fn check(sources: &[Source]) -> Vec<Fault> {
    let libraries =
        sources.iter().filter(|s| !s.is_support() && !MAY_PRINT.iter().any(|dir| s.path.starts_with(dir)));
    libraries.flat_map(in_library).collect()
}

fn in_library(source: &Source) -> impl Iterator<Item = Fault> {
    named(&source.syntax).into_iter().filter_map(|name| {
        let last = name.parts.last()?.as_str();
        let what = match name.parts.len().checked_sub(2).map(|at| name.parts[at].as_str()) {
            _ if name.is_macro && PRINTING.contains(&last) => format!("`{last}!` in a library: return it"),
            Some("process") if ["exit", "abort"].contains(&last) => {
                format!("`process::{last}` in a library: return an error")
            }
            _ => return None,
        };
        Some(Fault::new(&source.path, name.line, what))
    })
}

#[cfg(test)]
mod tests {
    use super::super::{file, rust};
    use super::*;

    fn faults(path: &str, text: &str) -> Vec<String> {
        let sources = rust::parse(&[file(path, text)]).expect("it is Rust");
        check(&sources).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn printing_and_exiting_are_found_only_in_libraries() {
        let text = "use std::process::exit;\nfn f() {\n  eprintln!(\"x\");\n  std::process::exit(1);\n}";
        let exit = "`process::exit` in a library: return an error";
        assert_eq!(
            faults("crates/pgdyno-core/src/a.rs", text),
            [
                format!("crates/pgdyno-core/src/a.rs:1: {exit}"),
                "crates/pgdyno-core/src/a.rs:3: `eprintln!` in a library: return it".to_owned(),
                format!("crates/pgdyno-core/src/a.rs:4: {exit}"),
            ]
        );
        for path in ["crates/pgdyno/src/main.rs", "xtask/src/a.rs", "crates/pgdyno-core/examples/a.rs"] {
            assert_eq!(faults(path, text), [""; 0]);
        }
    }
}
