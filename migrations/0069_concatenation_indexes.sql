-- +goose NO TRANSACTION
-- +goose Up

-- Both read all objects while uploads go on. An index that a broken attempt left behind is invalid.
ALTER TABLE transfer.objects VALIDATE CONSTRAINT objects_final_of_partial, VALIDATE CONSTRAINT objects_partials_known;
DROP INDEX CONCURRENTLY IF EXISTS transfer.objects_partial;
CREATE INDEX CONCURRENTLY objects_partial ON transfer.objects (reservation) WHERE partial;
DROP INDEX CONCURRENTLY IF EXISTS transfer.objects_concatenated;
CREATE INDEX CONCURRENTLY objects_concatenated ON transfer.objects (reservation) WHERE partials IS NOT NULL;
