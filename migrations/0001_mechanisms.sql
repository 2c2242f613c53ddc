-- +goose Up

-- The tables of mechanisms: settings, signing keys, mails, events, audit, repeated requests and charts. They know people and organizations
-- by their uids only.

-- Facts about the installation that every replica shares and that no environment variable sets: maintenance mode, the demo's marker, the
-- last known public host.
CREATE TABLE settings (
    name       text        NOT NULL,
    value      jsonb       NOT NULL,
    updated_at timestamptz NOT NULL DEFAULT now(),
    CONSTRAINT settings_pkey PRIMARY KEY (name),
    CONSTRAINT settings_name_check CHECK (name <> '')
);

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

-- What ended before its time (contract 2.4): the tokens of a login session or an API token, the running downloads of a transfer or a delivery,
-- or every access token of a person that was issued under an earlier epoch. Rows are only added, so that publishing waits for nobody. They are deleted when the last token that they end has expired.
CREATE TABLE revocations (
    id         bigint      GENERATED ALWAYS AS IDENTITY,
    ended      uuid, -- of the session, API token, transfer or delivery
    person     uuid,
    epoch      bigint,
    expires_at timestamptz NOT NULL,
    CONSTRAINT revocations_pkey PRIMARY KEY (id),
    CONSTRAINT revocations_subject_check CHECK ((ended IS NULL) <> (person IS NULL)),
    CONSTRAINT revocations_epoch_check CHECK ((epoch IS NULL) = (person IS NULL))
);
CREATE INDEX revocations_ended_idx ON revocations (ended) WHERE ended IS NOT NULL;
CREATE INDEX revocations_person_idx ON revocations (person, epoch) WHERE person IS NOT NULL;
CREATE INDEX revocations_expires_at_idx ON revocations (expires_at);

-- The mail queue. A row is written in the transaction that causes the mail and has everything that the bytes of the mail depend on, so
-- that a repeated attempt sends the same ones. data is emptied once the mail is sent, secret once the row is in any final state.
CREATE TABLE mails (
    uid             uuid        NOT NULL,
    created_at      timestamptz NOT NULL,
    template        text        NOT NULL,
    reference       text        NOT NULL,
    recipient       text        NOT NULL,
    recipient_name  text        NOT NULL,
    reply_to        text        NOT NULL,
    reply_to_name   text        NOT NULL,
    locale          text        NOT NULL,
    time_zone       text        NOT NULL,
    sender          jsonb       NOT NULL,
    data            jsonb       NOT NULL,
    secret          bytea,
    has_secret      boolean     NOT NULL,
    message_id      text        NOT NULL,
    give_up_at      timestamptz NOT NULL,
    state           text        NOT NULL DEFAULT 'queued',
    attempts        integer     NOT NULL DEFAULT 0,
    last_attempt_at timestamptz,
    last_answer     text        NOT NULL DEFAULT '',
    next_attempt_at timestamptz,
    busy_until      timestamptz,
    finished_at     timestamptz,
    CONSTRAINT mails_pkey PRIMARY KEY (uid),
    CONSTRAINT mails_message_id_key UNIQUE (message_id),
    CONSTRAINT mails_state_known CHECK (state IN ('queued', 'sent', 'failed', 'cancelled')),
    CONSTRAINT mails_attempts_not_negative CHECK (attempts >= 0),
    CONSTRAINT mails_secret_only_queued CHECK (secret IS NULL OR state = 'queued'),
    CONSTRAINT mails_finished_when_done CHECK ((finished_at IS NULL) = (state = 'queued'))
);
CREATE INDEX mails_queued_idx ON mails (next_attempt_at) WHERE state = 'queued';
CREATE INDEX mails_reference_idx ON mails (reference) WHERE reference <> '';
CREATE INDEX mails_finished_at_idx ON mails (finished_at) WHERE state <> 'queued';

-- One row for each person: it gives the person's events their ids. Its row lock, held to the end of the writing transaction, makes a
-- person's events commit in the order of their ids (see the comment of package events).
CREATE TABLE event_feeds (
    person  uuid        NOT NULL,
    last_id bigint      NOT NULL,
    used_at timestamptz NOT NULL,
    CONSTRAINT event_feeds_pkey PRIMARY KEY (person)
);
CREATE INDEX event_feeds_used_at_idx ON event_feeds (used_at);

