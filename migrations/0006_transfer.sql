-- +goose Up

-- Mailboxes, reservations and transfers. The tables of the transfer domain name persons and organizations by their uids only: their rows
-- belong to identity, whose views directory.* are the one thing of it that transfer reads.
CREATE SCHEMA transfer;

-- What an organization's administrator decides about transfers. Without a row the server's defaults apply.
CREATE TABLE transfer.adminunits (
    organization     uuid        NOT NULL,
    available_ttl    integer[]   NOT NULL,
    default_ttl      integer     NOT NULL,
    priority_enabled boolean     NOT NULL,
    protection_level text        NOT NULL,
    max_files        integer     NOT NULL,
    max_file_size_mb bigint      NOT NULL,
    max_recipients   integer     NOT NULL,
    pinning_enabled  boolean     NOT NULL DEFAULT true,
    inspection       jsonb,      -- the policies; null: the default
    updated_at       timestamptz NOT NULL,
    CONSTRAINT adminunits_pkey PRIMARY KEY (organization),
    CONSTRAINT adminunits_ttl_offered CHECK (default_ttl = ANY (available_ttl)),
    CONSTRAINT adminunits_protection_known CHECK (protection_level IN ('none', 'password', 'recipientAuthentication')),
    CONSTRAINT adminunits_limits_positive CHECK (max_files > 0 AND max_file_size_mb > 0 AND max_recipients > 0)
);

-- One mailbox for each person; its uid is the person's. Null means: as the profile or the adminunit says.
CREATE TABLE transfer.mailboxes (
    person           uuid        NOT NULL,
    secure           boolean     NOT NULL DEFAULT false,
    verify_sender    boolean     NOT NULL DEFAULT false, -- a stranger must prove the stated address with a mailed code before the confirm
    name             text,
    email            text,
    slogan           text,
    absent           boolean     NOT NULL DEFAULT false,
    absence_message  text,
    fields_schema    json,
    ui_schema        json,
    prefill_locked   boolean     NOT NULL DEFAULT false, -- the values that a link fills into the form are shown locked
    mime_type_filter text[]      NOT NULL DEFAULT '{}',
    inspection       text,
    own_networks     cidr[]      NOT NULL DEFAULT '{}', -- of the owner's house: no share of what one client network may use of the mailbox
    max_files        integer,
    max_file_size_mb bigint,
    next_suspension  uuid        NOT NULL DEFAULT gen_random_uuid(), -- as of identity.persons
    created_at       timestamptz NOT NULL,
    updated_at       timestamptz NOT NULL,
    CONSTRAINT mailboxes_pkey PRIMARY KEY (person),
    CONSTRAINT mailboxes_limits_positive CHECK (max_files > 0 AND max_file_size_mb > 0),
    CONSTRAINT mailboxes_own_networks_few CHECK (cardinality(own_networks) <= 20),
    CONSTRAINT mailboxes_inspection CHECK (inspection IN ('hold', 'mark', 'off'))
);

-- Mailboxes that take nothing (contract 9.8). There is no foreign key: a mailbox that its owner deletes and makes again stays suspended.
CREATE TABLE transfer.mailbox_suspensions (
    mailbox      uuid        NOT NULL,
    suspended_at timestamptz NOT NULL,
    CONSTRAINT mailbox_suspensions_pkey PRIMARY KEY (mailbox)
);

-- The picture behind the page of a mailbox, a JPEG file.
CREATE TABLE transfer.mailbox_pictures (
    mailbox    uuid        NOT NULL,
    image      bytea       NOT NULL,
    etag       text        NOT NULL,
    updated_at timestamptz NOT NULL,
    CONSTRAINT mailbox_pictures_pkey PRIMARY KEY (mailbox),
    CONSTRAINT mailbox_pictures_mailbox_fkey FOREIGN KEY (mailbox) REFERENCES transfer.mailboxes (person) ON DELETE CASCADE
);

