//! Time in pgdyno: clock, arrivals, worker loops and the recorder. Knows no PostgreSQL and no disk format.
