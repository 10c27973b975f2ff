//! The cost of a timer call.
