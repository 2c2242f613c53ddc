-- +goose Up

-- People and organizations. The tables of the identity domain live in a schema of their own. Other domains read the views of schema
-- directory at the end of this file and nothing else of it.
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
    personal           boolean     NOT NULL DEFAULT false, -- made by a person, and no operator has set its volumes
    primary_color      text, -- the theme
    background_color   text,
    -- Other sites whose pages may upload to its mailboxes (contract 1.10), as https://host[:port].
    upload_origins     text[]      NOT NULL DEFAULT '{}',
    created_at         timestamptz NOT NULL,
    updated_at         timestamptz NOT NULL,
    CONSTRAINT organizations_pkey PRIMARY KEY (uid),
    CONSTRAINT organizations_locale_known CHECK (locale IN ('de_DE', 'en_US', 'fr_FR', 'ru_RU', 'ko_KR', 'zh_CN', 'zh_TW', 'ja_JP')),
    CONSTRAINT organizations_upload_origins_check CHECK (cardinality(upload_origins) <= 20)
);
CREATE UNIQUE INDEX organizations_free_key ON identity.organizations (free) WHERE free;
-- Operators list by the beginning of names.
CREATE INDEX organizations_by_prefix ON identity.organizations (lower(coalesce(name, '')) COLLATE "C", uid);

-- Hostnames, lower case and without port. At most one of an organization is active; inactive ones still select it.
CREATE TABLE identity.hosts (
    host         text        NOT NULL,
    organization uuid        NOT NULL,
    active       boolean     NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT hosts_pkey PRIMARY KEY (host),
    CONSTRAINT hosts_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT hosts_host_form CHECK (host = lower(host) AND host <> '' AND host !~ '[/@[:space:]]')
);
CREATE INDEX hosts_organization_idx ON identity.hosts (organization);
CREATE UNIQUE INDEX hosts_active_key ON identity.hosts (organization) WHERE active;
-- Operators list organizations by the beginning of hostnames.
CREATE INDEX hosts_by_prefix ON identity.hosts (host COLLATE "C", organization);

-- A custom hostname that waits for its TXT record.
CREATE TABLE identity.host_claims (
    organization uuid        NOT NULL,
    host         text        NOT NULL,
    key          text        NOT NULL,
    created_at   timestamptz NOT NULL,
    CONSTRAINT host_claims_pkey PRIMARY KEY (organization),
    CONSTRAINT host_claims_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE
);

-- What an organization may use. The free organization's row is the plan: a null elsewhere takes its value from there, so that a plan can
-- be changed for everybody at once. The defaults of contract 3.19 are written when rows are made.
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
    CONSTRAINT limits_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT limits_not_negative CHECK (users >= 0 AND transfer_volume_bytes >= 0 AND storage_volume_bytes >= 0
        AND new_transfer_limit >= 0 AND new_transfer_drain_rate >= 0 AND new_transfer_receivers_limit >= 0 AND mailbox_groups >= 0),
    CONSTRAINT limits_change_hostname_known CHECK (change_hostname IN ('noChange', 'pro', 'teambeam', 'custom'))
);

-- A subscription may reference no product. It keeps its domain and status, because documents need an active subscription of a domain.
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
    CONSTRAINT subscriptions_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT subscriptions_product_key UNIQUE NULLS NOT DISTINCT (organization, domain, product_id),
    CONSTRAINT subscriptions_domain_known CHECK (domain IN ('spaces', 'skp')),
    CONSTRAINT subscriptions_status_known CHECK (status IN ('active', 'cancelled', 'incomplete', 'past_due', 'incomplete_expired',
        'trialing', 'unpaid')),
    CONSTRAINT subscriptions_product_whole CHECK (num_nulls(product_id, display_name) IN (0, 2)),
    CONSTRAINT subscriptions_status_whole CHECK (num_nulls(domain, status) IN (0, 2))
);

