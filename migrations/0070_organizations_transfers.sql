-- +goose NO TRANSACTION
-- +goose Up

-- List the transfers of a member for the administrators of the organization, newest first (contract 4.28). An index that a broken attempt left
-- behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS transfer.transfers_of_member;
CREATE INDEX CONCURRENTLY transfers_of_member ON transfer.transfers (limits_organization, owner, created_at DESC, uid DESC);
