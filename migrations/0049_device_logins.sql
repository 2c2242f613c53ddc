-- +goose Up

-- Programs that ask for a session (RFC 8628, contract 3.25). Both codes are hashed. A row ends with its session, its refusal or its expiry.
CREATE TABLE identity.device_logins (
    device_hash  bytea       NOT NULL, -- SHA-256 of the device code
    user_hash    bytea       NOT NULL, -- MAC of the user code: it is short
    host         uuid        NOT NULL, -- the organization that is served at the host of the request
    name         text        NOT NULL, -- what the program calls itself
    user_agent   text        NOT NULL,
    ip           text        NOT NULL,
    network      text        NOT NULL,
    poll_seconds integer     NOT NULL,
    polled_at    timestamptz,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    refused      boolean     NOT NULL DEFAULT false,
    -- Of the session that approved:
    person       uuid,
    epoch        bigint,
    auth_level   smallint,
    auth_time    timestamptz,
    federated    boolean,
    external_sid text,
    CONSTRAINT device_logins_pkey PRIMARY KEY (device_hash),
    CONSTRAINT device_logins_user_key UNIQUE (user_hash),
    CONSTRAINT device_logins_host_fkey FOREIGN KEY (host) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT device_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);
CREATE INDEX device_logins_expires_at ON identity.device_logins (expires_at);
CREATE INDEX device_logins_network ON identity.device_logins (network);
CREATE INDEX device_logins_host ON identity.device_logins (host);
CREATE INDEX device_logins_person ON identity.device_logins (person) WHERE person IS NOT NULL;
