-- +goose Up

-- Whether a stranger must prove the stated address with a mailed code before the confirm.
alter table transfer.mailboxes add column verify_sender boolean not null default false;

-- The last code that was mailed for a stranger's reservation.
create table transfer.sender_codes (
    reservation    uuid        not null,
    email          text        not null,           -- where it was mailed
    code_hash      bytea,                          -- MAC of the code; null once used
    expires_at     timestamptz not null,
    tries          integer     not null default 0,
    mailed         integer     not null default 1, -- codes for this reservation
    verified_email text,                           -- the address that a code has proved
    constraint sender_codes_pkey primary key (reservation),
    constraint sender_codes_reservation foreign key (reservation) references transfer.reservations (uid) on delete cascade
);

-- How many codes an address was sent on a day (UTC).
create table transfer.daily_sender_codes (
    email text    not null,
    day   date    not null,
    sent  integer not null,
    constraint daily_sender_codes_pkey primary key (email, day)
);
