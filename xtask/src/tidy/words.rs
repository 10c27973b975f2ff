//! No text uses a phrase that the glossary bans. Its table "Say this, not that" lists them with the preferred terms, so
//! that a word is discussed once, there, and not in every review.

use super::fault::Fault;
use crate::workspace::Tracked;

const GLOSSARY: &str = "docs/glossary.md";
const HEADING: &str = "## Say this, not that";

/// Prose and its sources: documents, comments, messages, queries.
const ENDINGS: [&str; 6] = [".md", ".rs", ".toml", ".css", ".js", ".sql"];

/// Decisions are history, which is not rewritten, and golden files follow the program that writes them.
const LEFT_OUT: [&str; 4] = [GLOSSARY, "docs/decisions/", "/golden/", "/fixtures/"];

/// Characters that begin a line of a comment, a list or a heading, or end a line of a Rust string.
const MARKS: [char; 8] = ['/', '!', '#', '*', '>', '-', '|', '\\'];

/// A phrase, and the term to use instead.
#[derive(Debug, PartialEq, Eq)]
struct Banned {
    phrase: String,
    term: String,
}

/// Finds every banned phrase, also across line breaks.
pub fn check(files: &[Tracked]) -> Vec<Fault> {
    let Some(glossary) = files.iter().find(|file| file.path == GLOSSARY) else {
        return vec![Fault::new(GLOSSARY, 0, "does not exist")];
    };
    let (banned, mut faults) = table(glossary.text());
    if banned.is_empty() {
        faults.push(Fault::new(GLOSSARY, 0, format!("has no table below `{HEADING}`")));
    }
    let checked = files.iter().filter(|file| is_checked(&file.path));
    faults.extend(checked.flat_map(|file| found(file, &banned)));
    faults
}

fn is_checked(path: &str) -> bool {
    ENDINGS.iter().any(|ending| path.ends_with(ending)) && !LEFT_OUT.iter().any(|part| path.contains(part))
}

/// Parses the table. A row without a phrase is a fault: it would silently ban nothing.
fn table(text: &str) -> (Vec<Banned>, Vec<Fault>) {
    let (mut banned, mut faults) = (Vec::new(), Vec::new());
    let lines = text.lines().enumerate().skip_while(|(_, line)| *line != HEADING).skip(1);
    let section = lines.take_while(|(_, line)| !line.starts_with('#'));
    for (at, line) in section.filter(|(_, line)| line.starts_with('|')).skip(2) {
        let row = row(line);
        if row.is_empty() {
            faults.push(Fault::new(
                GLOSSARY,
                at + 1,
                "a row is: a term, then phrases in lower case and backquotes",
            ));
        }
        banned.extend(row);
    }
    (banned, faults)
}

/// The phrases of ``| term | `phrase`, `phrase` |``; empty if the row has another form.
fn row(line: &str) -> Vec<Banned> {
    let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
    let [term, phrases] = cells[..] else { return Vec::new() };
    let quoted: Vec<&str> = phrases.split('`').skip(1).step_by(2).collect();
    if quoted.iter().any(|phrase| phrase.is_empty() || *phrase != phrase.to_lowercase()) {
        return Vec::new();
    }
    quoted.into_iter().map(|phrase| Banned { phrase: phrase.to_owned(), term: term.to_owned() }).collect()
}

/// The banned phrases of a file, each with its first line.
fn found(file: &Tracked, banned: &[Banned]) -> Vec<Fault> {
    let text = Flat::new(file.text());
    let mut faults = Vec::new();
    for Banned { phrase, term } in banned {
        for at in text.places(phrase) {
            faults.push(Fault::new(&file.path, text.line(at), format!("not `{phrase}`: say {term}")));
        }
    }
    faults.sort_by_key(|fault| fault.line);
    faults
}

/// A text in lower case on one line, without the marks that begin its lines.
struct Flat {
    text: String,
    /// Offset of each line in `text`.
    starts: Vec<usize>,
}

impl Flat {
    fn new(text: &str) -> Self {
        let mut flat = Self { text: String::with_capacity(text.len()), starts: Vec::new() };
        for line in text.lines() {
            flat.starts.push(flat.text.len());
            let words = line.split_whitespace().skip_while(|word| word.chars().all(|c| MARKS.contains(&c)));
            for word in words.map(|word| word.trim_end_matches('\\')).filter(|word| !word.is_empty()) {
                flat.text.push_str(&word.to_lowercase());
                flat.text.push(' ');
            }
        }
        flat
    }

    /// Offsets of the phrase, without matches inside longer words.
    fn places(&self, phrase: &str) -> impl Iterator<Item = usize> {
        let inside = |c: char| c.is_alphanumeric() || c == '_';
        self.text.match_indices(phrase).map(|(at, _)| at).filter(move |at| {
            let (before, after) = (&self.text[..*at], &self.text[*at + phrase.len()..]);
            !before.ends_with(inside) && !after.starts_with(inside)
        })
    }

    /// Line number, from 1, of an offset.
    fn line(&self, at: usize) -> usize {
        self.starts.partition_point(|start| *start <= at)
    }
}

#[cfg(test)]
mod tests {
    use super::super::file;
    use super::*;

    const TABLE: &str = "| a | b |\n|---|---|\n| c | `d` |\n\n## Say this, not that\n\n| say | not |\n|---|---|\n\
        | well | `water hole`, `hole of water` |\n\n## Names\n\n| e | f |\n|---|---|\n| g | `h` |\n";

    fn faults(path: &str, text: &str) -> Vec<String> {
        check(&[file(GLOSSARY, TABLE), file(path, text)]).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_phrase_is_found_in_every_kind_of_text() {
        let well = "not `water hole`: say well";
        assert_eq!(faults("README.md", "# A Water Hole\n"), [format!("README.md:1: {well}")]);
        assert_eq!(
            faults("a.rs", "fn f() {}\n    /// A water\n    /// hole.\n"),
            [format!("a.rs:2: {well}")]
        );
        assert_eq!(faults("a.rs", "let a = \"the water \\\n    hole\";\n"), [format!("a.rs:1: {well}")]);
        assert_eq!(faults("a.toml", "# one water\n# hole, two\n"), [format!("a.toml:1: {well}")]);
        assert_eq!(
            faults("docs/a.md", "1\n- a hole\n  of water\n"),
            ["docs/a.md:2: not `hole of water`: say well"]
        );
    }

    #[test]
    fn parts_of_words_other_tables_and_exempt_files_are_ignored() {
        assert_eq!(faults("README.md", "rainwater hole, water holes, water_hole, d, h\n"), [""; 0]);
        for path in [GLOSSARY, "docs/decisions/0001-a.md", "a/tests/golden/a.md", "a.svg"] {
            assert_eq!(faults(path, "water hole"), [""; 0], "{path}");
        }
    }

    #[test]
    fn a_table_that_bans_nothing_is_a_fault() {
        let row = |row: &str| table(&format!("{HEADING}\n| say | not |\n|---|---|\n{row}\n"));
        for wrong in ["| well | water hole |", "| well | `Water hole` |", "| well | `` |", "| well |"] {
            let (banned, faults) = row(wrong);
            assert_eq!((banned.len(), faults.len()), (0, 1), "{wrong}");
        }
        assert_eq!(
            row("| well | `hole` |").0,
            [Banned { phrase: "hole".to_owned(), term: "well".to_owned() }]
        );
        assert_eq!(check(&[file(GLOSSARY, "# Words\n")]).len(), 1);
        assert_eq!(check(&[file("README.md", "")]).len(), 1);
    }
}
