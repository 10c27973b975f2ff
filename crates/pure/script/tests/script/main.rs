//! Scripts, compared with what pgbench makes of them.

mod draws;
mod golden;
mod scripts;
