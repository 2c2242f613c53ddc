-- +goose Up

-- Objects that are stored encrypted (contract 4.24): the key of each, sealed, and where its bytes lie. Without the row the bytes are erased.
-- There is no foreign key: a row is deleted with the bytes, which outlive the row of the object.
CREATE TABLE transfer.sealed_objects (
    object  uuid   NOT NULL,
    key     bytea  NOT NULL, -- sealed
    layout  bytea  NOT NULL, -- runs of segments
    version bigint NOT NULL, -- how often it was saved
    CONSTRAINT sealed_objects_pkey PRIMARY KEY (object)
);
