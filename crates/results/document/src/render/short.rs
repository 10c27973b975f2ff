//! The report for a terminal: at most 50 lines of at most 80 columns. It selects blocks of the whole report and lays
//! them out as that does; what does not fit is counted.

use pgdyno_core::units::{count, plural};

use super::{paste, text};
use crate::{
    block::{Block, Doubt, NO_DOUBT, Section, Table},
    document::Document,
    document::Short,
    terminal::{Paint, WIDTH},
    wrap,
};

/// Most lines of the report.
pub const LINES: usize = 50;
/// Lines of a result that is followed by the next commands.
const LINES_OF_RESULT: usize = LINES - 13;
/// Most doubts, if not all fit as they are.
const MOST_DOUBTS: usize = 8;
/// Doubts that keep what was found and their advice as long as possible: the worst.
const ADVISED: usize = 3;
/// Most lines of what a doubt found, and of its advice, if not all doubts fit as they are.
const MOST_OF_DOUBT: usize = 2;
/// Most lines of a warning above the report, such as the error that ended the run.
const MOST_OF_WARNING: usize = 3;
/// Most lines of the checks that failed.
const MOST_OF_FAILED: usize = 10;
/// Most lines of a command that repeats or continues the run.
const MOST_OF_COMMAND: usize = 4;
/// Lines that sentences leave to the tables, before these get what is left over.
const LEAST_OF_TABLES: usize = 10;
/// Lines that the tables leave to sentences: the answer is one of them.
const LEAST_OF_FOUND: usize = 4;
/// Lines that name the tables that are left out: an empty one, and one.
const NOTE: usize = 2;
/// Rows that a table leaves to each of those below it.
const LEAST_ROWS: usize = 2;

/// Lines that belong together.
type Paragraph = Vec<String>;

