-- +goose Up

-- Objects that are uploaded in parts at once. part_size: bytes of all parts but the last one; null: the object comes in one stream.
-- objects.held counts the bytes that are joined: their SHA-256 is computed, in order. Older versions take such an object for one
-- without bytes, and do not deliver it.
ALTER TABLE transfer.objects ADD COLUMN part_size bigint,
    ADD CONSTRAINT objects_part_size CHECK (part_size > 0);

-- What is held of a part. A row is made when a part begins, and deleted when the object is complete. A writer of a row holds at least a
-- key share lock of the object, so no row comes after the deletion of the object. Charges are those of the object.
CREATE TABLE transfer.object_parts (
    object         uuid        NOT NULL,
    number         integer     NOT NULL, -- from 1
    held           bigint      NOT NULL DEFAULT 0,
    writer_epoch   bigint      NOT NULL DEFAULT 0,
    lease_until    timestamptz,
    reserved       bigint      NOT NULL DEFAULT 0, -- volume set aside for the request that is writing
    reserved_month date,
    CONSTRAINT object_parts_pkey PRIMARY KEY (object, number),
    CONSTRAINT object_parts_number CHECK (number > 0),
    CONSTRAINT object_parts_held CHECK (held >= 0),
    CONSTRAINT object_parts_reserved_known CHECK (reserved >= 0 AND (reserved = 0 OR reserved_month IS NOT NULL))
);
CREATE INDEX object_parts_reserving ON transfer.object_parts (lease_until) WHERE reserved > 0;

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.delete_charges() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM transfer.object_charges c WHERE c.object = ANY (ARRAY(SELECT uid FROM gone)); -- by the index, whatever the statistics say
    DELETE FROM transfer.object_parts p WHERE p.object = ANY (ARRAY(SELECT uid FROM gone));
    RETURN NULL;
END
$$;
-- +goose StatementEnd
