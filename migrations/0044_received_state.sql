-- +goose NO TRANSACTION
-- +goose Up

-- What a recipient with an account notes about a received transfer. read null: read once it was opened. Every statement can be repeated
-- after a broken attempt.
ALTER TABLE transfer.deliveries ADD COLUMN IF NOT EXISTS read boolean, ADD COLUMN IF NOT EXISTS notes text;
DROP INDEX CONCURRENTLY IF EXISTS transfer.deliveries_unread;
CREATE INDEX CONCURRENTLY deliveries_unread ON transfer.deliveries (person, created_at DESC, transfer DESC)
    WHERE hidden_at IS NULL AND NOT coalesce(read, accessed_at IS NOT NULL);

-- A pinned transfer to a mailbox does not expire: its expires_at is in the year 9999, for older versions as well. pinned_expiry is the one
-- that it had.
ALTER TABLE transfer.transfers ADD COLUMN IF NOT EXISTS pinned_expiry timestamptz;
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_pinned;
CREATE INDEX CONCURRENTLY transfers_pinned ON transfer.transfers (pinned_expiry) WHERE pinned_expiry IS NOT NULL AND ended_at IS NULL;

ALTER TABLE transfer.adminunits ADD COLUMN IF NOT EXISTS pinning_enabled boolean NOT NULL DEFAULT true;

-- A recipient finds transfers by the own notes, too. The statement of the search does not show them to anybody else.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.write_search_texts(uids uuid[]) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO transfer.search_texts (transfer, parties, words)
    SELECT t.uid, array_remove(array_agg(DISTINCT d.person) || CASE WHEN t.sender_managed THEN t.sender END, NULL),
        concat_ws(E'\n', t.search, lower(normalize(string_agg(concat_ws(' ', d.name, d.email, d.notes), E'\n' ORDER BY d.position))))
    FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = ANY (uids) AND t.search IS NOT NULL
    GROUP BY t.uid ORDER BY t.uid
    ON CONFLICT ON CONSTRAINT search_texts_pkey DO UPDATE SET parties = excluded.parties, words = excluded.words
$$;
-- +goose StatementEnd
