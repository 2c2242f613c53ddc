-- +goose Up

-- How a person of the identity domain proves who they are: factors, sessions, tokens, and the way back after a change.

-- Authenticators: secret is a bcrypt hash, or a sealed TOTP secret; salt belongs to a set of recovery codes; last_step is the newest TOTP
-- step that was accepted. A person has several of the type webauthn, and one of each other type.
CREATE TABLE identity.authenticators (
    uid           uuid        NOT NULL,
    person        uuid        NOT NULL,
    type          text        NOT NULL,
    name          text,
    verified      boolean     NOT NULL,
    registered_at timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    secret        bytea,
    salt          bytea,
    last_step     bigint,
    CONSTRAINT authenticators_pkey PRIMARY KEY (uid),
    CONSTRAINT authenticators_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT authenticators_type_known CHECK (type IN ('bcrypt', 'totp', 'recovery', 'webauthn')),
    CONSTRAINT authenticators_material CHECK ((secret IS NOT NULL) = (type IN ('bcrypt', 'totp'))
        AND (salt IS NOT NULL) = (type = 'recovery')),
    CONSTRAINT authenticators_step_of_totp CHECK (last_step IS NULL OR type = 'totp')
);
CREATE UNIQUE INDEX authenticators_type_key ON identity.authenticators (person, type) WHERE type <> 'webauthn';
CREATE INDEX authenticators_person_idx ON identity.authenticators (person);

CREATE TABLE identity.recovery_codes (
    authenticator uuid  NOT NULL,
    hash          bytea NOT NULL, -- SHA-256 of salt and code
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (authenticator, hash),
    CONSTRAINT recovery_codes_authenticator_fkey FOREIGN KEY (authenticator) REFERENCES identity.authenticators (uid) ON DELETE CASCADE
);

-- The verified authenticators of the type webauthn (contract 3.27).
CREATE TABLE identity.passkeys (
    authenticator   uuid        NOT NULL,
    host            text        NOT NULL, -- the RP ID
    credential_id   bytea       NOT NULL,
    public_key      bytea       NOT NULL, -- COSE
    sign_count      bigint      NOT NULL,
    transports      text[]      NOT NULL,
    backup_eligible boolean     NOT NULL,
    backed_up       boolean     NOT NULL,
    aaguid          bytea       NOT NULL,
    used_at         timestamptz,
    cloned_at       timestamptz,          -- when the owner was last mailed about a counter that went back
    CONSTRAINT passkeys_pkey PRIMARY KEY (authenticator),
    CONSTRAINT passkeys_authenticator_fkey FOREIGN KEY (authenticator) REFERENCES identity.authenticators (uid) ON DELETE CASCADE,
    CONSTRAINT passkeys_credential_id_key UNIQUE (credential_id)
);
CREATE INDEX passkeys_host_idx ON identity.passkeys (host);

-- Challenges that were used, until they would have expired. Unused ones are stored nowhere: they are sealed.
CREATE TABLE identity.used_challenges (
    hash       bytea       NOT NULL, -- SHA-256
    expires_at timestamptz NOT NULL,
    CONSTRAINT used_challenges_pkey PRIMARY KEY (hash)
);
CREATE INDEX used_challenges_expires_at_idx ON identity.used_challenges (expires_at);

-- Wrong second factors in a row (contract 3.2). A row counts the tries of one source: a known device, a session that proves itself, the
-- person's uid for logins after a reset, and the zero UUID for all other logins.
CREATE TABLE identity.factor_tries (
    person    uuid        NOT NULL,
    source    uuid        NOT NULL,
    failures  integer     NOT NULL, -- tries since the last right code, with the one that is being checked
    next_at   timestamptz NOT NULL, -- of the next try
    forget_at timestamptz NOT NULL,
    CONSTRAINT factor_tries_pkey PRIMARY KEY (person, source),
    CONSTRAINT factor_tries_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT factor_tries_failures_positive CHECK (failures > 0)
);
CREATE INDEX factor_tries_forget_at_idx ON identity.factor_tries (forget_at);

