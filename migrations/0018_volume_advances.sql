-- +goose Up

-- A transaction keeps the row of a volume until its commit is flushed, and all people of an organization change the same two rows. So the
-- row of an organization without a limit counts bytes ahead. Each connection has an advance: it takes the bytes that it charges from there,
-- and puts back those that it refunds. A volume is its row less its advances, as the views say.
--
-- The row is never less than the volume. That makes two things safe without any agreement between servers:
-- a check of the row alone never passes a limit, whenever the limit was set and whatever others take from advances meanwhile;
-- and a server of the version before, which knows only the row, never finds less there than it gives back.
CREATE TABLE transfer.volume_advances (
    subject  uuid     NOT NULL, -- the organization
    month    date     NOT NULL, -- of transfer.volumes; -infinity: of transfer.stored_volumes
    slot     smallint NOT NULL, -- of a connection: the number of its process, modulo 32. Those that meet in one wait for each other
    held     bigint   NOT NULL DEFAULT 0,
    reserved bigint   NOT NULL DEFAULT 0,
    CONSTRAINT volume_advances_pkey PRIMARY KEY (subject, month, slot),
    CONSTRAINT volume_advances_not_negative CHECK (held >= 0 AND reserved >= 0)
);

CREATE VIEW transfer.volume_totals AS
SELECT v.subject, v.month, v.kind,
       greatest(v.held - coalesce((SELECT sum(a.held) FROM transfer.volume_advances a
           WHERE a.subject = v.subject AND a.month = v.month), 0)::bigint, 0) AS held,
       greatest(v.reserved - coalesce((SELECT sum(a.reserved) FROM transfer.volume_advances a
           WHERE a.subject = v.subject AND a.month = v.month), 0)::bigint, 0) AS reserved
FROM transfer.volumes v;

CREATE VIEW transfer.stored_totals AS
SELECT v.organization,
       greatest(v.bytes - coalesce((SELECT sum(a.held) FROM transfer.volume_advances a
           WHERE a.subject = v.organization AND a.month = '-infinity'), 0)::bigint, 0) AS bytes,
       greatest(v.reserved - coalesce((SELECT sum(a.reserved) FROM transfer.volume_advances a
           WHERE a.subject = v.organization AND a.month = '-infinity'), 0)::bigint, 0) AS reserved
FROM transfer.stored_volumes v;

-- Changes a volume, also a person's, by held and reserved bytes without a look at limits. Negative numbers give back; a row ends at 0.
-- Without subject or month it does nothing.
-- +goose StatementBegin
CREATE FUNCTION transfer.change_volume(whose uuid, during date, more bigint, ahead bigint) RETURNS void
LANGUAGE plpgsql STRICT
AS $$
BEGIN
    UPDATE transfer.volume_advances a SET held = a.held - more, reserved = a.reserved - ahead
    WHERE a.subject = whose AND a.month = during AND a.slot = pg_backend_pid() % 32 AND a.held >= more AND a.reserved >= ahead;
    IF FOUND THEN
        RETURN;
    END IF;
    IF during > '-infinity' THEN
        UPDATE transfer.volumes v SET held = greatest(v.held + more, 0), reserved = greatest(v.reserved + ahead, 0)
        WHERE v.subject = whose AND v.month = during;
        RETURN;
    END IF;
    UPDATE transfer.stored_volumes v SET bytes = greatest(v.bytes + more, 0), reserved = greatest(v.reserved + ahead, 0)
    WHERE v.organization = whose;
    IF NOT FOUND AND more > 0 THEN
        INSERT INTO transfer.stored_volumes AS v (organization, bytes) VALUES (whose, more)
        ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE SET bytes = v.bytes + excluded.bytes;
    END IF;
END
$$;
-- +goose StatementEnd

-- Ends the advances of a volume: the row counts what the volume is. Advances are locked before the row.
-- +goose StatementBegin
CREATE FUNCTION transfer.settle_volume(whose uuid, during date) RETURNS void
LANGUAGE plpgsql
AS $$
DECLARE
    unused record;
