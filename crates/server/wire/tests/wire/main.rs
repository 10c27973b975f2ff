//! Connections and sessions, with servers that answer correctly, wrongly or not at all.

mod connect;
mod session;
