-- +goose Up

-- A login by form post is bound to the browser that began it (contract 3.14). An older replica leaves the new columns
-- as they are: such a login cannot be claimed and is tried again.
ALTER TABLE identity.external_logins
    ADD COLUMN binding_hash bytea,                         -- SHA-256 of the cookie that the beginning set
    ADD COLUMN bound        boolean NOT NULL DEFAULT false, -- the form post came with that cookie
    ADD COLUMN claim_hash   bytea;                         -- SHA-256 of what the claim must present otherwise

-- Idle limit of sessions (contract 2.1). Null: issued_at counts. Written at most once an hour for each token.
ALTER TABLE identity.id_tokens ADD COLUMN last_used_at timestamptz;

-- Changes of an account that its mails can undo (contract 3.21). before holds the addresses before the change.
CREATE TABLE identity.security_changes (
    key_hash   bytea       NOT NULL, -- SHA-256 of the key in the mails
    person     uuid        NOT NULL,
    kind       text        NOT NULL,
    before     jsonb       NOT NULL,
    created_at timestamptz NOT NULL,
    used_at    timestamptz,
    CONSTRAINT security_changes_pkey PRIMARY KEY (key_hash),
    CONSTRAINT security_changes_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE
);
CREATE INDEX security_changes_person_idx ON identity.security_changes (person, created_at);
CREATE INDEX security_changes_created_at_idx ON identity.security_changes (created_at);

-- Devices from which a person has signed in (contract 3.21): SHA-256 of user agent and network.
CREATE TABLE identity.known_devices (
    person      uuid        NOT NULL,
    fingerprint bytea       NOT NULL,
    seen_at     timestamptz NOT NULL,
    CONSTRAINT known_devices_pkey PRIMARY KEY (person, fingerprint),
    CONSTRAINT known_devices_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE
);
CREATE INDEX known_devices_seen_at_idx ON identity.known_devices (seen_at);
