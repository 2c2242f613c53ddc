-- +goose Up

-- Legal holds (contract 4.30). What the service deletes or erases of a held transfer, person or mailbox goes as ever, and triggers of this
-- file copy it here first: so no statement that erases can forget a hold, and no statement that reads can show what is gone. Stored bytes
-- stay where they are until the hold ends. The copies go with the hold, and the bytes with the next purge.
CREATE TABLE holds (
    uid        uuid        NOT NULL,
    kind       text        NOT NULL,
    subject    uuid        NOT NULL, -- the transfer, or the person, whose uid is the mailbox's, too
    name       text        NOT NULL, -- of the case
    reason     text        NOT NULL,
    until      timestamptz,          -- null: until it is ended
    created_at timestamptz NOT NULL,
    CONSTRAINT holds_pkey PRIMARY KEY (uid),
    CONSTRAINT holds_kind_known CHECK (kind IN ('transfer', 'person', 'mailbox'))
);
CREATE INDEX holds_subject ON holds (subject);
CREATE INDEX holds_until ON holds (until) WHERE until IS NOT NULL;

-- What a hold covers: found when it begins, and added to by what comes later. Rows stay when their subject is deleted: what is left of it
-- is found by them. The subject of an address is its MD5.
CREATE TABLE hold_scope (
    hold    uuid NOT NULL,
    kind    text NOT NULL,
    subject uuid NOT NULL,
    CONSTRAINT hold_scope_pkey PRIMARY KEY (subject, kind, hold),
    CONSTRAINT hold_scope_hold_fkey FOREIGN KEY (hold) REFERENCES holds (uid) ON DELETE CASCADE,
    CONSTRAINT hold_scope_kind_known CHECK (kind IN ('person', 'mailbox', 'address', 'transfer', 'delivery', 'reservation', 'request'))
);
CREATE INDEX hold_scope_of_hold ON hold_scope (hold);

-- Copies of rows as they were before they were deleted or erased, without secrets.
CREATE TABLE hold_rows (
    id     bigint      GENERATED ALWAYS AS IDENTITY,
    hold   uuid        NOT NULL,
    source text        NOT NULL, -- the table
    at     timestamptz NOT NULL,
    data   jsonb       NOT NULL,
    CONSTRAINT hold_rows_pkey PRIMARY KEY (id),
    CONSTRAINT hold_rows_hold_fkey FOREIGN KEY (hold) REFERENCES holds (uid) ON DELETE CASCADE
);
CREATE INDEX hold_rows_of_hold ON hold_rows (hold, id);

-- Stored bytes whose object is deleted: the purge passes them over.
CREATE TABLE hold_contents (
    hold    uuid NOT NULL,
    content uuid NOT NULL,
    CONSTRAINT hold_contents_pkey PRIMARY KEY (content, hold),
    CONSTRAINT hold_contents_hold_fkey FOREIGN KEY (hold) REFERENCES holds (uid) ON DELETE CASCADE
);
CREATE INDEX hold_contents_of_hold ON hold_contents (hold);

