//! `pgdyno load verify --amcheck`: damage that no row shows is found.

use std::{
    fs::File,
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use crate::common::{OLDEST, Place, admin, text, word};

const PAGE_BYTES: usize = 8_192;

/// A server without checksums of pages, which would find it first, and a load.
fn loaded(pg: &str) -> Place {
    let place = Place::new();
    place.done(&["up", "--pg", pg, "--bundle", "--no-data-checksums", "-c", "fsync=off"]);
    place.done(&["load", "tpcb", "--server", "main", "--scale", "1"]);
    place
}

/// The file of a relation, once all of it is written.
fn file_of(place: &Place, relation: &str) -> PathBuf {
    let server = place.only();
    let mut session = admin(&server);
    let path = session.value(&format!("CHECKPOINT; SELECT pg_relation_filepath('{relation}')"));
    Path::new(word(&server, "data_dir")).join(path.expect("it is there").expect("it has a file"))
}

/// Changes a page of a file. Nobody has it open.
fn damage(file: &Path, number: u64, change: impl FnOnce(&mut [u8])) {
    let file = File::options().read(true).write(true).open(file).expect("it is ours");
    let (mut page, at) = (vec![0; PAGE_BYTES], number * PAGE_BYTES as u64);
    file.read_exact_at(&mut page, at).expect("it has that page");
    change(&mut page);
    file.write_all_at(&page, at).expect("it can be written");
}

/// Where the line pointer of an item (from 1) is in its page: they follow the header.
fn line_pointer(item: usize) -> usize {
    24 + (item - 1) * 4
}

/// Two keys of a leaf change places: its first item is the high key.
fn disorder(page: &mut [u8]) {
    let (one, other) = (line_pointer(3), line_pointer(4));
    for byte in 0..4 {
        page.swap(one + byte, other + byte);
    }
}

/// An entry is marked as dead, though its row lives.
fn lose_a_row(page: &mut [u8]) {
    let flags = &mut page[line_pointer(4) + 2];
    assert_eq!(*flags & 1, 0, "the high bit of the flags: normal");
    *flags |= 1;
}

/// A row says that it has a column more than its table.
fn add_a_column(page: &mut [u8]) {
    let pointer = line_pointer(1);
    let pointer = u32::from_le_bytes(page[pointer..pointer + 4].try_into().expect("four bytes"));
    let tuple = (pointer & 0x7fff) as usize;
    // `t_infomask2` comes after three numbers of 32 bits and `t_ctid`; its low bits count columns.
    assert_eq!(page[tuple + 18] & 0x0f, 4, "columns of accounts");
    page[tuple + 18] += 1;
}

fn verify(place: &Place, more: &[&str]) -> (Option<i32>, String) {
    let output = place.run(&[&["load", "verify", "--server", "main"], more].concat());
    (output.status.code(), text(&output.stdout) + &text(&output.stderr))
}

fn damage_is_found(pg: &str, looks_at_tables: bool) {
    let place = loaded(pg);
    let (code, said) = verify(&place, &["--amcheck"]);
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("the extension amcheck is not installed") && said.contains("--create-extension"),
        "{said}"
    );
    let (code, said) = verify(&place, &["--amcheck", "--create-extension"]);
    assert_eq!(code, Some(0), "{said}");
    let tables = if looks_at_tables { "3 indexes and 4 tables" } else { "3 indexes" };
    assert!(
        said.contains(&format!("structure of {tables}")) && said.contains("verified: 100,011 rows"),
        "{said}"
    );

    let files = ["pgbench_accounts_pkey", "pgbench_accounts", "pgbench_tellers_pkey"];
    let files = files.map(|relation| file_of(&place, relation));
    place.done(&["down", "main"]);
    damage(&files[0], 1, disorder);
    damage(&files[1], 7, add_a_column);
    damage(&files[2], 1, lose_a_row);
    place.done(&["up", "main"]);
    let (code, said) = verify(&place, &[]);
    assert_eq!(code, Some(0), "rows show nothing of it: {said}");
    let (code, said) = verify(&place, &["--amcheck"]);
    assert_eq!(code, Some(1), "{said}");
    let mut found = vec!["! public.pgbench_accounts_pkey: item order invariant violated"];
    if pg != "10" {
        found.push(
            "! public.pgbench_tellers_pkey: heap tuple (0,4) from table \"pgbench_tellers\" lacks matching",
        );
    }
    if looks_at_tables {
        found.push(
            "! public.pgbench_accounts (7,1): number of attributes 5 exceeds maximum expected for table 4",
        );
    }
    for words in &found {
        assert!(said.contains(words), "{words}: {said}");
    }
    let faults = if found.len() == 1 { "fault" } else { "faults" };
    assert!(said.contains(&format!("structure of {tables}: {} {faults}", found.len())), "{said}");
    let blind = said.contains("whether each row is in its indexes was not looked at");
    assert_eq!(blind, pg == "10", "{said}");
}

#[test]
fn damage_is_found_by_the_newest_server() {
    damage_is_found("18", true);
}

#[test]
#[ignore = "takes long: `cargo xtask test-all` runs it"]
fn damage_is_found_by_servers_between() {
    for (pg, looks_at_tables) in [("10", false), ("11", false), ("13", false), ("14", true), ("16", true)] {
        damage_is_found(pg, looks_at_tables);
    }
}

/// A server that has no amcheck says so.
#[test]
fn the_oldest_server_cannot_look() {
    let place = loaded(OLDEST);
    let (code, said) = verify(&place, &["--amcheck", "--create-extension"]);
    assert_eq!(code, Some(3), "{said}");
    assert!(said.contains("could not create the extension amcheck"), "{said}");
}
