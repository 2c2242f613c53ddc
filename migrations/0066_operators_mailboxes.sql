-- +goose NO TRANSACTION
-- +goose Up

-- List mailboxes and groups for operators by the beginning of their links. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS transfer.vanity_links_by_prefix;
CREATE INDEX CONCURRENTLY vanity_links_by_prefix ON transfer.vanity_links (link COLLATE "C", host_organization) WHERE released_at IS NULL;
