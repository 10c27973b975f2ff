//! No line over 120 columns, and the median length of a function; clippy limits the longest function.

use syn::{
    Block, ImplItemFn, ItemFn, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::{exceptions::Exceptions, fault::Fault, rust::Source};
use crate::workspace::Tracked;

const MAX_COLUMNS: usize = 120;

/// Finds lines that are too long in the Rust files.
pub fn check(files: &[Tracked], exceptions: &mut Exceptions) -> Vec<Fault> {
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

/// Median length of a function in lines.
pub fn median(sources: &[Source]) -> usize {
    let mut functions = Functions(Vec::new());
    sources.iter().for_each(|source| functions.visit_file(&source.syntax));
    let mut lengths = functions.0;
    lengths.sort_unstable();
    lengths.get(lengths.len() / 2).copied().unwrap_or(0)
}

/// Number of lines of every function, from its signature to its closing brace.
struct Functions(Vec<usize>);

impl Functions {
    fn push(&mut self, signature: &Signature, block: &Block) {
        self.0.push(block.span().end().line - signature.span().start().line + 1);
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
        let mut exceptions = Exceptions::parse(exceptions);
        let mut faults = check(&[file("a.rs", text)], &mut exceptions);
        faults.extend(exceptions.stale());
        faults.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn functions_count_in_every_position() {
        let text =
            "fn one() {}\nstruct S; impl S { fn two() {\n} }\ntrait T { fn three() {\n\n} fn none(); }";
        let sources = rust::parse(&[file("a.rs", text)]).expect("it is Rust");
        assert_eq!(median(&sources), 2);
    }

    #[test]
    fn a_line_of_121_columns_is_found() {
        assert_eq!(faults(&format!("//{}", "é".repeat(118)), ""), [""; 0]);
        let expected = ["a.rs:1: line of 121 columns, the limit is 120"];
        assert_eq!(faults(&format!("//{}", "é".repeat(119)), ""), expected);
    }

    #[test]
    fn exceptions_apply_and_become_stale() {
        assert_eq!(faults(&format!("//{}", "é".repeat(119)), "line a.rs # a table"), [""; 0]);
        let stale = "xtask/src/tidy/exceptions.txt:2: nothing needs `line a.rs`: remove it from the list";
        assert_eq!(faults("", "# Words.\nline a.rs"), [stale]);
    }
}
