-- +goose Up

-- How often each recipient, and how often all together, may download each object; null: no limit. delete_after_download ends a transfer
-- when a recipient has downloaded everything.
alter table transfer.transfers add column max_downloads integer, add column max_total_downloads integer,
    add column delete_after_download boolean not null default false,
    add constraint transfers_max_downloads_positive check (max_downloads > 0 and max_total_downloads > 0);

-- The downloads of one item by one recipient on one day. item is an object, the transfer (the archive of all objects), or an archive of
-- objects. A recipient who is removed leaves these rows. sent counts the bytes of all answers, ranges are the parts that were sent.
create table transfer.downloads (
    transfer     uuid           not null,
    item         uuid           not null,
    delivery     uuid           not null,
    day          date           not null,
    objects      uuid[],
    size         bigint         not null,
    downloads    integer        not null,
    sent         bigint         not null,
    ranges       int8multirange not null default '{}',
    began_at     timestamptz    not null,
    last_at      timestamptz    not null,
    completed_at timestamptz,
    addresses    inet[]         not null default '{}',
    constraint downloads_pkey primary key (transfer, item, delivery, day),
    constraint downloads_transfer foreign key (transfer) references transfer.transfers (uid) on delete cascade,
    constraint downloads_sent_not_negative check (sent >= 0)
);
