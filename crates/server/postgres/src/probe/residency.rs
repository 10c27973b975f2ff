//! Finds the share of relations in shared buffers.

use pgdyno_core::{
    probe::{Explained, RelationKind, Residency, SeenBy},
    problem::Problem,
};
use pgdyno_wire::{Session, WireError};

use crate::probe::{
    reading::{Reading, Task},
    relations::{Relation, buffered, touching},
};

/// Uses `pg_buffercache` if it is in a schema and the role may use it, else reads the relations again and counts hits.
pub fn look(
    session: &mut Session,
    reading: &Reading,
    schema: Option<&str>,
) -> Result<(SeenBy, Vec<Residency>), Problem> {
    let oids: Vec<u32> = reading.relations.iter().map(|relation| relation.oid).collect();
    let seen = schema.map_or(Ok(None), |schema| buffered(session, schema, &oids))?;
    if let Some(seen) = seen {
        let pages_of = |oid: u32| seen.iter().find(|(seen, _)| *seen == oid).map(|(_, pages)| *pages);
        let each = reading.relations.iter().map(|relation| of(relation, pages_of(relation.oid)));
        return Ok((SeenBy::PgBuffercache, each.collect()));
    }
    let again = second_read(session, reading)
        .map_err(|error| error.into_problem("could not repeat the read that determines cached pages"));
    Ok((SeenBy::SecondRead, again?))
}

fn of(relation: &Relation, resident_pages: Option<u64>) -> Residency {
    let share = resident_pages.map(|resident| (resident as f64 / relation.pages as f64).min(1.0));
    Residency {
        name: relation.name.clone(),
        kind: relation.kind,
        pages: relation.pages,
        resident_pages: resident_pages.map(|resident| resident.min(relation.pages)),
        share,
        not_read: None,
    }
}

/// Page accesses of a read: hits and misses.
type Accesses = (u64, u64);

fn second_read(session: &mut Session, reading: &Reading) -> Result<Vec<Residency>, WireError> {
    let mut accesses: Vec<Option<Accesses>> = vec![None; reading.relations.len()];
    for task in reading.tasks() {
        let relation = &reading.relations[task.relation];
        // An ordered index scan covers the whole index at once.
        if relation.kind == RelationKind::Index && task.first > 0 {
            continue;
        }
        if let Some((hit, read)) = accesses_of(session, relation, *task)? {
            let (hits, reads) = accesses[task.relation].unwrap_or_default();
            accesses[task.relation] = Some((hits + hit, reads + read));
        }
    }
    Ok(reading.relations.iter().zip(accesses).map(|(relation, accesses)| seen(relation, accesses)).collect())
}

fn accesses_of(
    session: &mut Session,
    relation: &Relation,
    task: Task,
) -> Result<Option<Accesses>, WireError> {
    let Some(sql) = touching(session, relation, task.first, task.last)? else { return Ok(None) };
    let rows = session.query(&format!("EXPLAIN (ANALYZE, BUFFERS, TIMING OFF, FORMAT JSON) {sql}"))?;
    let answer: String = rows.iter().filter_map(|row| row.get(0)).collect();
    Ok(Explained::read(&answer).and_then(|plan| accesses(&plan)))
}

/// Accesses to the relation alone. If an index-only scan visited the table for lack of a visibility map, these
/// accesses are included, up to one for each row, and nothing is known about the index.
fn accesses(plan: &Explained) -> Option<Accesses> {
    (plan.heap_fetches == 0).then_some((plan.hit_pages, plan.read_pages))
}

/// Each page of a table was read once, so hits are its cached pages. For an index hits are a share of all accesses.
fn seen(relation: &Relation, accesses: Option<Accesses>) -> Residency {
    let Some((hit, read)) = accesses else { return of(relation, None) };
    if relation.kind != RelationKind::Index {
        return of(relation, Some(hit));
    }
    let share = hit as f64 / (hit + read).max(1) as f64;
    Residency { share: Some(share), ..of(relation, None) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relation(kind: RelationKind) -> Relation {
        Relation {
            oid: 1,
            name: "public.t".to_owned(),
            plain_name: "t".to_owned(),
            kind,
            pages: 100,
            owned: true,
            btree: kind == RelationKind::Index,
        }
    }

    #[test]
    fn a_second_read_yields_pages_of_tables_and_a_share_of_indexes() {
        let figures = |kind, accesses| {
            let seen = seen(&relation(kind), accesses);
            (seen.resident_pages, seen.share)
        };
        assert_eq!(figures(RelationKind::Table, Some((90, 10))), (Some(90), Some(0.9)));
        assert_eq!(figures(RelationKind::Index, Some((30, 10))), (None, Some(0.75)));
        assert_eq!(figures(RelationKind::Index, None), (None, None));
    }

    #[test]
    fn rows_looked_up_in_the_table_say_nothing_of_its_index() {
        let plan = Explained { hit_pages: 30, read_pages: 10, ..Explained::default() };
        assert_eq!(accesses(&plan), Some((30, 10)));
        assert_eq!(accesses(&Explained { heap_fetches: 1, ..plan }), None);
    }

    #[test]
    fn a_relation_that_grew_is_not_more_than_there() {
        let seen = of(&relation(RelationKind::Table), Some(101));
        assert_eq!((seen.resident_pages, seen.share), (Some(100), Some(1.0)));
    }
}
