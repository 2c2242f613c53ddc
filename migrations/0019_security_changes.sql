-- +goose Up

-- Changes of what an account depends on, each with the state before it, so that a mailed link can restore that state
-- (contract 3.23). A change and all later ones of the person are undone together: seq orders them.
create table identity.security_changes (
    seq             bigint      generated always as identity,
    person          uuid        not null,
    kind            text        not null, -- the template of its mails, and the type of a factor
    made_at         timestamptz not null,
    undo_hash       bytea,                -- SHA-256 of the key that undoes the change; null once used
    end_hash        bytea,                -- SHA-256 of the key that only ends the sessions; null once used
    addresses       text[]      not null, -- the verified addresses before the change, the primary one first
    verified_at     timestamptz[] not null, -- of each address
    email_proved_at timestamptz,
    constraint security_changes_pkey primary key (seq),
    constraint security_changes_person_fkey foreign key (person) references identity.persons on delete cascade,
    constraint security_changes_undo_hash_key unique (undo_hash),
    constraint security_changes_end_hash_key unique (end_hash),
    constraint security_changes_verified_whole check (cardinality(addresses) = cardinality(verified_at))
);
create index security_changes_person_idx on identity.security_changes (person, seq);
create index security_changes_made_at_idx on identity.security_changes (made_at);

-- The verified second factors before a change, with secrets in the same form as in identity.authenticators. A recovery
-- code that is used later is removed from codes.
create table identity.security_change_factors (
    change        bigint      not null,
    uid           uuid        not null,
    type          text        not null,
    name          text,
    registered_at timestamptz not null,
    updated_at    timestamptz not null,
    secret        bytea,
    salt          bytea,
    codes         bytea[]     not null,
    constraint security_change_factors_pkey primary key (change, uid),
    constraint security_change_factors_change_fkey foreign key (change) references identity.security_changes on delete cascade
);
create index security_change_factors_uid_idx on identity.security_change_factors (uid);
