-- +goose Up

-- What holds left out (contract 4.30): the states of items of parties, and the bytes of files that are deleted because they are infected.

-- A party or an item takes the states with it, so they are copied before. A row has no request: its party names it.
-- +goose StatementBegin
CREATE FUNCTION hold_party() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO hold_rows (hold, source, at, data)
    SELECT s.hold, 'transfer.party_items', now(), hold_copy(x) FROM transfer.party_items x JOIN hold_scope s
        ON s.subject = OLD.request AND s.kind = 'request'
    WHERE x.party = OLD.uid;
    RETURN OLD;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER request_parties_held_before BEFORE DELETE ON transfer.request_parties FOR EACH ROW EXECUTE FUNCTION hold_party();

-- Of a party that is deleted they are copied already, and the party is gone.
-- +goose StatementBegin
CREATE FUNCTION hold_party_items() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF EXISTS (SELECT FROM holds) THEN
        INSERT INTO hold_rows (hold, source, at, data)
        SELECT s.hold, 'transfer.party_items', now(), hold_copy(g) FROM gone g JOIN transfer.request_parties p ON p.uid = g.party
            JOIN hold_scope s ON s.subject = p.request AND s.kind = 'request';
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER party_items_held_deleted AFTER DELETE ON transfer.party_items
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION hold_party_items();

-- The bytes of an infected file go while its object stays.
-- +goose StatementBegin
CREATE FUNCTION hold_infected() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    INSERT INTO hold_contents (hold, content)
    SELECT s.hold, NEW.content FROM transfer.objects o JOIN hold_scope s ON s.subject = o.reservation AND s.kind = 'reservation'
    WHERE o.uid = NEW.content OR o.content = NEW.content
    ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER inspections_held_infected AFTER UPDATE ON transfer.inspections
    FOR EACH ROW WHEN (OLD.removed_at IS NULL AND NEW.removed_at IS NOT NULL) EXECUTE FUNCTION hold_infected();

-- A hold that begins waits for who deletes infected bytes of what it covers. Later nobody deletes them before it is known.
-- +goose StatementBegin
CREATE FUNCTION hold_waits() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM FROM transfer.inspections i WHERE i.state = 'infected' AND i.removed_at IS NULL AND i.content IN (
        SELECT coalesce(o.content, o.uid) FROM added a JOIN transfer.objects o ON o.reservation = a.subject WHERE a.kind = 'reservation')
    ORDER BY i.content FOR SHARE;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER hold_scope_waits AFTER INSERT ON hold_scope
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION hold_waits();
