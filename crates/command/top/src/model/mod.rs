//! From a reading to lines of text. Pure: the same reading, view and size give the same lines.

mod cells;
mod derive;
mod header;
mod locks;
mod overview;
mod panels;
mod screen;
mod table;
mod text;
mod view;

pub(crate) use derive::{databases, progress, standbys, wal, writes};
pub(crate) use screen::{Screen, screen};
pub(crate) use table::Mark;
pub(crate) use text::once;
pub(crate) use view::{Key, View};
