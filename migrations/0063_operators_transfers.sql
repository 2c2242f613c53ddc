-- +goose NO TRANSACTION
-- +goose Up

-- List transfers for operators, newest first: of a sender, to a mailbox, of an organization. The first index replaces one on the sender
-- alone. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_of_sender;
CREATE INDEX CONCURRENTLY transfers_of_sender ON transfer.transfers (sender, created_at DESC, uid DESC) WHERE sender IS NOT NULL;
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_by_sender;
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_of_mailbox;
CREATE INDEX CONCURRENTLY transfers_of_mailbox ON transfer.transfers (owner, created_at DESC, uid DESC) WHERE type = 'mailbox';
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_of_organization;
CREATE INDEX CONCURRENTLY transfers_of_organization ON transfer.transfers (limits_organization, created_at DESC, uid DESC);