-- One row for each receiver of an event. uid is the event's, the same in the rows of all its receivers. The storage parameters: vacuum
-- and statistics of tables that grow; a fifth of 7,500,000 rows, which is the default, is months of changes.
CREATE TABLE events (
    person     uuid        NOT NULL,
    id         bigint      NOT NULL,
    uid        uuid        NOT NULL,
    kind       text        NOT NULL,
    subject    text        NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (person, id),
    CONSTRAINT events_kind_form CHECK (kind ~ '^[A-Z][A-Z_]{0,63}$')
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX events_created_at_idx ON events (created_at);

-- Who did what, to whom, from where. There are no foreign keys: an entry outlives what it is about. Package audit (months.go) makes a
-- partition for each month, so that old entries are deleted by dropping a table. Partitions cannot have an identity in Postgres 17, so
-- the id comes from a sequence.
CREATE TABLE audit (
    id           bigserial,
    at           timestamptz NOT NULL,
    kind         text        NOT NULL, -- the role of the actor
    actor        uuid,                 -- NULL: a stranger, a command or a job
    action       text        NOT NULL,
    object       text        NOT NULL,
    target       uuid,
    organization uuid,
    address      inet,
    user_agent   text        NOT NULL,
    details      jsonb       NOT NULL,
    CONSTRAINT audit_kind_known CHECK (kind IN ('person', 'administrator', 'operator', 'command', 'job')),
    CONSTRAINT audit_action_form CHECK (action ~ '^[a-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+$'),
    CONSTRAINT audit_details_object CHECK (jsonb_typeof(details) = 'object')
) PARTITION BY RANGE (at);
CREATE INDEX audit_at_idx ON audit (at);
CREATE INDEX audit_actor_idx ON audit (actor, id);
CREATE INDEX audit_target_idx ON audit (target, id);
CREATE INDEX audit_organization_idx ON audit (organization, id) WHERE organization IS NOT NULL; -- for its administrators, newest first

-- Takes entries of months whose partition does not exist yet.
CREATE TABLE audit_default PARTITION OF audit DEFAULT;
CREATE UNIQUE INDEX audit_default_id_idx ON audit_default (id);

-- Requests with an Idempotency-Key (contract 1.15) and their answers. A row is claimed before the request runs. The transaction of the
-- effect marks it as done. Then the answer is stored.
CREATE TABLE idempotency_keys (
    key         bytea       NOT NULL, -- SHA-256 of the caller and the key
    -- SHA-256 of the caller; of an anonymous one the address of its network, so that a range has those of a wider network.
    caller      bytea       NOT NULL,
    fingerprint bytea       NOT NULL, -- SHA-256 of the request
    claim       uuid        NOT NULL, -- of the server that runs the request
    done        boolean     NOT NULL DEFAULT false,
    busy_until  timestamptz NOT NULL, -- until then nobody else takes over a request that is not done
    expires_at  timestamptz NOT NULL,
    answer      bytea,                -- sealed
    about       uuid,                 -- what the request created: the answer is erased with it
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (key)
);
CREATE INDEX idempotency_keys_caller ON idempotency_keys (caller, expires_at);
CREATE INDEX idempotency_keys_about ON idempotency_keys (about) WHERE answer IS NOT NULL;
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

-- Marks a request as done, in the transaction of its effect. A server that was overtaken gets an error, which rolls that back.
-- +goose StatementBegin
CREATE FUNCTION mark_idempotent(k bytea, c uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE idempotency_keys SET done = true WHERE key = k AND claim = c;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another server runs this request' USING ERRCODE = 'CN409';
    END IF;
END
$$;
-- +goose StatementEnd

-- What the charts of the console show (contract 9.6): a row for each five minutes in which a server ran. The counters are those of all
-- replicas: each adds what it has counted since it last did. Null: not known.
CREATE TABLE samples (
    at         timestamptz NOT NULL, -- beginning of the five minutes
    requests   bigint      NOT NULL DEFAULT 0,
    errors     bigint      NOT NULL DEFAULT 0, -- requests that failed by the server's fault
    uploads    bigint      NOT NULL DEFAULT 0, -- requests that brought bytes of files
    downloads  bigint      NOT NULL DEFAULT 0, -- requests that fetched bytes of files
    bytes_in   bigint      NOT NULL DEFAULT 0,
    bytes_out  bigint      NOT NULL DEFAULT 0,
    free       bigint,                         -- on the volume of the replica that has least
    logins     bigint,                         -- known once the five minutes are over
    deliveries bigint,                         -- transfers that were confirmed; known then, too
    mails      bigint,                         -- waiting
    jobs       bigint,                         -- due
    database   bigint,                         -- bytes
    people     bigint,
    transfers  bigint,                         -- that have not ended
    CONSTRAINT samples_pkey PRIMARY KEY (at)
);