BEGIN
    PERFORM FROM transfer.volume_advances a WHERE a.subject = whose AND a.month = during ORDER BY a.slot FOR UPDATE;
    IF NOT FOUND THEN
        RETURN;
    END IF;
    WITH ended AS (
        DELETE FROM transfer.volume_advances a WHERE a.subject = whose AND a.month = during RETURNING a.held, a.reserved
    )
    SELECT coalesce(sum(held), 0)::bigint AS held, coalesce(sum(reserved), 0)::bigint AS reserved INTO unused FROM ended;
    IF during > '-infinity' THEN
        UPDATE transfer.volumes v SET held = greatest(v.held - unused.held, 0), reserved = greatest(v.reserved - unused.reserved, 0)
        WHERE v.subject = whose AND v.month = during;
    ELSE
        UPDATE transfer.stored_volumes v
        SET bytes = greatest(v.bytes - unused.held, 0), reserved = greatest(v.reserved - unused.reserved, 0)
        WHERE v.organization = whose;
    END IF;
END
$$;
-- +goose StatementEnd

-- Charges held and reserved bytes to a volume of an organization, where the needed bytes fit below its limit, and returns what the volume
-- was before; null: they do not fit. The limit decides who waits:
-- 0 or more: the advances end, and everybody waits for the row, whose check is exact.
-- Negative: there is none. The bytes come from the connection's advance. When it is short, the row fills it up to 256 MiB. The result has
-- no meaning.
-- Null: there is none, and the row is charged, whose lock the caller wants.
-- +goose StatementBegin
CREATE FUNCTION transfer.take_volume(whose uuid, during date, more bigint, ahead bigint, needed bigint, most bigint) RETURNS bigint
LANGUAGE plpgsql
AS $$
DECLARE
    filled CONSTANT bigint := 268435456;
    advance transfer.volume_advances;
    used bigint;
BEGIN
    IF most < 0 THEN
        LOOP
            UPDATE transfer.volume_advances a SET held = a.held - more, reserved = a.reserved - ahead
            WHERE a.subject = whose AND a.month = during AND a.slot = pg_backend_pid() % 32 AND a.held >= more AND a.reserved >= ahead;
            IF FOUND THEN
                RETURN 0;
            END IF;
            SELECT a.* INTO advance FROM transfer.volume_advances a
            WHERE a.subject = whose AND a.month = during AND a.slot = pg_backend_pid() % 32 FOR NO KEY UPDATE;
            EXIT WHEN FOUND;
            INSERT INTO transfer.volume_advances (subject, month, slot) VALUES (whose, during, pg_backend_pid() % 32)
            ON CONFLICT ON CONSTRAINT volume_advances_pkey DO NOTHING;
        END LOOP;
        UPDATE transfer.volume_advances a
        SET held = greatest(advance.held - more, filled), reserved = greatest(advance.reserved - ahead, filled)
        WHERE a.subject = whose AND a.month = during AND a.slot = advance.slot;
        more := greatest(filled - advance.held + more, 0); -- what the row counts beyond before
        ahead := greatest(filled - advance.reserved + ahead, 0);
    END IF;
    LOOP
        IF most >= 0 THEN
            PERFORM transfer.settle_volume(whose, during);
        END IF;
        IF during > '-infinity' THEN
            INSERT INTO transfer.volumes AS v (subject, month, kind, held, reserved)
            SELECT whose, during, 'organization', more, ahead WHERE coalesce(most, -1) < 0 OR needed <= most
            ON CONFLICT ON CONSTRAINT volumes_pkey DO UPDATE SET held = v.held + excluded.held, reserved = v.reserved + excluded.reserved
            WHERE coalesce(most, -1) < 0 OR v.held + v.reserved + needed <= most
            RETURNING v.held + v.reserved - more - ahead INTO used;
        ELSE
            INSERT INTO transfer.stored_volumes AS v (organization, bytes, reserved)
            SELECT whose, more, ahead WHERE coalesce(most, -1) < 0 OR needed <= most
            ON CONFLICT ON CONSTRAINT stored_volumes_pkey DO UPDATE
            SET bytes = v.bytes + excluded.bytes, reserved = v.reserved + excluded.reserved
            WHERE coalesce(most, -1) < 0 OR v.bytes + v.reserved + needed <= most
            RETURNING v.bytes + v.reserved - more - ahead INTO used;
        END IF;
        -- What was refused may be an advance that somebody who knew of no limit has just begun.
        EXIT WHEN used IS NOT NULL OR NOT EXISTS (
            SELECT FROM transfer.volume_advances a WHERE a.subject = whose AND a.month = during);
    END LOOP;
    RETURN used;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION hold_charge() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM transfer.change_volume(c.organization, '-infinity', CASE TG_OP WHEN 'INSERT' THEN c.bytes ELSE -c.bytes END, 0)
    FROM (SELECT organization, sum(bytes)::bigint AS bytes FROM changed WHERE organization IS NOT NULL
        GROUP BY organization ORDER BY organization) c;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
