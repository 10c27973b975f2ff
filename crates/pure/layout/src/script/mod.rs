//! Scripts of a layout. pgdyno prints them and never runs them.

mod create;
mod fstab;
mod old;
mod shell;
mod takedown;

pub use create::script;
pub use fstab::fstab;
pub use old::old_stack_script;
pub use takedown::takedown_script;
