-- +goose Up

-- When recipients of an expired transfer last asked for it: extension_asked_at, when its sender was last mailed about that; asked_at,
-- who is mailed when it is extended.
alter table transfer.transfers add column extension_asked_at timestamptz;
alter table transfer.deliveries add column asked_at timestamptz;
