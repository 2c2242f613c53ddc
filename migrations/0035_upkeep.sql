-- +goose NO TRANSACTION
-- +goose Up

-- Vacuum and statistics of tables that grow: a fifth of 7,500,000 rows, which is the default, is months of changes.
ALTER TABLE transfer.objects SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE transfer.transfers SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE transfer.deliveries SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE transfer.reservations SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE transfer.search_texts SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE identity.id_tokens SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
ALTER TABLE events SET (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- Finds months that no limit asks for any more. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS transfer.volumes_by_month;
CREATE INDEX CONCURRENTLY volumes_by_month ON transfer.volumes (month);