-- A person. epoch counts the changes that end access tokens (contract 2.4). A deleted person keeps a row without data for as long as a
-- token could still name it.
CREATE TABLE identity.persons (
    uid                 uuid        NOT NULL,
    name                text,
    locale              text        NOT NULL,
    time_zone           text        NOT NULL,
    created_at          timestamptz NOT NULL,
    last_login_at       timestamptz,
    email_proved_at     timestamptz, -- when the primary address was last proved to be the person's (contract 3.4)
    epoch               bigint      NOT NULL DEFAULT 1,
    -- Raised by a change or reset of the password: device cookies with a smaller one are unknown (contract 3.22).
    device_epoch        bigint      NOT NULL DEFAULT 1,
    federated_issuer    text,
    federated_subject   text,
    upload_volume_bytes bigint,      -- monthly; null: the server's default
    -- When the person made organizations, the last three: what somebody makes, uses and deletes again is bounded by this.
    organizations_made  timestamptz[] NOT NULL DEFAULT '{}',
    suspended_at        timestamptz,
    -- What running downloads and uploads of the person watch: the next suspension publishes its end, and writes another one (contract 9.4).
    next_suspension     uuid        NOT NULL DEFAULT gen_random_uuid(),
    deleted_at          timestamptz,
    CONSTRAINT persons_pkey PRIMARY KEY (uid),
    CONSTRAINT persons_federated_key UNIQUE (federated_issuer, federated_subject),
    CONSTRAINT persons_federated_whole CHECK ((federated_issuer IS NULL) = (federated_subject IS NULL)),
    CONSTRAINT persons_locale_known CHECK (locale IN ('de_DE', 'en_US', 'fr_FR', 'ru_RU', 'ko_KR', 'zh_CN', 'zh_TW', 'ja_JP')),
    CONSTRAINT persons_upload_volume_not_negative CHECK (upload_volume_bytes >= 0),
    CONSTRAINT persons_deleted_bare CHECK (deleted_at IS NULL OR (name IS NULL AND federated_issuer IS NULL))
);
CREATE INDEX persons_suspended ON identity.persons (uid) WHERE suspended_at IS NOT NULL;
CREATE INDEX persons_deleted_at_idx ON identity.persons (deleted_at) WHERE deleted_at IS NOT NULL;
-- Operators list by name.
CREATE INDEX persons_by_prefix ON identity.persons (lower(name) COLLATE "C", uid) WHERE deleted_at IS NULL AND name IS NOT NULL;

-- The operators of the installation (contract 9.1). Deleting a person removes the row.
CREATE TABLE identity.operators (
    person   uuid        NOT NULL,
    added_at timestamptz NOT NULL,
    CONSTRAINT operators_pkey PRIMARY KEY (person),
    CONSTRAINT operators_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE
);

-- Email addresses, normalized. A verified address belongs to one person. Unverified, it may be pending twice: as the primary one of a new
-- signup and as the secondary one of somebody else; who verifies it first keeps it (contract 3.1). key_hash is the SHA-256 of the one
-- verification key that is valid.
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
    CONSTRAINT addresses_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT addresses_address_form CHECK (address = lower(address) AND octet_length(address) <= 254 AND address LIKE '_%@_%'),
    CONSTRAINT addresses_removal CHECK ((remove_at IS NULL) = (verified_at IS NOT NULL)),
    CONSTRAINT addresses_key_whole CHECK ((key_hash IS NULL) = (key_expires_at IS NULL)),
    CONSTRAINT addresses_key_hash_key UNIQUE (key_hash)
);
CREATE UNIQUE INDEX addresses_verified_key ON identity.addresses (address) WHERE verified_at IS NOT NULL;
CREATE UNIQUE INDEX addresses_signup_key ON identity.addresses (address) WHERE verified_at IS NULL AND is_primary;
CREATE UNIQUE INDEX addresses_primary_key ON identity.addresses (person) WHERE is_primary;
CREATE INDEX addresses_address_idx ON identity.addresses (address);
CREATE INDEX addresses_remove_at_idx ON identity.addresses (remove_at) WHERE remove_at IS NOT NULL;
-- Keys are forgotten every few minutes; few addresses have one.
CREATE INDEX addresses_key_expires_at_idx ON identity.addresses (key_expires_at) WHERE key_expires_at IS NOT NULL;
CREATE INDEX addresses_by_prefix ON identity.addresses (address COLLATE "C", person) WHERE is_primary; -- operators list people by address

-- A person is a member of one organization at most.
CREATE TABLE identity.memberships (
    person       uuid        NOT NULL,
    organization uuid        NOT NULL,
    roles        text[]      NOT NULL,
    reference    text,
    external_uid text,
    created_at   timestamptz NOT NULL,
    admin_since  timestamptz, -- since when the member is an administrator without a break; null: no administrator
    CONSTRAINT memberships_pkey PRIMARY KEY (person),
    CONSTRAINT memberships_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT memberships_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT memberships_roles_known CHECK (array_position(roles, NULL) IS NULL AND roles <@ ARRAY['Organization.Admin', 'Contract.Admin',
        'Contract.Read', 'Service.Transfer.Use', 'Service.Transfer.Archive.CreateRoot', 'Service.Drive.CreateSpace', 'Service.All.Use',
        'Service.Spaces.Use']),
    CONSTRAINT memberships_admin_since CHECK ((admin_since IS NOT NULL) = ('Organization.Admin' = ANY (roles)))
);
CREATE INDEX memberships_organization_idx ON identity.memberships (organization, person);
CREATE INDEX memberships_administrators ON identity.memberships (organization, admin_since, person) WHERE admin_since IS NOT NULL;
CREATE INDEX memberships_by_age ON identity.memberships (organization, created_at, person); -- lists the members in batches, oldest first

