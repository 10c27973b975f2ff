//! No line over 120 columns, and the median length of a function; clippy limits the longest function.

use syn::{
    Block, ImplItemFn, ItemFn, Signature, TraitItemFn,
    spanned::Spanned,
    visit::{self, Visit},
};

use super::{fault::Fault, rust::Source};
use crate::workspace::Tracked;

const MAX_COLUMNS: usize = 120;

/// Finds lines that are too long in the Rust files: rustfmt leaves comments and strings as they are.
pub fn check(files: &[Tracked]) -> Vec<Fault> {
    let lines = files.iter().filter(|file| file.is_rust()).flat_map(|file| {
        file.text().lines().enumerate().map(move |(at, line)| (&file.path, at + 1, line.chars().count()))
    });
    let fault = |path: &str, line, columns| {
        Fault::new(path, line, format!("line of {columns} columns, the limit is {MAX_COLUMNS}"))
    };
    lines
        .filter(|(.., columns)| *columns > MAX_COLUMNS)
        .map(|(path, line, columns)| fault(path, line, columns))
        .collect()
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

    #[test]
    fn functions_count_in_every_position() {
        let text =
            "fn one() {}\nstruct S; impl S { fn two() {\n} }\ntrait T { fn three() {\n\n} fn none(); }";
        let sources = rust::parse(&[file("a.rs", text)]).expect("it is Rust");
        assert_eq!(median(&sources), 2);
    }

    #[test]
    fn a_line_of_121_columns_is_found() {
        let faults = |columns: usize| check(&[file("a.rs", &format!("//{}", "é".repeat(columns - 2)))]);
        assert_eq!(faults(120), []);
        assert_eq!(faults(121), [Fault::new("a.rs", 1, "line of 121 columns, the limit is 120")]);
    }
}
