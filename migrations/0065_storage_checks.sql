-- +goose Up

-- Checks of all stored files that operators start (contract 9.7). A server works on one while it has the lease, and goes on after the object that
-- was compared last. At most one runs.
CREATE TABLE transfer.storage_checks (
    uid          uuid        NOT NULL,
    started_at   timestamptz NOT NULL,
    finished_at  timestamptz,
    state        text        NOT NULL DEFAULT 'running',
    total        bigint,                              -- objects at the beginning; null: not counted yet
    compared     uuid,                                -- the object that was compared last; null: none
    listed       boolean     NOT NULL DEFAULT false,  -- all rows were compared; what lies in the storage without a row is looked for
    objects      bigint      NOT NULL DEFAULT 0,
    bytes        bigint      NOT NULL DEFAULT 0,
    findings     bigint      NOT NULL DEFAULT 0,
    problems     jsonb       NOT NULL DEFAULT '[]',   -- the first findings: kind, object, detail
    sweep_off    boolean     NOT NULL DEFAULT false,
    epoch        bigint      NOT NULL DEFAULT 0,      -- of the lease
    lease_until  timestamptz,
    CONSTRAINT storage_checks_pkey PRIMARY KEY (uid),
    CONSTRAINT storage_checks_state_known CHECK (state IN ('running', 'done', 'cancelled')),
    CONSTRAINT storage_checks_finished CHECK ((state = 'running') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX storage_checks_running ON transfer.storage_checks ((true)) WHERE state = 'running';
CREATE INDEX storage_checks_started_at ON transfer.storage_checks (started_at);
