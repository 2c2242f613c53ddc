-- +goose Up

-- The open reservations of strangers, with the bytes that their objects hold or have reserved. A limit reads this row instead of the
-- objects. The row goes with the reservation, or at its confirm.
create table transfer.stranger_reservations (
    reservation         uuid        not null,
    owner               uuid        not null, -- of the mailbox
    organization        uuid,                 -- of the owner; null without
    limits_organization uuid        not null, -- the owner's, or the free one
    client              text,                 -- client network; null: unknown
    bytes               bigint      not null default 0,
    expires_at          timestamptz not null,
    constraint stranger_reservations_pkey primary key (reservation),
    constraint stranger_reservations_reservation foreign key (reservation) references transfer.reservations (uid) on delete cascade,
    constraint stranger_reservations_bytes_not_negative check (bytes >= 0)
);
create index stranger_reservations_by_owner on transfer.stranger_reservations (owner);
create index stranger_reservations_by_organization on transfer.stranger_reservations (organization) where organization is not null;
create index stranger_reservations_by_client on transfer.stranger_reservations (limits_organization, client) where client is not null;

insert into transfer.stranger_reservations (reservation, owner, organization, limits_organization, client, bytes, expires_at)
select r.uid, r.owner, r.organization, r.limits_organization, r.client,
    (select coalesce(sum(o.held + o.reserved), 0) from transfer.objects o where o.reservation = r.uid), r.expires_at
from transfer.reservations r where r.state = 'open' and r.type = 'mailbox';
