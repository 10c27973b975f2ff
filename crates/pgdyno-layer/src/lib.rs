//! A FUSE file system over a directory that answers later, drops syncs or fails.
