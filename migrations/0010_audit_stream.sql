-- +goose Up

-- The stream of the audit to a syslog server or a file (contract 3.20). Entries get their place in a chain of hashes when they are sent,
-- not when they are written: so writers wait for no lock of the chain.

-- The head of the chain. The row exists once a server was told to stream.
CREATE TABLE audit_stream (
    one          boolean     NOT NULL DEFAULT true,
    active       boolean     NOT NULL,
    sequence     bigint      NOT NULL DEFAULT 0,  -- of the last entry that has a place
    hash         bytea       NOT NULL,            -- of that entry
    sent         bigint      NOT NULL DEFAULT 0,  -- sequence of the last entry that the receiver has
    sent_hash    bytea       NOT NULL,
    leader       uuid,                            -- the server that sends
    leased_until timestamptz,
    trouble      text        NOT NULL DEFAULT '', -- why the last try failed
    CONSTRAINT audit_stream_pkey PRIMARY KEY (one),
    CONSTRAINT audit_stream_one CHECK (one),
    CONSTRAINT audit_stream_sent_check CHECK (sent <= sequence),
    CONSTRAINT audit_stream_hash_check CHECK (octet_length(hash) = 32 AND octet_length(sent_hash) = 32)
);

-- Entries that wait for their place. They are written with the entry.
CREATE TABLE audit_pending (
    id bigint      NOT NULL,
    at timestamptz NOT NULL,
    CONSTRAINT audit_pending_pkey PRIMARY KEY (id)
);

-- Entries that have their place, as they are sent, until the receiver has them: one batch. A repeated try sends the same bytes.
CREATE TABLE audit_outbox (
    sequence bigint      NOT NULL,
    at       timestamptz NOT NULL,
    action   text        NOT NULL,
    line     text        NOT NULL,
    CONSTRAINT audit_outbox_pkey PRIMARY KEY (sequence)
);
