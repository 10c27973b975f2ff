-- The tables of "PostgreSQL 9.6 scale-up: high concurrency, against 9.5" (digoal, 2016-10-02).

-- Cases 1 and 2: a narrow table with a key.
CREATE TABLE test (id int, info text, crt_time timestamp) WITH (
    autovacuum_freeze_max_age = 1500000000, autovacuum_freeze_table_age = 1400000000,
    autovacuum_multixact_freeze_max_age = 1500000000, autovacuum_multixact_freeze_table_age = 1400000000
);
INSERT INTO test SELECT generate_series(1, :rows), md5(random()::text), clock_timestamp();
SET maintenance_work_mem = ':maintenance_work_mem';
ALTER TABLE test ADD CONSTRAINT test_pkey PRIMARY KEY (id);

-- Cases 3 to 6: 22 columns, about 201 bytes a row, two BRIN indexes. The article calls this one test as well.
CREATE TABLE log (
    id serial8,
    c1 int8 DEFAULT 0, c2 int8 DEFAULT 0, c3 int8 DEFAULT 0, c4 int8 DEFAULT 0, c5 int8 DEFAULT 0,
    c6 int8 DEFAULT 0, c7 int8 DEFAULT 0, c8 int8 DEFAULT 0, c9 int8 DEFAULT 0, c10 int8 DEFAULT 0,
    c11 int8 DEFAULT 0, c12 int8 DEFAULT 0, c13 int8 DEFAULT 0, c14 int8 DEFAULT 0, c15 int8 DEFAULT 0,
    c16 int8 DEFAULT 0, c17 int8 DEFAULT 0, c18 int8 DEFAULT 0, c19 int8 DEFAULT 0, c20 int8 DEFAULT 0,
    crt_time timestamptz
) WITH (
    autovacuum_enabled = off,
    autovacuum_freeze_max_age = 1500000000, autovacuum_freeze_table_age = 1400000000,
    autovacuum_multixact_freeze_max_age = 1500000000, autovacuum_multixact_freeze_table_age = 1400000000
);
ALTER SEQUENCE log_id_seq CACHE 100000;
CREATE INDEX log_id ON log USING brin (id);
CREATE INDEX log_crt_time ON log USING brin (crt_time);

-- Cases 5 and 6: one such table for each client, log0 for the first. LIKE takes defaults and indexes over, and with
-- the default the one sequence of all, as in the article.
DO $$
BEGIN
    FOR client IN 0 .. :max_clients - 1 LOOP
        EXECUTE format('CREATE TABLE log%s (LIKE log INCLUDING ALL) WITH (autovacuum_enabled = off, '
            || 'autovacuum_freeze_max_age = 1500000000, autovacuum_freeze_table_age = 1400000000, '
            || 'autovacuum_multixact_freeze_max_age = 1500000000, '
            || 'autovacuum_multixact_freeze_table_age = 1400000000)', client);
    END LOOP;
END
$$;
