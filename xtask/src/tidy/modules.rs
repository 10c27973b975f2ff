//! The modules of a crate, and which file defines a name that another uses.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Item, ItemMod};

use super::{
    rust::{Source, only_tests},
    uses::Uses,
};

/// A crate: its library, or its program if it has no library. Test-only modules are excluded.
#[derive(Debug)]
pub struct Crate {
    /// Name, which is that of its directory.
    pub name: String,
    /// Path of its `src/` from the root of the workspace.
    pub src: String,
    /// The first is the root.
    modules: Vec<Module>,
}

/// A file, or an inline `mod` in one.
#[derive(Debug)]
struct Module {
    parent: usize,
    /// Path of its file from `src/`.
    file: String,
    children: BTreeMap<String, usize>,
    uses: Uses,
}

/// From one file to another.
pub type Arrow<'a> = (&'a str, &'a str);

/// Which file needs which, with the names that cause it.
pub type Arrows<'a> = BTreeMap<Arrow<'a>, BTreeSet<String>>;

/// Target of a path.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// An item: index of the defining module, and name.
    Item(usize, String),
}

/// Targets of a path; a name may be both a module and a function. `None` if its first segment is unknown, empty if it
/// leads out of the crate.
type Targets = Option<BTreeSet<Target>>;

/// Imports being followed: module, and index in it.
type Followed = Vec<(usize, usize)>;

/// The crates that these files belong to.
pub fn crates(sources: &[Source]) -> Vec<Crate> {
    let roots = sources.iter().filter_map(|source| {
        let src = source.path.strip_suffix("lib.rs").or_else(|| source.path.strip_suffix("main.rs"))?;
        let name = src.strip_suffix("/src/")?.rsplit('/').next()?;
        let library = format!("{src}lib.rs");
        let has_library = library != source.path && sources.iter().any(|source| source.path == library);
        (!has_library).then_some((source, src, name))
    });
    roots.map(|(source, src, name)| read(name, src, source, sources)).collect()
}

fn read(name: &str, src: &str, root: &Source, sources: &[Source]) -> Crate {
    let files = sources.iter().filter_map(|source| Some((source.path.strip_prefix(src)?, source)));
    let mut tree = Tree { files: files.collect(), modules: Vec::new() };
    tree.add(0, root.path.strip_prefix(src).unwrap_or_default(), "", &root.syntax.items);
    Crate { name: name.to_owned(), src: src.to_owned(), modules: tree.modules }
}

/// A crate being read.
struct Tree<'a> {
    files: BTreeMap<&'a str, &'a Source>,
    modules: Vec<Module>,
}

impl Tree<'_> {
    /// Adds a module and those that it declares, whose files are in `dir`.
    fn add(&mut self, parent: usize, file: &str, dir: &str, items: &[Item]) -> usize {
        let id = self.modules.len();
        let children = BTreeMap::new();
        self.modules.push(Module { parent, file: file.to_owned(), children, uses: Uses::read(items) });
        for item in items {
            if let Item::Mod(item) = item
                && !only_tests(&item.attrs)
                && let Some(child) = self.declared(id, file, &format!("{dir}{}", item.ident), item)
            {
                self.modules[id].children.insert(item.ident.to_string(), child);
            }
        }
        id
    }

    /// Adds a declared module, if its file exists.
    fn declared(&mut self, parent: usize, file: &str, path: &str, item: &ItemMod) -> Option<usize> {
        let dir = format!("{path}/");
        if let Some((_, items)) = &item.content {
            return Some(self.add(parent, file, &dir, items));
        }
        let places = [format!("{path}.rs"), format!("{path}/mod.rs")];
        let (file, source) = places.iter().find_map(|place| self.files.get_key_value(place.as_str()))?;
        let (file, source) = (*file, *source);
        Some(self.add(parent, file, &dir, &source.syntax.items))
    }
}

