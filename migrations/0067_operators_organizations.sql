-- +goose NO TRANSACTION
-- +goose Up

-- List organizations for operators, by the beginning of names and of hostnames. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS identity.organizations_by_prefix;
CREATE INDEX CONCURRENTLY organizations_by_prefix ON identity.organizations (lower(coalesce(name, '')) COLLATE "C", uid);
DROP INDEX CONCURRENTLY IF EXISTS identity.hosts_by_prefix;
CREATE INDEX CONCURRENTLY hosts_by_prefix ON identity.hosts (host COLLATE "C", organization);

-- Who is in an organization, for other domains.
CREATE OR REPLACE VIEW directory.members AS
SELECT organization, person FROM identity.memberships;
