-- +goose Up

-- The identity domain. Its tables live in a schema of their own; other domains read the views of schema directory at
-- the end of this file and nothing else of it.
CREATE SCHEMA identity;
CREATE SCHEMA directory;

-- An organization. Null members of its profile are unset.
CREATE TABLE identity.organizations (
    uid                uuid        NOT NULL,
    free               boolean     NOT NULL DEFAULT false, -- the one that serves hosts of nobody else
    name               text,
    external_uid       text,
    address_line1      text,
    address_line2      text,
    post_code          text,
    city               text,
    state              text,
    country            text,
    phone_number       text,
    global_signature   text,
    legal_notice_url   text,
    privacy_policy_url text,
    locale             text        NOT NULL,
    time_zone          text        NOT NULL,
    mfa_required       boolean     NOT NULL DEFAULT false,
    primary_color      text, -- the theme
    background_color   text,
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT organizations_pkey PRIMARY KEY (uid),
    CONSTRAINT organizations_locale_known CHECK (locale IN ('de_DE', 'en_US', 'fr_FR', 'ru_RU', 'ko_KR', 'zh_CN', 'zh_TW', 'ja_JP'))
);
CREATE UNIQUE INDEX organizations_free_key ON identity.organizations (free) WHERE free;

-- Hostnames, lower case and without port. At most one of an organization is active; inactive ones still select it.
CREATE TABLE identity.hosts (
    host         text        NOT NULL,
    organization uuid        NOT NULL,
    active       boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT hosts_pkey PRIMARY KEY (host),
    CONSTRAINT hosts_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT hosts_host_form CHECK (host = lower(host) AND host <> '' AND host !~ '[/@[:space:]]')
);
CREATE INDEX hosts_organization_idx ON identity.hosts (organization);
CREATE UNIQUE INDEX hosts_active_key ON identity.hosts (organization) WHERE active;

-- A custom hostname that waits for its TXT record.
CREATE TABLE identity.host_claims (
    organization uuid        NOT NULL,
    host         text        NOT NULL,
    key          text        NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT host_claims_pkey PRIMARY KEY (organization),
    CONSTRAINT host_claims_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE
);

-- What an organization may use. The free organization's row is the plan: a null elsewhere takes its value from there,
-- so that a plan can be changed for everybody at once. The defaults of contract 3.19 are written when rows are made.
CREATE TABLE identity.limits (
    organization                 uuid    NOT NULL,
    service_enabled              boolean,
    users                        integer,
    transfer_volume_bytes        bigint,
    storage_volume_bytes         bigint,
    gdpr_contract                boolean,
    secure_spaces                boolean,
    mime_type_filter             boolean,
    new_transfer_limit           integer,
    new_transfer_drain_rate      double precision, -- drops a second
    new_transfer_receivers_limit integer,
    admin_portal                 boolean,
    mailbox_groups               integer,
    change_hostname              text,
    CONSTRAINT limits_pkey PRIMARY KEY (organization),
    CONSTRAINT limits_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT limits_not_negative CHECK (users >= 0 AND transfer_volume_bytes >= 0 AND storage_volume_bytes >= 0
        AND new_transfer_limit >= 0 AND new_transfer_drain_rate >= 0 AND new_transfer_receivers_limit >= 0 AND mailbox_groups >= 0),
    CONSTRAINT limits_change_hostname_known CHECK (change_hostname IN ('noChange', 'pro', 'teambeam', 'custom'))
);

CREATE TABLE identity.subscriptions (
    uid          uuid        NOT NULL,
    organization uuid        NOT NULL,
    domain       text,
    product_id   text,
    display_name text,
    status       text,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    CONSTRAINT subscriptions_pkey PRIMARY KEY (uid),
    CONSTRAINT subscriptions_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT subscriptions_product_key UNIQUE (organization, domain, product_id),
    CONSTRAINT subscriptions_domain_known CHECK (domain IN ('spaces', 'skp')),
    CONSTRAINT subscriptions_status_known CHECK (status IN ('active', 'cancelled', 'incomplete', 'past_due', 'incomplete_expired', 'trialing', 'unpaid')),
    CONSTRAINT subscriptions_product_whole CHECK (num_nulls(domain, product_id, display_name, status) IN (0, 4))
);

