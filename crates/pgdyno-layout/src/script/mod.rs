//! Scripts of a layout. pgdyno prints them and never runs them.

mod create;
mod fstab;
mod shell;
mod takedown;

pub use create::script;
pub use fstab::fstab;
pub use takedown::takedown_script;
