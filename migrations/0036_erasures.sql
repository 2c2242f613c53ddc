-- +goose Up
-- Ended transfers whose certificate of erasure waits until their stored bytes are deleted.
CREATE TABLE transfer.erasures (
    transfer    uuid NOT NULL,
    reservation uuid NOT NULL,
    CONSTRAINT erasures_pkey PRIMARY KEY (transfer)
);
