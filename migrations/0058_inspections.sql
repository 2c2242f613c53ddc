-- +goose Up

-- What is known about the bytes of objects: the verdict of the malware scanner and the kinds of content. A row is made when a transfer is
-- delivered whose policy wants it. Bytes without a row are unscanned. content is the key of the bytes, transfer the first that has them.
create table transfer.inspections (
    content    uuid        not null,
    transfer   uuid        not null,
    bytes      bigint      not null,
    state      text        not null default 'scanning',
    engine     text,
    signatures text,
    finding    text,
    rules      text[]      not null default '{}',
    created_at timestamptz not null,
    scanned_at timestamptz,           -- the last verdict
    due_at     timestamptz,           -- the next attempt, also the lease of the server that scans; null: none
    attempts   integer     not null default 0,
    removed_at timestamptz,           -- the bytes were deleted because of the finding
    constraint inspections_pkey primary key (content),
    constraint inspections_state check (state in ('scanning', 'clean', 'infected', 'partly', 'failed'))
);
create index inspections_due on transfer.inspections (due_at) where due_at is not null;
create index inspections_scanning on transfer.inspections (transfer) where state = 'scanning';
create index inspections_recent on transfer.inspections (created_at) where due_at is null;
create index inspections_infected on transfer.inspections (scanned_at) where state = 'infected' and removed_at is null;

-- held_states and held_rules: which objects of a transfer are not given; null: no policy. malware_status: the worst state of its objects.
alter table transfer.transfers add column held_states text[], add column held_rules text[], add column malware_status text;

-- The policies; null: the default, or the organization's.
alter table transfer.adminunits add column inspection jsonb;
alter table transfer.mailboxes add column inspection text,
    add constraint mailboxes_inspection check (inspection in ('hold', 'mark', 'off'));
