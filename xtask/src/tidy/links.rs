//! Relative links in Markdown point to tracked files and existing headings.

use std::collections::{BTreeSet, HashMap};

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

use super::fault::Fault;
use crate::workspace::Tracked;

/// Checks every link of every tracked Markdown file.
pub fn check(files: &[Tracked]) -> Vec<Fault> {
    let paths: BTreeSet<&str> = files.iter().map(|file| file.path.as_str()).collect();
    let pages: HashMap<&str, Page> = files
        .iter()
        .filter(|file| file.path.ends_with(".md"))
        .map(|file| (file.path.as_str(), Page::read(file.text())))
        .collect();
    let mut faults = Vec::new();
    for (path, page) in &pages {
        for (line, link) in &page.links {
            let dead = dead(path, link, &paths, &pages);
            faults.extend(dead.map(|why| Fault::new(*path, *line, format!("dead link `{link}`: {why}"))));
        }
    }
    faults.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
    faults
}

/// Why a link is dead; `None` if it is valid, or points out of the workspace.
fn dead(from: &str, link: &str, paths: &BTreeSet<&str>, pages: &HashMap<&str, Page>) -> Option<&'static str> {
    if link.contains("://") || link.starts_with("mailto:") {
        return None;
    }
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let target = if file.is_empty() { from.to_owned() } else { resolve(from, file) };
    let is_dir = || target.is_empty() || paths.iter().any(|path| path.starts_with(&format!("{target}/")));
    if !paths.contains(target.as_str()) && !is_dir() {
        return Some("no such tracked file");
    }
    let anchor = anchor?;
    let page = pages.get(target.as_str())?;
    (!page.anchors.contains(anchor)).then_some("no such heading")
}

/// The path from the root that a relative link refers to. A link out of the workspace keeps its `..`, and so matches no
/// tracked file.
fn resolve(from: &str, link: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => drop(parts.pop()),
            other => parts.push(other),
        }
    }
    parts.join("/")
}

/// The links of a page with their lines, and its anchors.
struct Page {
    links: Vec<(usize, String)>,
    anchors: BTreeSet<String>,
}

impl Page {
    fn read(text: &str) -> Self {
        let mut page = Self { links: Vec::new(), anchors: BTreeSet::new() };
        let mut heading: Option<String> = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
                    let line = text[..range.start].matches('\n').count() + 1;
                    page.links.push((line, dest_url.to_string()));
                }
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => page.add_heading(&heading.take().unwrap_or_default()),
                Event::Text(words) | Event::Code(words) => {
                    if let Some(heading) = &mut heading {
                        heading.push_str(&words);
                    }
                }
                _ => {}
            }
        }
        page
    }

    /// Adds the anchor of a heading as GitHub names it; the second heading with the same words gets `-1`.
    fn add_heading(&mut self, words: &str) {
        let kept = words.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
        let slug = kept.collect::<String>().to_lowercase().replace(' ', "-");
        let mut name = slug.clone();
        for again in 1.. {
            if self.anchors.insert(name) {
                break;
            }
            name = format!("{slug}-{again}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    #[test]
    fn dead_files_and_dead_anchors_are_found() {
        let files = [
            file("docs/a.md", "# What is `p99`?\n\n# Twice\n\n# Twice\n"),
            file(
                "README.md",
                "[a](docs/a.md) [b](docs) [c](docs/a.md#what-is-p99) [d](docs/a.md#twice-1) [e](https://x.y/z)\n\
                 `[f](code.md)`\n\n[g](docs/b.md)\n![h](h.svg)\n[i](#none)\n[j](docs/a.md#twice-2)\n[k][k]\n\n\
                 [k]: ../k.md\n",
            ),
        ];
        let found: Vec<String> = check(&files).iter().map(ToString::to_string).collect();
        assert_eq!(
            found,
            [
                "README.md:4: dead link `docs/b.md`: no such tracked file",
                "README.md:5: dead link `h.svg`: no such tracked file",
                "README.md:6: dead link `#none`: no such heading",
                "README.md:7: dead link `docs/a.md#twice-2`: no such heading",
                "README.md:8: dead link `../k.md`: no such tracked file",
            ]
        );
    }

    #[test]
    fn links_are_resolved_relative_to_their_page() {
        assert_eq!(resolve("docs/a/b.md", "../c.md"), "docs/c.md");
        assert_eq!(resolve("docs/a.md", "./../README.md"), "README.md");
        assert_eq!(resolve("README.md", "../x"), "../x");
    }
}
