//! Plan files: right ones, wrong ones, and noise.

mod parsing;
mod wrong_plans;
