//! Records and the directories of runs.

mod edited;
mod records;
mod run_directory;