-- A person. epoch counts the changes that end access tokens (contract 2.4). A deleted person keeps a row without data
-- for as long as a token could still name it.
CREATE TABLE identity.persons (
    uid                 uuid        NOT NULL,
    name                text,
    locale              text        NOT NULL,
    time_zone           text        NOT NULL,
    created_at          timestamptz NOT NULL,
    last_login_at       timestamptz,
    email_proved_at     timestamptz, -- when the primary address was last proved to be the person's (contract 3.4)
    epoch               bigint      NOT NULL DEFAULT 1,
    federated_issuer    text,
    federated_subject   text,
    upload_volume_bytes bigint,      -- monthly; null: the server's default
    deleted_at          timestamptz,
    CONSTRAINT persons_pkey PRIMARY KEY (uid),
    CONSTRAINT persons_federated_key UNIQUE (federated_issuer, federated_subject),
    CONSTRAINT persons_federated_whole CHECK ((federated_issuer IS NULL) = (federated_subject IS NULL)),
    CONSTRAINT persons_locale_known CHECK (locale IN ('de_DE', 'en_US', 'fr_FR', 'ru_RU', 'ko_KR', 'zh_CN', 'zh_TW', 'ja_JP')),
    CONSTRAINT persons_upload_volume_not_negative CHECK (upload_volume_bytes >= 0),
    CONSTRAINT persons_deleted_bare CHECK (deleted_at IS NULL OR (name IS NULL AND federated_issuer IS NULL))
);
CREATE INDEX persons_deleted_at_idx ON identity.persons (deleted_at) WHERE deleted_at IS NOT NULL;

-- Email addresses, normalized. A verified address belongs to one person. Unverified, it may be pending twice: as the
-- primary one of a new signup and as the secondary one of somebody else; who verifies it first keeps it (contract 3.1).
-- key_hash is the SHA-256 of the one verification key that is valid.
CREATE TABLE identity.addresses (
    person         uuid        NOT NULL,
    address        text        NOT NULL,
    is_primary     boolean     NOT NULL,
    verified_at    timestamptz,
    remove_at      timestamptz,
    created_at     timestamptz NOT NULL,
    key_hash       bytea,
    key_expires_at timestamptz,
    CONSTRAINT addresses_pkey PRIMARY KEY (person, address),
    CONSTRAINT addresses_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT addresses_address_form CHECK (address = lower(address) AND octet_length(address) <= 254 AND address LIKE '_%@_%'),
    CONSTRAINT addresses_removal CHECK ((remove_at IS NULL) = (verified_at IS NOT NULL)),
    CONSTRAINT addresses_key_whole CHECK ((key_hash IS NULL) = (key_expires_at IS NULL)),
    CONSTRAINT addresses_key_hash_key UNIQUE (key_hash)
);
CREATE UNIQUE INDEX addresses_verified_key ON identity.addresses (address) WHERE verified_at IS NOT NULL;
CREATE UNIQUE INDEX addresses_signup_key ON identity.addresses (address) WHERE verified_at IS NULL AND is_primary;
CREATE UNIQUE INDEX addresses_pending_key ON identity.addresses (address) WHERE verified_at IS NULL AND NOT is_primary;
CREATE UNIQUE INDEX addresses_primary_key ON identity.addresses (person) WHERE is_primary;
CREATE INDEX addresses_address_idx ON identity.addresses (address);
CREATE INDEX addresses_remove_at_idx ON identity.addresses (remove_at) WHERE remove_at IS NOT NULL;

-- Authenticators: secret is a bcrypt hash, or a sealed TOTP secret; salt belongs to a set of recovery codes; last_step
-- is the newest TOTP step that was accepted.
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
    CONSTRAINT authenticators_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT authenticators_type_key UNIQUE (person, type),
    CONSTRAINT authenticators_type_known CHECK (type IN ('bcrypt', 'totp', 'recovery')),
    CONSTRAINT authenticators_material CHECK ((secret IS NOT NULL) = (type IN ('bcrypt', 'totp')) AND (salt IS NOT NULL) = (type = 'recovery')),
    CONSTRAINT authenticators_step_of_totp CHECK (last_step IS NULL OR type = 'totp')
);

CREATE TABLE identity.recovery_codes (
    authenticator uuid  NOT NULL,
    hash          bytea NOT NULL, -- SHA-256 of salt and code
    CONSTRAINT recovery_codes_pkey PRIMARY KEY (authenticator, hash),
    CONSTRAINT recovery_codes_authenticator_fkey FOREIGN KEY (authenticator) REFERENCES identity.authenticators ON DELETE CASCADE
);

