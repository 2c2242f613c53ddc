-- +goose Up

-- The key pairs that sign tokens (contract 2.5). The private part is sealed, and erased once the key signs no more.
CREATE TABLE signing_keys (
    kid             text        NOT NULL,
    purpose         text        NOT NULL,
    public_key      bytea       NOT NULL,
    private_key     bytea,
    created_at      timestamptz NOT NULL,
    signs_from      timestamptz NOT NULL,
    signs_until     timestamptz NOT NULL,
    published_until timestamptz NOT NULL,
    revoked_at      timestamptz,
    CONSTRAINT signing_keys_pkey PRIMARY KEY (kid),
    CONSTRAINT signing_keys_purpose_check CHECK (purpose IN ('session', 'uid')),
    CONSTRAINT signing_keys_public_key_check CHECK (octet_length(public_key) = 65),
    CONSTRAINT signing_keys_window_check CHECK (signs_from < signs_until AND signs_until <= published_until),
    CONSTRAINT signing_keys_revoked_check CHECK (revoked_at IS NULL OR private_key IS NULL)
);

-- What ended access before its time (contract 2.4): a login session, or every access token of a person that was issued
-- under an earlier epoch. Rows are only added, so that publishing waits for nobody; they go once no token they end lives.
CREATE TABLE revocations (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    session    uuid,
    person     uuid,
    epoch      bigint,
    expires_at timestamptz NOT NULL,
    CONSTRAINT revocations_pkey PRIMARY KEY (id),
    CONSTRAINT revocations_subject_check CHECK ((session IS NULL) <> (person IS NULL)),
    CONSTRAINT revocations_epoch_check CHECK ((epoch IS NULL) = (person IS NULL))
);

CREATE INDEX revocations_session_idx ON revocations (session) WHERE session IS NOT NULL;
CREATE INDEX revocations_person_idx ON revocations (person, epoch) WHERE person IS NOT NULL;
CREATE INDEX revocations_expires_at_idx ON revocations (expires_at);
