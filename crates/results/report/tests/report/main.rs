//! Reports of invented runs, in every form.

mod golden;
mod history;
mod html;
