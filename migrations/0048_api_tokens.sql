-- +goose Up

-- API tokens (contract 2.10). A token ends with the membership under which it was made: membership is the person's organization at that
-- time. organization: a token of an organization, which its administrators manage; it belongs to the administrator who made it.
CREATE TABLE identity.api_tokens (
    uid          uuid        NOT NULL,
    secret_hash  bytea       NOT NULL, -- SHA-256 of the token
    person       uuid        NOT NULL,
    membership   uuid,
    organization uuid,
    name         text        NOT NULL,
    scopes       text[]      NOT NULL,
    mailboxes    uuid[]      NOT NULL DEFAULT '{}', -- persons whose mailboxes the scope mailbox:drop names
    mailbox_keys text[]      NOT NULL DEFAULT '{}', -- the same as the client named them
    strong       boolean     NOT NULL,              -- made in a session with two factors, or of an external provider
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz NOT NULL,
    last_used_at timestamptz,
    last_address text,
    networks     text[]      NOT NULL DEFAULT '{}', -- the latest client networks, newest last
    warned_at    timestamptz,                       -- when the mail about the coming expiry was queued
    CONSTRAINT api_tokens_pkey PRIMARY KEY (uid),
    CONSTRAINT api_tokens_secret_key UNIQUE (secret_hash),
    CONSTRAINT api_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT api_tokens_membership_fkey FOREIGN KEY (membership) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT api_tokens_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE
);
CREATE INDEX api_tokens_person ON identity.api_tokens (person);
CREATE INDEX api_tokens_membership ON identity.api_tokens (membership) WHERE membership IS NOT NULL;
CREATE INDEX api_tokens_organization ON identity.api_tokens (organization) WHERE organization IS NOT NULL;
CREATE INDEX api_tokens_expires_at ON identity.api_tokens (expires_at);

-- The API tokens that work, but for their expiry, with what their persons may do at present.
CREATE VIEW identity.live_api_tokens AS
SELECT t.*, c.locale, c.time_zone, c.epoch, c.email, c.email_verified, c.roles, c.mfa_required
FROM identity.api_tokens t
JOIN identity.claims c ON c.person = t.person
WHERE c.organization IS NOT DISTINCT FROM t.membership
  AND (t.organization IS NULL OR 'Organization.Admin' = ANY (c.roles));

-- A changed membership ends the tokens that were made under the former one, and lost administration ends those of the organization. A
-- trigger does it for every statement that changes memberships, also of an older version that serves beside this one.
-- +goose StatementBegin
CREATE FUNCTION identity.end_api_tokens() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        DELETE FROM identity.api_tokens WHERE person = OLD.person;
    ELSE
        DELETE FROM identity.api_tokens WHERE person = NEW.person AND (membership IS DISTINCT FROM NEW.organization
            OR organization IS NOT NULL AND NOT 'Organization.Admin' = ANY (NEW.roles));
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER memberships_end_api_tokens AFTER INSERT OR UPDATE OR DELETE ON identity.memberships
    FOR EACH ROW EXECUTE FUNCTION identity.end_api_tokens();