CREATE TABLE transfer.mailbox_groups (
    uid          uuid        NOT NULL,
    organization uuid        NOT NULL,
    name         text        NOT NULL,
    description  text,
    created_at   timestamptz NOT NULL,
    updated_at   timestamptz NOT NULL,
    CONSTRAINT mailbox_groups_pkey PRIMARY KEY (uid)
);
CREATE INDEX mailbox_groups_organization ON transfer.mailbox_groups (organization);

CREATE TABLE transfer.mailbox_group_members (
    mailbox_group uuid    NOT NULL,
    mailbox       uuid    NOT NULL,
    position      integer NOT NULL,
    CONSTRAINT mailbox_group_members_pkey PRIMARY KEY (mailbox_group, mailbox),
    CONSTRAINT mailbox_group_members_group FOREIGN KEY (mailbox_group) REFERENCES transfer.mailbox_groups (uid) ON DELETE CASCADE,
    CONSTRAINT mailbox_group_members_mailbox FOREIGN KEY (mailbox) REFERENCES transfer.mailboxes (person) ON DELETE CASCADE
);
CREATE INDEX mailbox_group_members_by_mailbox ON transfer.mailbox_group_members (mailbox);

-- Each host has one name space for mailboxes and groups. The host is named by the organization that owns it, so that renaming a host
-- moves nothing. link is in lower case. A released link keeps its row, so that nobody else can take it for a while; former_person or
-- former_organization may have it back.
CREATE TABLE transfer.vanity_links (
    host_organization   uuid NOT NULL,
    link                text NOT NULL,
    mailbox             uuid,
    mailbox_group       uuid,
    released_at         timestamptz,
    former_person       uuid,
    former_organization uuid,
    CONSTRAINT vanity_links_pkey PRIMARY KEY (host_organization, link),
    CONSTRAINT vanity_links_mailbox_key UNIQUE (mailbox),
    CONSTRAINT vanity_links_group_key UNIQUE (mailbox_group),
    CONSTRAINT vanity_links_mailbox FOREIGN KEY (mailbox) REFERENCES transfer.mailboxes (person) ON DELETE CASCADE,
    CONSTRAINT vanity_links_group FOREIGN KEY (mailbox_group) REFERENCES transfer.mailbox_groups (uid) ON DELETE CASCADE,
    CONSTRAINT vanity_links_one_target CHECK (num_nonnulls(mailbox, mailbox_group, released_at) = 1),
    CONSTRAINT vanity_links_former CHECK (released_at IS NOT NULL OR num_nonnulls(former_person, former_organization) = 0),
    CONSTRAINT vanity_links_folded CHECK (link = lower(link))
);
CREATE INDEX vanity_links_released ON transfer.vanity_links (released_at) WHERE released_at IS NOT NULL;
-- Its owner has a new home host, and the job has not moved the link there yet.
CREATE INDEX vanity_links_link ON transfer.vanity_links (link) WHERE released_at IS NULL;
-- Operators list by the beginning of links.
CREATE INDEX vanity_links_by_prefix ON transfer.vanity_links (link COLLATE "C", host_organization) WHERE released_at IS NULL;

