-- +goose Up

-- Holds by administrators (contract 4.30). They cover what belongs to the organization: transfers that use its limits, what was sent to its
-- members while they were members, their requests since then, and the accounts and mailboxes of present members. There is no foreign key: a
-- deleted organization's holds end by a job.
ALTER TABLE holds
    ADD COLUMN organization uuid,                           -- of the administrators; null: an operator's
    ADD COLUMN notice       boolean NOT NULL DEFAULT false; -- the people concerned see that it is kept
CREATE INDEX holds_of_organization ON holds (organization, created_at) WHERE organization IS NOT NULL;

-- Bytes that an organization keeps are charged to it, once for each hold.
ALTER TABLE hold_contents
    ADD COLUMN organization uuid,
    ADD COLUMN bytes        bigint NOT NULL DEFAULT 0;

-- Whether a transfer belongs to the organization of a hold: it uses its limits, or was sent to a member.
-- +goose StatementBegin
CREATE FUNCTION hold_owns(h holds, t transfer.transfers) RETURNS boolean
LANGUAGE sql STABLE
AS $$
    SELECT h.organization IS NULL OR t.limits_organization = h.organization OR EXISTS (
        SELECT FROM transfer.deliveries d JOIN identity.memberships m ON m.person = d.person AND m.created_at <= d.created_at
        WHERE d.transfer = t.uid AND m.organization = h.organization AND (h.kind = 'transfer' OR d.person = h.subject))
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION hold_cover(transfers uuid[], reservations uuid[]) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO hold_scope (hold, kind, subject)
    SELECT DISTINCT h.hold, x.kind, x.uid
    FROM transfer.transfers t
    CROSS JOIN LATERAL (
        SELECT h.uid AS hold FROM holds h
        WHERE (h.kind = 'person' AND (h.subject = t.owner OR h.subject = t.sender
                OR EXISTS (SELECT FROM transfer.deliveries d WHERE d.transfer = t.uid AND d.person = h.subject))
            OR h.kind = 'mailbox' AND t.type = 'mailbox' AND h.subject = t.owner) AND hold_owns(h, t)
        UNION SELECT s.hold FROM hold_scope s WHERE s.subject = t.uid AND s.kind = 'transfer'
        UNION SELECT s.hold FROM hold_scope s WHERE s.subject = t.reservation AND s.kind = 'reservation'
    ) h
    CROSS JOIN LATERAL (
        SELECT 'transfer' AS kind, t.uid UNION ALL SELECT 'reservation', t.reservation
        UNION ALL SELECT 'delivery', d.uid FROM transfer.deliveries d WHERE d.transfer = t.uid
    ) x
    WHERE t.uid = ANY (transfers)
    ON CONFLICT DO NOTHING;
    INSERT INTO hold_scope (hold, kind, subject)
    SELECT h.uid, 'reservation', r.uid FROM transfer.reservations r JOIN holds h
        ON (h.kind = 'person' AND h.subject IN (r.owner, r.creator, r.sender)
            OR h.kind = 'mailbox' AND r.type = 'mailbox' AND h.subject = r.owner)
        AND (h.organization IS NULL OR h.organization = r.limits_organization)
    WHERE r.uid = ANY (reservations)
    ON CONFLICT DO NOTHING;
END
$$;
-- +goose StatementEnd

-- What a hold covers of the account itself.
-- +goose StatementBegin
CREATE FUNCTION hold_account(h holds) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO hold_scope (hold, kind, subject)
    SELECT h.uid, h.kind, h.subject
    UNION SELECT h.uid, 'mailbox', h.subject WHERE h.kind = 'person'
    UNION SELECT h.uid, 'address', md5(a.address)::uuid FROM identity.addresses a WHERE a.person = h.subject AND h.kind = 'person'
    ON CONFLICT DO NOTHING
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION hold_begin(begun uuid) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    h holds := (SELECT x FROM holds x WHERE x.uid = begun);
    since timestamptz;
    t uuid[];
    r uuid[];
