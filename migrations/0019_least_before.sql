-- +goose Up

-- A least that an organization lowers counts for 7 more days, for what was there before (contract 4.32). Else an administrator could
-- lower it and erase everything at once, and undoing the change would bring nothing back. Days as in retention.
ALTER TABLE transfer.adminunits ADD COLUMN least_before jsonb; -- before retention_at; null: none

-- A further change within the 7 days does not end them. A trigger, because older versions change rules, too.
-- +goose StatementBegin
CREATE FUNCTION transfer.note_least() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    still jsonb := CASE WHEN OLD.retention_at + interval '168 hours' > NEW.retention_at THEN OLD.least_before END;
BEGIN
    NEW.least_before := jsonb_build_object(
        'transfers', jsonb_build_object('least', greatest(
            (OLD.retention #>> '{transfers,least}')::integer, (still #>> '{transfers,least}')::integer)),
        'receipts', jsonb_build_object('least', greatest(
            (OLD.retention #>> '{receipts,least}')::integer, (still #>> '{receipts,least}')::integer)));
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER adminunits_least_noted BEFORE UPDATE OF retention ON transfer.adminunits
    FOR EACH ROW WHEN (OLD.retention IS DISTINCT FROM NEW.retention) EXECUTE FUNCTION transfer.note_least();

-- Until when an organization keeps a transfer or receipt at least; null: there is no such rule.
-- +goose StatementBegin
CREATE FUNCTION transfer.kept_until(a transfer.adminunits, rule text, created_at timestamptz) RETURNS timestamptz
LANGUAGE sql IMMUTABLE
AS $$
    SELECT greatest(created_at + transfer.rule(a.retention, rule, 'least'),
        CASE WHEN created_at < a.retention_at AND transfer.rule(a.least_before, rule, 'least') IS NOT NULL
            THEN least(created_at + transfer.rule(a.least_before, rule, 'least'), a.retention_at + interval '168 hours') END)
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.keep(rule text, uids uuid[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    k record;
BEGIN
    FOR k IN
        SELECT x.organization, x.until, array_agg(x.uid) AS kept
        FROM (
            SELECT g.uid, g.organization,
                date_trunc('day', transfer.kept_until(a, rule, g.created_at), 'UTC') + interval '24 hours' AS until
            FROM (
                SELECT t.uid, t.limits_organization AS organization, t.created_at FROM transfer.transfers t
                WHERE rule = 'transfers' AND t.uid = ANY (uids) AND t.ended_at IS NULL
                UNION ALL SELECT r.transfer, r.organization, r.created_at FROM transfer.receipts r
                WHERE rule = 'receipts' AND r.transfer = ANY (uids) AND r.kind = 'delivered' AND r.body IS NOT NULL
            ) g JOIN transfer.adminunits a ON a.organization = g.organization
            WHERE transfer.kept_until(a, rule, g.created_at) > at
        ) x GROUP BY x.organization, x.until ORDER BY x.organization, x.until
    LOOP
        INSERT INTO holds (uid, kind, subject, name, reason, until, created_at, organization)
        VALUES (gen_random_uuid(), 'retention', k.organization, 'Retention', 'The organization keeps it at least so long.', k.until, at,
            k.organization)
        ON CONFLICT (organization, until) WHERE kind = 'retention' DO NOTHING;
        PERFORM FROM holds h WHERE h.kind = 'retention' AND h.organization = k.organization AND h.until = k.until FOR KEY SHARE;
        INSERT INTO hold_scope (hold, kind, subject)
        SELECT h.uid, s.kind, s.uid FROM holds h, (
            SELECT 'transfer' AS kind, unnest(k.kept) AS uid
            UNION ALL SELECT 'delivery', d.uid FROM transfer.deliveries d WHERE rule = 'transfers' AND d.transfer = ANY (k.kept)
            UNION ALL SELECT 'reservation', t.reservation FROM transfer.transfers t WHERE rule = 'transfers' AND t.uid = ANY (k.kept)
        ) s WHERE h.kind = 'retention' AND h.organization = k.organization AND h.until = k.until
        ON CONFLICT DO NOTHING;
    END LOOP;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.keep_ended() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM transfer.adminunits a WHERE a.organization = NEW.limits_organization
            AND transfer.kept_until(a, 'transfers', NEW.created_at) > NEW.ended_at)
        AND NOT EXISTS (SELECT FROM hold_scope s JOIN holds h ON h.uid = s.hold AND h.kind = 'retention'
            WHERE s.subject = NEW.uid AND s.kind = 'transfer') THEN
        PERFORM transfer.keep('transfers', ARRAY[NEW.uid], NEW.ended_at);
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