-- A transfer being put together. The row stays after the confirm, for as long as its transfer does: objects hang on it.
CREATE TABLE transfer.reservations (
    uid                   uuid        NOT NULL,
    type                  text        NOT NULL,
    state                 text        NOT NULL DEFAULT 'open',
    owner                 uuid        NOT NULL, -- whose limits and volume it uses: the mailbox's owner, or the sender
    creator               uuid,                 -- who may manage it with an access token; null for a stranger's
    organization          uuid,                 -- the owner's, charged beside the owner; null without
    limits_organization   uuid        NOT NULL, -- the owner's, or the free one
    sender                uuid,                 -- the uploader's person, where known
    sender_by_session     boolean     NOT NULL DEFAULT true, -- a session names the sender, which checks its addresses; a uid token does not
    -- The network that began an open reservation: strangers' bytes are bounded for each; erased by the confirm.
    client                cidr,
    subject               text,
    message               text,
    anon_sender           text,
    anon_email            text,
    locale                text,                 -- the uploader's, for the upload confirmation
    delivery_notification boolean     NOT NULL DEFAULT false,
    ttl                   integer     NOT NULL,
    priority              integer,
    protection            text        NOT NULL,
    password_hash         text,
    fields                json,
    max_files             integer     NOT NULL,
    max_file_size_mb      bigint      NOT NULL,
    max_recipients        integer     NOT NULL,
    object_count          integer     NOT NULL DEFAULT 0,
    metadata              bigint      NOT NULL DEFAULT 0, -- bytes of texts that are charged as volume, to the month of created_at
    transfer              uuid,
    request               uuid,                 -- that its party uploads for; null: it is of no request
    party                 uuid,
    created_at            timestamptz NOT NULL,
    expires_at            timestamptz NOT NULL,
    reminded_at           timestamptz,          -- when the stranger was mailed that the upload is unfinished and expires soon
    CONSTRAINT reservations_pkey PRIMARY KEY (uid),
    CONSTRAINT reservations_transfer_key UNIQUE (transfer),
    CONSTRAINT reservations_type_known CHECK (type IN ('p2p', 'drop', 'mailbox')),
    CONSTRAINT reservations_state_known CHECK (state IN ('open', 'confirmed')),
    CONSTRAINT reservations_confirmed CHECK ((state = 'confirmed') = (transfer IS NOT NULL)),
    CONSTRAINT reservations_protection_known CHECK (protection IN ('none', 'password', 'recipientAuthentication')),
    CONSTRAINT reservations_priority_range CHECK (priority BETWEEN 1 AND 5),
    CONSTRAINT reservations_objects_bounded CHECK (object_count BETWEEN 0 AND max_files),
    CONSTRAINT reservations_of_party CHECK (num_nonnulls(request, party) IN (0, 2) AND (party IS NULL OR type = 'mailbox'))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX reservations_expiring ON transfer.reservations (expires_at) WHERE state = 'open';
CREATE INDEX reservations_by_owner ON transfer.reservations (owner, created_at) WHERE state = 'open';
CREATE UNIQUE INDEX reservations_open_of_party ON transfer.reservations (party) WHERE state = 'open' AND party IS NOT NULL;
CREATE INDEX reservations_of_request ON transfer.reservations (request, party) WHERE request IS NOT NULL;
CREATE INDEX reservations_unreminded ON transfer.reservations (expires_at)
    WHERE state = 'open' AND type = 'mailbox' AND anon_email IS NOT NULL AND reminded_at IS NULL AND party IS NULL;

CREATE TABLE transfer.reservation_recipients (
    reservation      uuid    NOT NULL,
    position         integer NOT NULL,
    person           uuid,
    name             text,
    email            text    NOT NULL,
    destination_type text    NOT NULL,
    CONSTRAINT reservation_recipients_pkey PRIMARY KEY (reservation, position),
    CONSTRAINT reservation_recipients_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations (uid) ON DELETE CASCADE,
    CONSTRAINT reservation_recipients_destination_known CHECK (destination_type IN ('to', 'cc', 'bcc'))
);

-- The open reservations of strangers, with the bytes that their objects hold or have reserved. A limit reads this row instead of the
-- objects. The row goes with the reservation, or at its confirm.
CREATE TABLE transfer.stranger_reservations (
    reservation         uuid        NOT NULL,
    owner               uuid        NOT NULL, -- of the mailbox; of a party's reservation: the request, which is bounded like a mailbox
    organization        uuid,                 -- of the owner; null without
    limits_organization uuid        NOT NULL, -- the owner's, or the free one
    client              cidr,                 -- client network; null: unknown. A range of the index has those of a wider network
    bytes               bigint      NOT NULL DEFAULT 0,
    expires_at          timestamptz NOT NULL,
    CONSTRAINT stranger_reservations_pkey PRIMARY KEY (reservation),
    CONSTRAINT stranger_reservations_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations (uid) ON DELETE CASCADE,
    CONSTRAINT stranger_reservations_bytes_not_negative CHECK (bytes >= 0)
);
CREATE INDEX stranger_reservations_by_owner ON transfer.stranger_reservations (owner);
CREATE INDEX stranger_reservations_by_organization ON transfer.stranger_reservations (organization) WHERE organization IS NOT NULL;
CREATE INDEX stranger_reservations_by_client ON transfer.stranger_reservations (limits_organization, client) WHERE client IS NOT NULL;

-- The last code that was mailed for a stranger's reservation.
CREATE TABLE transfer.sender_codes (
    reservation    uuid        NOT NULL,
    email          text        NOT NULL,           -- where it was mailed
    code_hash      bytea,                          -- MAC of the code; null once used
    expires_at     timestamptz NOT NULL,
    tries          integer     NOT NULL DEFAULT 0,
    mailed         integer     NOT NULL DEFAULT 1, -- codes for this reservation
    verified_email text,                           -- the address that a code has proved
    CONSTRAINT sender_codes_pkey PRIMARY KEY (reservation),
    CONSTRAINT sender_codes_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations (uid) ON DELETE CASCADE
);

-- Counts of a day (UTC). Codes to an address, that one client network caused. A bound sums the rows of all, or of the networks in a
-- wider one; each has one code at least, so they are no more than the bound.
CREATE TABLE transfer.daily_sender_codes (
    email  text    NOT NULL,
    day    date    NOT NULL,
    client cidr    NOT NULL,
    sent   integer NOT NULL,
    CONSTRAINT daily_sender_codes_pkey PRIMARY KEY (email, day, client)
);

-- The same: mails to the owner of a mailbox about strangers' deliveries.
CREATE TABLE transfer.daily_mailbox_mails (
    owner  uuid    NOT NULL,
    day    date    NOT NULL,
    client cidr    NOT NULL,
    sent   integer NOT NULL,
    CONSTRAINT daily_mailbox_mails_pkey PRIMARY KEY (owner, day, client)
);

-- Upload confirmations to an address.
CREATE TABLE transfer.upload_confirmations (
    email text    NOT NULL,
    day   date    NOT NULL,
    sent  integer NOT NULL,
    CONSTRAINT upload_confirmations_pkey PRIMARY KEY (email, day)
);

-- Recipients of a person's transfers.
CREATE TABLE transfer.daily_recipients (
    person     uuid    NOT NULL,
    day        date    NOT NULL,
    recipients integer NOT NULL,
    CONSTRAINT daily_recipients_pkey PRIMARY KEY (person, day)
);

CREATE TABLE transfer.transfers (
    uid                   uuid        NOT NULL,
    reservation           uuid        NOT NULL,
    type                  text        NOT NULL,
    state                 text        NOT NULL DEFAULT 'delivered',
    owner                 uuid        NOT NULL, -- as on the reservation
    sender                uuid,                 -- the sender's person, where known
    sender_managed        boolean     NOT NULL, -- the sender sees it among the sent ones and may change and revoke it
    -- The address of a mailbox's uploader was checked: it is a verified one of the uploader's account.
    sender_verified       boolean     NOT NULL DEFAULT false,
    limits_organization   uuid        NOT NULL,
    subject               text,
    message               text,
    sender_name           text,
    sender_email          text,
    sender_locale         text,
    delivery_notification boolean     NOT NULL,
    priority              integer,
    protection            text        NOT NULL,
    protection_epoch      bigint      NOT NULL DEFAULT 0, -- counts changes of protection and password: ends download tokens of earlier ones
    password_hash         text,
    forwarding            boolean     NOT NULL DEFAULT true, -- the sender allows to forward it
    fields                json,
    search                text,                 -- lower-case text that a search looks at; never a bcc recipient
    object_count          integer     NOT NULL,
    total_bytes           bigint      NOT NULL,
    -- An archive is a download of each of the objects. It is counted once, here: thousands of rows counted by parallel downloads, each in
    -- an order of its own, waited for each other until some were ended as deadlocks.
    archives              bigint      NOT NULL DEFAULT 0,
    max_downloads         integer,              -- how often each recipient may download each object; null: no limit
    max_total_downloads   integer,              -- how often all together may
    delete_after_download boolean     NOT NULL DEFAULT false, -- ends when a recipient has downloaded everything
    held_states           text[],               -- which objects are not given because of their inspection; null: no policy
    held_rules            text[],
    held_anyway           boolean     NOT NULL DEFAULT false, -- its owner may take them with anyway=true
    malware_status        text,                 -- the worst state of its objects
    -- The owner of the mailbox was not mailed: the number of mails of the day was used up.
    unmailed              boolean     NOT NULL DEFAULT false,
    created_at            timestamptz NOT NULL,
    expires_at            timestamptz NOT NULL,
    -- A pinned transfer to a mailbox does not expire: its expires_at is in the year 9999, and was this one.
    pinned_expiry         timestamptz,
    accessed_at           timestamptz,
    ended_at              timestamptz,          -- when it expired or was revoked, and was erased
    hidden_at             timestamptz,          -- when the sender put an ended one away
    warned_at             timestamptz,          -- when its expiry was announced
    warn_after            timestamptz,          -- when people may be warned of another expiry
    remind_before         integer,              -- days before the expiry at which recipients who have downloaded nothing are reminded
    remind_at             timestamptz,          -- when they will be; null once it is done
    extension_asked_at    timestamptz,          -- when the sender was last mailed that recipients of the expired transfer ask for it
    CONSTRAINT transfers_pkey PRIMARY KEY (uid),
    CONSTRAINT transfers_reservation_key UNIQUE (reservation),
    CONSTRAINT transfers_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations (uid),
    CONSTRAINT transfers_type_known CHECK (type IN ('p2p', 'drop', 'mailbox')),
    CONSTRAINT transfers_state_known CHECK (state IN ('delivered', 'accessed', 'expired', 'revoked')),
    CONSTRAINT transfers_ended CHECK ((state IN ('expired', 'revoked')) = (ended_at IS NOT NULL)),
    CONSTRAINT transfers_protection_known CHECK (protection IN ('none', 'password', 'recipientAuthentication')),
    CONSTRAINT transfers_managed_by_person CHECK (sender IS NOT NULL OR NOT sender_managed),
    CONSTRAINT transfers_max_downloads_positive CHECK (max_downloads > 0 AND max_total_downloads > 0),
    CONSTRAINT transfers_remind_before_positive CHECK (remind_before > 0)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX transfers_sent ON transfer.transfers (sender, created_at DESC, uid DESC) WHERE sender_managed AND hidden_at IS NULL;
CREATE INDEX transfers_expiring ON transfer.transfers (expires_at) WHERE ended_at IS NULL;
-- Nobody could extend them: erased at their expiry.
CREATE INDEX transfers_expiring_unmanaged ON transfer.transfers (expires_at) WHERE ended_at IS NULL AND NOT sender_managed;
CREATE INDEX transfers_pinned ON transfer.transfers (pinned_expiry) WHERE pinned_expiry IS NOT NULL AND ended_at IS NULL;
CREATE INDEX transfers_unwarned ON transfer.transfers (expires_at) WHERE ended_at IS NULL AND warned_at IS NULL;
CREATE INDEX transfers_reminding ON transfer.transfers (remind_at) WHERE remind_at IS NOT NULL AND ended_at IS NULL;
CREATE INDEX transfers_ended_at ON transfer.transfers (ended_at) WHERE ended_at IS NOT NULL;
-- Operators and administrators list, newest first: of a sender (also to part a deleted person from what is put away), to a mailbox, of an
-- organization, of its member (contract 4.28).
CREATE INDEX transfers_of_sender ON transfer.transfers (sender, created_at DESC, uid DESC) WHERE sender IS NOT NULL;
CREATE INDEX transfers_of_mailbox ON transfer.transfers (owner, created_at DESC, uid DESC) WHERE type = 'mailbox';
CREATE INDEX transfers_of_organization ON transfer.transfers (limits_organization, created_at DESC, uid DESC);
CREATE INDEX transfers_of_member ON transfer.transfers (limits_organization, owner, created_at DESC, uid DESC);

-- One addressee of a transfer, or (destination 'link') everybody who has its link.
CREATE TABLE transfer.deliveries (
    uid              uuid        NOT NULL,
    transfer         uuid        NOT NULL,
    position         integer     NOT NULL,
    destination_type text        NOT NULL,
    person           uuid,
    name             text,
    email            text,
    key_version      integer     NOT NULL DEFAULT 1,
    key_hash         bytea       NOT NULL, -- SHA-256 of the key in its link
    code_hash        bytea,
    code_expires_at  timestamptz,
    code_tries       integer     NOT NULL DEFAULT 0,
    code_day         date,                 -- the day (UTC) on which codes were last mailed, and how many
    code_count       integer     NOT NULL DEFAULT 0,
    undelivered_at   timestamptz,
    mailed_at        timestamptz,          -- when the recipient was last mailed the link on the sender's demand
    reminded_at      timestamptz,          -- when the sender last had the recipient reminded
    asked_at         timestamptz,          -- when the recipient last asked for the expired transfer: is mailed when it is extended
    accessed_at      timestamptz,
    accessed_from    inet,                 -- network address of the first access, for the sender; kept as long as those of the audit
    downloads        integer     NOT NULL DEFAULT 0, -- how often the recipient downloaded from the transfer
    downloaded_at    timestamptz,          -- when last
    read             boolean,              -- what a recipient with an account says; null: read once it was opened
    notes            text,                 -- of a recipient with an account
    hidden_at        timestamptz,
    created_at       timestamptz NOT NULL, -- the transfer's, for paging
    CONSTRAINT deliveries_pkey PRIMARY KEY (uid),
    CONSTRAINT deliveries_key_hash_key UNIQUE (key_hash),
    CONSTRAINT deliveries_position_key UNIQUE (transfer, position),
    CONSTRAINT deliveries_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers (uid) ON DELETE CASCADE,
    CONSTRAINT deliveries_destination_known CHECK (destination_type IN ('to', 'cc', 'bcc', 'link')),
    CONSTRAINT deliveries_addressed CHECK (destination_type = 'link' OR email IS NOT NULL)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX deliveries_received ON transfer.deliveries (person, created_at DESC, transfer DESC) WHERE hidden_at IS NULL;
CREATE INDEX deliveries_unread ON transfer.deliveries (person, created_at DESC, transfer DESC)
    WHERE hidden_at IS NULL AND NOT coalesce(read, accessed_at IS NOT NULL);
-- Without it, a plan for many persons reads all that a person has received for each transfer of a list.
CREATE INDEX deliveries_of_person ON transfer.deliveries (transfer, person) WHERE hidden_at IS NULL AND person IS NOT NULL;
CREATE INDEX deliveries_addressed ON transfer.deliveries (accessed_at) WHERE accessed_from IS NOT NULL;

-- What a search finds of a transfer that has not ended: one row of text with the persons who may find it. Through its index, a rare word
-- costs the same for a person with many transfers as for one with few. The statement of the search decides what a person may find; the
-- text contains more than some of them may.
CREATE TABLE transfer.search_texts (
    transfer uuid   NOT NULL,
    parties  uuid[] NOT NULL, -- the sender who manages it, and the recipients
    words    text   NOT NULL, -- transfers.search, then name, address and notes of each recipient
    CONSTRAINT search_texts_pkey PRIMARY KEY (transfer),
    CONSTRAINT search_texts_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers (uid) ON DELETE CASCADE
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);

-- The sequences of three characters in a text, each as the number of its three code points. The extension pg_trgm would depend on the
-- locale (with the character type C it sees no letters but those of ASCII) and on a package that some systems install separately.
-- +goose StatementBegin
CREATE FUNCTION transfer.trigrams(words text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
AS $$
DECLARE
    grams  bigint[] := '{}';
    gram   bigint   := 0;
    n      integer  := 0;
    letter text;
BEGIN
    FOREACH letter IN ARRAY string_to_array(words, NULL) LOOP
        n := n + 1;
        gram := (gram & 4398046511103) << 21 | ascii(letter); -- the last two of 21 bits, then the new one
        IF n > 2 THEN
            grams[n - 2] := gram;
        END IF;
    END LOOP;
    RETURN grams;
END
$$;
-- +goose StatementEnd
CREATE INDEX search_texts_words ON transfer.search_texts USING gin (parties, transfer.trigrams(words)) WITH (gin_pending_list_limit = 1024);
ALTER INDEX transfer.search_texts_words ALTER COLUMN 2 SET STATISTICS 0; -- ANALYZE would compute the trigrams of its whole sample

-- Writes the rows of transfers that have not ended: the statement that ends transfers deletes them. A recipient finds transfers by the own notes, too; the statement of
-- the search does not show them to anybody else.
-- +goose StatementBegin
CREATE FUNCTION transfer.write_search_texts(uids uuid[]) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO transfer.search_texts (transfer, parties, words)
    SELECT t.uid, array_remove(array_agg(DISTINCT d.person) || CASE WHEN t.sender_managed THEN t.sender END, NULL),
        concat_ws(E'\n', t.search, lower(normalize(string_agg(concat_ws(' ', d.name, d.email, d.notes), E'\n' ORDER BY d.position))))
    FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid
    WHERE t.uid = ANY (uids) AND t.ended_at IS NULL
    GROUP BY t.uid ORDER BY t.uid
    ON CONFLICT ON CONSTRAINT search_texts_pkey DO UPDATE SET parties = excluded.parties, words = excluded.words
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE FUNCTION transfer.add_search_texts() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM transfer.write_search_texts(ARRAY(SELECT DISTINCT transfer FROM added));
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER deliveries_searched AFTER INSERT ON transfer.deliveries
    REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION transfer.add_search_texts();

-- One-time keys open one download in a browser. The row has the key's SHA-256; object null is the archive. The key is a delivery's, or
-- that of a person's session, with which it ends. A started download continues only in the browser that started it, up to a number of
-- bytes.
CREATE TABLE transfer.one_time_keys (
    key_hash    bytea       NOT NULL,
    transfer    uuid,
    request     uuid,                           -- its archive; no foreign key: the archive itself asks whose request it is
    delivery    uuid,
    person      uuid,
    session     uuid,
    epoch       bigint,
    object      uuid,
    cookie_hash bytea,                          -- SHA-256 of the browser's cookie
    client      text,                           -- client network of a browser that sent no cookie at the start
    sent        bigint      NOT NULL DEFAULT 0, -- bytes of all answers
    created_at  timestamptz NOT NULL,
    expires_at  timestamptz NOT NULL,
    started_at  timestamptz,
    CONSTRAINT one_time_keys_pkey PRIMARY KEY (key_hash),
    CONSTRAINT one_time_keys_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers (uid) ON DELETE CASCADE,
    CONSTRAINT one_time_keys_delivery FOREIGN KEY (delivery) REFERENCES transfer.deliveries (uid) ON DELETE CASCADE,
    CONSTRAINT one_time_keys_target CHECK (num_nonnulls(transfer, request) = 1),
    CONSTRAINT one_time_keys_of_request CHECK (request IS NULL OR object IS NULL AND delivery IS NULL),
    CONSTRAINT one_time_keys_holder CHECK (num_nonnulls(delivery, person) = 1 AND num_nonnulls(person, session, epoch) IN (0, 3)),
    CONSTRAINT one_time_keys_sent_not_negative CHECK (sent >= 0)
);
CREATE INDEX one_time_keys_expiring ON transfer.one_time_keys (expires_at);
CREATE INDEX one_time_keys_by_transfer ON transfer.one_time_keys (transfer); -- a transfer that ends or is forgotten takes its keys along
CREATE INDEX one_time_keys_by_delivery ON transfer.one_time_keys (delivery) WHERE delivery IS NOT NULL;

-- The downloads of one item by one recipient on one day. item is an object, the transfer (the archive of all objects), or an archive of
-- objects. A recipient who is removed leaves these rows. There is no foreign key: its check would lock the transfer after the delivery.
-- Rows are deleted with the record of the transfer.
CREATE TABLE transfer.downloads (
    transfer     uuid           NOT NULL,
    item         uuid           NOT NULL,
    delivery     uuid           NOT NULL,
    day          date           NOT NULL,
    objects      uuid[],
    size         bigint         NOT NULL,
    downloads    integer        NOT NULL,
    sent         bigint         NOT NULL,              -- bytes of all answers
    ranges       int8multirange NOT NULL DEFAULT '{}', -- the parts that were sent
    began_at     timestamptz    NOT NULL,
    last_at      timestamptz    NOT NULL,
    completed_at timestamptz,
    addresses    inet[]         NOT NULL DEFAULT '{}', -- kept as long as those of the audit
    CONSTRAINT downloads_pkey PRIMARY KEY (transfer, item, delivery, day),
    CONSTRAINT downloads_sent_not_negative CHECK (sent >= 0)
);
CREATE INDEX downloads_addressed ON transfer.downloads (day) WHERE addresses <> '{}';

-- What the log proves of transfers: the receipt of the delivery, and statements about what happened later. Rows outlive their transfer.
-- An erased one has lost everything but its hash.
CREATE TABLE transfer.receipts (
    transfer   uuid        NOT NULL,
    kind       text        NOT NULL,
    entry      bytea       NOT NULL,              -- SHA-256 of the statement
    body       bytea,                             -- the statement, or its beginning; null: erased
    readers    uuid[]      NOT NULL DEFAULT '{}', -- persons who may read it
    named      uuid[]      NOT NULL DEFAULT '{}', -- persons with an account whom it names
    created_at timestamptz NOT NULL,
    -- Of the receipt of a transfer to a mailbox: SHA-256 of the key in the link that its sender is mailed; null: none, or erased.
    sender_key_hash   bytea,
    sender_checked_at timestamptz, -- when the sender's address was checked; null: it was not, the link opens nothing yet
    CONSTRAINT receipts_pkey PRIMARY KEY (transfer, kind),
    CONSTRAINT receipts_sender_key_hash_key UNIQUE (sender_key_hash),
    CONSTRAINT receipts_kind_known CHECK (kind IN ('delivered', 'opened', 'downloaded', 'revoked', 'expired', 'erased')),
    CONSTRAINT receipts_sender_of_delivery CHECK (kind = 'delivered' OR sender_key_hash IS NULL)
);
CREATE INDEX receipts_named ON transfer.receipts USING gin (named) WHERE named <> '{}';

-- The rest of a long receipt.
CREATE TABLE transfer.receipt_parts (
    transfer uuid    NOT NULL,
    part     integer NOT NULL,
    body     bytea   NOT NULL,
    CONSTRAINT receipt_parts_pkey PRIMARY KEY (transfer, part)
);
