//! Columns of the TPC-C tables and their types (clause 1.3).

/// Type of a column. Numbers without decimal places are `int`, which has a larger range than the clause requires.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Type {
    /// `int`.
    Int,
    /// `numeric`: total number of digits, and decimal places.
    Numeric(u8, u8),
    /// `char` of this length.
    Char(u16),
    /// `varchar` of this length.
    Varchar(u16),
    /// `timestamp` without a time zone.
    Timestamp,
}

/// A column of a TPC-C table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// Name of the column.
    pub name: &'static str,
    /// Type of the column.
    pub kind: Type,
    /// Whether the column may be NULL.
    pub nullable: bool,
}

pub(super) const fn int(name: &'static str) -> Field {
    Field { name, kind: Type::Int, nullable: false }
}

pub(super) const fn numeric(name: &'static str, digits: u8, behind: u8) -> Field {
    Field { name, kind: Type::Numeric(digits, behind), nullable: false }
}

/// An amount of money of the usual precision.
pub(super) const fn money(name: &'static str) -> Field {
    numeric(name, 12, 2)
}

/// Year-to-date amount of a warehouse or a district. The clause requires 12 digits at least (1.3.1), which four
/// million payments of a warehouse exhaust, fewer than a day's run has.
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

    /// Column definition for CREATE TABLE.
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

    /// SQL expression for the text that [`super::Row::write_whole`] writes of this column.
    pub(super) fn text(&self) -> String {
        match self.kind {
            // Before version 14 the epoch is a double, which is exact to microseconds until the year 2242.
            Type::Timestamp => format!("(extract(epoch FROM {}) * 1000000)::bigint", self.name),
            _ => self.name.to_owned(),
        }
    }
}

/// Names of columns as a list in SQL.
pub(super) fn names(fields: &[Field]) -> String {
    fields.iter().map(|field| field.name).collect::<Vec<_>>().join(", ")
}
