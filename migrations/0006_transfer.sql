-- +goose Up
-- Transfer's tables. Persons and organizations are named by their uids only: their rows belong to identity, whose
-- directory.* views are the one thing of it that transfer reads.
create schema transfer;

-- What an organization's administrator decides about transfers; without a row the server's defaults hold.
create table transfer.adminunits (
    organization     uuid        not null,
    available_ttl    integer[]   not null,
    default_ttl      integer     not null,
    priority_enabled boolean     not null,
    protection_level text        not null,
    max_files        integer     not null,
    max_file_size_mb bigint      not null,
    max_recipients   integer     not null,
    updated_at       timestamptz not null,
    constraint adminunits_pkey primary key (organization),
    constraint adminunits_ttl_offered check (default_ttl = any (available_ttl)),
    constraint adminunits_protection_known check (protection_level in ('none', 'password', 'recipientAuthentication')),
    constraint adminunits_limits_positive check (max_files > 0 and max_file_size_mb > 0 and max_recipients > 0)
);

-- One mailbox a person; its uid is the person's. Null means: as the profile or the adminunit says.
create table transfer.mailboxes (
    person           uuid        not null,
    secure           boolean     not null default false,
    name             text,
    email            text,
    slogan           text,
    absent           boolean     not null default false,
    absence_message  text,
    fields_schema    json,
    ui_schema        json,
    mime_type_filter text[]      not null default '{}',
    max_files        integer,
    max_file_size_mb bigint,
    created_at       timestamptz not null,
    updated_at       timestamptz not null,
    constraint mailboxes_pkey primary key (person),
    constraint mailboxes_limits_positive check (max_files > 0 and max_file_size_mb > 0)
);

create table transfer.mailbox_groups (
    uid          uuid        not null,
    organization uuid        not null,
    name         text        not null,
    description  text,
    created_at   timestamptz not null,
    updated_at   timestamptz not null,
    constraint mailbox_groups_pkey primary key (uid)
);
create index mailbox_groups_organization on transfer.mailbox_groups (organization);

create table transfer.mailbox_group_members (
    mailbox_group uuid    not null,
    mailbox       uuid    not null,
    position      integer not null,
    constraint mailbox_group_members_pkey primary key (mailbox_group, mailbox),
    constraint mailbox_group_members_group foreign key (mailbox_group) references transfer.mailbox_groups (uid) on delete cascade,
    constraint mailbox_group_members_mailbox foreign key (mailbox) references transfer.mailboxes (person) on delete cascade
);
create index mailbox_group_members_by_mailbox on transfer.mailbox_group_members (mailbox);

-- One name space a host for mailboxes and groups. The host is named by the organization that owns it, so that
-- renaming a host moves nothing; link is in lower case.
create table transfer.vanity_links (
    host_organization uuid not null,
    link              text not null,
    mailbox           uuid,
    mailbox_group     uuid,
    constraint vanity_links_pkey primary key (host_organization, link),
    constraint vanity_links_mailbox_key unique (mailbox),
    constraint vanity_links_group_key unique (mailbox_group),
    constraint vanity_links_mailbox foreign key (mailbox) references transfer.mailboxes (person) on delete cascade,
    constraint vanity_links_group foreign key (mailbox_group) references transfer.mailbox_groups (uid) on delete cascade,
    constraint vanity_links_one_target check (num_nonnulls(mailbox, mailbox_group) = 1),
    constraint vanity_links_folded check (link = lower(link))
);

-- A transfer being put together. The row stays after the confirm, for as long as its transfer does: objects hang on it.
create table transfer.reservations (
    uid                   uuid        not null,
    type                  text        not null,
    state                 text        not null default 'open',
    owner                 uuid        not null, -- whose limits and volume it uses: the mailbox's owner, or the sender
    creator               uuid,                 -- who may manage it with an access token; null for a stranger's
    organization          uuid,                 -- the owner's, charged beside the owner; null without
    limits_organization   uuid        not null, -- the owner's, or the free one
    sender                uuid,                 -- the uploader's person, where known
    subject               text,
    message               text,
    anon_sender           text,
    anon_email            text,
    locale                text,                 -- the uploader's, for the upload confirmation
    delivery_notification boolean     not null default false,
    ttl                   integer     not null,
    priority              integer,
    protection            text        not null,
    password_hash         text,
    fields                json,
    max_files             integer     not null,
    max_file_size_mb      bigint      not null,
    max_recipients        integer     not null,
    object_count          integer     not null default 0,
    transfer              uuid,
    created_at            timestamptz not null,
    expires_at            timestamptz not null,
    constraint reservations_pkey primary key (uid),
    constraint reservations_transfer_key unique (transfer),
    constraint reservations_type_known check (type in ('p2p', 'drop', 'mailbox')),
    constraint reservations_state_known check (state in ('open', 'confirmed')),
    constraint reservations_confirmed check ((state = 'confirmed') = (transfer is not null)),
    constraint reservations_protection_known check (protection in ('none', 'password', 'recipientAuthentication')),
    constraint reservations_priority_range check (priority between 1 and 5),
    constraint reservations_objects_bounded check (object_count between 0 and max_files)
);
create index reservations_expiring on transfer.reservations (expires_at) where state = 'open';
create index reservations_by_owner on transfer.reservations (owner, created_at) where state = 'open';

