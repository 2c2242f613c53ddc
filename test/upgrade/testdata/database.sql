SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
CREATE SCHEMA directory;
CREATE SCHEMA identity;
CREATE SCHEMA transfer;
CREATE TYPE public.river_job_state AS ENUM (
    'available',
    'cancelled',
    'completed',
    'discarded',
    'pending',
    'retryable',
    'running',
    'scheduled'
);
CREATE FUNCTION public.river_job_state_in_bitmask(bitmask bit, state public.river_job_state) RETURNS boolean
    LANGUAGE sql IMMUTABLE
    AS $$
    SELECT CASE state
        WHEN 'available' THEN get_bit(bitmask, 7)
        WHEN 'cancelled' THEN get_bit(bitmask, 6)
        WHEN 'completed' THEN get_bit(bitmask, 5)
        WHEN 'discarded' THEN get_bit(bitmask, 4)
        WHEN 'pending'   THEN get_bit(bitmask, 3)
        WHEN 'retryable' THEN get_bit(bitmask, 2)
        WHEN 'running'   THEN get_bit(bitmask, 1)
        WHEN 'scheduled' THEN get_bit(bitmask, 0)
        ELSE 0
    END = 1;
$$;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE identity.addresses (
    person uuid NOT NULL,
    address text NOT NULL,
    is_primary boolean NOT NULL,
    verified_at timestamp with time zone,
    remove_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    key_hash bytea,
    key_expires_at timestamp with time zone,
    CONSTRAINT addresses_address_form CHECK (((address = lower(address)) AND (octet_length(address) <= 254) AND (address ~~ '_%@_%'::text))),
    CONSTRAINT addresses_key_whole CHECK (((key_hash IS NULL) = (key_expires_at IS NULL))),
    CONSTRAINT addresses_removal CHECK (((remove_at IS NULL) = (verified_at IS NOT NULL)))
);
CREATE VIEW directory.addresses AS
 SELECT addresses.person,
    addresses.address,
    (addresses.verified_at IS NOT NULL) AS verified,
    addresses.is_primary
   FROM identity.addresses;
CREATE TABLE identity.avatars (
    person uuid,
    organization uuid,
    height smallint NOT NULL,
    image bytea NOT NULL,
    etag text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT avatars_height_known CHECK ((height = ANY (ARRAY[500, 240, 160, 80]))),
    CONSTRAINT avatars_owner CHECK ((num_nonnulls(person, organization) = 1))
);
CREATE VIEW directory.avatars AS
 SELECT avatars.person,
    avatars.height,
    avatars.image,
    avatars.etag
   FROM identity.avatars
  WHERE (avatars.person IS NOT NULL);
CREATE TABLE identity.hosts (
    host text NOT NULL,
    organization uuid NOT NULL,
    active boolean NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT hosts_host_form CHECK (((host = lower(host)) AND (host <> ''::text) AND (host !~ '[/@[:space:]]'::text)))
);
CREATE VIEW directory.hosts AS
 SELECT hosts.host,
    hosts.organization,
    hosts.active
   FROM identity.hosts;
CREATE TABLE identity.limits (
    organization uuid NOT NULL,
    service_enabled boolean,
    users integer,
    transfer_volume_bytes bigint,
    storage_volume_bytes bigint,
    gdpr_contract boolean,
    secure_spaces boolean,
    mime_type_filter boolean,
    new_transfer_limit integer,
    new_transfer_drain_rate double precision,
    new_transfer_receivers_limit integer,
    admin_portal boolean,
    mailbox_groups integer,
    change_hostname text,
    CONSTRAINT limits_change_hostname_known CHECK ((change_hostname = ANY (ARRAY['noChange'::text, 'pro'::text, 'teambeam'::text, 'custom'::text]))),
    CONSTRAINT limits_not_negative CHECK (((users >= 0) AND (transfer_volume_bytes >= 0) AND (storage_volume_bytes >= 0) AND (new_transfer_limit >= 0) AND (new_transfer_drain_rate >= (0)::double precision) AND (new_transfer_receivers_limit >= 0) AND (mailbox_groups >= 0)))
);
CREATE TABLE identity.organizations (
    uid uuid NOT NULL,
    free boolean DEFAULT false NOT NULL,
    name text,
    external_uid text,
    address_line1 text,
    address_line2 text,
    post_code text,
    city text,
    state text,
    country text,
    phone_number text,
    global_signature text,
    legal_notice_url text,
    privacy_policy_url text,
    locale text NOT NULL,
    time_zone text NOT NULL,
    mfa_required boolean DEFAULT false NOT NULL,
    primary_color text,
    background_color text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT organizations_locale_known CHECK ((locale = ANY (ARRAY['de_DE'::text, 'en_US'::text, 'fr_FR'::text, 'ru_RU'::text, 'ko_KR'::text, 'zh_CN'::text, 'zh_TW'::text, 'ja_JP'::text])))
);
CREATE VIEW directory.limits AS
 SELECT o.uid AS organization,
    COALESCE(l.service_enabled, f.service_enabled) AS service_enabled,
    COALESCE(l.users, f.users) AS users,
    COALESCE(l.transfer_volume_bytes, f.transfer_volume_bytes) AS transfer_volume_bytes,
    COALESCE(l.storage_volume_bytes, f.storage_volume_bytes) AS storage_volume_bytes,
    COALESCE(l.gdpr_contract, f.gdpr_contract) AS gdpr_contract,
    COALESCE(l.secure_spaces, f.secure_spaces) AS secure_spaces,
    COALESCE(l.mime_type_filter, f.mime_type_filter) AS mime_type_filter,
    COALESCE(l.new_transfer_limit, f.new_transfer_limit) AS new_transfer_limit,
    COALESCE(l.new_transfer_drain_rate, f.new_transfer_drain_rate) AS new_transfer_drain_rate,
    COALESCE(l.new_transfer_receivers_limit, f.new_transfer_receivers_limit) AS new_transfer_receivers_limit,
    COALESCE(l.admin_portal, f.admin_portal) AS admin_portal,
    COALESCE(l.mailbox_groups, f.mailbox_groups) AS mailbox_groups,
    COALESCE(l.change_hostname, f.change_hostname) AS change_hostname
   FROM ((identity.organizations o
     LEFT JOIN identity.limits l ON ((l.organization = o.uid)))
     LEFT JOIN identity.limits f ON ((f.organization = ( SELECT fo.uid
           FROM identity.organizations fo
          WHERE fo.free))));
CREATE VIEW directory.organizations AS
 SELECT o.uid AS organization,
    o.name,
    COALESCE(( SELECT h.host
           FROM identity.hosts h
          WHERE ((h.organization = o.uid) AND h.active)), ( SELECT h.host
           FROM (identity.organizations f
             JOIN identity.hosts h ON (((h.organization = f.uid) AND h.active)))
          WHERE f.free)) AS host,
    o.free,
    o.locale,
    o.time_zone
   FROM identity.organizations o;
CREATE TABLE identity.memberships (
    person uuid NOT NULL,
    organization uuid NOT NULL,
    roles text[] NOT NULL,
    reference text,
    external_uid text,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT memberships_roles_known CHECK (((array_position(roles, NULL::text) IS NULL) AND (roles <@ ARRAY['Organization.Admin'::text, 'Contract.Admin'::text, 'Contract.Read'::text, 'Service.Transfer.Use'::text, 'Service.Transfer.Archive.CreateRoot'::text, 'Service.Drive.CreateSpace'::text, 'Service.All.Use'::text, 'Service.Spaces.Use'::text])))
);
CREATE TABLE identity.persons (
    uid uuid NOT NULL,
    name text,
    locale text NOT NULL,
    time_zone text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    last_login_at timestamp with time zone,
    email_proved_at timestamp with time zone,
    epoch bigint DEFAULT 1 NOT NULL,
    federated_issuer text,
    federated_subject text,
    upload_volume_bytes bigint,
    deleted_at timestamp with time zone,
    CONSTRAINT persons_deleted_bare CHECK (((deleted_at IS NULL) OR ((name IS NULL) AND (federated_issuer IS NULL)))),
    CONSTRAINT persons_federated_whole CHECK (((federated_issuer IS NULL) = (federated_subject IS NULL))),
    CONSTRAINT persons_locale_known CHECK ((locale = ANY (ARRAY['de_DE'::text, 'en_US'::text, 'fr_FR'::text, 'ru_RU'::text, 'ko_KR'::text, 'zh_CN'::text, 'zh_TW'::text, 'ja_JP'::text]))),
    CONSTRAINT persons_upload_volume_not_negative CHECK ((upload_volume_bytes >= 0))
);
CREATE VIEW directory.persons AS
 SELECT p.uid AS person,
    p.name,
    p.locale,
    p.time_zone,
    ( SELECT a.address
           FROM identity.addresses a
          WHERE ((a.person = p.uid) AND a.is_primary)) AS email,
    m.organization,
    COALESCE(m.roles, '{}'::text[]) AS roles,
    COALESCE(( SELECT h.host
           FROM identity.hosts h
          WHERE ((h.organization = m.organization) AND h.active)), ( SELECT h.host
           FROM (identity.organizations f
             JOIN identity.hosts h ON (((h.organization = f.uid) AND h.active)))
          WHERE f.free)) AS host,
    COALESCE(m.organization, ( SELECT f.uid
           FROM identity.organizations f
          WHERE f.free)) AS limits_organization,
    p.upload_volume_bytes,
    p.epoch
   FROM (identity.persons p
     LEFT JOIN identity.memberships m ON ((m.person = p.uid)))
  WHERE (p.deleted_at IS NULL);