/// The short report in at most this number of lines, of which [`LINES`] are a good measure.
pub fn short(document: &Document, paint: Paint, most: usize) -> String {
    let page = Page { document, short: &document.short, paint, most };
    let paragraphs = page.whole().unwrap_or_else(|| page.cut());
    let lines = joined(paragraphs);
    lines.iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The end of the short report: where the run is, and the next commands.
pub fn next(document: &Document, paint: Paint) -> String {
    let page = Page { document, short: &document.short, paint, most: LINES };
    page.next().iter().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// Blocks of a result that is not a whole report, in about [`LINES_OF_RESULT`] lines. `whole` is the command that shows
/// all.
pub fn of_blocks(blocks: &[Block], whole: &str) -> String {
    let section = Section::new("", blocks.to_vec());
    let lines = |section: &Section| text::blocks(&section.blocks, "", Paint::Plain);
    let fitting = fitted(&section, LINES_OF_RESULT, lines, whole).unwrap_or_else(|| lines(&section));
    let text: String = fitting.iter().map(|line| format!("{}\n", line.trim_end())).collect();
    cut(&text, Some(whole), LINES_OF_RESULT)
}

/// A text in at most so many lines, of which 10 are the least: of more, the first and the last stay. `whole` is the
/// command that shows all; with `None` the text is not cut.
pub fn cut(text: &str, whole: Option<&str>, most: usize) -> String {
    let most = most.max(10);
    let lines: Vec<&str> = text.lines().collect();
    let Some(whole) = whole.filter(|_| lines.len() > most) else { return text.to_owned() };
    // The end of a result has its verdict.
    let of_end = most * 2 / 5;
    let (first, others) = lines.split_at(most - of_end - 1);
    let (left_out, last) = others.split_at(others.len() - of_end);
    let more = format!("… {}: {whole}", plural(left_out.len() as u64, "more line"));
    let all = first.iter().copied().chain([more.as_str()]).chain(last.iter().copied());
    all.map(|line| format!("{line}\n")).collect()
}

fn joined(paragraphs: Vec<Paragraph>) -> Vec<String> {
    paragraphs.into_iter().filter(|of| !of.is_empty()).collect::<Vec<_>>().join(&String::new())
}

/// Lines of paragraphs, with the empty lines between them.
fn height(paragraphs: &[Paragraph]) -> usize {
    let shown = || paragraphs.iter().filter(|of| !of.is_empty());
    shown().map(Vec::len).sum::<usize>() + shown().count().saturating_sub(1)
}

struct Page<'a> {
    document: &'a Document,
    short: &'a Short,
    paint: Paint,
    /// Most lines.
    most: usize,
}

impl Page<'_> {
    /// Everything that was selected, if it fits with the doubts in full, or with the advice of the worst.
    fn whole(&self) -> Option<Vec<Paragraph>> {
        let tables: Vec<_> = self.short.tables.iter().map(|section| self.section(section)).collect();
        let count = self.short.doubts.len();
        let shorter = (count.min(ADVISED)..=count).rev().map(|advised| self.doubts_with_advice(advised));
        [self.doubts()].into_iter().chain(shorter).find_map(|doubts| {
            let all = self.around(doubts, self.found(usize::MAX), tables.clone());
            (height(&all) <= self.most).then_some(all)
        })
    }

    /// What fits, with the numbers of what does not. Sentences get the lines that tables cannot use.
    fn cut(&self) -> Vec<Paragraph> {
        let doubts = self.doubts_with_results();
        let around = |found, tables| self.around(doubts.clone(), found, tables);
        let room = |all: Vec<Paragraph>| self.most.saturating_sub(height(&all));
        let without = room(around(Vec::new(), Vec::new()));
        let rest = without.saturating_sub(1 + self.reserved(LEAST_OF_TABLES));
        let of_found = rest.max(LEAST_OF_FOUND).min(without.saturating_sub(1));
        let tables = |found: &Paragraph| self.tables(room(around(found.clone(), Vec::new())));
        let found = self.found(of_found);
        let left = room(around(found.clone(), tables(&found)));
        let found = self.found(found.len() + left);
        let tables = tables(&found);
        around(found, tables)
    }

    /// Lines that are kept for tables, at most so many.
    fn reserved(&self, most: usize) -> usize {
        let whole = self.short.tables.iter().map(|section| self.section(section).len() + 1);
        whole.sum::<usize>().min(most)
    }

    /// Lines that doubts with their advice leave to the tables: those of the smallest part of the first one.
    fn reserved_with_doubts(&self) -> usize {
        let note = if self.short.tables.len() > 1 { NOTE } else { 0 };
        self.least_of_tables().first().map_or(0, |lines| lines + 1 + note)
    }

    /// As many of the worst doubts with their advice as leave room for the results.
    fn doubts_with_results(&self) -> Paragraph {
        let advised = self.short.doubts.len().min(ADVISED);
        let of_results = LEAST_OF_FOUND + 1 + self.reserved_with_doubts();
        let fits = |doubts: &Paragraph| {
            height(&self.around(doubts.clone(), Vec::new(), Vec::new())) + of_results <= self.most
        };
        let mut all = (1..=advised).rev().map(|advised| self.doubts_with_advice(advised));
        all.find(fits).unwrap_or_else(|| self.doubts_with_advice(0))
    }

    /// The paragraphs from top to bottom.
    fn around(&self, doubts: Paragraph, found: Paragraph, tables: Vec<Paragraph>) -> Vec<Paragraph> {
        let above = [self.head(), self.what(), doubts, self.failed(), found];
        let below = [self.below_the_tables(), self.next()];
        above.into_iter().chain(tables).chain(below).collect()
    }

    fn head(&self) -> Paragraph {
        let heading = self.paint.bold(&wrap::cut(&self.document.heading.plain(), WIDTH));
        let warning = self.document.warning.iter().flat_map(|of| wrap::prose(&of.plain(), WIDTH, "", ""));
        let warning = text::cut_after(warning.collect(), MOST_OF_WARNING);
        [heading].into_iter().chain(warning.iter().map(|line| self.paint.warn(line))).collect()
    }

    fn what(&self) -> Paragraph {
        text::facts_in_lines(&self.short.what)
    }

    fn title(&self, title: &str) -> String {
        self.paint.bold(&title.to_uppercase())
    }

    fn doubts_title(&self) -> String {
        self.title(&format!("Doubts ({})", count(self.short.doubts.len() as u64)))
    }

    /// The doubts as in the whole report.
    fn doubts(&self) -> Paragraph {
        if !self.short.is_judged {
            return Vec::new();
        }
        if self.short.doubts.is_empty() {
            return vec![format!("{}  {NO_DOUBT}", self.doubts_title())];
        }
        let block = Block::Doubts(self.short.doubts.clone());
        [self.doubts_title()].into_iter().chain(text::blocks(&[block], text::INDENT, self.paint)).collect()
    }

    /// The doubts in short: the worst with advice, the next ones in a line each, and the number of those that are left
    /// out.
    fn doubts_with_advice(&self, advised: usize) -> Paragraph {
        let all = &self.short.doubts;
        if all.is_empty() {
            return self.doubts();
        }
        let shown = if all.len() <= MOST_DOUBTS + 1 { all.len() } else { MOST_DOUBTS.max(advised) };
        let lines = all[..shown].iter().enumerate().flat_map(|(at, doubt)| match at < advised {
            true => self.with_advice(doubt),
            false => vec![self.paint.warn(&in_a_line(doubt))],
        });
        let others = (all.len() - shown) as u64;
        let more = format!("{}… {}: {}", text::INDENT, plural(others, "more doubt"), self.whole_report());
        [self.doubts_title()].into_iter().chain(lines).chain((others > 0).then_some(more)).collect()
    }

    /// What a doubt found, and its advice.
    fn with_advice(&self, doubt: &Doubt) -> Paragraph {
        let found = text::cut_after(paste::with_detail(doubt), MOST_OF_DOUBT);
        let advice = wrap::prose(&doubt.advice.plain(), WIDTH, "    → ", "      ");
        let advice = text::cut_after(advice, MOST_OF_DOUBT);
        found.iter().map(|line| self.paint.warn(line)).chain(advice).collect()
    }

    fn failed(&self) -> Paragraph {
        let lines = paste::fitting(&self.short.failed, MOST_OF_FAILED, &self.in_the_whole());
        lines.iter().map(|line| self.paint.warn(line)).collect()
    }

    fn found(&self, room: usize) -> Paragraph {
        paste::fitting(&self.short.found, room, &self.in_the_whole())
    }

    fn section(&self, section: &Section) -> Paragraph {
        text::section(section, self.paint)
    }

    /// As much of the tables as fits into this room, which includes an empty line before each. The first tables say
    /// most: each gets what the least of those below it leaves.
    fn tables(&self, room: usize) -> Vec<Paragraph> {
        let (all, least, results) = (&self.short.tables, self.least_of_tables(), self.short.results);
        // What was done in addition to the runs is shown only if their results are whole.
        let least = |count: usize, at: usize| match at < results && count > results {
            true => self.section(&all[at]).len(),
            false => least[at],
        };
        let needed = |count: usize| {
            let note = if count < all.len() { NOTE } else { 0 };
            note + (0..count).map(|at| least(count, at) + 1).sum::<usize>()
        };
        let chosen = (0..=all.len()).rev().find(|count| needed(*count) <= room).unwrap_or(0);
        // If not even the first one fits so, those stay of which any row does.
        let tried = if chosen == 0 { all.len() } else { chosen };
        let mut room = room.saturating_sub(if chosen < all.len() && all.len() > 1 { NOTE } else { 0 });
        let (mut shown, mut left_out): (Vec<Paragraph>, Vec<&Section>) = (Vec::new(), Vec::new());
        for (at, section) in all[..tried].iter().enumerate() {
            let below: usize = (at + 1..chosen).map(|at| least(chosen, at) + 1).sum();
            let own = room.saturating_sub(1 + below);
            match fitted(section, own, |section| self.section(section), &self.whole_report()) {
                Some(lines) => {
                    room = room.saturating_sub(lines.len() + 1);
                    shown.push(lines);
                }
                None => left_out.push(section),
            }
        }
        left_out.extend(&all[tried..]);
        if !left_out.is_empty() {
            let names = left_out.iter().map(|section| section.title.plain()).collect::<Vec<_>>().join(", ");
            let tables = plural(left_out.len() as u64, "more table");
            shown.push(vec![wrap::cut(&format!("… {tables} in the whole report: {names}"), WIDTH)]);
        }
        shown
    }

    /// The lines of each table with [`LEAST_ROWS`] rows.
    fn least_of_tables(&self) -> Vec<usize> {
        let least = |section: &Section| {
            let (cut, left_out) = cut_tables(section, LEAST_ROWS);
            self.section(&cut).len() + usize::from(left_out > 0)
        };
        self.short.tables.iter().map(least).collect()
    }

    fn below_the_tables(&self) -> Paragraph {
        let legend = self.short.legend.iter().flat_map(|of| wrap::prose(&of.plain(), WIDTH, "", ""));
        let legend = legend.map(|line| self.paint.dim(&line));
        legend.chain(text::facts_in_lines(&self.short.passed)).collect()
    }

    fn whole_report(&self) -> String {
        self.short.whole.plain()
    }

    fn in_the_whole(&self) -> String {
        format!("in {}", self.whole_report())
    }

    fn next(&self) -> Paragraph {
        let mut lines = vec![self.title("Next")];
        let directory = self.short.directory.as_ref();
        // A path that is cut cannot be opened.
        let kept = |of: &String| wrap::prose(&format!("  record and report.html: {of}"), WIDTH, "  ", "  ");
        lines.extend(directory.map(kept).unwrap_or_default());
        lines.push("  the whole report:".to_owned());
        lines.extend(wrap::command(&self.whole_report(), WIDTH));
        for (what, command) in &self.short.next {
            let command = wrap::command(&command.plain(), WIDTH);
            let is_shown = command.len() <= MOST_OF_COMMAND;
            match is_shown {
                true => lines.extend(wrap::prose(
                    &format!("{}:", what.plain()),
                    WIDTH,
                    text::INDENT,
                    text::INDENT,
                )),
                false => lines.push("  to repeat it: the command at the end of the whole report".to_owned()),
            }
            lines.extend(command.into_iter().filter(|_| is_shown));
        }
        lines
    }
}