-- Adds transfers and open reservations to the holds of their persons and mailboxes, with all deliveries. It waits for who is erasing them.
-- +goose StatementBegin
CREATE FUNCTION hold_cover(transfers uuid[], reservations uuid[]) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO hold_scope (hold, kind, subject)
    SELECT DISTINCT h.hold, x.kind, x.uid
    FROM transfer.transfers t
    CROSS JOIN LATERAL (
        SELECT h.uid AS hold FROM holds h
        WHERE h.kind = 'person' AND (h.subject = t.owner OR h.subject = t.sender
                OR EXISTS (SELECT FROM transfer.deliveries d WHERE d.transfer = t.uid AND d.person = h.subject))
            OR h.kind = 'mailbox' AND t.type = 'mailbox' AND h.subject = t.owner
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
        ON h.kind = 'person' AND h.subject IN (r.owner, r.creator, r.sender)
            OR h.kind = 'mailbox' AND r.type = 'mailbox' AND h.subject = r.owner
    WHERE r.uid = ANY (reservations)
    ON CONFLICT DO NOTHING;
END
$$;
-- +goose StatementEnd

-- Begins a hold: locks what it is of and finds what it covers. It waits for who is erasing that. False: there is no such thing.
-- +goose StatementBegin
CREATE FUNCTION hold_begin(begun uuid) RETURNS boolean
LANGUAGE plpgsql
AS $$
DECLARE
    h holds := (SELECT x FROM holds x WHERE x.uid = begun);
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
    INSERT INTO hold_scope (hold, kind, subject) VALUES (h.uid, h.kind, h.subject);
    IF h.kind = 'transfer' THEN
        t := ARRAY[h.subject];
    ELSE
        t := ARRAY(SELECT x.uid FROM transfer.transfers x WHERE x.owner = h.subject AND x.type = 'mailbox');
        r := ARRAY(SELECT x.uid FROM transfer.reservations x WHERE x.owner = h.subject AND x.state = 'open');
    END IF;
    IF h.kind = 'person' THEN
        INSERT INTO hold_scope (hold, kind, subject)
        SELECT h.uid, 'mailbox', h.subject
        UNION SELECT h.uid, 'address', md5(a.address)::uuid FROM identity.addresses a WHERE a.person = h.subject
        UNION SELECT h.uid, 'request', q.uid FROM transfer.requests q WHERE q.owner = h.subject;
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

-- Adds what comes later. The argument is the column of the transfer or reservation.
-- +goose StatementBegin
CREATE FUNCTION hold_grow() RETURNS trigger
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
        WHERE q.uid = ANY (uids);
    ELSIF TG_TABLE_NAME = 'reservations' THEN
        PERFORM hold_cover('{}', uids);
    ELSE
        PERFORM hold_cover(uids, '{}');
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER transfers_held_later AFTER INSERT ON transfer.transfers
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hold_grow('uid');
CREATE TRIGGER deliveries_held_later AFTER INSERT ON transfer.deliveries
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hold_grow('transfer');
CREATE TRIGGER reservations_held_later AFTER INSERT ON transfer.reservations
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hold_grow('uid');
CREATE TRIGGER requests_held_later AFTER INSERT ON transfer.requests
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hold_grow('uid');

-- A row without secrets: hashes of passwords, keys and codes, and the state of an unfinished sum.
-- +goose StatementBegin
CREATE FUNCTION hold_copy(kept anyelement) RETURNS jsonb
LANGUAGE sql STABLE
AS $$
    SELECT jsonb_object_agg(c.key, c.value) FROM jsonb_each(to_jsonb(kept)) c
    WHERE c.key !~ '_hash$' AND c.key NOT IN ('sha_state', 'secret')
$$;
-- +goose StatementEnd

-- Copies deleted rows. Arguments: a kind of hold_scope, and the column that holds its subject. It also keeps the bytes of deleted objects.
-- +goose StatementBegin
CREATE FUNCTION hold_deleted() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM holds) THEN
        RETURN NULL;
    END IF;
    EXECUTE format('INSERT INTO hold_rows (hold, source, at, data) SELECT s.hold, %L, now(), hold_copy(g) FROM gone g
        JOIN hold_scope s ON s.subject = g.%I AND s.kind = %L',
        TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, TG_ARGV[1], TG_ARGV[0]);
    IF TG_TABLE_NAME = 'objects' THEN
        INSERT INTO hold_contents (hold, content)
        SELECT s.hold, coalesce((to_jsonb(g) ->> 'content')::uuid, (to_jsonb(g) ->> 'uid')::uuid)
        FROM gone g JOIN hold_scope s ON s.subject = (to_jsonb(g) ->> 'reservation')::uuid AND s.kind = 'reservation'
        ON CONFLICT DO NOTHING;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- Copies a row as it was before a statement erased a part of it.
-- +goose StatementBegin
CREATE FUNCTION hold_erased() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO hold_rows (hold, source, at, data)
    SELECT s.hold, TG_TABLE_SCHEMA || '.' || TG_TABLE_NAME, now(), hold_copy(OLD)
    FROM hold_scope s WHERE s.subject = (to_jsonb(OLD) ->> TG_ARGV[1])::uuid AND s.kind = TG_ARGV[0];
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE TRIGGER persons_held_deleted AFTER DELETE ON identity.persons
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('person', 'uid');
CREATE TRIGGER persons_held_erased AFTER UPDATE ON identity.persons
    FOR EACH ROW WHEN (OLD.deleted_at IS NULL AND NEW.deleted_at IS NOT NULL) EXECUTE FUNCTION hold_erased('person', 'uid');
CREATE TRIGGER addresses_held_deleted AFTER DELETE ON identity.addresses
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('person', 'person');
CREATE TRIGGER memberships_held_deleted AFTER DELETE ON identity.memberships
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('person', 'person');
CREATE TRIGGER avatars_held_deleted AFTER DELETE ON identity.avatars
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('person', 'person');
CREATE TRIGGER mailboxes_held_deleted AFTER DELETE ON transfer.mailboxes
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('mailbox', 'person');
CREATE TRIGGER mailbox_pictures_held_deleted AFTER DELETE ON transfer.mailbox_pictures
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('mailbox', 'mailbox');
CREATE TRIGGER vanity_links_held_erased AFTER UPDATE ON transfer.vanity_links
    FOR EACH ROW WHEN (OLD.mailbox IS NOT NULL AND NEW.mailbox IS NULL) EXECUTE FUNCTION hold_erased('mailbox', 'mailbox');
