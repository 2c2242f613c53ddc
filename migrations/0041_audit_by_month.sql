-- +goose NO TRANSACTION
-- +goose Up

-- The audit becomes a table with a partition for each month, so that old entries go by dropping a table (package audit, file
-- months.go). The table so far becomes the partition of everything before the month after the next: entries of an older replica
-- that still runs fit in as well. Each statement is a transaction and does nothing when it has been applied before.

-- Proves the bound of that partition without a lock that writers wait for.
-- +goose StatementBegin
DO $$
DECLARE
    newest timestamptz := (SELECT max(at) FROM audit); -- after now when a clock was wrong
    bound  timestamptz := date_trunc('month', greatest(now(), newest), 'UTC') + interval '2 months';
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = 'audit'::regclass AND relkind = 'r')
        AND NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = 'audit'::regclass AND conname = 'audit_until') THEN
        EXECUTE format('ALTER TABLE audit ADD CONSTRAINT audit_until CHECK (at < %L::timestamptz) NOT VALID', bound);
    END IF;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    IF EXISTS (SELECT FROM pg_class WHERE oid = 'audit'::regclass AND relkind = 'r') THEN
        ALTER TABLE audit VALIDATE CONSTRAINT audit_until;
    END IF;
END $$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
DECLARE
    bound timestamptz;
    next  bigint;
    old   text; -- named after its last month, as months.go names partitions
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class WHERE oid = 'audit'::regclass AND relkind = 'r') THEN
        RETURN;
    END IF;
    LOCK TABLE audit IN ACCESS EXCLUSIVE MODE;
    SELECT (regexp_match(pg_get_constraintdef(oid), '''([^'']+)'''))[1]::timestamptz INTO bound
        FROM pg_constraint WHERE conrelid = 'audit'::regclass AND conname = 'audit_until';
    SELECT last_value + 1 INTO next FROM audit_id_seq;
    old := 'audit_' || to_char(bound AT TIME ZONE 'UTC' - interval '1 day', 'YYYY_MM');

    EXECUTE format('ALTER TABLE audit RENAME TO %I', old);
    EXECUTE format('ALTER TABLE %I ALTER COLUMN id DROP IDENTITY', old); -- Postgres 17 refuses a partition with an identity
    EXECUTE format('ALTER INDEX audit_at_idx RENAME TO %I', old || '_at_idx');
    EXECUTE format('ALTER INDEX audit_actor_idx RENAME TO %I', old || '_actor_id_idx');
    EXECUTE format('ALTER INDEX audit_target_idx RENAME TO %I', old || '_target_id_idx');
    EXECUTE format('ALTER INDEX audit_organization_idx RENAME TO %I', old || '_organization_id_idx');

    EXECUTE format('CREATE SEQUENCE audit_id_seq START WITH %s', next);
    EXECUTE format('CREATE TABLE audit (LIKE %I) PARTITION BY RANGE (at)', old);
    ALTER TABLE audit ALTER COLUMN id SET DEFAULT nextval('audit_id_seq'),
        ADD CONSTRAINT audit_action_form CHECK (action ~ '^[a-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+$'),
        ADD CONSTRAINT audit_details_object CHECK (jsonb_typeof(details) = 'object');
    ALTER SEQUENCE audit_id_seq OWNED BY audit.id;
    CREATE INDEX audit_at_idx ON audit (at);
    CREATE INDEX audit_actor_idx ON audit (actor, id);
    CREATE INDEX audit_target_idx ON audit (target, id);
    CREATE INDEX audit_organization_idx ON audit (organization, id) WHERE organization IS NOT NULL;
    EXECUTE format('ALTER TABLE audit ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)', old, bound);
    EXECUTE format('ALTER TABLE %I DROP CONSTRAINT audit_until', old);

    -- Takes entries of months whose partition does not exist yet.
    CREATE TABLE audit_default PARTITION OF audit DEFAULT;
    CREATE UNIQUE INDEX audit_default_id_idx ON audit_default (id);
END $$;
-- +goose StatementEnd
