-- +goose Up

-- One row a person: hands out that person's cursors. Its row lock, held to the end of the writing transaction, makes
-- a person's events commit in the order of their ids (see the comment of package events).
CREATE TABLE event_feeds (
    person  uuid        NOT NULL,
    last_id bigint      NOT NULL,
    used_at timestamptz NOT NULL,
    CONSTRAINT event_feeds_pkey PRIMARY KEY (person)
);
CREATE INDEX event_feeds_used_at_idx ON event_feeds (used_at);

-- One row a receiver of an event; uid is the event's, the same in the rows of all its receivers.
CREATE TABLE events (
    person     uuid        NOT NULL,
    id         bigint      NOT NULL,
    uid        uuid        NOT NULL,
    kind       text        NOT NULL,
    subject    text        NOT NULL,
    created_at timestamptz NOT NULL,
    CONSTRAINT events_pkey PRIMARY KEY (person, id),
    CONSTRAINT events_kind_form CHECK (kind ~ '^[A-Z][A-Z_]{0,63}$')
);
CREATE INDEX events_created_at_idx ON events (created_at);

-- Who did what, to whom, from where. No foreign keys: an entry outlives what it is about.
CREATE TABLE audit (
    id           bigint      GENERATED ALWAYS AS IDENTITY,
    at           timestamptz NOT NULL,
    actor        uuid,
    action       text        NOT NULL,
    object       text        NOT NULL,
    target       uuid,
    organization uuid,
    address      inet,
    user_agent   text        NOT NULL,
    details      jsonb       NOT NULL,
    CONSTRAINT audit_pkey PRIMARY KEY (id),
    CONSTRAINT audit_action_form CHECK (action ~ '^[a-z][A-Za-z0-9-]*(\.[A-Za-z0-9-]+)+$'),
    CONSTRAINT audit_details_object CHECK (jsonb_typeof(details) = 'object')
);
CREATE INDEX audit_at_idx ON audit (at);
CREATE INDEX audit_actor_idx ON audit (actor, id);
CREATE INDEX audit_target_idx ON audit (target, id);
