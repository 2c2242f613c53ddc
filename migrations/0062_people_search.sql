-- +goose NO TRANSACTION
-- +goose Up

-- List people for operators, by address and by name. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS identity.addresses_by_prefix;
CREATE INDEX CONCURRENTLY addresses_by_prefix ON identity.addresses (address COLLATE "C", person) WHERE is_primary;
DROP INDEX CONCURRENTLY IF EXISTS identity.persons_by_prefix;
CREATE INDEX CONCURRENTLY persons_by_prefix ON identity.persons (lower(name) COLLATE "C", uid) WHERE deleted_at IS NULL AND name IS NOT NULL;
