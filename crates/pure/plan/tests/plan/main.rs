//! Plan files: right ones, wrong ones, and noise.

mod factors;
mod parsing;
mod wrong_plans;
