-- +goose Up

-- Requests (contract 4.29): a person asks others for documents. What a party uploads is a reservation of type mailbox that names the
-- request and the party; what it hands in is a transfer.
CREATE TABLE transfer.requests (
    uid             uuid        NOT NULL,
    owner           uuid        NOT NULL, -- the person who asks, and whose limits and volume apply
    title           text        NOT NULL,
    message         text,
    due             timestamptz,          -- null: whenever
    time_zone       text        NOT NULL, -- of the owner: the due time is said in it
    late            text        NOT NULL, -- what becomes of files after the due time
    locale          text        NOT NULL, -- of parties whose own is unknown
    fields_schema   json,
    ui_schema       json,
    template        boolean     NOT NULL DEFAULT false, -- to make requests of; asks nobody
    public_key_hash bytea,                -- SHA-256 of the key in the public link; null: there is none
    reminders       boolean     NOT NULL DEFAULT true,
    state           text        NOT NULL DEFAULT 'open',
    version         bigint      NOT NULL DEFAULT 1,     -- counts changes by the owner
    created_at      timestamptz NOT NULL,
    updated_at      timestamptz NOT NULL,
    closed_at       timestamptz,
    completed_at    timestamptz,          -- when the last party was complete
    overdue_at      timestamptz,          -- when the owner was told that the due time has passed and something is missing
    CONSTRAINT requests_pkey PRIMARY KEY (uid),
    CONSTRAINT requests_public_key_hash_key UNIQUE (public_key_hash),
    CONSTRAINT requests_late_known CHECK (late IN ('refuse', 'mark')),
    CONSTRAINT requests_state_known CHECK (state IN ('open', 'closed')),
    CONSTRAINT requests_closed CHECK ((state = 'closed') = (closed_at IS NOT NULL))
);
CREATE INDEX requests_of_owner ON transfer.requests (owner, created_at DESC, uid DESC);
CREATE INDEX requests_listed ON transfer.requests (owner, state, template, created_at DESC, uid DESC);
CREATE INDEX requests_due ON transfer.requests (due) WHERE due IS NOT NULL AND NOT template;

CREATE TABLE transfer.request_items (
    uid              uuid    NOT NULL,
    request          uuid    NOT NULL,
    position         integer NOT NULL,
    name             text    NOT NULL,
    hint             text,
    mime_types       text[]  NOT NULL DEFAULT '{}', -- as the filter of a mailbox; none: all
    required         boolean NOT NULL,
    max_files        integer NOT NULL,
    max_file_size_mb bigint  NOT NULL,
    example          text,
    CONSTRAINT request_items_pkey PRIMARY KEY (uid),
    CONSTRAINT request_items_request FOREIGN KEY (request) REFERENCES transfer.requests (uid) ON DELETE CASCADE,
    CONSTRAINT request_items_limits_positive CHECK (max_files > 0 AND max_file_size_mb > 0)
);
CREATE INDEX request_items_in_order ON transfer.request_items (request, position);

-- One person who is asked. The key of the link is derived from uid and version.
CREATE TABLE transfer.request_parties (
    uid          uuid        NOT NULL,
    request      uuid        NOT NULL,
    email        text        NOT NULL,
    name         text,
    locale       text        NOT NULL,
    time_zone    text        NOT NULL,
    joined       boolean     NOT NULL DEFAULT false, -- by the public link: the owner never sees the own link, which was mailed
    key_version  integer     NOT NULL DEFAULT 1,
    key_hash     bytea       NOT NULL,               -- SHA-256 of the key in its link
    opened_at    timestamptz,
    handed_in_at timestamptz,                        -- last
    late         boolean     NOT NULL DEFAULT false, -- the last time
    completed_at timestamptz,                        -- every required item is accepted
    reminders    boolean     NOT NULL DEFAULT true,
    remind_at    timestamptz,                        -- the next reminder; null: none
    reminded_at  timestamptz,
    notify_at    timestamptz,                        -- when it is mailed which items were returned; null: not
    version      bigint      NOT NULL DEFAULT 1,     -- counts changes of the party and of its items
    created_at   timestamptz NOT NULL,
    CONSTRAINT request_parties_pkey PRIMARY KEY (uid),
    CONSTRAINT request_parties_key_hash_key UNIQUE (key_hash),
    CONSTRAINT request_parties_email_key UNIQUE (request, email),
    CONSTRAINT request_parties_request FOREIGN KEY (request) REFERENCES transfer.requests (uid) ON DELETE CASCADE
);
CREATE INDEX request_parties_reminding ON transfer.request_parties (remind_at) WHERE remind_at IS NOT NULL;
CREATE INDEX request_parties_returned ON transfer.request_parties (notify_at) WHERE notify_at IS NOT NULL;
CREATE INDEX request_parties_unopened ON transfer.request_parties (created_at) WHERE joined AND opened_at IS NULL;

-- An item of a party that was handed in. Without a row the item is open.
CREATE TABLE transfer.party_items (
    party      uuid        NOT NULL,
    item       uuid        NOT NULL,
    state      text        NOT NULL,
    reason     text,                 -- of a return
    actor      uuid,                 -- who accepted or returned it; null: the party
    changed_at timestamptz NOT NULL,
    CONSTRAINT party_items_pkey PRIMARY KEY (party, item),
    CONSTRAINT party_items_party FOREIGN KEY (party) REFERENCES transfer.request_parties (uid) ON DELETE CASCADE,
    CONSTRAINT party_items_item FOREIGN KEY (item) REFERENCES transfer.request_items (uid) ON DELETE CASCADE,
    CONSTRAINT party_items_state_known CHECK (state IN ('uploaded', 'accepted', 'returned')),
    CONSTRAINT party_items_reason CHECK (reason IS NULL OR state = 'returned')
);
CREATE INDEX party_items_by_item ON transfer.party_items (item);

-- Statements in the transparency log that the service answered: one a minute while an open request has a due time.
CREATE TABLE transfer.heartbeats (
    at    timestamptz NOT NULL, -- by the clock of Postgres
    body  bytea       NOT NULL,
    entry bytea       NOT NULL, -- SHA-256 of the body
    CONSTRAINT heartbeats_pkey PRIMARY KEY (at)
);
