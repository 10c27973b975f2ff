//! Open files and directories, by the numbers that the kernel calls them by.

use std::{
    collections::HashMap,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use fuser::FileHandle;
use rustix::io::{Errno, Result};

/// What is open.
pub(crate) struct Handles<T> {
    next: AtomicU64,
    open: RwLock<HashMap<u64, Arc<T>>>,
}

impl<T> Default for Handles<T> {
    fn default() -> Self {
        Self { next: AtomicU64::new(1), open: RwLock::default() }
    }
}

impl<T> Handles<T> {
    /// Adds something that was opened.
    pub(crate) fn add(&self, opened: T) -> FileHandle {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.open.write().unwrap_or_else(PoisonError::into_inner).insert(number, Arc::new(opened));
        FileHandle(number)
    }

    /// What has this number.
    ///
    /// # Errors
    /// `EBADF` if it is not open.
    pub(crate) fn get(&self, number: FileHandle) -> Result<Arc<T>> {
        let open = self.open.read().unwrap_or_else(PoisonError::into_inner);
        open.get(&number.0).map(Arc::clone).ok_or(Errno::BADF)
    }

    /// Closes it, once the requests that use it are done.
    pub(crate) fn remove(&self, number: FileHandle) {
        self.open.write().unwrap_or_else(PoisonError::into_inner).remove(&number.0);
    }
}
