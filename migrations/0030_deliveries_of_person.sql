-- +goose NO TRANSACTION
-- +goose Up

-- Finds the deliveries of one transfer to one person. Without it, a plan for many persons reads all that a person has received for
-- each transfer of a list. An index that a broken attempt left behind is invalid.
DROP INDEX CONCURRENTLY IF EXISTS transfer.deliveries_of_person;
CREATE INDEX CONCURRENTLY deliveries_of_person ON transfer.deliveries (transfer, person) WHERE hidden_at IS NULL AND person IS NOT NULL;
