-- +goose Up

CREATE SCHEMA webhook;

-- Webhooks of persons and organizations (contract 3.26). Those of another kind than url are export targets (contract 3.28): secret is
-- their sealed password.
CREATE TABLE webhook.webhooks (
    uid             uuid        NOT NULL,
    person          uuid,                 -- whose feed it reports, or
    organization    uuid,                 -- whose members' feeds it reports
    creator         uuid,                 -- who gets mails about it
    kind            text        NOT NULL,
    url             text        NOT NULL,
    host            text        NOT NULL, -- of the URL, with port: deliveries to one host are bounded
    username        text,                 -- of an export target
    events          text[]      NOT NULL,
    secret          bytea       NOT NULL, -- sealed
    previous_secret bytea,                -- sealed; signs too, until previous_until
    previous_until  timestamptz,
    active          boolean     NOT NULL DEFAULT true,
    disabled_reason text,                 -- why the server made it inactive
    created_at      timestamptz NOT NULL,
    failing_since   timestamptz,          -- the first failure after the last success
    CONSTRAINT webhooks_pkey PRIMARY KEY (uid),
    CONSTRAINT webhooks_kind CHECK (kind IN ('url', 's3', 'webdav')),
    CONSTRAINT webhooks_username CHECK ((username IS NULL) = (kind = 'url')),
    CONSTRAINT webhooks_owner CHECK (num_nonnulls(person, organization) = 1),
    CONSTRAINT webhooks_person_fkey FOREIGN KEY (person) REFERENCES identity.persons (uid) ON DELETE CASCADE,
    CONSTRAINT webhooks_organization_fkey FOREIGN KEY (organization) REFERENCES identity.organizations (uid) ON DELETE CASCADE,
    CONSTRAINT webhooks_creator_fkey FOREIGN KEY (creator) REFERENCES identity.persons (uid) ON DELETE SET NULL
);
CREATE INDEX webhooks_person ON webhook.webhooks (person) WHERE person IS NOT NULL;
CREATE INDEX webhooks_organization ON webhook.webhooks (organization) WHERE organization IS NOT NULL;
CREATE INDEX webhooks_creator ON webhook.webhooks (creator) WHERE creator IS NOT NULL;

-- There is no foreign key: the transaction of an event must not wait for, or fail with, the deletion of a webhook. The job
-- identity-webhooks deletes the rest.
CREATE TABLE webhook.deliveries (
    uid             uuid        NOT NULL DEFAULT gen_random_uuid(),
    seq             bigint      GENERATED ALWAYS AS IDENTITY,
    webhook         uuid        NOT NULL,
    event           uuid        NOT NULL,
    kind            text        NOT NULL,
    subject         text        NOT NULL,
    receivers       uuid[]      NOT NULL,
    created_at      timestamptz NOT NULL,
    state           text        NOT NULL DEFAULT 'pending',
    attempts        integer     NOT NULL DEFAULT 0,
    next_attempt_at timestamptz NOT NULL, -- also the lease of the server that sends it
    last_attempt_at timestamptz,
    status          integer,              -- of the last answer
    duration_ms     integer,
    answer          text,
    reason          text,                 -- why it is not delivered
    CONSTRAINT deliveries_pkey PRIMARY KEY (uid),
    CONSTRAINT deliveries_event_key UNIQUE (webhook, event),
    CONSTRAINT deliveries_state CHECK (state IN ('pending', 'delivered', 'dead'))
);
CREATE INDEX deliveries_due ON webhook.deliveries (next_attempt_at) WHERE state = 'pending';
CREATE INDEX deliveries_log ON webhook.deliveries (webhook, seq);

-- Queues each event for its webhooks, in the event's own transaction.
-- +goose StatementBegin
CREATE FUNCTION webhook.queue() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM webhook.webhooks) THEN
        RETURN NULL;
    END IF;
    INSERT INTO webhook.deliveries (webhook, event, kind, subject, receivers, created_at, next_attempt_at)
    SELECT w.uid, a.uid, a.kind, a.subject, (array_agg(DISTINCT a.person))[1:100], min(a.created_at), min(a.created_at)
    FROM (
        SELECT w.uid AS webhook, n.* FROM appended n JOIN webhook.webhooks w ON w.person = n.person
        UNION ALL
        SELECT w.uid, n.* FROM appended n
        JOIN identity.memberships m ON m.person = n.person JOIN webhook.webhooks w ON w.organization = m.organization
    ) a JOIN webhook.webhooks w ON w.uid = a.webhook
    WHERE w.active AND a.kind = ANY (w.events)
    GROUP BY w.uid, a.uid, a.kind, a.subject
    ON CONFLICT ON CONSTRAINT deliveries_event_key DO NOTHING;
    IF FOUND THEN
        PERFORM pg_notify('webhooks', '');
    END IF;
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER events_queue_webhooks AFTER INSERT ON events
    REFERENCING NEW TABLE AS appended FOR EACH STATEMENT EXECUTE FUNCTION webhook.queue();
