-- +goose Up

-- The network address of a recipient's first access, for the sender.
alter table transfer.deliveries add column accessed_from inet;

-- Addresses are kept as long as those of the audit log.
create index deliveries_addressed on transfer.deliveries (accessed_at) where accessed_from is not null;
create index downloads_addressed on transfer.downloads (day) where addresses <> '{}';

-- The check of this reference locked the transfer after the delivery. Rows are deleted with the record of the transfer instead.
alter table transfer.downloads drop constraint downloads_transfer;
