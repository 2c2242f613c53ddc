-- +goose Up

-- Rules of organizations about how long things stay (contract 4.32). Days in JSON: {"transfers": {"least": 30, "most": 365}, …}.
-- Null: none. A change can be undone for 7 days, so it erases nothing that was there before it (retention_at) in that time.
ALTER TABLE transfer.adminunits
    ADD COLUMN retention    jsonb,
    ADD COLUMN retention_at timestamptz; -- of the last change of the rules

ALTER TABLE transfer.transfers
    ADD COLUMN erase_by   timestamptz, -- by the most of its organization; null: no rule
    ADD COLUMN cut_expiry timestamptz; -- the expiry that a rule has cut, and that comes back when the rule goes; null: none is cut
ALTER TABLE transfer.receipts ADD COLUMN organization uuid;      -- whose limits the transfer used; null: older than this column
ALTER TABLE mails ADD COLUMN organization uuid;                  -- the same, of mails about a transfer
ALTER TABLE transfer.erasing ADD COLUMN reason text;             -- why; null: written by an older version

-- A number of days in a rule; null without one.
-- +goose StatementBegin
CREATE FUNCTION transfer.rule(retention jsonb, kind text, bound text) RETURNS interval
LANGUAGE sql IMMUTABLE
AS $$ SELECT make_interval(hours => 24 * (retention #>> ARRAY[kind, bound])::integer) $$;
-- +goose StatementEnd

-- A trigger, so that no statement that sets an expiry forgets the most of an organization: not of pins, extensions and operators, and not
-- of older versions.
-- +goose StatementBegin
CREATE FUNCTION transfer.retain() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    wanted timestamptz := NEW.expires_at;
BEGIN
    IF TG_OP = 'UPDATE' AND NEW.expires_at = OLD.expires_at THEN
        wanted := coalesce(OLD.cut_expiry, wanted);
    END IF;
    NEW.erase_by := (
        SELECT CASE WHEN NEW.created_at < a.retention_at
            THEN greatest(NEW.created_at + transfer.rule(a.retention, 'transfers', 'most'), a.retention_at + interval '168 hours')
            ELSE NEW.created_at + transfer.rule(a.retention, 'transfers', 'most') END
        FROM transfer.adminunits a
        WHERE a.organization = NEW.limits_organization AND transfer.rule(a.retention, 'transfers', 'most') IS NOT NULL);
    NEW.expires_at := least(wanted, NEW.erase_by);
    NEW.cut_expiry := CASE WHEN NEW.expires_at < wanted THEN wanted END;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER transfers_retained BEFORE INSERT OR UPDATE OF expires_at ON transfer.transfers
    FOR EACH ROW EXECUTE FUNCTION transfer.retain();

-- +goose StatementBegin
CREATE FUNCTION transfer.receipt_organization() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.organization := (SELECT t.limits_organization FROM transfer.transfers t WHERE t.uid = NEW.transfer);
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER receipts_of_organization BEFORE INSERT ON transfer.receipts
    FOR EACH ROW WHEN (NEW.kind = 'delivered') EXECUTE FUNCTION transfer.receipt_organization();

-- +goose StatementBegin
CREATE FUNCTION transfer.mail_organization() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    about uuid := substring(NEW.reference FROM '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid;
BEGIN
    IF NEW.reference LIKE 'delivery:%' THEN
        about := (SELECT d.transfer FROM transfer.deliveries d WHERE d.uid = about);
    END IF;
    NEW.organization := (SELECT t.limits_organization FROM transfer.transfers t WHERE t.uid = about);
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER mails_of_organization BEFORE INSERT ON mails
    FOR EACH ROW WHEN (NEW.reference LIKE 'transfer:%' OR NEW.reference LIKE 'delivery:%') EXECUTE FUNCTION transfer.mail_organization();

-- What ends before the least of its organization is kept as by a hold: one of the organization for each day on which such holds end.
ALTER TABLE holds DROP CONSTRAINT holds_kind_known;
ALTER TABLE holds ADD CONSTRAINT holds_kind_known CHECK (kind IN ('transfer', 'person', 'mailbox', 'retention'));
CREATE UNIQUE INDEX holds_of_retention ON holds (organization, until) WHERE kind = 'retention';

-- Keeps those of the transfers, or receipts of transfers, whose least is not over. Call it before they are erased.
-- +goose StatementBegin
CREATE FUNCTION transfer.keep(rule text, uids uuid[], at timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    k record;
BEGIN
    FOR k IN
        SELECT x.organization, x.until, array_agg(x.uid) AS kept
        FROM (
            SELECT g.uid, g.organization, date_trunc('day', g.created_at + transfer.rule(a.retention, rule, 'least'), 'UTC')
                + interval '24 hours' AS until
            FROM (
                SELECT t.uid, t.limits_organization AS organization, t.created_at FROM transfer.transfers t
                WHERE rule = 'transfers' AND t.uid = ANY (uids) AND t.ended_at IS NULL
                UNION ALL SELECT r.transfer, r.organization, r.created_at FROM transfer.receipts r
                WHERE rule = 'receipts' AND r.transfer = ANY (uids) AND r.kind = 'delivered' AND r.body IS NOT NULL
            ) g JOIN transfer.adminunits a ON a.organization = g.organization
            WHERE g.created_at + transfer.rule(a.retention, rule, 'least') > at
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