BEGIN
    IF h.kind = 'transfer' THEN
        PERFORM FROM transfer.transfers x WHERE x.uid = h.subject FOR UPDATE;
    ELSIF h.kind = 'person' THEN
        PERFORM FROM identity.persons x WHERE x.uid = h.subject AND x.deleted_at IS NULL FOR UPDATE;
    ELSE
        PERFORM FROM transfer.mailboxes x WHERE x.person = h.subject FOR UPDATE;
    END IF;
    IF NOT FOUND THEN
        RETURN false;
    END IF;
    IF h.kind = 'transfer' THEN
        IF NOT (SELECT hold_owns(h, x) FROM transfer.transfers x WHERE x.uid = h.subject) THEN
            RETURN false;
        END IF;
        t := ARRAY[h.subject];
    ELSE
        IF h.organization IS NOT NULL THEN
            SELECT m.created_at INTO since FROM identity.memberships m WHERE m.person = h.subject AND m.organization = h.organization
            FOR SHARE;
            IF NOT FOUND THEN
                RETURN false;
            END IF;
        END IF;
        t := ARRAY(SELECT x.uid FROM transfer.transfers x WHERE x.owner = h.subject AND x.type = 'mailbox');
        r := ARRAY(SELECT x.uid FROM transfer.reservations x WHERE x.owner = h.subject AND x.state = 'open');
    END IF;
    PERFORM hold_account(h);
    IF h.kind = 'person' THEN
        INSERT INTO hold_scope (hold, kind, subject)
        SELECT h.uid, 'request', q.uid FROM transfer.requests q WHERE q.owner = h.subject AND (since IS NULL OR q.created_at >= since);
        t := t || ARRAY(SELECT x.uid FROM transfer.transfers x WHERE x.sender = h.subject
            UNION SELECT d.transfer FROM transfer.deliveries d WHERE d.person = h.subject);
        r := r || ARRAY(SELECT x.uid FROM transfer.reservations x WHERE x.state = 'open' AND h.subject IN (x.creator, x.sender));
    END IF;
    PERFORM FROM transfer.transfers x WHERE x.uid = ANY (t) ORDER BY x.uid FOR SHARE;
    PERFORM FROM transfer.reservations x WHERE x.uid = ANY (r) ORDER BY x.uid FOR SHARE;
    PERFORM hold_cover(t, r);
    RETURN true;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION hold_grow() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    uids uuid[];
BEGIN
    IF NOT EXISTS (SELECT FROM holds) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT array_agg(DISTINCT %I) FROM added', TG_ARGV[0]) INTO uids;
    IF TG_TABLE_NAME = 'requests' THEN
        INSERT INTO hold_scope (hold, kind, subject)
        SELECT h.uid, 'request', q.uid FROM transfer.requests q JOIN holds h ON h.kind = 'person' AND h.subject = q.owner
        WHERE q.uid = ANY (uids) AND (h.organization IS NULL OR EXISTS (
            SELECT FROM identity.memberships m WHERE m.person = q.owner AND m.organization = h.organization));
    ELSIF TG_TABLE_NAME = 'reservations' THEN
        PERFORM hold_cover('{}', uids);
    ELSE
        PERFORM hold_cover(uids, '{}');
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- A member who leaves takes the account along: what is deleted of it later is not the organization's. What it sent and received stays
-- held. A deleted account leaves its membership in the transaction that deletes it, so this looks at the end.
-- +goose StatementBegin
CREATE FUNCTION hold_parted() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM identity.persons p WHERE p.uid = OLD.person AND p.deleted_at IS NULL) THEN
        DELETE FROM hold_scope s USING holds h
        WHERE h.organization = OLD.organization AND h.subject = OLD.person AND s.hold = h.uid AND s.kind IN ('person', 'mailbox', 'address')
            AND NOT EXISTS (SELECT FROM identity.memberships m WHERE m.person = h.subject AND m.organization = h.organization);
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE CONSTRAINT TRIGGER memberships_hold_parted AFTER DELETE ON identity.memberships DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION hold_parted();

-- +goose StatementBegin
CREATE FUNCTION hold_returned() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM hold_account(h) FROM holds h WHERE h.organization = NEW.organization AND h.subject = NEW.person AND h.kind <> 'transfer';
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER memberships_hold_returned AFTER INSERT ON identity.memberships FOR EACH ROW EXECUTE FUNCTION hold_returned();

-- +goose StatementBegin
CREATE FUNCTION hold_measure() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    NEW.organization := (SELECT h.organization FROM holds h WHERE h.uid = NEW.hold);
    IF NEW.organization IS NOT NULL THEN
        NEW.bytes := (SELECT coalesce(sum(g.held), 0) FROM transfer.segments g WHERE g.object = NEW.content);
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER hold_contents_measured BEFORE INSERT ON hold_contents FOR EACH ROW EXECUTE FUNCTION hold_measure();

-- +goose StatementBegin
CREATE FUNCTION hold_charge() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO transfer.stored_volumes AS v (organization, bytes)
        SELECT c.organization, sum(c.bytes) FROM changed c WHERE c.organization IS NOT NULL GROUP BY c.organization ORDER BY c.organization
        ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes;
    ELSE
        UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes - c.bytes, 0)
        FROM (SELECT organization, sum(bytes) AS bytes FROM changed WHERE organization IS NOT NULL GROUP BY organization) c
        WHERE v.organization = c.organization;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER hold_contents_charged AFTER INSERT ON hold_contents
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hold_charge();
CREATE TRIGGER hold_contents_refunded AFTER DELETE ON hold_contents
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION hold_charge();
