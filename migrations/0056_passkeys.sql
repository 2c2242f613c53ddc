-- +goose Up

-- A person may have several authenticators of the type webauthn.
alter table identity.authenticators drop constraint authenticators_type_known;
alter table identity.authenticators add constraint authenticators_type_known check (type in ('bcrypt', 'totp', 'recovery', 'webauthn'));
alter table identity.authenticators drop constraint authenticators_type_key;
create unique index authenticators_type_key on identity.authenticators (person, type) where type <> 'webauthn';
create index authenticators_person_idx on identity.authenticators (person);

-- The verified authenticators of the type webauthn (contract 3.27).
create table identity.passkeys (
    authenticator   uuid        not null,
    host            text        not null, -- the RP ID
    credential_id   bytea       not null,
    public_key      bytea       not null, -- COSE
    sign_count      bigint      not null,
    transports      text[]      not null,
    backup_eligible boolean     not null,
    backed_up       boolean     not null,
    aaguid          bytea       not null,
    used_at         timestamptz,
    cloned_at       timestamptz,          -- when the owner was last mailed about a counter that went back
    constraint passkeys_pkey primary key (authenticator),
    constraint passkeys_authenticator_fkey foreign key (authenticator) references identity.authenticators on delete cascade,
    constraint passkeys_credential_id_key unique (credential_id)
);
create index passkeys_host_idx on identity.passkeys (host);

-- Challenges that were used, until they would have expired. Unused ones are stored nowhere: they are sealed.
create table identity.used_challenges (
    hash       bytea       not null, -- SHA-256
    expires_at timestamptz not null,
    constraint used_challenges_pkey primary key (hash)
);
create index used_challenges_expires_at_idx on identity.used_challenges (expires_at);

-- The row of identity.passkeys before a change; null for other types.
alter table identity.security_change_factors add column passkey jsonb;
