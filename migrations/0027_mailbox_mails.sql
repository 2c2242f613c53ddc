-- +goose Up

-- How many mails about strangers' deliveries the owner of a mailbox was sent on a day (UTC): of one client network, and of all in the
-- row with an empty client.
create table transfer.daily_mailbox_mails (
    owner  uuid    not null,
    client text    not null,
    day    date    not null,
    sent   integer not null,
    constraint daily_mailbox_mails_pkey primary key (owner, client, day)
);

-- The owner of the mailbox was not mailed about this transfer: the number of mails of the day was used up.
alter table transfer.transfers add column unmailed boolean not null default false;

-- Codes to an address are counted for each client network, too.
alter table transfer.daily_sender_codes add column client text not null default '';
alter table transfer.daily_sender_codes drop constraint daily_sender_codes_pkey,
    add constraint daily_sender_codes_pkey primary key (email, client, day);
