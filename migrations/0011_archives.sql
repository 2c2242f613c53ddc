-- +goose Up

-- An archive is a download of each of a transfer's objects. It is counted once, with the transfer: thousands of rows counted by
-- parallel downloads, each in an order of its own, waited for each other until some were ended as deadlocks.
alter table transfer.transfers add column archives bigint not null default 0;