-- ID tokens. active: usable. graced: blacklisted by somebody else's change of one's membership or roles, good for one replacement
-- (contract 2.4). ended: blacklisted. sid names the login session that survives upgrades. All tabs of a browser present the token of the
-- session cookie, so a replaced one stands for its successor for a short time.
CREATE TABLE identity.id_tokens (
    jti                uuid        NOT NULL,
    person             uuid        NOT NULL,
    sid                uuid        NOT NULL,
    state              text        NOT NULL DEFAULT 'active',
    auth_level         smallint    NOT NULL,
    auth_time          timestamptz NOT NULL,
    issued_at          timestamptz NOT NULL,
    -- For the idle limit (contract 2.1), written at most once an hour; null: issued_at counts.
    last_used_at       timestamptz,
    expires_at         timestamptz NOT NULL,
    user_agent         text        NOT NULL,
    ip                 text        NOT NULL,
    in_cookie          boolean     NOT NULL DEFAULT false, -- was put into the session cookie, or replaces one that was
    successor          uuid,                               -- the token that replaced this one, while this one may still be presented
    federated          boolean     NOT NULL DEFAULT false, -- the session began at an external provider
    external_sid       text,                               -- that provider's name for its own session
    set_password_until timestamptz,                        -- after a password reset
    -- The last proofs of the session (contract 3.21), and the person's device epoch at that time: they end with the password.
    password_proved_at timestamptz,
    factor_proved_at   timestamptz,
    proof_epoch        bigint,
    ended_at           timestamptz,
    CONSTRAINT id_tokens_pkey PRIMARY KEY (jti),
    CONSTRAINT id_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT id_tokens_state_known CHECK (state IN ('active', 'graced', 'ended')),
    CONSTRAINT id_tokens_ended CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CONSTRAINT id_tokens_proof_epoch CHECK (proof_epoch IS NOT NULL OR coalesce(password_proved_at, factor_proved_at) IS NULL),
    CONSTRAINT id_tokens_level_known CHECK (auth_level BETWEEN 0 AND 2)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX id_tokens_person_idx ON identity.id_tokens (person);
CREATE INDEX id_tokens_sid_idx ON identity.id_tokens (sid);
CREATE INDEX id_tokens_expires_at_idx ON identity.id_tokens (expires_at);
CREATE INDEX id_tokens_external_sid_idx ON identity.id_tokens (external_sid) WHERE external_sid IS NOT NULL; -- for front-channel logout

-- mfa tokens that wait for their second factor. The row goes with the success, or with a change of the password.
CREATE TABLE identity.pending_logins (
    jti          uuid        NOT NULL,
    person       uuid        NOT NULL,
    set_password boolean     NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT pending_logins_pkey PRIMARY KEY (jti),
    CONSTRAINT pending_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);
CREATE INDEX pending_logins_person_idx ON identity.pending_logins (person);
CREATE INDEX pending_logins_expires_at_idx ON identity.pending_logins (expires_at);

-- Parked sessions: what the ID token of a pickup token will be like. The row goes with the pickup.
CREATE TABLE identity.parked_tokens (
    jti                uuid        NOT NULL, -- the pickup token's
    person             uuid        NOT NULL,
    sid                uuid        NOT NULL, -- of the token to come
    parent_sid         uuid        NOT NULL, -- of the session that parked it: it ends with that one
    auth_level         smallint    NOT NULL,
    auth_time          timestamptz NOT NULL,
    token_expires_at   timestamptz NOT NULL,
    federated          boolean     NOT NULL,
    external_sid       text,
    set_password_until timestamptz,
    code_challenge     text,
    expires_at         timestamptz NOT NULL,
    CONSTRAINT parked_tokens_pkey PRIMARY KEY (jti),
    CONSTRAINT parked_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);
CREATE INDEX parked_tokens_person_idx ON identity.parked_tokens (person);
CREATE INDEX parked_tokens_expires_at_idx ON identity.parked_tokens (expires_at);
-- For front-channel logout.
CREATE INDEX parked_tokens_external_sid_idx ON identity.parked_tokens (external_sid) WHERE external_sid IS NOT NULL;

-- Keys of password resets, as SHA-256.
CREATE TABLE identity.reset_keys (
    key_hash   bytea       NOT NULL,
    person     uuid        NOT NULL,
    address    text        NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT reset_keys_pkey PRIMARY KEY (key_hash),
    CONSTRAINT reset_keys_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);
CREATE INDEX reset_keys_person_idx ON identity.reset_keys (person);
CREATE INDEX reset_keys_expires_at_idx ON identity.reset_keys (expires_at);

-- Logins at external identity providers that go by form post (specification, "States and transitions"; contract 3.14). A client registers
-- a state, the provider's post stores who signed in, and the client picks it up once it is released: by the browser that began the
-- login, or by the person. The ID token itself is not kept, only what its session needs to know.
CREATE TABLE identity.external_logins (
    state_hash        bytea       NOT NULL, -- SHA-256 of the state
    host              text        NOT NULL, -- where the login began and must be picked up
    redirect_url      text        NOT NULL,
    binding_hash      bytea       NOT NULL, -- SHA-256 of the cookie that the beginning set
    expires_at        timestamptz NOT NULL, -- until then the provider may post, and the person continue
    stored_at         timestamptz,          -- when the provider posted
    person            uuid,                 -- who signed in
    person_epoch      bigint,               -- the pickup needs the same one: what ends a person's sessions ends this too
    external_sid      text,
    confirmation_hash bytea,                -- SHA-256 of the cookie of another browser, which posted; null: the one that began the login posted
    return_hash       bytea,                -- SHA-256 of the one-time key to the host where the login began
    released_at       timestamptz,          -- from then on the login can be picked up
    claimed_at        timestamptz,
    forget_at         timestamptz NOT NULL, -- nothing can be done with the row any more
    CONSTRAINT external_logins_pkey PRIMARY KEY (state_hash),
    CONSTRAINT external_logins_confirmation_hash_key UNIQUE (confirmation_hash),
    CONSTRAINT external_logins_return_hash_key UNIQUE (return_hash),
    CONSTRAINT external_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT external_logins_stored_whole CHECK (num_nulls(stored_at, person, person_epoch) IN (0, 3)),
    CONSTRAINT external_logins_released_after CHECK (released_at IS NULL OR stored_at IS NOT NULL),
    CONSTRAINT external_logins_claimed_after CHECK (claimed_at IS NULL OR released_at IS NOT NULL)
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

-- Programs that ask for a session (RFC 8628, contract 3.25). Both codes are hashed. A row ends with its session, its refusal or its
-- expiry.
CREATE TABLE identity.device_logins (
    device_hash  bytea       NOT NULL, -- SHA-256 of the device code
    user_hash    bytea       NOT NULL, -- MAC of the user code: it is short
    host         uuid        NOT NULL, -- the organization that is served at the host of the request
    name         text        NOT NULL, -- what the program calls itself
    user_agent   text        NOT NULL,
    ip           text        NOT NULL,
    network      cidr        NOT NULL, -- of the client
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

-- A changed membership ends the tokens that were made under the former one, and lost administration ends those of the organization, by
-- whatever statement memberships change.
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

-- Changes of what an account depends on, each with the state before it, so that a mailed link can restore that state (contract 3.23). A
-- change and all later ones of the person are undone together: seq orders them.
CREATE TABLE identity.security_changes (
    seq             bigint        GENERATED ALWAYS AS IDENTITY,
    person          uuid          NOT NULL,
    kind            text          NOT NULL, -- the template of its mails, and the type of a factor
    made_at         timestamptz   NOT NULL,
    undo_hash       bytea,                  -- SHA-256 of the key that undoes the change; null once used
    end_hash        bytea,                  -- SHA-256 of the key that only ends the sessions; null once used
    addresses       text[]        NOT NULL, -- the verified addresses before the change, the primary one first
    verified_at     timestamptz[] NOT NULL, -- of each address
    email_proved_at timestamptz,
    CONSTRAINT security_changes_pkey PRIMARY KEY (seq),
    CONSTRAINT security_changes_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT security_changes_undo_hash_key UNIQUE (undo_hash),
    CONSTRAINT security_changes_end_hash_key UNIQUE (end_hash),
    CONSTRAINT security_changes_verified_whole CHECK (cardinality(addresses) = cardinality(verified_at))
);
CREATE INDEX security_changes_person_idx ON identity.security_changes (person, seq);
CREATE INDEX security_changes_made_at_idx ON identity.security_changes (made_at);

-- The verified second factors before a change, with secrets in the same form as in identity.authenticators. A recovery code that is used
-- later is removed from codes.
CREATE TABLE identity.security_change_factors (
    change        bigint      NOT NULL,
    uid           uuid        NOT NULL,
    type          text        NOT NULL,
    name          text,
    registered_at timestamptz NOT NULL,
    updated_at    timestamptz NOT NULL,
    secret        bytea,
    salt          bytea,
    codes         bytea[]     NOT NULL,
    passkey       jsonb,                -- the row of identity.passkeys before the change; null for other types
    CONSTRAINT security_change_factors_pkey PRIMARY KEY (change, uid),
    CONSTRAINT security_change_factors_change_fkey FOREIGN KEY (change) REFERENCES identity.security_changes (seq) ON DELETE CASCADE
);
CREATE INDEX security_change_factors_uid_idx ON identity.security_change_factors (uid);

-- Sensitive changes of organizations, each with what the link in the mails about it needs to restore the state before it (contract 3.29).
CREATE TABLE identity.organization_changes (
    seq          bigint      GENERATED ALWAYS AS IDENTITY,
    organization uuid        NOT NULL,
    kind         text        NOT NULL, -- one of token.Sensitive
    object       text        NOT NULL, -- what was changed, such as the uid of a member; empty: there is one only
    made_at      timestamptz NOT NULL,
    made_by      uuid,                 -- whose sessions end when it is undone; null: nobody's
    undo_hash    bytea,                -- SHA-256 of the key in the mails; null: used, or it cannot be undone
    before       jsonb       NOT NULL,
    CONSTRAINT organization_changes_pkey PRIMARY KEY (seq),
    CONSTRAINT organization_changes_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT organization_changes_made_by_fkey FOREIGN KEY (made_by) REFERENCES identity.persons (uid) ON DELETE SET NULL,
    CONSTRAINT organization_changes_undo_hash_key UNIQUE (undo_hash)
);
CREATE INDEX organization_changes_organization_idx ON identity.organization_changes (organization, made_at);
CREATE INDEX organization_changes_made_by_idx ON identity.organization_changes (made_by);
CREATE INDEX organization_changes_made_at_idx ON identity.organization_changes (made_at);

-- Clients without cookies in which a person has logged in, so that a new one is mailed (contract 3.23). client_hash is a MAC of family
-- and network of the client.
CREATE TABLE identity.known_clients (
    person       uuid        NOT NULL,
    client_hash  bytea       NOT NULL,
    device_epoch bigint      NOT NULL, -- the person's at the login; a greater one makes the client unknown
    seen_at      timestamptz NOT NULL, -- the last login
    CONSTRAINT known_clients_pkey PRIMARY KEY (person, client_hash),
    CONSTRAINT known_clients_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);
CREATE INDEX known_clients_seen_at_idx ON identity.known_clients (seen_at);
