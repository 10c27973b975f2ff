//! No function over 70 lines, no line over 120 columns.

use syn::{
    Block, ImplItemFn, ItemFn, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::{exceptions::Exceptions, fault::Fault, rust::Source};
use crate::workspace::Tracked;

const MAX_LINES: usize = 70;
const MAX_COLUMNS: usize = 120;

/// Result of the check.
pub struct Lengths {
    /// Functions and lines that are too long.
    pub faults: Vec<Fault>,
    /// Median length of a function in lines.
    pub median: usize,
}

/// Checks every function and every line of the Rust files.
pub fn check(files: &[Tracked], sources: &[Source], exceptions: &mut Exceptions) -> Lengths {
    let mut faults = long_lines(files, exceptions);
    let mut lengths = Vec::new();
    for source in sources {
        let mut functions = Functions(Vec::new());
        functions.visit_file(&source.syntax);
        for (name, line, lines) in functions.0 {
            lengths.push(lines);
            let excepted = || format!("function {} {name}", source.path);
            if lines > MAX_LINES && !exceptions.allow(&excepted()) {
                let what = format!("function `{name}` has {lines} lines, the limit is {MAX_LINES}");
                faults.push(Fault::new(&source.path, line, what));
            }
        }
    }
    lengths.sort_unstable();
    Lengths { faults, median: lengths.get(lengths.len() / 2).copied().unwrap_or(0) }
}

fn long_lines(files: &[Tracked], exceptions: &mut Exceptions) -> Vec<Fault> {
    let mut faults = Vec::new();
    for file in files.iter().filter(|file| file.is_rust()) {
        for (at, line) in file.text().lines().enumerate() {
            let columns = line.chars().count();
            if columns > MAX_COLUMNS && !exceptions.allow(&format!("line {}", file.path)) {
                let what = format!("line of {columns} columns, the limit is {MAX_COLUMNS}");
                faults.push(Fault::new(&file.path, at + 1, what));
            }
        }
    }
    faults
}

/// Name, first line and number of lines of every function, from its signature to its closing brace.
struct Functions(Vec<(String, usize, usize)>);

impl Functions {
    fn push(&mut self, signature: &Signature, block: &Block) {
        let first = signature.span().start().line;
        let lines = block.span().end().line - first + 1;
        self.0.push((signature.ident.to_string(), first, lines));
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.push(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.push(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(block) = &item.default {
            self.push(&item.sig, block);
        }
        visit::visit_trait_item_fn(self, item);
    }
}

#[cfg(test)]
mod tests {
    use super::super::{file, rust};
    use super::*;

    fn faults(text: &str, exceptions: &str) -> Vec<String> {
        let files = [file("a.rs", text)];
        let sources = rust::parse(&files).expect("it is Rust");
        let mut exceptions = Exceptions::parse(exceptions);
        let mut faults = check(&files, &sources, &mut exceptions).faults;
        faults.extend(exceptions.stale());
        faults.iter().map(ToString::to_string).collect()
    }

    /// A function of this many lines.
    fn function(lines: usize) -> String {
        format!("/// Words.\nfn f() {{\n{}}}\n", "    g();\n".repeat(lines - 2))
    }

    #[test]
    fn a_function_of_71_lines_is_found_in_every_position() {
        assert_eq!(faults(&function(70), ""), [""; 0]);
        let expected = ["a.rs:2: function `f` has 71 lines, the limit is 70"];
        assert_eq!(faults(&function(71), ""), expected);
        for frame in ["struct S; impl S {", "trait T {"] {
            assert_eq!(faults(&format!("{frame} {}}}", function(71)), ""), expected);
        }
    }

    #[test]
    fn a_line_of_121_columns_is_found() {
        assert_eq!(faults(&format!("//{}", "é".repeat(118)), ""), [""; 0]);
        let expected = ["a.rs:1: line of 121 columns, the limit is 120"];
        assert_eq!(faults(&format!("//{}", "é".repeat(119)), ""), expected);
    }

    #[test]
    fn exceptions_apply_and_become_stale() {
        assert_eq!(faults(&function(71), "function a.rs f # a table"), [""; 0]);
        let stale = "xtask/src/tidy/exceptions.txt:2: nothing needs `line a.rs`: remove it from the list";
        assert_eq!(faults(&function(70), "# Words.\nline a.rs"), [stale]);
    }
}
