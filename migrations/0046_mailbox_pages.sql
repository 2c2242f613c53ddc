-- +goose Up

-- Whether the values that a link fills into the form of a mailbox are shown locked.
alter table transfer.mailboxes add column prefill_locked boolean not null default false;

-- The picture behind the page of a mailbox, a JPEG file.
create table transfer.mailbox_pictures (
    mailbox    uuid        not null,
    image      bytea       not null,
    etag       text        not null,
    updated_at timestamptz not null,
    constraint mailbox_pictures_pkey primary key (mailbox),
    constraint mailbox_pictures_mailbox_fkey foreign key (mailbox) references transfer.mailboxes (person) on delete cascade
);
