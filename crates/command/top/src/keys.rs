//! The thread that reads the terminal.

use std::{sync::mpsc, thread};

use ratatui_crossterm::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use crate::{model::Key, news::News};

/// Sends keys and changes of the terminal's size from now on.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn listen(news: mpsc::Sender<News>) -> std::io::Result<()> {
    let read = move || {
        loop {
            let read = match event::read() {
                Ok(event) => meaning(&event),
                Err(error) => Some(News::Deaf { why: error.to_string() }),
            };
            let is_last = matches!(read, Some(News::Deaf { .. }));
            if read.is_some_and(|read| news.send(read).is_err()) || is_last {
                return;
            }
        }
    };
    thread::Builder::new().name("keys".to_owned()).spawn(read).map(drop)
}

fn meaning(event: &Event) -> Option<News> {
    match event {
        Event::Key(key) if key.kind != KeyEventKind::Release => of_key(key),
        Event::Resize(..) => Some(News::Redraw),
        _ => None,
    }
}

fn of_key(key: &KeyEvent) -> Option<News> {
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return match key.code {
            KeyCode::Char('c') => Some(News::Interrupt),
            KeyCode::Char('z') => Some(News::Suspend),
            KeyCode::Char('l') => Some(News::Redraw),
            _ => None,
        };
    }
    Some(News::Key(match key.code {
        KeyCode::Char(c) => Key::Char(c),
        KeyCode::F(1) => Key::Char('?'),
        KeyCode::Tab | KeyCode::Right => Key::Next,
        KeyCode::BackTab | KeyCode::Left => Key::Previous,
        KeyCode::Down => Key::Scroll(1),
        KeyCode::Up => Key::Scroll(-1),
        KeyCode::PageDown => Key::Page(1),
        KeyCode::PageUp => Key::Page(-1),
        KeyCode::Home => Key::Top,
        KeyCode::Enter => Key::Enter,
        KeyCode::Esc => Key::Escape,
        KeyCode::Backspace => Key::Backspace,
        _ => return None,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn meaning_of(code: KeyCode, modifiers: KeyModifiers) -> String {
        format!("{:?}", meaning(&Event::Key(KeyEvent::new(code, modifiers))))
    }

    #[test]
    fn control_characters_are_no_letters() {
        let plain = KeyModifiers::NONE;
        assert_eq!(meaning_of(KeyCode::Char('c'), plain), "Some(Key(Char('c')))");
        assert_eq!(meaning_of(KeyCode::Char('c'), KeyModifiers::CONTROL), "Some(Interrupt)");
        assert_eq!(meaning_of(KeyCode::Char('z'), KeyModifiers::CONTROL), "Some(Suspend)");
        assert_eq!(meaning_of(KeyCode::Char('x'), KeyModifiers::CONTROL), "None");
        assert_eq!(meaning_of(KeyCode::BackTab, KeyModifiers::SHIFT), "Some(Key(Previous))");
        assert_eq!(format!("{:?}", meaning(&Event::Resize(1, 1))), "Some(Redraw)");
    }
}
