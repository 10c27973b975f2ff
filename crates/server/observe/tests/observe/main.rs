//! What is read of activity: logs of every major, and real servers.

mod logs;
mod servers;
