//! Names that a module defines, imports and uses.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};
use syn::{
    Attribute, ImplItemFn, Item, ItemMod, ItemUse, Macro, Meta, Path, UseTree, Visibility,
    visit::{self, Visit},
};

use super::rust::{only_tests, parts};

/// Names in a module outside tests; nested modules are read separately.
///
/// Names in macros are read from their tokens, as in `html! { (words(x)) }`. Names in strings are not detected, as in
/// `format!("{LIMIT}")` or `#[serde(with = "…")]`.
#[derive(Debug, Default)]
pub struct Uses {
    /// Names that the module defines itself.
    pub defined: BTreeSet<String>,
    /// Imports by `use`.
    pub imports: Vec<Import>,
    /// Paths outside `use`.
    pub paths: BTreeSet<Vec<String>>,
}

/// One path of a `use`.
#[derive(Debug, PartialEq, Eq)]
pub struct Import {
    /// Segments, without the `*` of a glob.
    pub path: Vec<String>,
    /// Local name; `None` for a glob.
    pub name: Option<String>,
    /// Whether it is re-exported.
    pub public: bool,
}

impl Uses {
    /// Reads the items of a module.
    pub fn read(items: &[Item]) -> Self {
        let mut uses = Self::default();
        items.iter().for_each(|item| uses.visit_item(item));
        let names = items.iter().filter(|item| !only_tests(head(item).0)).filter_map(|item| head(item).1);
        uses.defined.extend(names.map(ToString::to_string));
        uses
    }

    fn import(&mut self, public: bool, before: &[String], tree: &UseTree) {
        let with = |ident: &Ident| {
            let own = (ident != "self" || before.is_empty()).then(|| ident.to_string());
            before.iter().cloned().chain(own).collect::<Vec<_>>()
        };
        let (path, name) = match tree {
            UseTree::Path(path) => return self.import(public, &with(&path.ident), &path.tree),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|item| self.import(public, before, item));
            }
            UseTree::Glob(_) => (before.to_vec(), None),
            UseTree::Name(name) => (with(&name.ident), with(&name.ident).pop()),
            UseTree::Rename(rename) => (with(&rename.ident), Some(rename.rename.to_string())),
        };
        self.imports.push(Import { path, name, public });
    }

    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            if let TokenTree::Group(group) = token {
                self.tokens(group.stream());
            }
            let path = path_at(&tokens[at..]);
            // A path of n names has two colons between each; anything else is one token.
            let length = (3 * path.len()).saturating_sub(2).max(1);
            if !path.is_empty() && !is_member(&tokens[..at]) {
                self.paths.insert(path);
            }
            at += length;
        }
    }
}

/// The names joined by `::` at the start of these tokens.
fn path_at(tokens: &[TokenTree]) -> Vec<String> {
    let colon = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ':');
    let mut path = Vec::new();
    let mut rest = tokens;
    while let [TokenTree::Ident(ident), after @ ..] = rest {
        path.push(ident.to_string());
        rest = match after {
            [first, second, next @ ..] if colon(first) && colon(second) => next,
            _ => break,
        };
    }
    path
}

/// Whether a name after these tokens is a field or a method: preceded by a dot that is not part of a range.
fn is_member(before: &[TokenTree]) -> bool {
    let dot = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '.');
    let dots = before.iter().rev().take_while(|token| dot(token)).count();
    dots == 1
}

/// The attributes of an item, and its name if others can use it.
fn head(item: &Item) -> (&[Attribute], Option<&Ident>) {
    match item {
        Item::Const(item) => (&item.attrs, Some(&item.ident)),
        Item::Enum(item) => (&item.attrs, Some(&item.ident)),
        Item::Fn(item) => (&item.attrs, Some(&item.sig.ident)),
        Item::Impl(item) => (&item.attrs, None),
        Item::Macro(item) => (&item.attrs, item.ident.as_ref()),
        Item::Mod(item) => (&item.attrs, None),
        Item::Static(item) => (&item.attrs, Some(&item.ident)),
        Item::Struct(item) => (&item.attrs, Some(&item.ident)),
        Item::Trait(item) => (&item.attrs, Some(&item.ident)),
        Item::Type(item) => (&item.attrs, Some(&item.ident)),
        Item::Union(item) => (&item.attrs, Some(&item.ident)),
        Item::Use(item) => (&item.attrs, None),
        _ => (&[], None),
    }
}

impl<'ast> Visit<'ast> for Uses {
    fn visit_item(&mut self, item: &'ast Item) {
        if !only_tests(head(item).0) {
            visit::visit_item(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        if !only_tests(&item.attrs) {
            visit::visit_impl_item_fn(self, item);
        }
    }

    fn visit_item_mod(&mut self, _: &'ast ItemMod) {}

    fn visit_visibility(&mut self, _: &'ast Visibility) {}

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        if item.leading_colon.is_none() {
            self.import(!matches!(item.vis, Visibility::Inherited), &[], &item.tree);
        }
    }

    fn visit_path(&mut self, path: &'ast Path) {
        if path.leading_colon.is_none() {
            self.paths.insert(parts(path));
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        self.visit_path(&call.path);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(text: &str) -> Uses {
        Uses::read(&syn::parse_file(text).expect("it is Rust").items)
    }

    #[test]
    fn imports_have_paths_and_names() {
        let found = uses("use a::{self, b::C as D, e::*}; pub(crate) use super::F; use ::g::H;").imports;
        let found: Vec<_> = found.into_iter().map(|i| (i.path.join("::"), i.name, i.public)).collect();
        let name = |name: &str| Some(name.to_owned());
        assert_eq!(
            found,
            [
                ("a".into(), name("a"), false),
                ("a::b::C".into(), name("D"), false),
                ("a::e".into(), None, false),
                ("super::F".into(), name("F"), true),
            ]
        );
    }

    #[test]
    fn paths_are_found_in_macros_and_attributes_too() {
        let text = "#[arg(value_parser = a::read)] struct S(b::T);\n\
                    fn f() { vec![x.y(c::Z), 0..LIMIT, [super::d!()]]; }\n#[cfg(test)] impl e::T for S {}";
        let found = uses(text);
        let paths: Vec<String> = found.paths.iter().map(|path| path.join("::")).collect();
        assert_eq!(paths, ["LIMIT", "a::read", "b::T", "c::Z", "super::d", "value_parser", "vec", "x"]);
        assert_eq!(found.defined.into_iter().collect::<Vec<_>>(), ["S", "f"]);
    }
}