-- Invitations: shared ones can be accepted by anybody and often, a personalized one by a person who proves its address.
CREATE TABLE identity.invitations (
    key          text        NOT NULL,
    organization uuid        NOT NULL,
    address      text, -- null: shared
    roles        text[]      NOT NULL,
    inviter      uuid,
    created_at   timestamptz NOT NULL,
    expires_at   timestamptz,
    CONSTRAINT invitations_pkey PRIMARY KEY (key),
    CONSTRAINT invitations_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT invitations_inviter_fkey FOREIGN KEY (inviter) REFERENCES identity.persons (uid) ON DELETE SET NULL,
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
    CONSTRAINT avatars_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT avatars_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT avatars_owner CHECK (num_nonnulls(person, organization) = 1),
    CONSTRAINT avatars_height_known CHECK (height IN (500, 240, 160, 80)),
    CONSTRAINT avatars_person_key UNIQUE (person, height),
    CONSTRAINT avatars_organization_key UNIQUE (organization, height)
);

-- Where a person is at home (contract 1.2): the organization whose hosts serve the person, and the hostname of the person's links.
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

-- What a token says of a person. Every statement that makes or reads a session or an API token joins it, so a suspended person has none.
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
WHERE p.deleted_at IS NULL AND p.suspended_at IS NULL;

-- What other domains may know. The views are so written that a statement which joins them stays within what the planner reorders
-- (join_collapse_limit, 8 relations): otherwise a mailbox that is looked up by its vanity link reads every person there is. What belongs
-- to the free organization is looked up once in a statement, and what a statement does not ask for not at all.

-- Persons that are deleted are absent. host and limits_organization are those of the person's organization, or the free one's where it
-- has none. personal: the server's default of upload_volume_bytes applies. created_at: young accounts send to fewer recipients.
CREATE VIEW directory.persons AS
SELECT p.uid                                                                                                  AS person,
       p.name,
       p.locale,
       p.time_zone,
       (SELECT a.address FROM identity.addresses a WHERE a.person = p.uid AND a.is_primary)                   AS email,
       m.organization,
       coalesce(m.roles, '{}')                                                                                AS roles,
       coalesce((SELECT h.host FROM identity.hosts h WHERE h.organization = m.organization AND h.active),
                (SELECT h.host FROM identity.organizations f JOIN identity.hosts h ON h.organization = f.uid AND h.active
                 WHERE f.free))                                                                               AS host,
       coalesce(m.organization, (SELECT f.uid FROM identity.organizations f WHERE f.free))                    AS limits_organization,
       p.upload_volume_bytes,
       coalesce((SELECT o.personal FROM identity.organizations o WHERE o.uid = m.organization), true)         AS personal,
       p.epoch,
       p.created_at,
       p.suspended_at IS NOT NULL                                                                             AS suspended
FROM identity.persons p
LEFT JOIN identity.memberships m ON m.person = p.uid
WHERE p.deleted_at IS NULL;

CREATE VIEW directory.suspensions AS
SELECT uid AS person, suspended_at IS NOT NULL AS suspended, next_suspension FROM identity.persons;

CREATE VIEW directory.addresses AS
SELECT person, address, verified_at IS NOT NULL AS verified, is_primary
FROM identity.addresses;

CREATE VIEW directory.members AS
SELECT organization, person FROM identity.memberships;

-- host is the organization's active hostname, or the free one's where it has none.
CREATE VIEW directory.organizations AS
SELECT o.uid AS organization,
       o.name,
       coalesce((SELECT h.host FROM identity.hosts h WHERE h.organization = o.uid AND h.active),
                (SELECT h.host FROM identity.organizations f JOIN identity.hosts h ON h.organization = f.uid AND h.active
                 WHERE f.free)) AS host,
       o.free,
       o.locale,
       o.time_zone
FROM identity.organizations o;

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
LEFT JOIN identity.limits f ON f.organization = (SELECT fo.uid FROM identity.organizations fo WHERE fo.free);
