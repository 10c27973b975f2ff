//! The kernel as pgdyno sees it: facts, observations and storage.