create table transfer.reservation_recipients (
    reservation      uuid    not null,
    position         integer not null,
    person           uuid,
    name             text,
    email            text    not null,
    destination_type text    not null,
    constraint reservation_recipients_pkey primary key (reservation, position),
    constraint reservation_recipients_reservation foreign key (reservation) references transfer.reservations (uid) on delete cascade,
    constraint reservation_recipients_destination_known check (destination_type in ('to', 'cc', 'bcc'))
);

-- One file. held counts the bytes that are durable, sha_state is the running SHA-256 over exactly those. Who writes
-- holds the current writer_epoch, until lease_until at the latest.
create table transfer.objects (
    uid            uuid        not null, -- also the key of its bytes
    reservation    uuid        not null,
    position       bigint      generated always as identity,
    client_id      text        not null,
    name           text,                 -- null once erased
    intended_size  bigint      not null,
    held           bigint      not null default 0,
    sha_state      bytea,
    head           bytea,                -- first bytes, while they are too few to tell the type by
    sha256         bytea,                -- once complete
    crc32          bigint      not null default 0, -- over the bytes held, for archives
    mime_type      text,
    writer_epoch   bigint      not null default 0,
    lease_until    timestamptz,
    reserved       bigint      not null default 0, -- volume set aside for the request that is writing
    reserved_month date,
    downloads      bigint      not null default 0,
    created_at     timestamptz not null,
    constraint objects_pkey primary key (uid),
    constraint objects_client_id_key unique (reservation, client_id),
    constraint objects_reservation foreign key (reservation) references transfer.reservations (uid),
    constraint objects_held_bounded check (held between 0 and intended_size),
    constraint objects_reserved_known check (reserved >= 0 and (reserved = 0 or reserved_month is not null))
);
create index objects_in_order on transfer.objects (reservation, position);
create index objects_reserving on transfer.objects (lease_until) where reserved > 0;

-- Bytes of an object by the month they were charged to, so that they are given back to that month.
create table transfer.object_charges (
    object uuid   not null,
    month  date   not null,
    bytes  bigint not null,
    constraint object_charges_pkey primary key (object, month),
    constraint object_charges_object foreign key (object) references transfer.objects (uid) on delete cascade,
    constraint object_charges_positive check (bytes >= 0)
);

-- Upload volume of a calendar month (UTC), of persons and of organizations.
create table transfer.volumes (
    subject  uuid   not null,
    month    date   not null,
    kind     text   not null,
    held     bigint not null default 0,
    reserved bigint not null default 0,
    constraint volumes_pkey primary key (subject, month),
    constraint volumes_kind_known check (kind in ('person', 'organization')),
    constraint volumes_month_first check (extract(day from month) = 1),
    constraint volumes_not_negative check (held >= 0 and reserved >= 0)
);

-- Bytes an organization stores now, whatever the month.
create table transfer.stored_volumes (
    organization uuid   not null,
    bytes        bigint not null,
    constraint stored_volumes_pkey primary key (organization),
    constraint stored_volumes_not_negative check (bytes >= 0)
);

-- Keys whose rows are gone and whose bytes are still to be removed from the store.
create table transfer.discarded_objects (
    object       uuid        not null,
    discarded_at timestamptz not null,
    busy_until   timestamptz,          -- when its last writer has stopped for sure; null: nobody was writing
    constraint discarded_objects_pkey primary key (object)
);

