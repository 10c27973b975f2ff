//! A screen on a terminal.

use ratatui_core::{
    buffer::Buffer,
    style::{Color, Modifier, Style},
};

use crate::model::{Mark, Screen};

/// Draws the lines of a screen. Without colours there is bold and reverse.
pub(crate) fn draw(screen: &Screen, has_colours: bool, buffer: &mut Buffer) {
    let area = buffer.area;
    for (line, y) in screen.lines.iter().zip(area.top()..area.bottom()) {
        buffer.set_stringn(
            area.left(),
            y,
            &line.text,
            usize::from(area.width),
            style(line.mark, has_colours),
        );
    }
}

fn style(mark: Mark, has_colours: bool) -> Style {
    match mark {
        Mark::Plain => Style::new(),
        Mark::Head => Style::new().add_modifier(Modifier::BOLD),
        Mark::Dim if has_colours => Style::new().fg(Color::DarkGray),
        Mark::Dim => Style::new(),
        Mark::Warning if has_colours => Style::new().fg(Color::Yellow),
        Mark::Warning => Style::new().add_modifier(Modifier::REVERSED),
    }
}

#[cfg(test)]
mod tests;