-- ID tokens. active: usable. graced: blacklisted by somebody else's change of one's membership or roles, good for one
-- replacement (contract 2.4). ended: blacklisted. sid names the login session that survives upgrades.
CREATE TABLE identity.id_tokens (
    jti                uuid        NOT NULL,
    person             uuid        NOT NULL,
    sid                uuid        NOT NULL,
    state              text        NOT NULL DEFAULT 'active',
    auth_level         smallint    NOT NULL,
    auth_time          timestamptz NOT NULL,
    issued_at          timestamptz NOT NULL,
    expires_at         timestamptz NOT NULL,
    user_agent         text        NOT NULL,
    ip                 text        NOT NULL,
    federated          boolean     NOT NULL DEFAULT false, -- the session began at an external provider
    external_sid       text,                               -- that provider's name for its own session
    set_password_until timestamptz,                        -- after a password reset
    ended_at           timestamptz,
    CONSTRAINT id_tokens_pkey PRIMARY KEY (jti),
    CONSTRAINT id_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT id_tokens_state_known CHECK (state IN ('active', 'graced', 'ended')),
    CONSTRAINT id_tokens_ended CHECK ((state = 'ended') = (ended_at IS NOT NULL)),
    CONSTRAINT id_tokens_level_known CHECK (auth_level BETWEEN 0 AND 2)
);
CREATE INDEX id_tokens_person_idx ON identity.id_tokens (person);
CREATE INDEX id_tokens_sid_idx ON identity.id_tokens (sid);
CREATE INDEX id_tokens_expires_at_idx ON identity.id_tokens (expires_at);
CREATE INDEX id_tokens_external_sid_idx ON identity.id_tokens (external_sid) WHERE external_sid IS NOT NULL;

-- mfa tokens that wait for their second factor; the row goes with the success, or with a change of the password.
CREATE TABLE identity.pending_logins (
    jti          uuid        NOT NULL,
    person       uuid        NOT NULL,
    set_password boolean     NOT NULL,
    expires_at   timestamptz NOT NULL,
    CONSTRAINT pending_logins_pkey PRIMARY KEY (jti),
    CONSTRAINT pending_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE
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
    CONSTRAINT parked_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE
);
CREATE INDEX parked_tokens_person_idx ON identity.parked_tokens (person);
CREATE INDEX parked_tokens_expires_at_idx ON identity.parked_tokens (expires_at);

-- Keys of password resets, as SHA-256.
CREATE TABLE identity.reset_keys (
    key_hash   bytea       NOT NULL,
    person     uuid        NOT NULL,
    address    text        NOT NULL,
    expires_at timestamptz NOT NULL,
    CONSTRAINT reset_keys_pkey PRIMARY KEY (key_hash),
    CONSTRAINT reset_keys_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE
);
CREATE INDEX reset_keys_person_idx ON identity.reset_keys (person);
CREATE INDEX reset_keys_expires_at_idx ON identity.reset_keys (expires_at);

-- A person is a member of one organization at most.
CREATE TABLE identity.memberships (
    person       uuid        NOT NULL,
    organization uuid        NOT NULL,
    roles        text[]      NOT NULL,
    reference    text,
    external_uid text,
    created_at   timestamptz NOT NULL,
    CONSTRAINT memberships_pkey PRIMARY KEY (person),
    CONSTRAINT memberships_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT memberships_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT memberships_roles_known CHECK (array_position(roles, NULL) IS NULL AND roles <@ ARRAY['Organization.Admin', 'Contract.Admin',
        'Contract.Read', 'Service.Transfer.Use', 'Service.Transfer.Archive.CreateRoot', 'Service.Drive.CreateSpace', 'Service.All.Use',
        'Service.Spaces.Use'])
);
CREATE INDEX memberships_organization_idx ON identity.memberships (organization, person);

-- Invitations: shared ones can be accepted by anybody and often, a personalized one by whoever proves its address.
CREATE TABLE identity.invitations (
    key          text        NOT NULL,
    organization uuid        NOT NULL,
    address      text, -- null: shared
    roles        text[]      NOT NULL,
    inviter      uuid,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (key),
    CONSTRAINT invitations_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT invitations_inviter_fkey FOREIGN KEY (inviter) REFERENCES identity.persons ON DELETE SET NULL,
    CONSTRAINT invitations_address_key UNIQUE (organization, address),
    CONSTRAINT invitations_expiry CHECK ((address IS NULL) = (expires_at IS NULL))
);
CREATE INDEX invitations_address_idx ON identity.invitations (address) WHERE address IS NOT NULL;
CREATE INDEX invitations_inviter_idx ON identity.invitations (inviter);
CREATE INDEX invitations_expires_at_idx ON identity.invitations (expires_at) WHERE expires_at IS NOT NULL;

-- Avatars: the square JPEG of each stored height, of a person or of an organization.
CREATE TABLE identity.avatars (
    person       uuid,
    organization uuid,
    height       smallint    NOT NULL,
    image        bytea       NOT NULL,
    etag         text        NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT avatars_person_fkey FOREIGN KEY (person) REFERENCES identity.persons ON DELETE CASCADE,
    CONSTRAINT avatars_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations ON DELETE CASCADE,
    CONSTRAINT avatars_owner CHECK (num_nonnulls(person, organization) = 1),
    CONSTRAINT avatars_height_known CHECK (height IN (500, 240, 160, 80)),
    CONSTRAINT avatars_person_key UNIQUE (person, height),
    CONSTRAINT avatars_organization_key UNIQUE (organization, height)
);

