-- +goose NO TRANSACTION
-- +goose Up

-- What is due by a rule of an organization. Made beside uploads, because the tables may be large.
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_erase_by;
CREATE INDEX CONCURRENTLY transfers_erase_by ON transfer.transfers (erase_by) WHERE ended_at IS NULL AND erase_by IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS transfer.receipts_of_organization;
CREATE INDEX CONCURRENTLY receipts_of_organization ON transfer.receipts (organization, created_at)
    WHERE kind = 'delivered' AND body IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS mails_of_organization;
CREATE INDEX CONCURRENTLY mails_of_organization ON mails (organization, finished_at) WHERE organization IS NOT NULL AND state <> 'queued';
