-- +goose Up

-- Indexes that an installation of some years misses, where statements read all of a growing table.

-- What a deleted person sent is parted from the person, also what is put away or nobody manages.
create index transfers_by_sender on transfer.transfers (sender) where sender is not null;

-- Bytes are removed in the order in which they were discarded, some hundred at a time.
create index discarded_objects_oldest on transfer.discarded_objects (discarded_at);

-- A transfer that ends or is forgotten takes its keys along.
create index one_time_keys_by_transfer on transfer.one_time_keys (transfer);
create index one_time_keys_by_delivery on transfer.one_time_keys (delivery) where delivery is not null;

-- Verification keys are forgotten every few minutes; few addresses have one.
CREATE INDEX addresses_key_expires_at_idx ON identity.addresses (key_expires_at) WHERE key_expires_at IS NOT NULL;
