-- +goose Up

-- Logins at external identity providers that go by form post (specification, "States and transitions"). A client
-- registers a state, the provider's post stores who signed in, the client claims it. The ID token itself is not kept,
-- only what its session needs to know.
CREATE TABLE identity.external_logins (
    state_hash   bytea       NOT NULL, -- SHA-256 of the state
    redirect_url text        NOT NULL,
    expires_at   timestamptz NOT NULL, -- until then the provider may post
    stored_at    timestamptz,          -- when it did
    person       uuid,                 -- who signed in
    person_epoch bigint,               -- the claim needs the same one: what ends a person's sessions ends this too
    external_sid text,
    forget_at    timestamptz NOT NULL, -- nothing can be done with the row any more
    claimed_at   timestamptz,
    CONSTRAINT external_logins_pkey PRIMARY KEY (state_hash),
    CONSTRAINT external_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT external_logins_stored_whole CHECK (num_nulls(stored_at, person, person_epoch) IN (0, 3)),
    CONSTRAINT external_logins_claimed_after CHECK (claimed_at IS NULL OR stored_at IS NOT NULL)
);
CREATE INDEX external_logins_person_idx ON identity.external_logins (person) WHERE person IS NOT NULL;
CREATE INDEX external_logins_external_sid_idx ON identity.external_logins (external_sid) WHERE external_sid IS NOT NULL;
CREATE INDEX external_logins_forget_at_idx ON identity.external_logins (forget_at);

-- External ID tokens that were accepted: none is accepted twice while it could be.
CREATE TABLE identity.external_tokens (
    fingerprint bytea       NOT NULL, -- SHA-256 of what was signed
    expires_at  timestamptz NOT NULL, -- with the leeway for clocks that differ
    CONSTRAINT external_tokens_pkey PRIMARY KEY (fingerprint)
);
CREATE INDEX external_tokens_expires_at_idx ON identity.external_tokens (expires_at);

-- Front-channel logout looks for these too; id_tokens have such an index already.
CREATE INDEX parked_tokens_external_sid_idx ON identity.parked_tokens (external_sid) WHERE external_sid IS NOT NULL;
