-- +goose Up

-- The mail queue. A row is written in the transaction that causes the mail and names everything its bytes depend on,
-- so that a repeated attempt sends the same ones. data is emptied once sent, secret whenever the row is done with.
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
