//! Parsed Rust files, and the paths and macros that they use.

use syn::{
    Attribute, File, ImplItemFn, ItemFn, ItemMod, ItemUse, Macro, Path, UseTree,
    spanned::Spanned,
    visit::{self, Visit},
};

use crate::{Failure, workspace::Tracked};

/// A tracked Rust file.
pub struct Source {
    /// Path from the root.
    pub path: String,
    /// Syntax tree.
    pub syntax: File,
}

impl Source {
    /// Whether the whole file is a test, an example or a build script.
    pub fn is_support(&self) -> bool {
        let apart = ["tests", "examples", "benches", "tests.rs"];
        // A build script is next to `Cargo.toml`; elsewhere `build.rs` is an ordinary file.
        let parts: Vec<&str> = self.path.split('/').collect();
        parts.iter().any(|part| apart.contains(part))
            || parts.ends_with(&["build.rs"]) && !parts.contains(&"src")
    }
}

/// Parses every tracked Rust file.
pub fn parse(files: &[Tracked]) -> Result<Vec<Source>, Failure> {
    files
        .iter()
        .filter(|file| file.is_rust())
        .map(|file| {
            let syntax = syn::parse_file(file.text()).map_err(|error| format!("{}: {error}", file.path))?;
            Ok(Source { path: file.path.clone(), syntax })
        })
        .collect()
}

/// A path or macro used outside tests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    /// Line, from 1.
    pub line: usize,
    /// Segments: three for `std::fs::read`. Imports are expanded to full paths.
    pub parts: Vec<String>,
    /// Whether it is a macro call.
    pub is_macro: bool,
}

/// Every path and macro used in a file, in order, without test-only code.
pub fn named(syntax: &File) -> Vec<Named> {
    let mut names = Names(Vec::new());
    names.visit_file(syntax);
    names.0
}

struct Names(Vec<Named>);

impl Names {
    fn push(&mut self, at: proc_macro2::Span, parts: Vec<String>, is_macro: bool) {
        self.0.push(Named { line: at.start().line, parts, is_macro });
    }

    fn push_use(&mut self, before: &[String], tree: &UseTree) {
        let with = |name: &dyn ToString| [before, &[name.to_string()]].concat();
        match tree {
            UseTree::Path(path) => self.push_use(&with(&path.ident), &path.tree),
            UseTree::Name(name) => self.push(name.span(), with(&name.ident), false),
            UseTree::Rename(rename) => self.push(rename.span(), with(&rename.ident), false),
            UseTree::Glob(glob) => self.push(glob.span(), with(&"*"), false),
            UseTree::Group(group) => group.items.iter().for_each(|item| self.push_use(before, item)),
        }
    }
}

/// The segments of a path.
pub fn parts(path: &Path) -> Vec<String> {
    path.segments.iter().map(|segment| segment.ident.to_string()).collect()
}

/// Whether these attributes mark test-only code.
pub fn only_tests(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attr| {
        let in_cfg = |list: &syn::MetaList| {
            list.tokens.to_string().split(|c: char| !c.is_alphanumeric()).any(|w| w == "test")
        };
        attr.path().is_ident("test")
            || attr.path().is_ident("cfg") && attr.meta.require_list().is_ok_and(in_cfg)
    })
}

impl<'ast> Visit<'ast> for Names {
    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        if !only_tests(&item.attrs) {
            visit::visit_item_mod(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        if !only_tests(&item.attrs) {
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !only_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if !only_tests(&item.attrs) {
            self.push_use(&[], &item.tree);
        }
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.push(call.span(), parts(&call.path), true);
    }

    fn visit_path(&mut self, path: &'ast Path) {
        self.push(path.span(), parts(path), false);
        visit::visit_path(self, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_outside_tests() {
        let text = "use std::{fs, process::{exit as leave}};\nfn f() { println!(\"x\"); Instant::now(); }\n\
                    #[cfg(test)]\nmod tests { fn g() { std::env::var(\"x\"); } }\n#[test]\nfn h() { dbg!(1); }";
        let found: Vec<String> = named(&syn::parse_file(text).expect("it is Rust"))
            .iter()
            .map(|name| {
                format!("{}:{}{}", name.line, name.parts.join("::"), if name.is_macro { "!" } else { "" })
            })
            .collect();
        assert_eq!(found, ["1:std::fs", "1:std::process::exit", "2:println!", "2:Instant::now"]);
    }
}
