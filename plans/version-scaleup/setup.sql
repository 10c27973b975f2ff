-- What "PostgreSQL 9.6 scale-up: high concurrency, against 9.5" (digoal, 2016-10-02) has in addition to test and log.

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
