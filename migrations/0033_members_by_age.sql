-- +goose NO TRANSACTION
-- +goose Up

-- Lists the members of an organization in batches, oldest first. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS identity.memberships_by_age;
CREATE INDEX CONCURRENTLY memberships_by_age ON identity.memberships (organization, created_at, person);
