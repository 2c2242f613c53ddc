-- +goose Up

-- The transparency log (package translog). Receipts of transfers are its entries.
CREATE SCHEMA log;

-- One log after another. A log is closed only by an operator, after a restore (docs/use/receipts.md).
CREATE TABLE log.logs (
    id           integer     GENERATED ALWAYS AS IDENTITY,
    origin       text        NOT NULL,
    created_at   timestamptz NOT NULL,
    closed_at    timestamptz,
    size         bigint      NOT NULL DEFAULT 0,
    root         bytea       NOT NULL,
    published    bigint      NOT NULL DEFAULT -1, -- size of the last published checkpoint; -1: none
    generation   bigint      NOT NULL DEFAULT 0,  -- counts the marks in the storage
    leader       uuid,                            -- the server that appends
    leased_until timestamptz,
    CONSTRAINT logs_pkey PRIMARY KEY (id),
    CONSTRAINT logs_origin_key UNIQUE (origin),
    CONSTRAINT logs_published_check CHECK (published <= size)
);
CREATE UNIQUE INDEX logs_one_open ON log.logs ((true)) WHERE closed_at IS NULL;

CREATE TABLE log.keys (
    id          integer     GENERATED ALWAYS AS IDENTITY,
    log         integer     NOT NULL,
    public_key  bytea       NOT NULL,
    private_key bytea,                  -- sealed; null: signs no more
    created_at  timestamptz NOT NULL,
    signs_until timestamptz,            -- null: not replaced yet
    revoked_at  timestamptz,
    CONSTRAINT log_keys_pkey PRIMARY KEY (id),
    CONSTRAINT log_keys_public_key UNIQUE (public_key),
    CONSTRAINT log_keys_log FOREIGN KEY (log) REFERENCES log.logs (id),
    CONSTRAINT log_keys_revoked_check CHECK (revoked_at IS NULL OR private_key IS NULL)
);
CREATE INDEX log_keys_log_idx ON log.keys (log);

-- Entries that wait for their place in the log.
CREATE TABLE log.pending (
    id    bigint GENERATED ALWAYS AS IDENTITY,
    entry bytea  NOT NULL,
    CONSTRAINT pending_pkey PRIMARY KEY (id),
    CONSTRAINT pending_entry_check CHECK (octet_length(entry) = 32)
);

CREATE TABLE log.entries (
    log   integer NOT NULL,
    index bigint  NOT NULL,
    entry bytea   NOT NULL,
    CONSTRAINT entries_pkey PRIMARY KEY (log, index),
    CONSTRAINT entries_log FOREIGN KEY (log) REFERENCES log.logs (id),
    CONSTRAINT entries_entry_key UNIQUE (entry)
);

-- Tiles of 256 hashes (C2SP tlog-tiles). The last one of a level grows.
CREATE TABLE log.tiles (
    log    integer  NOT NULL,
    level  smallint NOT NULL,
    n      bigint   NOT NULL,
    hashes bytea    NOT NULL,
    CONSTRAINT tiles_pkey PRIMARY KEY (log, level, n),
    CONSTRAINT tiles_log FOREIGN KEY (log) REFERENCES log.logs (id)
);

CREATE TABLE log.checkpoints (
    log           integer     NOT NULL,
    size          bigint      NOT NULL,
    note          text        NOT NULL,
    signed_at     timestamptz NOT NULL,
    cosignatures  text,               -- signature lines of witnesses
    timestamp     bytea,              -- an RFC 3161 response over the note's text
    CONSTRAINT checkpoints_pkey PRIMARY KEY (log, size),
    CONSTRAINT checkpoints_log FOREIGN KEY (log) REFERENCES log.logs (id)
);
CREATE INDEX checkpoints_cosigned ON log.checkpoints (log, size) WHERE cosignatures IS NOT NULL;
CREATE INDEX checkpoints_stamped ON log.checkpoints (log, size) WHERE timestamp IS NOT NULL;