CREATE TABLE identity.authenticators (
    uid uuid NOT NULL,
    person uuid NOT NULL,
    type text NOT NULL,
    name text,
    verified boolean NOT NULL,
    registered_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    secret bytea,
    salt bytea,
    last_step bigint,
    CONSTRAINT authenticators_material CHECK ((((secret IS NOT NULL) = (type = ANY (ARRAY['bcrypt'::text, 'totp'::text]))) AND ((salt IS NOT NULL) = (type = 'recovery'::text)))),
    CONSTRAINT authenticators_step_of_totp CHECK (((last_step IS NULL) OR (type = 'totp'::text))),
    CONSTRAINT authenticators_type_known CHECK ((type = ANY (ARRAY['bcrypt'::text, 'totp'::text, 'recovery'::text])))
);
CREATE VIEW identity.claims AS
 SELECT p.uid AS person,
    p.locale,
    p.time_zone,
    p.epoch,
    COALESCE(a.address, ''::text) AS email,
    (a.verified_at IS NOT NULL) AS email_verified,
    m.organization,
    COALESCE(m.roles, '{}'::text[]) AS roles,
    COALESCE(o.mfa_required, false) AS mfa_required
   FROM (((identity.persons p
     LEFT JOIN identity.addresses a ON (((a.person = p.uid) AND a.is_primary)))
     LEFT JOIN identity.memberships m ON ((m.person = p.uid)))
     LEFT JOIN identity.organizations o ON ((o.uid = m.organization)))
  WHERE (p.deleted_at IS NULL);