impl Crate {
    /// Every arrow between files. Declaring modules or re-exporting their names does not count.
    pub fn arrows(&self) -> Arrows<'_> {
        let mut arrows = Arrows::new();
        for (from, module) in self.modules.iter().enumerate() {
            for (to, name) in self.needs(from) {
                let to = &self.modules[to].file;
                if *to != module.file {
                    arrows.entry((&module.file, to)).or_default().insert(name);
                }
            }
        }
        arrows
    }

    /// The items that a module uses: defining module, and name.
    fn needs(&self, from: usize) -> Vec<(usize, String)> {
        let uses = &self.modules[from].uses;
        let imported = uses.imports.iter().flat_map(|import| {
            let items = items(self.resolve(from, &import.path, &mut Followed::new()));
            items.filter(|(to, _)| !import.public || !self.is_below(*to, from))
        });
        let named = uses.paths.iter().flat_map(|path| items(self.resolve(from, path, &mut Followed::new())));
        imported.chain(named).collect()
    }

    fn is_below(&self, module: usize, above: usize) -> bool {
        module == above || module != 0 && self.is_below(self.modules[module].parent, above)
    }

    fn resolve(&self, from: usize, path: &[String], followed: &mut Followed) -> Targets {
        let (first, rest) = path.split_first()?;
        let module = |module| Some(BTreeSet::from([Target::Module(module)]));
        let start = match first.as_str() {
            "crate" => module(0),
            "self" => module(from),
            "super" => module(self.modules[from].parent),
            name => self.named(from, name, followed),
        };
        let own = || module(0).filter(|_| *first == self.name.replace('-', "_"));
        let mut targets = start.or_else(own)?;
        for name in rest {
            targets = self.step(targets, name, followed);
        }
        Some(targets)
    }

    /// Resolves a name within targets; everything inside an item is part of the item.
    fn step(&self, targets: BTreeSet<Target>, name: &str, followed: &mut Followed) -> BTreeSet<Target> {
        let (modules, items): (Vec<_>, Vec<_>) =
            targets.into_iter().partition(|target| matches!(target, Target::Module(_)));
        if modules.is_empty() {
            return items.into_iter().collect();
        }
        let mut found = BTreeSet::new();
        for module in modules {
            let Target::Module(module) = module else { continue };
            let unknown = || BTreeSet::from([Target::Item(module, name.to_owned())]);
            match name {
                "super" => _ = found.insert(Target::Module(self.modules[module].parent)),
                _ => found.extend(self.named(module, name, followed).unwrap_or_else(unknown)),
            }
        }
        found
    }

    /// Targets of a name within a module.
    fn named(&self, module: usize, name: &str, followed: &mut Followed) -> Targets {
        let here = &self.modules[module];
        let child = here.children.get(name).map(|child| Target::Module(*child));
        let own = here.uses.defined.contains(name).then(|| Target::Item(module, name.to_owned()));
        let mut found: BTreeSet<Target> = child.into_iter().chain(own).collect();
        let mut known = !found.is_empty();
        for at in self.imports(module, Some(name), followed) {
            known = true;
            followed.push((module, at));
            found.extend(self.resolve(module, &here.uses.imports[at].path, followed).unwrap_or_default());
            followed.pop();
        }
        if known { Some(found) } else { self.in_globs(module, name, followed) }
    }

    fn in_globs(&self, module: usize, name: &str, followed: &mut Followed) -> Targets {
        let mut found = None;
        for at in self.imports(module, None, followed) {
            followed.push((module, at));
            let all = self.resolve(module, &self.modules[module].uses.imports[at].path, followed);
            for target in all.unwrap_or_default() {
                if let Target::Module(inner) = target
                    && let Some(targets) = self.named(inner, name, followed)
                {
                    found.get_or_insert_with(BTreeSet::new).extend(targets);
                }
            }
            followed.pop();
        }
        found
    }

    /// Indexes of the imports with this name, or of globs, that are not being followed already.
    fn imports(&self, module: usize, name: Option<&str>, followed: &Followed) -> Vec<usize> {
        let imports = self.modules[module].uses.imports.iter().enumerate();
        let open = imports.filter(|(at, i)| i.name.as_deref() == name && !followed.contains(&(module, *at)));
        open.map(|(at, _)| at).collect()
    }
}

/// The items among targets. A module as such is not a need, only what is used of it.
fn items(targets: Targets) -> impl Iterator<Item = (usize, String)> {
    targets.unwrap_or_default().into_iter().filter_map(|target| match target {
        Target::Module(_) => None,
        Target::Item(module, name) => Some((module, name)),
    })
}
