//! Columns of the tables and their types (clause 1.3).

/// The type of a column. Numbers without digits behind the point are `int`: it holds more than the clause asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `int`.
    Int,
    /// `numeric`: digits, and how many of them are behind the point.
    Numeric(u8, u8),
    /// `char`.
    Char(u16),
    /// `varchar`.
    Varchar(u16),
    /// `timestamp` without a time zone.
    Timestamp,
}

/// A column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// Its type.
    pub kind: Type,
    /// Whether it can be NULL.
    pub nullable: bool,
}

pub(super) const fn int(name: &'static str) -> Field {
    Field { name, kind: Type::Int, nullable: false }
}

pub(super) const fn numeric(name: &'static str, digits: u8, behind: u8) -> Field {
    Field { name, kind: Type::Numeric(digits, behind), nullable: false }
}

/// Money, as most of it is.
pub(super) const fn money(name: &'static str) -> Field {
    numeric(name, 12, 2)
}

/// What a warehouse or a district took since the load. The clause asks for 12 digits at least (1.3.1), which four
/// million payments of a warehouse fill: a day's run has more.
pub(super) const fn takings(name: &'static str) -> Field {
    numeric(name, 16, 2)
}

pub(super) const fn text(name: &'static str, len: u16) -> Field {
    Field { name, kind: Type::Char(len), nullable: false }
}

pub(super) const fn varchar(name: &'static str, len: u16) -> Field {
    Field { name, kind: Type::Varchar(len), nullable: false }
}

pub(super) const fn time(name: &'static str) -> Field {
    Field { name, kind: Type::Timestamp, nullable: false }
}

impl Field {
    pub(super) const fn or_null(self) -> Self {
        Self { nullable: true, ..self }
    }

    /// The column as CREATE TABLE takes it.
    pub fn definition(&self) -> String {
        let kind = match self.kind {
            Type::Int => "int".to_owned(),
            Type::Numeric(digits, behind) => format!("numeric({digits},{behind})"),
            Type::Char(len) => format!("char({len})"),
            Type::Varchar(len) => format!("varchar({len})"),
            Type::Timestamp => "timestamp".to_owned(),
        };
        format!("{} {kind}{}", self.name, if self.nullable { "" } else { " NOT NULL" })
    }

    /// SQL of the text that [`super::Row::write_whole`] writes of it.
    pub(super) fn text(&self) -> String {
        match self.kind {
            // Before 14 the epoch is a double, which holds microseconds until the year 2242.
            Type::Timestamp => format!("(extract(epoch FROM {}) * 1000000)::bigint", self.name),
            _ => self.name.to_owned(),
        }
    }
}

/// The names of columns, as SQL lists them.
pub(super) fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}
