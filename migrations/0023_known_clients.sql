-- +goose Up

-- Clients without cookies in which a person has logged in, so that a new one is mailed (contract 3.23). client_hash is a
-- MAC of family and network of the client.
create table identity.known_clients (
    person       uuid        not null,
    client_hash  bytea       not null,
    device_epoch bigint      not null, -- the person's at the login; a greater one makes the client unknown
    seen_at      timestamptz not null, -- the last login
    constraint known_clients_pkey primary key (person, client_hash),
    constraint known_clients_person_fkey foreign key (person) references identity.persons on delete cascade
);
create index known_clients_seen_at_idx on identity.known_clients (seen_at);
