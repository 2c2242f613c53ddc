-- +goose Up

-- A change or reset of the password raises device_epoch. Device cookies with a smaller one are unknown (contract 3.22). An
-- older replica leaves it as it is.
ALTER TABLE identity.persons ADD COLUMN device_epoch bigint NOT NULL DEFAULT 1;
