//! Operations on a file, and where they come from.

/// One operation on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// Reads so many bytes at an offset (`pread(2)`).
    Read {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes to read.
        len: u32,
    },
    /// Writes so many bytes at an offset (`pwrite(2)`). They are random and differ from write to write, so that no
    /// layer can compress or deduplicate them.
    Write {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes to write.
        len: u32,
    },
    /// Makes durable what was written (`fdatasync(2)`). Begins when every earlier operation of its job has ended, and
    /// ends before a later one begins.
    SyncData,
    /// Asks the kernel to begin writing back a part of the file (`sync_file_range(2)` with `SYNC_FILE_RANGE_WRITE`), as
    /// PostgreSQL does after `checkpoint_flush_after`. Makes nothing durable.
    WriteBack {
        /// Offset in the file, in bytes.
        offset: u64,
        /// Bytes to write back.
        len: u32,
    },
    /// Does nothing: measures the driver.
    Nop,
}

/// Kind of an operation; what is counted is counted apart for each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OperationKind {
    /// [`Operation::Read`].
    Read,
    /// [`Operation::Write`].
    Write,
    /// [`Operation::SyncData`].
    Sync,
    /// [`Operation::WriteBack`].
    WriteBack,
    /// [`Operation::Nop`].
    Nop,
}

impl OperationKind {
    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; 5] = [Self::Read, Self::Write, Self::Sync, Self::WriteBack, Self::Nop];
}

impl Operation {
    /// Its kind.
    #[inline]
    pub fn kind(&self) -> OperationKind {
        match self {
            Self::Read { .. } => OperationKind::Read,
            Self::Write { .. } => OperationKind::Write,
            Self::SyncData => OperationKind::Sync,
            Self::WriteBack { .. } => OperationKind::WriteBack,
            Self::Nop => OperationKind::Nop,
        }
    }

    /// Bytes that it reads or writes by itself.
    #[inline]
    pub fn bytes(&self) -> u32 {
        match self {
            Self::Read { len, .. } | Self::Write { len, .. } => *len,
            Self::SyncData | Self::WriteBack { .. } | Self::Nop => 0,
        }
    }
}

/// What a job does, operation by operation.
pub trait Operations: Send {
    /// The next operation; `None` when there is no further one.
    fn next(&mut self) -> Option<Operation>;

    /// Whether any of them may be a write.
    fn writes(&self) -> bool {
        true
    }
}

impl<F: FnMut() -> Option<Operation> + Send> Operations for F {
    #[inline]
    fn next(&mut self) -> Option<Operation> {
        self()
    }
}