-- Where a person is at home (contract 1.2): the organization whose hosts serve it, and the hostname of links to it.
CREATE VIEW identity.homes AS
SELECT p.uid                                                       AS person,
       CASE WHEN h.host IS NULL THEN f.uid ELSE m.organization END AS organization,
       coalesce(h.host, fh.host)                                   AS host
FROM identity.persons p
LEFT JOIN identity.memberships m ON m.person = p.uid
LEFT JOIN identity.hosts h ON h.organization = m.organization AND h.active
LEFT JOIN identity.organizations f ON f.free
LEFT JOIN identity.hosts fh ON fh.organization = f.uid AND fh.active
WHERE p.deleted_at IS NULL;

-- What a token says of a person.
CREATE VIEW identity.claims AS
SELECT p.uid                           AS person,
       p.locale,
       p.time_zone,
       p.epoch,
       coalesce(a.address, '')         AS email,
       a.verified_at IS NOT NULL       AS email_verified,
       m.organization,
       coalesce(m.roles, '{}')         AS roles,
       coalesce(o.mfa_required, false) AS mfa_required
FROM identity.persons p
LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
LEFT JOIN identity.memberships m ON m.person = p.uid
LEFT JOIN identity.organizations o ON o.uid = m.organization
WHERE p.deleted_at IS NULL;

-- What other domains may know. Persons that are deleted are absent. host and limits_organization are those of the
-- person's organization, or the free one's where it has none.
CREATE VIEW directory.persons AS
SELECT p.uid                                    AS person,
       p.name,
       p.locale,
       p.time_zone,
       a.address                                AS email,
       m.organization,
       coalesce(m.roles, '{}')                  AS roles,
       coalesce(h.host, fh.host)                AS host,
       coalesce(m.organization, f.uid)          AS limits_organization,
       p.upload_volume_bytes,
       p.epoch
FROM identity.persons p
LEFT JOIN identity.addresses a ON a.person = p.uid AND a.is_primary
LEFT JOIN identity.memberships m ON m.person = p.uid
LEFT JOIN identity.hosts h ON h.organization = m.organization AND h.active
LEFT JOIN identity.organizations f ON f.free
LEFT JOIN identity.hosts fh ON fh.organization = f.uid AND fh.active
WHERE p.deleted_at IS NULL;

CREATE VIEW directory.addresses AS
SELECT person, address, verified_at IS NOT NULL AS verified, is_primary
FROM identity.addresses;

-- host is the organization's active hostname, or the free one's where it has none.
CREATE VIEW directory.organizations AS
SELECT o.uid AS organization, o.name, coalesce(h.host, fh.host) AS host, o.free, o.locale, o.time_zone
FROM identity.organizations o
LEFT JOIN identity.hosts h ON h.organization = o.uid AND h.active
LEFT JOIN identity.organizations f ON f.free
LEFT JOIN identity.hosts fh ON fh.organization = f.uid AND fh.active;

CREATE VIEW directory.hosts AS
SELECT host, organization, active FROM identity.hosts;

CREATE VIEW directory.avatars AS
SELECT person, height, image, etag FROM identity.avatars WHERE person IS NOT NULL;

CREATE VIEW directory.limits AS
SELECT o.uid                                                                     AS organization,
       coalesce(l.service_enabled, f.service_enabled)                            AS service_enabled,
       coalesce(l.users, f.users)                                                AS users,
       coalesce(l.transfer_volume_bytes, f.transfer_volume_bytes)                AS transfer_volume_bytes,
       coalesce(l.storage_volume_bytes, f.storage_volume_bytes)                  AS storage_volume_bytes,
       coalesce(l.gdpr_contract, f.gdpr_contract)                                AS gdpr_contract,
       coalesce(l.secure_spaces, f.secure_spaces)                                AS secure_spaces,
       coalesce(l.mime_type_filter, f.mime_type_filter)                          AS mime_type_filter,
       coalesce(l.new_transfer_limit, f.new_transfer_limit)                      AS new_transfer_limit,
       coalesce(l.new_transfer_drain_rate, f.new_transfer_drain_rate)            AS new_transfer_drain_rate,
       coalesce(l.new_transfer_receivers_limit, f.new_transfer_receivers_limit)  AS new_transfer_receivers_limit,
       coalesce(l.admin_portal, f.admin_portal)                                  AS admin_portal,
       coalesce(l.mailbox_groups, f.mailbox_groups)                              AS mailbox_groups,
       coalesce(l.change_hostname, f.change_hostname)                            AS change_hostname
FROM identity.organizations o
LEFT JOIN identity.limits l ON l.organization = o.uid
LEFT JOIN identity.organizations fo ON fo.free
LEFT JOIN identity.limits f ON f.organization = fo.uid;
