-- +goose Up

-- A login by form post is bound to the browser that began it (contract 3.14). An older replica leaves the new columns
-- as they are: such a login cannot be claimed and is tried again.
ALTER TABLE identity.external_logins
    ADD COLUMN binding_hash bytea,                         -- SHA-256 of the cookie that the beginning set
    ADD COLUMN bound        boolean NOT NULL DEFAULT false, -- the form post came with that cookie
    ADD COLUMN claim_hash   bytea;                         -- SHA-256 of what the claim must present otherwise

-- Idle limit of sessions (contract 2.1). Null: issued_at counts. Written at most once an hour for each token.
ALTER TABLE identity.id_tokens ADD COLUMN last_used_at timestamptz;
