-- +goose Up

-- Wrong second factors in a row (contract 3.2). A row counts the tries of one source: a known device, a session that proves
-- itself, the person's uid for logins after a reset, and the zero UUID for all other logins.
CREATE TABLE identity.factor_tries (
    person    uuid        NOT NULL,
    source    uuid        NOT NULL,
    failures  integer     NOT NULL, -- tries since the last right code, with the one that is being checked
    next_at   timestamptz NOT NULL, -- of the next try
    forget_at timestamptz NOT NULL,
    CONSTRAINT factor_tries_pkey PRIMARY KEY (person, source),
    CONSTRAINT factor_tries_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT factor_tries_failures_positive CHECK (failures > 0)
);
CREATE INDEX factor_tries_forget_at_idx ON identity.factor_tries (forget_at);