create table transfer.transfers (
    uid                   uuid        not null,
    reservation           uuid        not null,
    type                  text        not null,
    state                 text        not null default 'delivered',
    owner                 uuid        not null, -- as on the reservation
    sender                uuid,                 -- the sender's person, where known
    sender_managed        boolean     not null, -- the sender sees it among the sent ones and may revoke it
    limits_organization   uuid        not null,
    subject               text,
    message               text,
    sender_name           text,
    sender_email          text,
    sender_locale         text,
    delivery_notification boolean     not null,
    priority              integer,
    protection            text        not null,
    password_hash         text,
    fields                json,
    search                text,                 -- lower-case text that a search looks at; never a bcc recipient
    object_count          integer     not null,
    total_bytes           bigint      not null,
    created_at            timestamptz not null,
    expires_at            timestamptz not null,
    accessed_at           timestamptz,
    ended_at              timestamptz,          -- when it expired or was revoked, and was erased
    hidden_at             timestamptz,          -- when the sender put an ended one away
    warned_at             timestamptz,          -- when its expiry was announced
    constraint transfers_pkey primary key (uid),
    constraint transfers_reservation_key unique (reservation),
    constraint transfers_reservation foreign key (reservation) references transfer.reservations (uid),
    constraint transfers_type_known check (type in ('p2p', 'drop', 'mailbox')),
    constraint transfers_state_known check (state in ('delivered', 'accessed', 'expired', 'revoked')),
    constraint transfers_ended check ((state in ('expired', 'revoked')) = (ended_at is not null)),
    constraint transfers_protection_known check (protection in ('none', 'password', 'recipientAuthentication')),
    constraint transfers_managed_by_person check (sender is not null or not sender_managed)
);
create index transfers_sent on transfer.transfers (sender, created_at desc, uid desc) where sender_managed and hidden_at is null;
create index transfers_expiring on transfer.transfers (expires_at) where ended_at is null;
create index transfers_unwarned on transfer.transfers (expires_at) where ended_at is null and warned_at is null;
create index transfers_ended_at on transfer.transfers (ended_at) where ended_at is not null;

-- One addressee of a transfer, or (destination 'link') whoever holds its link.
create table transfer.deliveries (
    uid              uuid        not null,
    transfer         uuid        not null,
    position         integer     not null,
    destination_type text        not null,
    person           uuid,
    name             text,
    email            text,
    key_version      integer     not null default 1,
    key_hash         bytea       not null, -- SHA-256 of the key in its link
    code_hash        bytea,
    code_expires_at  timestamptz,
    code_tries       integer     not null default 0,
    code_day         date,                 -- the day (UTC) on which codes were last mailed, and how many
    code_count       integer     not null default 0,
    undelivered_at   timestamptz,
    accessed_at      timestamptz,
    hidden_at        timestamptz,
    created_at       timestamptz not null, -- the transfer's, for paging
    constraint deliveries_pkey primary key (uid),
    constraint deliveries_key_hash_key unique (key_hash),
    constraint deliveries_position_key unique (transfer, position),
    constraint deliveries_transfer foreign key (transfer) references transfer.transfers (uid) on delete cascade,
    constraint deliveries_destination_known check (destination_type in ('to', 'cc', 'bcc', 'link')),
    constraint deliveries_addressed check (destination_type = 'link' or email is not null)
);
create index deliveries_received on transfer.deliveries (person, created_at desc, transfer desc) where hidden_at is null;

-- One-time keys open one download in a browser. The row holds the key's SHA-256; object null is the archive. The key is
-- a delivery's, or that of a person's session, with which it ends.
create table transfer.one_time_keys (
    key_hash   bytea       not null,
    transfer   uuid        not null,
    delivery   uuid,
    person     uuid,
    session    uuid,
    epoch      bigint,
    object     uuid,
    created_at timestamptz not null,
    expires_at timestamptz not null,
    started_at timestamptz,
    constraint one_time_keys_pkey primary key (key_hash),
    constraint one_time_keys_transfer foreign key (transfer) references transfer.transfers (uid) on delete cascade,
    constraint one_time_keys_delivery foreign key (delivery) references transfer.deliveries (uid) on delete cascade,
    constraint one_time_keys_holder check (num_nonnulls(delivery, person) = 1 and num_nonnulls(person, session, epoch) in (0, 3))
);
create index one_time_keys_expiring on transfer.one_time_keys (expires_at);

-- How many upload confirmations an address was sent on a day (UTC).
create table transfer.upload_confirmations (
    email text    not null,
    day   date    not null,
    sent  integer not null,
    constraint upload_confirmations_pkey primary key (email, day)
);
