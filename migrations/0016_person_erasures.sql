-- +goose Up

-- Certificates of erasure of accounts (contract 4.32). The deletion of an account begins a row. The job that erases its data adds what it
-- has erased, in the same transactions. The statement follows when no stored byte and no copy of a hold is left.
CREATE TABLE transfer.person_erasures (
    person      uuid        NOT NULL,
    reason      text        NOT NULL, -- who deleted the account
    deleted_at  timestamptz NOT NULL,
    key_hash    bytea       NOT NULL, -- SHA-256 of the key in the link that the person is mailed
    mailboxes   bigint      NOT NULL,
    requests    bigint      NOT NULL,
    received    bigint      NOT NULL DEFAULT 0, -- transfers that left the account
    files       bigint      NOT NULL DEFAULT 0, -- stored ones that nobody else had
    sent        bigint      NOT NULL DEFAULT 0, -- transfers that lost the account as their sender
    receipts    bigint      NOT NULL DEFAULT 0,
    finished_at timestamptz,                    -- when all rows were erased; null: not yet
    entry       bytea,                          -- SHA-256 of the statement; null: nothing is stated yet
    body        bytea,
    CONSTRAINT person_erasures_pkey PRIMARY KEY (person),
    CONSTRAINT person_erasures_key_hash_key UNIQUE (key_hash),
    CONSTRAINT person_erasures_reason_known CHECK (reason IN ('person', 'operator')),
    CONSTRAINT person_erasures_stated_once CHECK (num_nulls(entry, body) <> 1 AND (entry IS NULL OR finished_at IS NOT NULL))
);
CREATE INDEX person_erasures_due ON transfer.person_erasures (person) WHERE entry IS NULL AND finished_at IS NOT NULL;

-- Transfers and open reservations of deleted accounts that a hold keeps. The certificate waits for the hold's end.
CREATE TABLE transfer.held_erasures (
    person  uuid NOT NULL,
    subject uuid NOT NULL,
    CONSTRAINT held_erasures_pkey PRIMARY KEY (person, subject),
    CONSTRAINT held_erasures_person_fkey FOREIGN KEY (person) REFERENCES transfer.person_erasures (person) ON DELETE CASCADE
);