/// A doubt in one line: its name and what was found, then the cells; the end may be cut after a word.
fn in_a_line(doubt: &Doubt) -> String {
    let detail = doubt.detail.plain();
    let detail = detail.trim_end_matches('.');
    let line = format!("{}! {}: {detail}{}", text::INDENT, doubt.title, text::concerned(doubt));
    wrap::cut_at_word(&wrap::plain(&line), WIDTH)
}

/// A section in this number of lines, of whose tables only the most important rows are left if it does not fit; `None`
/// if not even one row would be.
fn fitted(
    section: &Section,
    room: usize,
    lines: impl Fn(&Section) -> Vec<String>,
    whole: &str,
) -> Option<Vec<String>> {
    let all = lines(section);
    if all.len() <= room {
        return Some(all);
    }
    let most = tables(section).map(|table| table.rows().count()).max().unwrap_or(0);
    let of_rows = |rows: usize| {
        let (cut, left_out) = cut_tables(section, rows);
        let mut lines = lines(&cut);
        lines.push(format!("{}… {}: {whole}", text::INDENT, plural(left_out as u64, "more row")));
        lines
    };
    // The rows of a table are few dozens at most here, since each takes a line.
    let fits = |rows: &usize| of_rows(*rows).len() <= room;
    (1..most.min(room)).rev().find(fits).map(of_rows)
}

fn tables(section: &Section) -> impl Iterator<Item = &Table> {
    section.blocks.iter().filter_map(|block| match block {
        Block::Table(table) => Some(table),
        _ => None,
    })
}

/// The section with this many rows of each table, and the number of the rows that are left out.
fn cut_tables(section: &Section, rows: usize) -> (Section, usize) {
    let mut left_out = 0;
    let blocks = section.blocks.iter().map(|block| match block {
        Block::Table(table) => {
            left_out += table.rows().count().saturating_sub(rows);
            Block::Table(table.most_telling(rows))
        }
        other => other.clone(),
    });
    let cut = Section { blocks: blocks.collect(), ..section.clone() };
    (cut, left_out)
}
