//! What the user wants to see, and what keys change.

use super::panels::{PANELS, Panel};

/// A key, or what else is typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Key {
    /// A character.
    Char(char),
    /// To the next panel.
    Next,
    /// To the panel before.
    Previous,
    /// Lines down; negative is up.
    Scroll(i32),
    /// A screen down; negative is up.
    Page(i32),
    /// To the first line.
    Top,
    /// Ends what is typed, or the help.
    Enter,
    /// Cancels.
    Escape,
    /// Takes the last character away.
    Backspace,
}

/// What the user wants to see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct View {
    /// Number of the panel.
    pub panel: usize,
    /// Number of the column that each panel is sorted by; `None` is its own order.
    pub sorted: [Option<usize>; PANELS.len()],
    /// Whether each panel is sorted the other way round.
    pub reversed: [bool; PANELS.len()],
    /// Words that a row must have.
    pub filter: String,
    /// Whether the filter is being typed.
    pub types_filter: bool,
    /// Whether the screen stays as it is.
    pub is_paused: bool,
    /// Whether help is shown.
    pub shows_help: bool,
    /// First line of the panel that is shown.
    pub from_line: usize,
    /// Whether the user wants to leave.
    pub ends: bool,
}

impl View {
    /// The panel.
    pub(super) fn panel(&self) -> Panel {
        PANELS[self.panel]
    }

    /// Obeys a key. `page` are the lines of a screen, `columns` those of the panel's table.
    pub(crate) fn obey(&mut self, key: Key, page: usize, columns: usize) {
        if self.types_filter {
            return self.type_filter(key);
        }
        match key {
            Key::Char('q') => self.ends = true,
            Key::Char('?' | 'h') => self.shows_help = !self.shows_help,
            Key::Escape | Key::Enter if self.shows_help => self.shows_help = false,
            Key::Escape => self.filter.clear(),
            Key::Char('/') => self.types_filter = true,
            Key::Char('p' | ' ') => self.is_paused = !self.is_paused,
            Key::Char('s') => self.sort_by_next(columns),
            Key::Char('r') => self.reversed[self.panel] = !self.reversed[self.panel],
            Key::Char('j') => self.scroll(1),
            Key::Char('k') => self.scroll(-1),
            Key::Char('g') | Key::Top => self.from_line = 0,
            Key::Char(digit) => {
                let panel = digit.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1));
                panel.filter(|panel| *panel < PANELS.len()).into_iter().for_each(|panel| self.show(panel));
            }
            Key::Next => self.show((self.panel + 1) % PANELS.len()),
            Key::Previous => self.show((self.panel + PANELS.len() - 1) % PANELS.len()),
            Key::Scroll(lines) => self.scroll(lines as isize),
            Key::Page(pages) => self.scroll(pages as isize * isize::try_from(page).unwrap_or(1).max(1)),
            Key::Enter | Key::Backspace => {}
        }
    }

    /// Takes characters for the filter. All other keys work once it is typed.
    fn type_filter(&mut self, key: Key) {
        match key {
            Key::Char(c) => self.filter.push(c),
            Key::Backspace => drop(self.filter.pop()),
            Key::Enter => self.types_filter = false,
            Key::Escape => {
                self.filter.clear();
                self.types_filter = false;
            }
            _ => {}
        }
        self.from_line = 0;
    }

    fn show(&mut self, panel: usize) {
        (self.panel, self.from_line, self.shows_help) = (panel, 0, false);
    }

    fn scroll(&mut self, lines: isize) {
        self.from_line = self.from_line.saturating_add_signed(lines);
    }

    /// From its own order through all columns, and back.
    fn sort_by_next(&mut self, columns: usize) {
        let sorted = &mut self.sorted[self.panel];
        let next = sorted.map_or(0, |column| column + 1);
        *sorted = (next < columns).then_some(next);
        self.from_line = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(keys: &str) -> View {
        let mut view = View::default();
        keys.chars().for_each(|key| view.obey(Key::Char(key), 10, 2));
        view
    }

    #[test]
    fn panels_are_chosen_by_number_and_in_a_circle() {
        assert_eq!((after("3").panel, after("39").panel, after("0").panel), (2, 2, 0));
        let mut view = View::default();
        view.obey(Key::Previous, 10, 2);
        assert_eq!(view.panel, PANELS.len() - 1);
        view.obey(Key::Next, 10, 2);
        assert_eq!(view.panel, 0);
    }

    #[test]
    fn letters_are_text_while_a_filter_is_typed() {
        let mut view = after("/quit");
        assert_eq!((view.filter.as_str(), view.ends, view.types_filter), ("quit", false, true));
        view.obey(Key::Backspace, 10, 2);
        view.obey(Key::Enter, 10, 2);
        assert_eq!((view.filter.as_str(), view.types_filter), ("qui", false));
        view.obey(Key::Escape, 10, 2);
        assert_eq!(view.filter, "");
        view.obey(Key::Char('q'), 10, 2);
        assert!(view.ends);
    }

    #[test]
    fn each_panel_has_its_own_order() {
        let mut view = after("2sr3s");
        assert_eq!((view.sorted[1], view.reversed[1], view.sorted[2]), (Some(0), true, Some(0)));
        for _ in 0..2 {
            view.obey(Key::Char('s'), 10, 2);
        }
        assert_eq!(view.sorted[2], None, "behind the last column there is its own order");
    }

    #[test]
    fn scrolling_begins_at_the_top_and_help_ends() {
        let mut view = after("jj");
        view.obey(Key::Page(1), 10, 2);
        assert_eq!(view.from_line, 12);
        view.obey(Key::Page(-2), 10, 2);
        assert_eq!(view.from_line, 0);
        assert!(after("?").shows_help && !after("??").shows_help && !after("?2").shows_help);
        assert!(after("p").is_paused && !after("p ").is_paused);
    }
}