CREATE TRIGGER reservations_held_deleted AFTER DELETE ON transfer.reservations
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('reservation', 'uid');
CREATE TRIGGER reservations_held_erased AFTER UPDATE ON transfer.reservations
    FOR EACH ROW WHEN (OLD.subject IS DISTINCT FROM NEW.subject OR OLD.message IS DISTINCT FROM NEW.message
        OR OLD.fields::text IS DISTINCT FROM NEW.fields::text) EXECUTE FUNCTION hold_erased('reservation', 'uid');
CREATE TRIGGER reservation_recipients_held_deleted AFTER DELETE ON transfer.reservation_recipients
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('reservation', 'reservation');
CREATE TRIGGER objects_held_deleted AFTER DELETE ON transfer.objects
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('reservation', 'reservation');
CREATE TRIGGER transfers_held_deleted AFTER DELETE ON transfer.transfers
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('transfer', 'uid');
CREATE TRIGGER transfers_held_erased AFTER UPDATE ON transfer.transfers
    FOR EACH ROW WHEN (OLD.ended_at IS DISTINCT FROM NEW.ended_at OR OLD.sender IS DISTINCT FROM NEW.sender
        OR OLD.subject IS DISTINCT FROM NEW.subject OR OLD.message IS DISTINCT FROM NEW.message)
    EXECUTE FUNCTION hold_erased('transfer', 'uid');
CREATE TRIGGER deliveries_held_deleted AFTER DELETE ON transfer.deliveries
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('transfer', 'transfer');
CREATE TRIGGER deliveries_held_erased AFTER UPDATE ON transfer.deliveries
    FOR EACH ROW WHEN (OLD.notes IS DISTINCT FROM NEW.notes OR OLD.accessed_from IS NOT NULL AND NEW.accessed_from IS NULL)
    EXECUTE FUNCTION hold_erased('transfer', 'transfer');
CREATE TRIGGER downloads_held_deleted AFTER DELETE ON transfer.downloads
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('transfer', 'transfer');
CREATE TRIGGER downloads_held_erased AFTER UPDATE ON transfer.downloads
    FOR EACH ROW WHEN (OLD.addresses <> '{}' AND NEW.addresses = '{}') EXECUTE FUNCTION hold_erased('transfer', 'transfer');
CREATE TRIGGER receipts_held_erased AFTER UPDATE ON transfer.receipts
    FOR EACH ROW WHEN (OLD.body IS NOT NULL AND NEW.body IS NULL) EXECUTE FUNCTION hold_erased('transfer', 'transfer');
CREATE TRIGGER receipt_parts_held_deleted AFTER DELETE ON transfer.receipt_parts
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('transfer', 'transfer');
CREATE TRIGGER requests_held_deleted AFTER DELETE ON transfer.requests
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('request', 'uid');
CREATE TRIGGER request_items_held_deleted AFTER DELETE ON transfer.request_items
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('request', 'request');
CREATE TRIGGER request_parties_held_deleted AFTER DELETE ON transfer.request_parties
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_deleted('request', 'request');

-- Mails name a person, transfer or delivery by the end of their reference, and go to an address.
-- +goose StatementBegin
CREATE FUNCTION hold_mails() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM holds) THEN
        INSERT INTO hold_rows (hold, source, at, data)
        SELECT s.hold, 'public.mails', now(), g.data FROM (
            SELECT DISTINCT s.hold, x.uid FROM gone x JOIN hold_scope s
                ON s.subject = substring(x.reference FROM '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid
                    OR s.subject = md5(lower(x.recipient))::uuid AND s.kind = 'address'
        ) s JOIN (SELECT uid, hold_copy(m) AS data FROM gone m) g ON g.uid = s.uid;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER mails_held_deleted AFTER DELETE ON mails REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_mails();

-- Copies entries of the audit that are about to be deleted: rows by a trigger, and those of a month whose table is dropped by a call.
-- +goose StatementBegin
CREATE FUNCTION hold_audit(since timestamptz, before timestamptz) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM holds) THEN
        INSERT INTO hold_rows (hold, source, at, data)
        SELECT s.hold, 'public.audit', now(), to_jsonb(a) FROM audit a CROSS JOIN LATERAL (
            SELECT DISTINCT x.hold FROM hold_scope x WHERE x.subject IN (a.actor, a.target)
                OR x.subject = substring(a.object FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid
        ) s WHERE a.at >= since AND a.at < before;
    END IF;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION hold_entries() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM holds) THEN
        INSERT INTO hold_rows (hold, source, at, data)
        SELECT s.hold, 'public.audit', now(), to_jsonb(a) FROM gone a CROSS JOIN LATERAL (
            SELECT DISTINCT x.hold FROM hold_scope x WHERE x.subject IN (a.actor, a.target)
                OR x.subject = substring(a.object FROM '^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$')::uuid
        ) s;
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER audit_held_deleted AFTER DELETE ON audit REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_entries();