CREATE TABLE identity.external_logins (
    state_hash bytea NOT NULL,
    redirect_url text NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    stored_at timestamp with time zone,
    person uuid,
    person_epoch bigint,
    external_sid text,
    forget_at timestamp with time zone NOT NULL,
    claimed_at timestamp with time zone,
    CONSTRAINT external_logins_claimed_after CHECK (((claimed_at IS NULL) OR (stored_at IS NOT NULL))),
    CONSTRAINT external_logins_stored_whole CHECK ((num_nulls(stored_at, person, person_epoch) = ANY (ARRAY[0, 3])))
);
CREATE TABLE identity.external_tokens (
    fingerprint bytea NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE VIEW identity.homes AS
 SELECT p.uid AS person,
        CASE
            WHEN (h.host IS NULL) THEN f.uid
            ELSE m.organization
        END AS organization,
    COALESCE(h.host, fh.host) AS host
   FROM ((((identity.persons p
     LEFT JOIN identity.memberships m ON ((m.person = p.uid)))
     LEFT JOIN identity.hosts h ON (((h.organization = m.organization) AND h.active)))
     LEFT JOIN identity.organizations f ON (f.free))
     LEFT JOIN identity.hosts fh ON (((fh.organization = f.uid) AND fh.active)))
  WHERE (p.deleted_at IS NULL);
CREATE TABLE identity.host_claims (
    organization uuid NOT NULL,
    host text NOT NULL,
    key text NOT NULL,
    created_at timestamp with time zone NOT NULL
);
CREATE TABLE identity.id_tokens (
    jti uuid NOT NULL,
    person uuid NOT NULL,
    sid uuid NOT NULL,
    state text DEFAULT 'active'::text NOT NULL,
    auth_level smallint NOT NULL,
    auth_time timestamp with time zone NOT NULL,
    issued_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    user_agent text NOT NULL,
    ip text NOT NULL,
    federated boolean DEFAULT false NOT NULL,
    external_sid text,
    set_password_until timestamp with time zone,
    ended_at timestamp with time zone,
    CONSTRAINT id_tokens_ended CHECK (((state = 'ended'::text) = (ended_at IS NOT NULL))),
    CONSTRAINT id_tokens_level_known CHECK (((auth_level >= 0) AND (auth_level <= 2))),
    CONSTRAINT id_tokens_state_known CHECK ((state = ANY (ARRAY['active'::text, 'graced'::text, 'ended'::text])))
);
CREATE TABLE identity.invitations (
    key text NOT NULL,
    organization uuid NOT NULL,
    address text,
    roles text[] NOT NULL,
    inviter uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT invitations_expiry CHECK (((address IS NULL) = (expires_at IS NULL)))
);
CREATE TABLE identity.parked_tokens (
    jti uuid NOT NULL,
    person uuid NOT NULL,
    sid uuid NOT NULL,
    parent_sid uuid NOT NULL,
    auth_level smallint NOT NULL,
    auth_time timestamp with time zone NOT NULL,
    token_expires_at timestamp with time zone NOT NULL,
    federated boolean NOT NULL,
    external_sid text,
    set_password_until timestamp with time zone,
    code_challenge text,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE identity.pending_logins (
    jti uuid NOT NULL,
    person uuid NOT NULL,
    set_password boolean NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE identity.recovery_codes (
    authenticator uuid NOT NULL,
    hash bytea NOT NULL
);
CREATE TABLE identity.reset_keys (
    key_hash bytea NOT NULL,
    person uuid NOT NULL,
    address text NOT NULL,
    expires_at timestamp with time zone NOT NULL
);
CREATE TABLE identity.subscriptions (
    uid uuid NOT NULL,
    organization uuid NOT NULL,
    domain text,
    product_id text,
    display_name text,
    status text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone,
    CONSTRAINT subscriptions_domain_known CHECK ((domain = ANY (ARRAY['spaces'::text, 'skp'::text]))),
    CONSTRAINT subscriptions_product_whole CHECK ((num_nulls(domain, product_id, display_name, status) = ANY (ARRAY[0, 4]))),
    CONSTRAINT subscriptions_status_known CHECK ((status = ANY (ARRAY['active'::text, 'cancelled'::text, 'incomplete'::text, 'past_due'::text, 'incomplete_expired'::text, 'trialing'::text, 'unpaid'::text])))
);
CREATE TABLE public.audit (
    id bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    actor uuid,
    action text NOT NULL,
    object text NOT NULL,
    target uuid,
    organization uuid,
    address inet,
    user_agent text NOT NULL,
    details jsonb NOT NULL,
    CONSTRAINT audit_action_form CHECK ((action ~ '^[a-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+$'::text)),
    CONSTRAINT audit_details_object CHECK ((jsonb_typeof(details) = 'object'::text))
);
ALTER TABLE public.audit ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.event_feeds (
    person uuid NOT NULL,
    last_id bigint NOT NULL,
    used_at timestamp with time zone NOT NULL
);
CREATE TABLE public.events (
    person uuid NOT NULL,
    id bigint NOT NULL,
    uid uuid NOT NULL,
    kind text NOT NULL,
    subject text NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT events_kind_form CHECK ((kind ~ '^[A-Z][A-Z_]{0,63}$'::text))
);
CREATE TABLE public.goose_db_version (
    id integer NOT NULL,
    version_id bigint NOT NULL,
    is_applied boolean NOT NULL,
    tstamp timestamp without time zone DEFAULT now() NOT NULL
);
ALTER TABLE public.goose_db_version ALTER COLUMN id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME public.goose_db_version_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.mails (
    uid uuid NOT NULL,
    created_at timestamp with time zone NOT NULL,
    template text NOT NULL,
    reference text NOT NULL,
    recipient text NOT NULL,
    recipient_name text NOT NULL,
    reply_to text NOT NULL,
    reply_to_name text NOT NULL,
    locale text NOT NULL,
    time_zone text NOT NULL,
    sender jsonb NOT NULL,
    data jsonb NOT NULL,
    secret bytea,
    has_secret boolean NOT NULL,
    message_id text NOT NULL,
    give_up_at timestamp with time zone NOT NULL,
    state text DEFAULT 'queued'::text NOT NULL,
    attempts integer DEFAULT 0 NOT NULL,
    last_attempt_at timestamp with time zone,
    last_answer text DEFAULT ''::text NOT NULL,
    next_attempt_at timestamp with time zone,
    busy_until timestamp with time zone,
    finished_at timestamp with time zone,
    CONSTRAINT mails_attempts_not_negative CHECK ((attempts >= 0)),
    CONSTRAINT mails_finished_when_done CHECK (((finished_at IS NULL) = (state = 'queued'::text))),
    CONSTRAINT mails_secret_only_queued CHECK (((secret IS NULL) OR (state = 'queued'::text))),
    CONSTRAINT mails_state_known CHECK ((state = ANY (ARRAY['queued'::text, 'sent'::text, 'failed'::text, 'cancelled'::text])))
);
CREATE TABLE public.revocations (
    id bigint NOT NULL,
    session uuid,
    person uuid,
    epoch bigint,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT revocations_epoch_check CHECK (((epoch IS NULL) = (person IS NULL))),
    CONSTRAINT revocations_subject_check CHECK (((session IS NULL) <> (person IS NULL)))
);
ALTER TABLE public.revocations ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.revocations_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE public.river_job (
    id bigint NOT NULL,
    state public.river_job_state DEFAULT 'available'::public.river_job_state NOT NULL,
    attempt smallint DEFAULT 0 NOT NULL,
    max_attempts smallint DEFAULT 25 NOT NULL,
    attempted_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    finalized_at timestamp with time zone,
    scheduled_at timestamp with time zone DEFAULT now() NOT NULL,
    priority smallint DEFAULT 1 NOT NULL,
    args jsonb NOT NULL,
    attempted_by text[],
    errors jsonb[],
    kind text NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    queue text DEFAULT 'default'::text NOT NULL,
    tags character varying(255)[] DEFAULT '{}'::character varying[] NOT NULL,
    unique_key bytea,
    unique_states bit(8),
    CONSTRAINT finalized_or_finalized_at_null CHECK ((((finalized_at IS NULL) AND (state <> ALL (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))) OR ((finalized_at IS NOT NULL) AND (state = ANY (ARRAY['cancelled'::public.river_job_state, 'completed'::public.river_job_state, 'discarded'::public.river_job_state]))))),
    CONSTRAINT kind_length CHECK (((char_length(kind) > 0) AND (char_length(kind) < 128))),
    CONSTRAINT max_attempts_is_positive CHECK ((max_attempts > 0)),
    CONSTRAINT priority_in_range CHECK (((priority >= 1) AND (priority <= 4))),
    CONSTRAINT queue_length CHECK (((char_length(queue) > 0) AND (char_length(queue) < 128)))
);
CREATE SEQUENCE public.river_job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.river_job_id_seq OWNED BY public.river_job.id;
CREATE UNLOGGED TABLE public.river_leader (
    elected_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    leader_id text NOT NULL,
    name text DEFAULT 'default'::text NOT NULL,
    CONSTRAINT leader_id_length CHECK (((char_length(leader_id) > 0) AND (char_length(leader_id) < 128))),
    CONSTRAINT name_length CHECK ((name = 'default'::text))
);
CREATE TABLE public.river_migration (
    line text NOT NULL,
    version bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT line_length CHECK (((char_length(line) > 0) AND (char_length(line) < 128))),
    CONSTRAINT version_gte_1 CHECK ((version >= 1))
);
CREATE TABLE public.river_notification (
    id bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    payload text NOT NULL,
    topic text NOT NULL,
    CONSTRAINT topic_length CHECK (((length(topic) > 0) AND (length(topic) < 128)))
);
CREATE SEQUENCE public.river_notification_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.river_notification_id_seq OWNED BY public.river_notification.id;
CREATE TABLE public.river_queue (
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    paused_at timestamp with time zone,
    updated_at timestamp with time zone DEFAULT CURRENT_TIMESTAMP NOT NULL
);
CREATE TABLE public.settings (
    name text NOT NULL,
    value jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT settings_name_check CHECK ((name <> ''::text))
);
CREATE TABLE public.signing_keys (
    kid text NOT NULL,
    purpose text NOT NULL,
    public_key bytea NOT NULL,
    private_key bytea,
    created_at timestamp with time zone NOT NULL,
    signs_from timestamp with time zone NOT NULL,
    signs_until timestamp with time zone NOT NULL,
    published_until timestamp with time zone NOT NULL,
    revoked_at timestamp with time zone,
    CONSTRAINT signing_keys_public_key_check CHECK ((octet_length(public_key) = 65)),
    CONSTRAINT signing_keys_purpose_check CHECK ((purpose = ANY (ARRAY['session'::text, 'uid'::text]))),
    CONSTRAINT signing_keys_revoked_check CHECK (((revoked_at IS NULL) OR (private_key IS NULL))),
    CONSTRAINT signing_keys_window_check CHECK (((signs_from < signs_until) AND (signs_until <= published_until)))
);
CREATE TABLE transfer.adminunits (
    organization uuid NOT NULL,
    available_ttl integer[] NOT NULL,
    default_ttl integer NOT NULL,
    priority_enabled boolean NOT NULL,
    protection_level text NOT NULL,
    max_files integer NOT NULL,
    max_file_size_mb bigint NOT NULL,
    max_recipients integer NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT adminunits_limits_positive CHECK (((max_files > 0) AND (max_file_size_mb > 0) AND (max_recipients > 0))),
    CONSTRAINT adminunits_protection_known CHECK ((protection_level = ANY (ARRAY['none'::text, 'password'::text, 'recipientAuthentication'::text]))),
    CONSTRAINT adminunits_ttl_offered CHECK ((default_ttl = ANY (available_ttl)))
);
CREATE TABLE transfer.deliveries (
    uid uuid NOT NULL,
    transfer uuid NOT NULL,
    "position" integer NOT NULL,
    destination_type text NOT NULL,
    person uuid,
    name text,
    email text,
    key_version integer DEFAULT 1 NOT NULL,
    key_hash bytea NOT NULL,
    code_hash bytea,
    code_expires_at timestamp with time zone,
    code_tries integer DEFAULT 0 NOT NULL,
    code_day date,
    code_count integer DEFAULT 0 NOT NULL,
    undelivered_at timestamp with time zone,
    accessed_at timestamp with time zone,
    hidden_at timestamp with time zone,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT deliveries_addressed CHECK (((destination_type = 'link'::text) OR (email IS NOT NULL))),
    CONSTRAINT deliveries_destination_known CHECK ((destination_type = ANY (ARRAY['to'::text, 'cc'::text, 'bcc'::text, 'link'::text])))
);
CREATE TABLE transfer.discarded_objects (
    object uuid NOT NULL,
    discarded_at timestamp with time zone NOT NULL,
    busy_until timestamp with time zone
);
CREATE TABLE transfer.mailbox_group_members (
    mailbox_group uuid NOT NULL,
    mailbox uuid NOT NULL,
    "position" integer NOT NULL
);
CREATE TABLE transfer.mailbox_groups (
    uid uuid NOT NULL,
    organization uuid NOT NULL,
    name text NOT NULL,
    description text,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL
);
CREATE TABLE transfer.mailboxes (
    person uuid NOT NULL,
    secure boolean DEFAULT false NOT NULL,
    name text,
    email text,
    slogan text,
    absent boolean DEFAULT false NOT NULL,
    absence_message text,
    fields_schema json,
    ui_schema json,
    mime_type_filter text[] DEFAULT '{}'::text[] NOT NULL,
    max_files integer,
    max_file_size_mb bigint,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT mailboxes_limits_positive CHECK (((max_files > 0) AND (max_file_size_mb > 0)))
);
CREATE TABLE transfer.object_charges (
    object uuid NOT NULL,
    month date NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT object_charges_positive CHECK ((bytes >= 0))
);
CREATE TABLE transfer.objects (
    uid uuid NOT NULL,
    reservation uuid NOT NULL,
    "position" bigint NOT NULL,
    client_id text NOT NULL,
    name text,
    intended_size bigint NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    sha_state bytea,
    head bytea,
    sha256 bytea,
    crc32 bigint DEFAULT 0 NOT NULL,
    mime_type text,
    writer_epoch bigint DEFAULT 0 NOT NULL,
    lease_until timestamp with time zone,
    reserved bigint DEFAULT 0 NOT NULL,
    reserved_month date,
    downloads bigint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT objects_held_bounded CHECK (((held >= 0) AND (held <= intended_size))),
    CONSTRAINT objects_reserved_known CHECK (((reserved >= 0) AND ((reserved = 0) OR (reserved_month IS NOT NULL))))
);
ALTER TABLE transfer.objects ALTER COLUMN "position" ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME transfer.objects_position_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE transfer.one_time_keys (
    key_hash bytea NOT NULL,
    transfer uuid NOT NULL,
    delivery uuid,
    person uuid,
    session uuid,
    epoch bigint,
    object uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    CONSTRAINT one_time_keys_holder CHECK (((num_nonnulls(delivery, person) = 1) AND (num_nonnulls(person, session, epoch) = ANY (ARRAY[0, 3]))))
);
CREATE TABLE transfer.reservation_recipients (
    reservation uuid NOT NULL,
    "position" integer NOT NULL,
    person uuid,
    name text,
    email text NOT NULL,
    destination_type text NOT NULL,
    CONSTRAINT reservation_recipients_destination_known CHECK ((destination_type = ANY (ARRAY['to'::text, 'cc'::text, 'bcc'::text])))
);
CREATE TABLE transfer.reservations (
    uid uuid NOT NULL,
    type text NOT NULL,
    state text DEFAULT 'open'::text NOT NULL,
    owner uuid NOT NULL,
    creator uuid,
    organization uuid,
    limits_organization uuid NOT NULL,
    sender uuid,
    subject text,
    message text,
    anon_sender text,
    anon_email text,
    locale text,
    delivery_notification boolean DEFAULT false NOT NULL,
    ttl integer NOT NULL,
    priority integer,
    protection text NOT NULL,
    password_hash text,
    fields json,
    max_files integer NOT NULL,
    max_file_size_mb bigint NOT NULL,
    max_recipients integer NOT NULL,
    object_count integer DEFAULT 0 NOT NULL,
    transfer uuid,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT reservations_confirmed CHECK (((state = 'confirmed'::text) = (transfer IS NOT NULL))),
    CONSTRAINT reservations_objects_bounded CHECK (((object_count >= 0) AND (object_count <= max_files))),
    CONSTRAINT reservations_priority_range CHECK (((priority >= 1) AND (priority <= 5))),
    CONSTRAINT reservations_protection_known CHECK ((protection = ANY (ARRAY['none'::text, 'password'::text, 'recipientAuthentication'::text]))),
    CONSTRAINT reservations_state_known CHECK ((state = ANY (ARRAY['open'::text, 'confirmed'::text]))),
    CONSTRAINT reservations_type_known CHECK ((type = ANY (ARRAY['p2p'::text, 'drop'::text, 'mailbox'::text])))
);
CREATE TABLE transfer.stored_volumes (
    organization uuid NOT NULL,
    bytes bigint NOT NULL,
    CONSTRAINT stored_volumes_not_negative CHECK ((bytes >= 0))
);
CREATE TABLE transfer.transfers (
    uid uuid NOT NULL,
    reservation uuid NOT NULL,
    type text NOT NULL,
    state text DEFAULT 'delivered'::text NOT NULL,
    owner uuid NOT NULL,
    sender uuid,
    sender_managed boolean NOT NULL,
    limits_organization uuid NOT NULL,
    subject text,
    message text,
    sender_name text,
    sender_email text,
    sender_locale text,
    delivery_notification boolean NOT NULL,
    priority integer,
    protection text NOT NULL,
    password_hash text,
    fields json,
    search text,
    object_count integer NOT NULL,
    total_bytes bigint NOT NULL,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    accessed_at timestamp with time zone,
    ended_at timestamp with time zone,
    hidden_at timestamp with time zone,
    warned_at timestamp with time zone,
    archives bigint DEFAULT 0 NOT NULL,
    CONSTRAINT transfers_ended CHECK (((state = ANY (ARRAY['expired'::text, 'revoked'::text])) = (ended_at IS NOT NULL))),
    CONSTRAINT transfers_managed_by_person CHECK (((sender IS NOT NULL) OR (NOT sender_managed))),
    CONSTRAINT transfers_protection_known CHECK ((protection = ANY (ARRAY['none'::text, 'password'::text, 'recipientAuthentication'::text]))),
    CONSTRAINT transfers_state_known CHECK ((state = ANY (ARRAY['delivered'::text, 'accessed'::text, 'expired'::text, 'revoked'::text]))),
    CONSTRAINT transfers_type_known CHECK ((type = ANY (ARRAY['p2p'::text, 'drop'::text, 'mailbox'::text])))
);
CREATE TABLE transfer.upload_confirmations (
    email text NOT NULL,
    day date NOT NULL,
    sent integer NOT NULL
);
CREATE TABLE transfer.vanity_links (
    host_organization uuid NOT NULL,
    link text NOT NULL,
    mailbox uuid,
    mailbox_group uuid,
    CONSTRAINT vanity_links_folded CHECK ((link = lower(link))),
    CONSTRAINT vanity_links_one_target CHECK ((num_nonnulls(mailbox, mailbox_group) = 1))
);
CREATE TABLE transfer.volumes (
    subject uuid NOT NULL,
    month date NOT NULL,
    kind text NOT NULL,
    held bigint DEFAULT 0 NOT NULL,
    reserved bigint DEFAULT 0 NOT NULL,
    CONSTRAINT volumes_kind_known CHECK ((kind = ANY (ARRAY['person'::text, 'organization'::text]))),
    CONSTRAINT volumes_month_first CHECK ((EXTRACT(day FROM month) = (1)::numeric)),
    CONSTRAINT volumes_not_negative CHECK (((held >= 0) AND (reserved >= 0)))
);
ALTER TABLE ONLY public.river_job ALTER COLUMN id SET DEFAULT nextval('public.river_job_id_seq'::regclass);
ALTER TABLE ONLY public.river_notification ALTER COLUMN id SET DEFAULT nextval('public.river_notification_id_seq'::regclass);
INSERT INTO identity.addresses VALUES ('01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'ann@example.com', true, '2026-11-23 09:41:56.154+00', NULL, '2026-11-23 09:41:56.154+00', NULL, NULL);
INSERT INTO identity.addresses VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', 'bob@example.com', true, '2026-11-23 09:41:56.154+00', NULL, '2026-11-23 09:41:56.154+00', NULL, NULL);
INSERT INTO identity.addresses VALUES ('01a207c8-9cde-7750-9f8e-397a58701888', 'cid@example.com', true, NULL, '2026-11-30 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '\x6453c45c13a3c52861e1181e93c1735f41c53e78bc78555fc3a3c779fdff5fb0', '2026-11-24 09:41:56.154+00');
INSERT INTO identity.authenticators VALUES ('01a207c8-9a08-729f-bfbf-cc07f71c59d1', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'bcrypt', NULL, true, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '\x243261243034244234524f6e515a3552423376706a364841644545524f4a4d5845326c3832687a676b7065384566314267776e6e62556b3336387932', NULL, NULL);
INSERT INTO identity.authenticators VALUES ('01a207c8-9aff-7d30-bbf1-d9db565c0c28', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'bcrypt', NULL, true, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '\x243261243034247a622e4e646b672e744c6e772f4f516b6e757378772e652f7768517543673850386e5350653841504175377961304e576a57795532', NULL, NULL);
INSERT INTO identity.authenticators VALUES ('01a207c8-9b93-7b1a-994a-7cd365c28ff5', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'totp', NULL, true, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '\x01502b56a92a29e536997410f7e81153d7ab2164cb9d2a3b69f4639ef25ef06cb519bfd9c1e8d2fb1c87cd6616634ab9e5d84ac172', NULL, 59847563);
INSERT INTO identity.authenticators VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'recovery', NULL, true, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', NULL, '\xd9fef579980022af711c7e5e9ec4f3da', NULL);
INSERT INTO identity.authenticators VALUES ('01a207c8-9cde-7756-8c6b-94d329745afb', '01a207c8-9cde-7750-9f8e-397a58701888', 'bcrypt', NULL, true, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '\x243261243034247579533677427436566f2e695348507464615065732e414662563530647a6d36716c673657773775482e4d7a724d38527253386f2e', NULL, NULL);
INSERT INTO identity.hosts VALUES ('localhost', '01a207c8-99d5-70e6-ba3b-ddcc237205f1', true, '2026-11-23 09:41:56.154+00');
INSERT INTO identity.id_tokens VALUES ('01a207c8-9a26-7bdb-82b7-41d90b2e4d95', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a26-7bde-905a-a01f0bc45a3e', 'ended', 0, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-11-23 10:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO identity.id_tokens VALUES ('01a207c8-9b5a-78e8-9042-bb824ec95874', '01a207c8-9aff-7d20-9dba-db24023b9d71', '01a207c8-9b5a-78ea-b8e4-394b70310408', 'ended', 0, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-11-23 10:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO identity.id_tokens VALUES ('01a207c8-9b75-7f20-b34a-5e61dcffd14e', '01a207c8-9aff-7d20-9dba-db24023b9d71', '01a207c8-9b5a-78ea-b8e4-394b70310408', 'active', 1, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-12-23 09:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, NULL);
INSERT INTO identity.id_tokens VALUES ('01a207c8-9ac2-715b-a818-0e03628c54b7', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a26-7bde-905a-a01f0bc45a3e', 'ended', 2, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-12-23 09:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO identity.id_tokens VALUES ('01a207c8-9ba8-79ab-9729-40344f551aea', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a26-7bde-905a-a01f0bc45a3e', 'active', 2, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-12-23 09:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, NULL);
INSERT INTO identity.id_tokens VALUES ('01a207c8-9ce3-7091-b108-de64a2ee1d39', '01a207c8-9cde-7750-9f8e-397a58701888', '01a207c8-9ce3-7093-82e0-fec993abd2bd', 'active', 0, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00', '2026-11-23 10:41:56.154+00', 'Go-http-client/1.1', '127.0.0.1', false, NULL, NULL, NULL);
INSERT INTO identity.limits VALUES ('01a207c8-99d5-70e6-ba3b-ddcc237205f1', true, 100000, 1000000000000, 1000000000000, true, false, true, 20, 0.016666666666666666, 100, false, 10, 'noChange');
INSERT INTO identity.organizations VALUES ('01a207c8-99d5-70e6-ba3b-ddcc237205f1', true, 'Consign', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'en_US', 'UTC', false, NULL, NULL, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00');
INSERT INTO identity.persons VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', 'Bob', 'en_US', 'Europe/Berlin', '2026-11-23 09:41:56.154+00', NULL, '2026-11-23 09:41:56.154+00', 1, NULL, NULL, NULL, NULL);
INSERT INTO identity.persons VALUES ('01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'Ann', 'en_US', 'Europe/Berlin', '2026-11-23 09:41:56.154+00', NULL, '2026-11-23 09:41:56.154+00', 3, NULL, NULL, NULL, NULL);
INSERT INTO identity.persons VALUES ('01a207c8-9cde-7750-9f8e-397a58701888', 'Cid', 'en_US', 'Europe/Berlin', '2026-11-23 09:41:56.154+00', NULL, NULL, 1, NULL, NULL, NULL, NULL);
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\x04fff55c3eef0c71b79905ebf86092adaf84f4a511447c0dee69fcf8a894cf43');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\xc568c2463716d19a62443d20602fd79e61fc34b4c7a95a0d00a295e76aec98a9');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\x2f251c7958ef2b1c449d01114984b01cdcf7014f0da894466ef222e7325239f4');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\xc898a970e65839f2e2120c846cd960871df93b1c70478ffa51ee541d6ed59c38');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\x51f82d077740c0eb7ef5a7acba26fe94b9bdb0143444913b89174a6bb380fb07');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\xff62e450ee1cc43904b1b902a8b51468fad767dd0196008cca8156eaddb0806b');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\x5e27224827773f35578ba02dfe618d87c9b04795c69bd63413448070f94579b7');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\xe94cbe5437e228e4ab4734cce59435f66d59c63625f81e9251ffb3a6e2653591');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\xefc4041adfa9c1a2decd85f68438ffce39f9c20cb575954db50427959bb2aebc');
INSERT INTO identity.recovery_codes VALUES ('01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '\x61e493b3d839e99ccdde18ce8e29ff9c0d1ffa867095ff41cc640443a47580c9');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (1, '2026-11-23 09:41:56.154+00', NULL, 'organization.create', '01a207c8-99d5-70e6-ba3b-ddcc237205f1', NULL, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', NULL, '', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (2, '2026-11-23 09:41:56.154+00', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'person.signup', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (3, '2026-11-23 09:41:56.154+00', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'email.verify', 'ann@example.com', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (4, '2026-11-23 09:41:56.154+00', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'person.signup', '01a207c8-9aff-7d20-9dba-db24023b9d71', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (5, '2026-11-23 09:41:56.154+00', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'email.verify', 'bob@example.com', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (6, '2026-11-23 09:41:56.154+00', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'mailbox.put', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (7, '2026-11-23 09:41:56.154+00', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'factor.register', '01a207c8-9b93-7b1a-994a-7cd365c28ff5', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{"type": "totp"}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (8, '2026-11-23 09:41:56.154+00', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'factor.add', '01a207c8-9b93-7b1a-994a-7cd365c28ff5', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{"type": "totp"}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (9, '2026-11-23 09:41:56.154+00', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'factor.add', '01a207c8-9bb6-706f-a0b5-a5eb6ff566fa', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{"type": "recovery"}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (10, '2026-11-23 09:41:56.154+00', NULL, 'transfer.deliver', '01a207c8-9c17-7ea9-a61d-4cf6330f381a', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, '127.0.0.1', 'Go-http-client/1.1', '{"bytes": "4500", "objects": "2", "reservation": "01a207c8-9bd9-7731-9110-1e41a8a22285"}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (11, '2026-11-23 09:41:56.154+00', NULL, 'transfer.deliver', '01a207c8-9cbb-7c73-9190-f876ed79c630', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '127.0.0.1', 'Go-http-client/1.1', '{"bytes": "27", "objects": "1", "reservation": "01a207c8-9c7e-7e4a-b127-92479f805932"}');
INSERT INTO public.audit OVERRIDING SYSTEM VALUE VALUES (12, '2026-11-23 09:41:56.154+00', '01a207c8-9cde-7750-9f8e-397a58701888', 'person.signup', '01a207c8-9cde-7750-9f8e-397a58701888', '01a207c8-9cde-7750-9f8e-397a58701888', NULL, '127.0.0.1', 'Go-http-client/1.1', '{}');
INSERT INTO public.event_feeds VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', 1795426916154000, '2026-11-23 09:41:56.154+00');
INSERT INTO public.events VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', 1795426916154000, '01a207c8-9c26-7cc2-ac36-925ebb355f84', 'TRANSFER_RECEIVED', '01a207c8-9c17-7ea9-a61d-4cf6330f381a', '2026-11-23 09:41:56.154+00');
INSERT INTO public.goose_db_version VALUES (1, 0, true, '2026-11-23 09:40:09.333459');
INSERT INTO public.goose_db_version VALUES (2, 1, true, '2026-11-23 09:40:09.350106');
INSERT INTO public.goose_db_version VALUES (3, 2, true, '2026-11-23 09:40:09.360044');
INSERT INTO public.goose_db_version VALUES (4, 3, true, '2026-11-23 09:40:09.380606');
INSERT INTO public.goose_db_version VALUES (5, 4, true, '2026-11-23 09:40:09.40096');
INSERT INTO public.goose_db_version VALUES (6, 5, true, '2026-11-23 09:40:09.46172');
INSERT INTO public.goose_db_version VALUES (7, 6, true, '2026-11-23 09:40:09.984198');
INSERT INTO public.goose_db_version VALUES (8, 7, true, '2026-11-23 09:40:10.511661');
INSERT INTO public.goose_db_version VALUES (9, 8, true, '2026-11-23 09:40:10.586819');
INSERT INTO public.goose_db_version VALUES (10, 9, true, '2026-11-23 09:40:10.601595');
INSERT INTO public.goose_db_version VALUES (11, 10, true, '2026-11-23 09:40:10.636789');
INSERT INTO public.goose_db_version VALUES (12, 11, true, '2026-11-23 09:40:10.639211');
INSERT INTO public.mails VALUES ('01a207c8-9c20-7898-b3fa-5809ada777a8', '2026-11-23 09:41:56+00', 'transfer-delivered', 'delivery:01a207c8-9c17-7eae-8383-6eb02513766c', 'bob@example.com', 'Bob', 'sam@example.com', 'Sam', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, true, '<01a207c8-9c20-7898-b3fa-5809ada777a8@example.com>', '2026-11-30 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9a14-7285-ab7d-de4e8b7efab5', '2026-11-23 09:41:56+00', 'verify-email', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'ann@example.com', 'Ann', '', '', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, true, '<01a207c8-9a14-7285-ab7d-de4e8b7efab5@example.com>', '2026-11-24 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9b55-7de0-a2da-dbc4dec9228e', '2026-11-23 09:41:56+00', 'verify-email', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'bob@example.com', 'Bob', '', '', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, true, '<01a207c8-9b55-7de0-a2da-dbc4dec9228e@example.com>', '2026-11-24 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9c23-71f7-a920-37aaf2a55a3a', '2026-11-23 09:41:56+00', 'upload-confirmation', 'transfer:01a207c8-9c17-7ea9-a61d-4cf6330f381a', 'sam@example.com', 'Sam', 'bob@example.com', 'Bob', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, false, '<01a207c8-9c23-71f7-a920-37aaf2a55a3a@example.com>', '2026-11-26 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9bb9-7e1b-92be-256b1bc0b980', '2026-11-23 09:41:56+00', 'factor-added', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'ann@example.com', 'Ann', '', '', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, false, '<01a207c8-9bb9-7e1b-92be-256b1bc0b980@example.com>', '2026-11-26 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9bab-7847-94d3-42a04c6f37b2', '2026-11-23 09:41:56+00', 'factor-added', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'ann@example.com', 'Ann', '', '', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, false, '<01a207c8-9bab-7847-94d3-42a04c6f37b2@example.com>', '2026-11-26 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9ce1-7458-84cc-363d0db5f3ee', '2026-11-23 09:41:56+00', 'verify-email', '01a207c8-9cde-7750-9f8e-397a58701888', 'cid@example.com', 'Cid', '', '', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, true, '<01a207c8-9ce1-7458-84cc-363d0db5f3ee@example.com>', '2026-11-24 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.mails VALUES ('01a207c8-9cc9-73c1-8191-7cbdff03dd44', '2026-11-23 09:41:56+00', 'transfer-delivered', 'delivery:01a207c8-9cbb-7c78-93ff-73a17f41a3f5', 'eve@example.org', '', 'ann@example.com', 'Ann', 'en_US', 'Europe/Berlin', '{"url": "http://localhost:8080", "from": "\"Consign\" <consign@example.com>", "product": "Consign"}', '{}', NULL, true, '<01a207c8-9cc9-73c1-8191-7cbdff03dd44@example.com>', '2026-11-30 09:41:56.154+00', 'sent', 1, '2026-11-23 09:41:56.154+00', '250 2.0.0 OK: queued', NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO public.revocations OVERRIDING SYSTEM VALUE VALUES (1, NULL, '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 2, '2026-11-23 10:47:56.154+00');
INSERT INTO public.revocations OVERRIDING SYSTEM VALUE VALUES (2, NULL, '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 3, '2026-11-23 10:47:56.154+00');
INSERT INTO public.river_job VALUES (1, 'completed', 1, 100, '2026-11-23 09:41:56.971065+00', '2026-11-23 09:41:56.889886+00', '2026-11-23 09:41:57.024039+00', '2026-11-23 09:41:56.889886+00', 1, '{"uid": "01a207c8-9a14-7285-ab7d-de4e8b7efab5"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "5e1a3c9ebfab9f9556198f89cb1d0074"}', 'mail', '{}', '\xa70ab1dc4aadd5a5d115a33891c9d989825b45eb2ec04f04d3f758bfeb30944d', B'11110001');
INSERT INTO public.river_job VALUES (2, 'completed', 1, 100, '2026-11-23 09:41:57.223451+00', '2026-11-23 09:41:57.207022+00', '2026-11-23 09:41:57.232853+00', '2026-11-23 09:41:57.207022+00', 1, '{"uid": "01a207c8-9b55-7de0-a2da-dbc4dec9228e"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "7533289298cabbdb5c01142ab4d0d32b"}', 'mail', '{}', '\xca42fecf0339fa28197535dca74390171d60d383379c8bc41b36922d80f08a74', B'11110001');
INSERT INTO public.river_job VALUES (3, 'completed', 1, 100, '2026-11-23 09:41:57.316986+00', '2026-11-23 09:41:57.291923+00', '2026-11-23 09:41:57.335751+00', '2026-11-23 09:41:57.291923+00', 1, '{"uid": "01a207c8-9bab-7847-94d3-42a04c6f37b2"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "c38f21a0a0309ffaa89b6f125ae557f2"}', 'mail', '{}', '\x045974b5d332843bed21a72a9066eb84338af3e0cd908fafe72db88f9e7d1b30', B'11110001');
INSERT INTO public.river_job VALUES (4, 'completed', 1, 100, '2026-11-23 09:41:57.316986+00', '2026-11-23 09:41:57.306318+00', '2026-11-23 09:41:57.331196+00', '2026-11-23 09:41:57.306318+00', 1, '{"uid": "01a207c8-9bb9-7e1b-92be-256b1bc0b980"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "323ac187ac9f468a176695a46fc2fb87"}', 'mail', '{}', '\x967af141355704b5ac5fe5527e0cab014c816bd6efff85c4a5da75e7b1407927', B'11110001');
INSERT INTO public.river_job VALUES (5, 'completed', 1, 100, '2026-11-23 09:41:57.438177+00', '2026-11-23 09:41:57.409026+00', '2026-11-23 09:41:57.441388+00', '2026-11-23 09:41:57.409026+00', 1, '{"uid": "01a207c8-9c20-7898-b3fa-5809ada777a8"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "a433527e9f657f3b375dd0acb313cb66"}', 'mail', '{}', '\x98050e0ad2b6b0e9813084655fb447e2764fb64af8f04b06be077d791b8698b1', B'11110001');
INSERT INTO public.river_job VALUES (6, 'completed', 1, 100, '2026-11-23 09:41:57.438177+00', '2026-11-23 09:41:57.411589+00', '2026-11-23 09:41:57.442878+00', '2026-11-23 09:41:57.411589+00', 1, '{"uid": "01a207c8-9c23-71f7-a920-37aaf2a55a3a"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "a433527e9f657f3b375dd0acb313cb66"}', 'mail', '{}', '\xc60d7c3b7ad9fdc9ee372c803d0a9c150434cbf2cd1da9b0e6e8d619b676bea6', B'11110001');
INSERT INTO public.river_job VALUES (7, 'completed', 1, 100, '2026-11-23 09:41:57.59105+00', '2026-11-23 09:41:57.578064+00', '2026-11-23 09:41:57.594402+00', '2026-11-23 09:41:57.578064+00', 1, '{"uid": "01a207c8-9cc9-73c1-8191-7cbdff03dd44"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "65310ceacd5b7bc648a2b481c55d868b"}', 'mail', '{}', '\x1cdbea086f28259b0767d42f780443432e9bb651d8f274aeb66326e93d7288bd', B'11110001');
INSERT INTO public.river_job VALUES (8, 'completed', 1, 100, '2026-11-23 09:41:57.692042+00', '2026-11-23 09:41:57.601957+00', '2026-11-23 09:41:57.695191+00', '2026-11-23 09:41:57.601957+00', 1, '{"uid": "01a207c8-9ce1-7458-84cc-363d0db5f3ee"}', '{vm_2026_11_23T09_41_56_949820}', NULL, 'mail', '{"request_id": "eebd523c2d684ff3d055e0904afaad6b"}', 'mail', '{}', '\x73be5fbf5650345e4be22ba089b72bc708f0e4d17753377fc25f1eccd03ce09b', B'11110001');
INSERT INTO public.river_migration VALUES ('main', 1, '2026-11-23 09:40:10.716093+00');
INSERT INTO public.river_migration VALUES ('main', 2, '2026-11-23 09:40:10.870562+00');
INSERT INTO public.river_migration VALUES ('main', 3, '2026-11-23 09:40:10.940688+00');
INSERT INTO public.river_migration VALUES ('main', 4, '2026-11-23 09:40:10.942725+00');
INSERT INTO public.river_migration VALUES ('main', 5, '2026-11-23 09:40:10.956797+00');
INSERT INTO public.river_migration VALUES ('main', 6, '2026-11-23 09:40:11.029695+00');
INSERT INTO public.river_migration VALUES ('main', 7, '2026-11-23 09:40:11.074464+00');
INSERT INTO public.river_migration VALUES ('main', 8, '2026-11-23 09:40:11.118727+00');
INSERT INTO public.river_queue VALUES ('default', '2026-11-23 09:41:56.953694+00', '{}', NULL, '2026-11-23 09:41:56.953694+00');
INSERT INTO public.river_queue VALUES ('mail', '2026-11-23 09:41:56.957554+00', '{}', NULL, '2026-11-23 09:41:56.957554+00');
INSERT INTO public.river_queue VALUES ('homes', '2026-11-23 09:41:56.980222+00', '{}', NULL, '2026-11-23 09:41:56.980222+00');
INSERT INTO public.settings VALUES ('identity.public_host', '"localhost"', '2026-11-23 09:41:56.154+00');
INSERT INTO public.signing_keys VALUES ('fc3db9956fc17c9b4e3857d2963a10a6', 'session', '\x04500c1079ca014e59e054d819a633e6ef8577719ae24a40be8f649866cc0d6f9cb88e58c960e498b5adeda69626af0da75c0c39b02aa5844cba6cd7e482657cff', '\x01502b56a918a2bcb4f9b0b7309acdb4385e6c11c6a0ce9d45aacb7f241bf654f6f7bde55a005f42d1b9145dd709ad638d278788eef4963884a0f4cd6a92061c5c', '2026-11-23 09:41:56.154+00', '2026-11-23 09:40:56.154+00', '2026-12-23 09:41:56.154+00', '2027-01-22 09:42:56.154+00', NULL);
INSERT INTO public.signing_keys VALUES ('ce93db6d4078e2ac760b920aad3bfb99', 'uid', '\x0479d019be92299694ec1e701bc4935994e7840747b1555f7acd2615c8e1a630b898646887cae90a3f554e9a4e014b53b4505f17c861173823a42100e35db708a5', '\x01502b56a9a2c4f3c9465f3e4cc8dcea950dfc8bf23fd4931a0f1a66d01c612cc33293943a6bbe2022c6f08ee46f123d5a8ba5fb87e67f030f47da13ae3672f9f8', '2026-11-23 09:41:56.154+00', '2026-11-23 09:40:56.154+00', '2026-12-23 09:41:56.154+00', '2036-12-20 09:42:56.154+00', NULL);
INSERT INTO transfer.deliveries VALUES ('01a207c8-9c17-7eae-8383-6eb02513766c', '01a207c8-9c17-7ea9-a61d-4cf6330f381a', 1, 'to', '01a207c8-9aff-7d20-9dba-db24023b9d71', 'Bob', 'bob@example.com', 1, '\x8a28dd9a5dc6ad54286fac572bdd349a7c9625cfd16f35f2e2743e1232e4bc12', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.deliveries VALUES ('01a207c8-9cbb-7c78-93ff-73a17f41a3f5', '01a207c8-9cbb-7c73-9190-f876ed79c630', 1, 'to', NULL, NULL, 'eve@example.org', 1, '\x342297b1dd69866394680e8ccabf26b13ac663ab1393f48aa58b0b426236a794', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.deliveries VALUES ('01a207c8-9cbb-7cb3-9ed9-4fe08465b5c4', '01a207c8-9cbb-7c73-9190-f876ed79c630', 2, 'link', NULL, NULL, NULL, 1, '\x13d38adfc24ecf7b7f196af744961b2d8de55142773d315440aa4f851ebd690c', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.mailboxes VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', false, NULL, NULL, 'X-rays, please', false, NULL, NULL, NULL, '{}', NULL, NULL, '2026-11-23 09:41:56.154+00', '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.object_charges VALUES ('01a207c8-9be3-7518-b22b-95488cdf4689', '2026-11-01', 4500);
INSERT INTO transfer.object_charges VALUES ('01a207c8-9c5d-79c3-9828-c70f25f00a13', '2026-11-01', 1000);
INSERT INTO transfer.object_charges VALUES ('01a207c8-9c8c-78e6-923b-5ab60f7a154b', '2026-11-01', 27);
INSERT INTO transfer.objects OVERRIDING SYSTEM VALUE VALUES ('01a207c8-9be3-7518-b22b-95488cdf4689', '01a207c8-9bd9-7731-9110-1e41a8a22285', 1, 'a', 'Röntgen.txt', 4500, 4500, '\x736861038fd436700cd0f1710db659ced3f15f6df8d6b231b19949405fc07c895646b05f330a582d7261792032330a582d7261792032330a00000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001194', NULL, '\xa28078c1c16c4df82c032f531a6b940b5aa6c826286c744a8c11531cf035d503', 2313223401, 'text/plain; charset=utf-8', 1, '2026-11-23 09:41:58.368316+00', 0, '2026-11-01', 0, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.objects OVERRIDING SYSTEM VALUE VALUES ('01a207c8-9c04-7199-9e0d-2a60d22f492e', '01a207c8-9bd9-7731-9110-1e41a8a22285', 2, 'b', 'empty.txt', 0, 0, NULL, NULL, '\xe3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855', 0, 'text/plain; charset=utf-8', 0, NULL, 0, NULL, 0, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.objects OVERRIDING SYSTEM VALUE VALUES ('01a207c8-9c5d-79c3-9828-c70f25f00a13', '01a207c8-9c44-7eaa-af34-39637be1fde1', 3, 'a', 'half.txt', 4500, 1000, '\x73686103a7265a604dfda77e4af70a87107d4889dcb7028ba51f76a925eb18995ad9469d32330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a5800000000000000000000000000000000000000000000000000000000000003e8', '\x582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a582d7261792032330a58', NULL, 1953232212, NULL, 1, NULL, 0, '2026-11-01', 0, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.objects OVERRIDING SYSTEM VALUE VALUES ('01a207c8-9c8c-78e6-923b-5ab60f7a154b', '01a207c8-9c7e-7e4a-b127-92479f805932', 4, 'a', 'contract.txt', 27, 27, '\x736861036a09e667bb67ae853c6ef372a54ff53a510e527f9b05688c1f83d9ab5be0cd194167726565643a2074686520626f61742069732045766527732e0a00000000000000000000000000000000000000000000000000000000000000000000000000000000000000001b', NULL, '\x8f3ed19a840489ac61dede78f7950eab663299480681ba5fd35200c5ac51ccf7', 2280184335, 'text/plain; charset=utf-8', 1, '2026-11-23 09:41:58.536299+00', 0, '2026-11-01', 0, '2026-11-23 09:41:56.154+00');
INSERT INTO transfer.reservation_recipients VALUES ('01a207c8-9c7e-7e4a-b127-92479f805932', 1, NULL, NULL, 'eve@example.org', 'to');
INSERT INTO transfer.reservations VALUES ('01a207c8-9bd9-7731-9110-1e41a8a22285', 'mailbox', 'confirmed', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, NULL, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', NULL, 'X-ray', NULL, 'Sam', 'sam@example.com', 'en_US', false, 7, NULL, 'none', NULL, NULL, 10000, 50000, 1, 2, '01a207c8-9c17-7ea9-a61d-4cf6330f381a', '2026-11-23 09:41:56.154+00', '2026-11-25 09:41:56.154+00');
INSERT INTO transfer.reservations VALUES ('01a207c8-9c44-7eaa-af34-39637be1fde1', 'mailbox', 'open', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, NULL, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', NULL, 'Half', NULL, 'Sam', 'sam@example.com', 'en_US', false, 7, NULL, 'none', NULL, NULL, 10000, 50000, 1, 1, NULL, '2026-11-23 09:41:56.154+00', '2026-11-25 09:41:56.154+00');
INSERT INTO transfer.reservations VALUES ('01a207c8-9c7e-7e4a-b127-92479f805932', 'p2p', 'confirmed', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', NULL, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', 'Contract', NULL, NULL, NULL, 'en_US', false, 7, NULL, 'password', '$2a$04$.6rf3masIjxT8UO39HAgBe/WoJSF9NPrS/LYnFRuae23HHzm0Ho0W', NULL, 10000, 50000, 100, 1, '01a207c8-9cbb-7c73-9190-f876ed79c630', '2026-11-23 09:41:56.154+00', '2026-11-25 09:41:56.154+00');
INSERT INTO transfer.stored_volumes VALUES ('01a207c8-99d5-70e6-ba3b-ddcc237205f1', 5527);
INSERT INTO transfer.transfers VALUES ('01a207c8-9c17-7ea9-a61d-4cf6330f381a', '01a207c8-9bd9-7731-9110-1e41a8a22285', 'mailbox', 'delivered', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL, false, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', 'X-ray', NULL, 'Sam', 'sam@example.com', 'en_US', false, NULL, 'none', NULL, NULL, 'x-ray sam sam@example.com röntgen.txt empty.txt', 2, 4500, '2026-11-23 09:41:56.154+00', '2026-11-30 09:41:56.154+00', NULL, NULL, NULL, NULL, 0);
INSERT INTO transfer.transfers VALUES ('01a207c8-9cbb-7c73-9190-f876ed79c630', '01a207c8-9c7e-7e4a-b127-92479f805932', 'p2p', 'delivered', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', '01a207c8-9a08-7295-a6c3-cb87e6c214f0', true, '01a207c8-99d5-70e6-ba3b-ddcc237205f1', 'Contract', NULL, 'Ann', 'ann@example.com', 'en_US', false, NULL, 'password', '$2a$04$.6rf3masIjxT8UO39HAgBe/WoJSF9NPrS/LYnFRuae23HHzm0Ho0W', NULL, 'contract ann ann@example.com contract.txt', 1, 27, '2026-11-23 09:41:56.154+00', '2026-11-30 09:41:56.154+00', NULL, NULL, NULL, NULL, 0);
INSERT INTO transfer.upload_confirmations VALUES ('sam@example.com', '2026-11-23', 1);
INSERT INTO transfer.vanity_links VALUES ('01a207c8-99d5-70e6-ba3b-ddcc237205f1', 'bob', '01a207c8-9aff-7d20-9dba-db24023b9d71', NULL);
INSERT INTO transfer.volumes VALUES ('01a207c8-9aff-7d20-9dba-db24023b9d71', '2026-11-01', 'person', 5500, 0);
INSERT INTO transfer.volumes VALUES ('01a207c8-9a08-7295-a6c3-cb87e6c214f0', '2026-11-01', 'person', 27, 0);
SELECT pg_catalog.setval('public.audit_id_seq', 12, true);
SELECT pg_catalog.setval('public.goose_db_version_id_seq', 12, true);
SELECT pg_catalog.setval('public.revocations_id_seq', 2, true);
SELECT pg_catalog.setval('public.river_job_id_seq', 8, true);
SELECT pg_catalog.setval('public.river_notification_id_seq', 1, false);
SELECT pg_catalog.setval('transfer.objects_position_seq', 4, true);
ALTER TABLE ONLY identity.addresses
    ADD CONSTRAINT addresses_key_hash_key UNIQUE (key_hash);
ALTER TABLE ONLY identity.addresses
    ADD CONSTRAINT addresses_pkey PRIMARY KEY (person, address);
ALTER TABLE ONLY identity.authenticators
    ADD CONSTRAINT authenticators_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY identity.authenticators
    ADD CONSTRAINT authenticators_type_key UNIQUE (person, type);
ALTER TABLE ONLY identity.avatars
    ADD CONSTRAINT avatars_organization_key UNIQUE (organization, height);
ALTER TABLE ONLY identity.avatars
    ADD CONSTRAINT avatars_person_key UNIQUE (person, height);
ALTER TABLE ONLY identity.external_logins
    ADD CONSTRAINT external_logins_pkey PRIMARY KEY (state_hash);
ALTER TABLE ONLY identity.external_tokens
    ADD CONSTRAINT external_tokens_pkey PRIMARY KEY (fingerprint);
ALTER TABLE ONLY identity.host_claims
    ADD CONSTRAINT host_claims_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY identity.hosts
    ADD CONSTRAINT hosts_pkey PRIMARY KEY (host);
ALTER TABLE ONLY identity.id_tokens
    ADD CONSTRAINT id_tokens_pkey PRIMARY KEY (jti);
ALTER TABLE ONLY identity.invitations
    ADD CONSTRAINT invitations_address_key UNIQUE (organization, address);
ALTER TABLE ONLY identity.invitations
    ADD CONSTRAINT invitations_pkey PRIMARY KEY (key);
ALTER TABLE ONLY identity.limits
    ADD CONSTRAINT limits_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY identity.memberships
    ADD CONSTRAINT memberships_pkey PRIMARY KEY (person);
ALTER TABLE ONLY identity.organizations
    ADD CONSTRAINT organizations_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY identity.parked_tokens
    ADD CONSTRAINT parked_tokens_pkey PRIMARY KEY (jti);
ALTER TABLE ONLY identity.pending_logins
    ADD CONSTRAINT pending_logins_pkey PRIMARY KEY (jti);
ALTER TABLE ONLY identity.persons
    ADD CONSTRAINT persons_federated_key UNIQUE (federated_issuer, federated_subject);
ALTER TABLE ONLY identity.persons
    ADD CONSTRAINT persons_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY identity.recovery_codes
    ADD CONSTRAINT recovery_codes_pkey PRIMARY KEY (authenticator, hash);
ALTER TABLE ONLY identity.reset_keys
    ADD CONSTRAINT reset_keys_pkey PRIMARY KEY (key_hash);
ALTER TABLE ONLY identity.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY identity.subscriptions
    ADD CONSTRAINT subscriptions_product_key UNIQUE (organization, domain, product_id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT audit_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.event_feeds
    ADD CONSTRAINT event_feeds_pkey PRIMARY KEY (person);
ALTER TABLE ONLY public.events
    ADD CONSTRAINT events_pkey PRIMARY KEY (person, id);
ALTER TABLE ONLY public.goose_db_version
    ADD CONSTRAINT goose_db_version_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_message_id_key UNIQUE (message_id);
ALTER TABLE ONLY public.mails
    ADD CONSTRAINT mails_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY public.revocations
    ADD CONSTRAINT revocations_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.river_job
    ADD CONSTRAINT river_job_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.river_leader
    ADD CONSTRAINT river_leader_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.river_migration
    ADD CONSTRAINT river_migration_pkey1 PRIMARY KEY (line, version);
ALTER TABLE ONLY public.river_notification
    ADD CONSTRAINT river_notification_pkey PRIMARY KEY (id);
ALTER TABLE ONLY public.river_queue
    ADD CONSTRAINT river_queue_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (name);
ALTER TABLE ONLY public.signing_keys
    ADD CONSTRAINT signing_keys_pkey PRIMARY KEY (kid);
ALTER TABLE ONLY transfer.adminunits
    ADD CONSTRAINT adminunits_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY transfer.deliveries
    ADD CONSTRAINT deliveries_key_hash_key UNIQUE (key_hash);
ALTER TABLE ONLY transfer.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY transfer.deliveries
    ADD CONSTRAINT deliveries_position_key UNIQUE (transfer, "position");
ALTER TABLE ONLY transfer.discarded_objects
    ADD CONSTRAINT discarded_objects_pkey PRIMARY KEY (object);
ALTER TABLE ONLY transfer.mailbox_group_members
    ADD CONSTRAINT mailbox_group_members_pkey PRIMARY KEY (mailbox_group, mailbox);
ALTER TABLE ONLY transfer.mailbox_groups
    ADD CONSTRAINT mailbox_groups_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY transfer.mailboxes
    ADD CONSTRAINT mailboxes_pkey PRIMARY KEY (person);
ALTER TABLE ONLY transfer.object_charges
    ADD CONSTRAINT object_charges_pkey PRIMARY KEY (object, month);
ALTER TABLE ONLY transfer.objects
    ADD CONSTRAINT objects_client_id_key UNIQUE (reservation, client_id);
ALTER TABLE ONLY transfer.objects
    ADD CONSTRAINT objects_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY transfer.one_time_keys
    ADD CONSTRAINT one_time_keys_pkey PRIMARY KEY (key_hash);
ALTER TABLE ONLY transfer.reservation_recipients
    ADD CONSTRAINT reservation_recipients_pkey PRIMARY KEY (reservation, "position");
ALTER TABLE ONLY transfer.reservations
    ADD CONSTRAINT reservations_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY transfer.reservations
    ADD CONSTRAINT reservations_transfer_key UNIQUE (transfer);
ALTER TABLE ONLY transfer.stored_volumes
    ADD CONSTRAINT stored_volumes_pkey PRIMARY KEY (organization);
ALTER TABLE ONLY transfer.transfers
    ADD CONSTRAINT transfers_pkey PRIMARY KEY (uid);
ALTER TABLE ONLY transfer.transfers
    ADD CONSTRAINT transfers_reservation_key UNIQUE (reservation);
ALTER TABLE ONLY transfer.upload_confirmations
    ADD CONSTRAINT upload_confirmations_pkey PRIMARY KEY (email, day);
ALTER TABLE ONLY transfer.vanity_links
    ADD CONSTRAINT vanity_links_group_key UNIQUE (mailbox_group);
ALTER TABLE ONLY transfer.vanity_links
    ADD CONSTRAINT vanity_links_mailbox_key UNIQUE (mailbox);
ALTER TABLE ONLY transfer.vanity_links
    ADD CONSTRAINT vanity_links_pkey PRIMARY KEY (host_organization, link);
ALTER TABLE ONLY transfer.volumes
    ADD CONSTRAINT volumes_pkey PRIMARY KEY (subject, month);
CREATE INDEX addresses_address_idx ON identity.addresses USING btree (address);
CREATE INDEX addresses_key_expires_at_idx ON identity.addresses USING btree (key_expires_at) WHERE (key_expires_at IS NOT NULL);
CREATE UNIQUE INDEX addresses_pending_key ON identity.addresses USING btree (address) WHERE ((verified_at IS NULL) AND (NOT is_primary));
CREATE UNIQUE INDEX addresses_primary_key ON identity.addresses USING btree (person) WHERE is_primary;
CREATE INDEX addresses_remove_at_idx ON identity.addresses USING btree (remove_at) WHERE (remove_at IS NOT NULL);
CREATE UNIQUE INDEX addresses_signup_key ON identity.addresses USING btree (address) WHERE ((verified_at IS NULL) AND is_primary);
CREATE UNIQUE INDEX addresses_verified_key ON identity.addresses USING btree (address) WHERE (verified_at IS NOT NULL);
CREATE INDEX external_logins_external_sid_idx ON identity.external_logins USING btree (external_sid) WHERE (external_sid IS NOT NULL);
CREATE INDEX external_logins_forget_at_idx ON identity.external_logins USING btree (forget_at);
CREATE INDEX external_logins_person_idx ON identity.external_logins USING btree (person) WHERE (person IS NOT NULL);
CREATE INDEX external_tokens_expires_at_idx ON identity.external_tokens USING btree (expires_at);
CREATE UNIQUE INDEX hosts_active_key ON identity.hosts USING btree (organization) WHERE active;
CREATE INDEX hosts_organization_idx ON identity.hosts USING btree (organization);
CREATE INDEX id_tokens_expires_at_idx ON identity.id_tokens USING btree (expires_at);
CREATE INDEX id_tokens_external_sid_idx ON identity.id_tokens USING btree (external_sid) WHERE (external_sid IS NOT NULL);
CREATE INDEX id_tokens_person_idx ON identity.id_tokens USING btree (person);
CREATE INDEX id_tokens_sid_idx ON identity.id_tokens USING btree (sid);
CREATE INDEX invitations_address_idx ON identity.invitations USING btree (address) WHERE (address IS NOT NULL);
CREATE INDEX invitations_expires_at_idx ON identity.invitations USING btree (expires_at) WHERE (expires_at IS NOT NULL);
CREATE INDEX invitations_inviter_idx ON identity.invitations USING btree (inviter);
CREATE INDEX memberships_organization_idx ON identity.memberships USING btree (organization, person);
CREATE UNIQUE INDEX organizations_free_key ON identity.organizations USING btree (free) WHERE free;
CREATE INDEX parked_tokens_expires_at_idx ON identity.parked_tokens USING btree (expires_at);
CREATE INDEX parked_tokens_external_sid_idx ON identity.parked_tokens USING btree (external_sid) WHERE (external_sid IS NOT NULL);
CREATE INDEX parked_tokens_person_idx ON identity.parked_tokens USING btree (person);
CREATE INDEX pending_logins_expires_at_idx ON identity.pending_logins USING btree (expires_at);
CREATE INDEX pending_logins_person_idx ON identity.pending_logins USING btree (person);
CREATE INDEX persons_deleted_at_idx ON identity.persons USING btree (deleted_at) WHERE (deleted_at IS NOT NULL);
CREATE INDEX reset_keys_expires_at_idx ON identity.reset_keys USING btree (expires_at);
CREATE INDEX reset_keys_person_idx ON identity.reset_keys USING btree (person);
CREATE INDEX audit_actor_idx ON public.audit USING btree (actor, id);
CREATE INDEX audit_at_idx ON public.audit USING btree (at);
CREATE INDEX audit_target_idx ON public.audit USING btree (target, id);
CREATE INDEX event_feeds_used_at_idx ON public.event_feeds USING btree (used_at);
CREATE INDEX events_created_at_idx ON public.events USING btree (created_at);
CREATE INDEX mails_finished_at_idx ON public.mails USING btree (finished_at) WHERE (state <> 'queued'::text);
CREATE INDEX mails_queued_idx ON public.mails USING btree (next_attempt_at) WHERE (state = 'queued'::text);
CREATE INDEX mails_reference_idx ON public.mails USING btree (reference) WHERE (reference <> ''::text);
CREATE INDEX revocations_expires_at_idx ON public.revocations USING btree (expires_at);
CREATE INDEX revocations_person_idx ON public.revocations USING btree (person, epoch) WHERE (person IS NOT NULL);
CREATE INDEX revocations_session_idx ON public.revocations USING btree (session) WHERE (session IS NOT NULL);
CREATE INDEX river_job_args_index ON public.river_job USING gin (args);
CREATE INDEX river_job_kind ON public.river_job USING btree (kind);
CREATE INDEX river_job_metadata_index ON public.river_job USING gin (metadata);
CREATE INDEX river_job_prioritized_fetching_index ON public.river_job USING btree (state, queue, priority, scheduled_at, id);
CREATE INDEX river_job_state_and_finalized_at_index ON public.river_job USING btree (state, finalized_at) WHERE (finalized_at IS NOT NULL);
CREATE UNIQUE INDEX river_job_unique_idx ON public.river_job USING btree (unique_key) WHERE ((unique_key IS NOT NULL) AND (unique_states IS NOT NULL) AND public.river_job_state_in_bitmask(unique_states, state));
CREATE INDEX river_notification_created_at_idx ON public.river_notification USING btree (created_at);
CREATE INDEX river_notification_topic_id_idx ON public.river_notification USING btree (topic, id);
CREATE INDEX deliveries_received ON transfer.deliveries USING btree (person, created_at DESC, transfer DESC) WHERE (hidden_at IS NULL);
CREATE INDEX discarded_objects_oldest ON transfer.discarded_objects USING btree (discarded_at);
CREATE INDEX mailbox_group_members_by_mailbox ON transfer.mailbox_group_members USING btree (mailbox);
CREATE INDEX mailbox_groups_organization ON transfer.mailbox_groups USING btree (organization);
CREATE INDEX objects_in_order ON transfer.objects USING btree (reservation, "position");
CREATE INDEX objects_reserving ON transfer.objects USING btree (lease_until) WHERE (reserved > 0);
CREATE INDEX one_time_keys_by_delivery ON transfer.one_time_keys USING btree (delivery) WHERE (delivery IS NOT NULL);
CREATE INDEX one_time_keys_by_transfer ON transfer.one_time_keys USING btree (transfer);
CREATE INDEX one_time_keys_expiring ON transfer.one_time_keys USING btree (expires_at);
CREATE INDEX reservations_by_owner ON transfer.reservations USING btree (owner, created_at) WHERE (state = 'open'::text);
CREATE INDEX reservations_expiring ON transfer.reservations USING btree (expires_at) WHERE (state = 'open'::text);
CREATE INDEX transfers_by_sender ON transfer.transfers USING btree (sender) WHERE (sender IS NOT NULL);
CREATE INDEX transfers_ended_at ON transfer.transfers USING btree (ended_at) WHERE (ended_at IS NOT NULL);
CREATE INDEX transfers_expiring ON transfer.transfers USING btree (expires_at) WHERE (ended_at IS NULL);
CREATE INDEX transfers_sent ON transfer.transfers USING btree (sender, created_at DESC, uid DESC) WHERE (sender_managed AND (hidden_at IS NULL));
CREATE INDEX transfers_unwarned ON transfer.transfers USING btree (expires_at) WHERE ((ended_at IS NULL) AND (warned_at IS NULL));
ALTER TABLE ONLY identity.addresses
    ADD CONSTRAINT addresses_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.authenticators
    ADD CONSTRAINT authenticators_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.avatars
    ADD CONSTRAINT avatars_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.avatars
    ADD CONSTRAINT avatars_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.external_logins
    ADD CONSTRAINT external_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.host_claims
    ADD CONSTRAINT host_claims_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.hosts
    ADD CONSTRAINT hosts_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.id_tokens
    ADD CONSTRAINT id_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.invitations
    ADD CONSTRAINT invitations_inviter_fkey FOREIGN KEY (inviter) REFERENCES identity.persons(uid) ON DELETE SET NULL;
ALTER TABLE ONLY identity.invitations
    ADD CONSTRAINT invitations_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.limits
    ADD CONSTRAINT limits_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.memberships
    ADD CONSTRAINT memberships_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.memberships
    ADD CONSTRAINT memberships_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.parked_tokens
    ADD CONSTRAINT parked_tokens_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.pending_logins
    ADD CONSTRAINT pending_logins_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.recovery_codes
    ADD CONSTRAINT recovery_codes_authenticator_fkey FOREIGN KEY (authenticator) REFERENCES identity.authenticators(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.reset_keys
    ADD CONSTRAINT reset_keys_person_fkey FOREIGN KEY (person) REFERENCES identity.persons(uid) ON DELETE CASCADE;
ALTER TABLE ONLY identity.subscriptions
    ADD CONSTRAINT subscriptions_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.deliveries
    ADD CONSTRAINT deliveries_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.mailbox_group_members
    ADD CONSTRAINT mailbox_group_members_group FOREIGN KEY (mailbox_group) REFERENCES transfer.mailbox_groups(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.mailbox_group_members
    ADD CONSTRAINT mailbox_group_members_mailbox FOREIGN KEY (mailbox) REFERENCES transfer.mailboxes(person) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.object_charges
    ADD CONSTRAINT object_charges_object FOREIGN KEY (object) REFERENCES transfer.objects(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.objects
    ADD CONSTRAINT objects_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations(uid);
ALTER TABLE ONLY transfer.one_time_keys
    ADD CONSTRAINT one_time_keys_delivery FOREIGN KEY (delivery) REFERENCES transfer.deliveries(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.one_time_keys
    ADD CONSTRAINT one_time_keys_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.reservation_recipients
    ADD CONSTRAINT reservation_recipients_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.transfers
    ADD CONSTRAINT transfers_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations(uid);
ALTER TABLE ONLY transfer.vanity_links
    ADD CONSTRAINT vanity_links_group FOREIGN KEY (mailbox_group) REFERENCES transfer.mailbox_groups(uid) ON DELETE CASCADE;
ALTER TABLE ONLY transfer.vanity_links
    ADD CONSTRAINT vanity_links_mailbox FOREIGN KEY (mailbox) REFERENCES transfer.mailboxes(person) ON DELETE CASCADE;
