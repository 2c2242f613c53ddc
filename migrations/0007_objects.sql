-- +goose Up

-- Files of the transfer domain: their rows, what they count as volume, what is known about their bytes, and what happens at their end.

-- One file. Its bytes are segments. held counts those from the first one on whose sums are known: sha_state is the running SHA-256 over
-- exactly these. The writer of an object's only segment computes the sums as the bytes come. Else Seal does, which has the current seal_epoch,
-- until seal_until at the latest.
CREATE TABLE transfer.objects (
    uid             uuid        NOT NULL,
    reservation     uuid        NOT NULL,
    position        bigint      GENERATED ALWAYS AS IDENTITY,
    client_id       text        NOT NULL,
    name            text,                 -- null once erased
    item            uuid,                 -- of a request, which the file is for
    intended_size   bigint      NOT NULL, -- the maximum, while size_deferred
    -- The uploader says the size later (tus Upload-Defer-Length, IETF uploads without a length).
    size_deferred   boolean     NOT NULL DEFAULT false,
    held            bigint      NOT NULL DEFAULT 0,
    sha_state       bytea,
    head            bytea,                -- first bytes, while they are too few to tell the type by
    sha256          bytea,                -- once complete
    crc32           bigint      NOT NULL DEFAULT 0, -- over the bytes held, for archives
    mime_type       text,
    seal_epoch      bigint      NOT NULL DEFAULT 0,
    seal_until      timestamptz,
    -- False: the object has one segment at most, whose uid is its own, so it can be read without a look at the segments.
    segmented       boolean     NOT NULL DEFAULT false,
    part_size       bigint,               -- bytes of all parts but the last one, of an object that is uploaded in parts at once
    -- A forward is a transfer of its own over the bytes of another one: the uid of the object that was uploaded, which its segments name.
    -- Null: the object has bytes of its own.
    content         uuid,
    -- Bytes of names that are charged as volume, to the month of created_at; negative where the bytes count nothing.
    metadata        bigint      NOT NULL DEFAULT 0,
    downloads       bigint      NOT NULL DEFAULT 0,
    upload_metadata text,                 -- the header Upload-Metadata of a tus upload, which HEAD repeats
    -- Concatenation of tus (contract 4.25). partial: the object has bytes of a file that a final upload will name. It is in no list, does
    -- not count to object_count, and has no row once its reservation is confirmed. final: the object that has its segment now. Of that
    -- object, upload_concat is the header of its creation, and partials are the client ids of what it is made of, in order.
    partial         boolean     NOT NULL DEFAULT false,
    final           uuid,
    upload_concat   text,
    partials        text[],
    created_at      timestamptz NOT NULL,
    CONSTRAINT objects_pkey PRIMARY KEY (uid),
    CONSTRAINT objects_client_id_key UNIQUE (reservation, client_id),
    CONSTRAINT objects_reservation FOREIGN KEY (reservation) REFERENCES transfer.reservations (uid),
    CONSTRAINT objects_held_bounded CHECK (held BETWEEN 0 AND intended_size),
    CONSTRAINT objects_part_size CHECK (part_size > 0),
    CONSTRAINT objects_final_of_partial CHECK (final IS NULL OR partial),
    CONSTRAINT objects_partials_known CHECK ((partials IS NULL) = (upload_concat IS NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX objects_in_order ON transfer.objects (reservation, position);
CREATE INDEX objects_sharing ON transfer.objects (content, uid) WHERE content IS NOT NULL;
CREATE INDEX objects_partial ON transfer.objects (reservation) WHERE partial;
CREATE INDEX objects_concatenated ON transfer.objects (reservation) WHERE partials IS NOT NULL;

-- Small pictures of objects, sealed (contract 4.9). They go with their objects.
CREATE TABLE transfer.thumbnails (
    object uuid  NOT NULL,
    image  bytea NOT NULL,
    CONSTRAINT thumbnails_pkey PRIMARY KEY (object),
    CONSTRAINT thumbnails_object FOREIGN KEY (object) REFERENCES transfer.objects (uid) ON DELETE CASCADE
);

-- What an object consists of: append-only runs of bytes, in the order of their numbers. uid is the key in the storage; that of the first
-- segment is the object's. The request that writes has the current epoch, until lease_until at the latest. A writer holds at least a key share
-- lock of the object, so no row comes after the deletion of the object. The row goes with the stored bytes, after the object: bytes without a
-- row are orphans.
CREATE TABLE transfer.segments (
    uid            uuid        NOT NULL,
    object         uuid        NOT NULL, -- whose segment it is: that of a partial upload becomes the final one's; never that of a forward
    number         integer     NOT NULL,
    size           bigint      NOT NULL, -- the maximum, while the object's size is deferred
    held           bigint      NOT NULL DEFAULT 0, -- bytes that are durable
    epoch          bigint      NOT NULL DEFAULT 0,
    lease_until    timestamptz,
    reserved       bigint      NOT NULL DEFAULT 0, -- volume set aside for the request that is writing
    reserved_month date,
    CONSTRAINT segments_pkey PRIMARY KEY (uid),
    CONSTRAINT segments_place_key UNIQUE (object, number),
    CONSTRAINT segments_number CHECK (number > 0),
    CONSTRAINT segments_held_bounded CHECK (held BETWEEN 0 AND size),
    CONSTRAINT segments_reserved_known CHECK (reserved >= 0 AND (reserved = 0 OR reserved_month IS NOT NULL))
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.02);
CREATE INDEX segments_reserving ON transfer.segments (lease_until) WHERE reserved > 0;

-- Bytes of a segment by the month they were charged to, so that they are given back to that month. Charges are written by statements that
-- hold the lock of the object, so none comes after its deletion.
CREATE TABLE transfer.segment_charges (
    segment uuid   NOT NULL,
    month   date   NOT NULL,
    bytes   bigint NOT NULL,
    CONSTRAINT segment_charges_pkey PRIMARY KEY (segment, month),
    CONSTRAINT segment_charges_positive CHECK (bytes >= 0)
);

-- Charges go with the objects, by one statement instead of one for each object, which took most of the time when many transfers fell due at
-- once.
-- +goose StatementBegin
CREATE FUNCTION transfer.delete_charges() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    -- by the index, whatever the statistics say
    DELETE FROM transfer.segment_charges c WHERE c.segment = ANY (ARRAY(
        SELECT s.uid FROM transfer.segments s WHERE s.object = ANY (ARRAY(SELECT uid FROM gone))));
    RETURN NULL;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER objects_charges_deleted AFTER DELETE ON transfer.objects
    REFERENCING OLD TABLE AS gone FOR EACH STATEMENT EXECUTE FUNCTION transfer.delete_charges();

-- Upload volume of a calendar month (UTC), of persons and of organizations.
CREATE TABLE transfer.volumes (
    subject  uuid   NOT NULL,
    month    date   NOT NULL,
    kind     text   NOT NULL,
    held     bigint NOT NULL DEFAULT 0,
    reserved bigint NOT NULL DEFAULT 0,
    CONSTRAINT volumes_pkey PRIMARY KEY (subject, month),
    CONSTRAINT volumes_kind_known CHECK (kind IN ('person', 'organization')),
    CONSTRAINT volumes_month_first CHECK (extract(day FROM month) = 1),
    CONSTRAINT volumes_not_negative CHECK (held >= 0 AND reserved >= 0)
);
CREATE INDEX volumes_by_month ON transfer.volumes (month); -- finds months that no limit asks for any more

-- Bytes an organization stores now, whatever the month. reserved: set aside for requests that are writing, as transfer.volumes has it.
CREATE TABLE transfer.stored_volumes (
    organization uuid   NOT NULL,
    bytes        bigint NOT NULL,
    reserved     bigint NOT NULL DEFAULT 0,
    CONSTRAINT stored_volumes_pkey PRIMARY KEY (organization),
    CONSTRAINT stored_volumes_not_negative CHECK (bytes >= 0),
    CONSTRAINT stored_volumes_reserved_not_negative CHECK (reserved >= 0)
);

-- What organizations store and have uploaded, a row for each day (UTC) in which a server ran: as it was at the last hour of the day
-- (contract 4.28).
CREATE TABLE transfer.volume_samples (
    organization uuid   NOT NULL,
    day          date   NOT NULL,
    stored       bigint NOT NULL, -- bytes
    held         bigint NOT NULL, -- bytes of the month's volume, up to then
    CONSTRAINT volume_samples_pkey PRIMARY KEY (organization, day),
    CONSTRAINT volume_samples_not_negative CHECK (stored >= 0 AND held >= 0)
);
CREATE INDEX volume_samples_by_day ON transfer.volume_samples (day);

-- How many objects hold bytes that were forwarded: that of the upload, until its transfer ends, and one of each forward.
CREATE TABLE transfer.shared_contents (
    content uuid   NOT NULL,
    holders bigint NOT NULL,
    CONSTRAINT shared_contents_pkey PRIMARY KEY (content),
    CONSTRAINT shared_contents_held CHECK (holders > 0)
);

-- Keys whose rows are gone and whose bytes are still to be removed from the store, in the order in which they were discarded.
CREATE TABLE transfer.discarded_objects (
    object       uuid        NOT NULL,
    discarded_at timestamptz NOT NULL,
    busy_until   timestamptz,          -- when its last writer has stopped for sure; null: nobody was writing
    unshared     boolean     NOT NULL DEFAULT false, -- nothing shares the bytes, which spares a call of release_content
    CONSTRAINT discarded_objects_pkey PRIMARY KEY (object)
);
CREATE INDEX discarded_objects_oldest ON transfer.discarded_objects (discarded_at);

-- Decides which bytes of an ended object are purged. Bytes that others hold stay. Those whose own object has ended are noted with the
-- time infinity: then neither purge nor orphan sweep removes them. The last holder makes them due.
-- +goose StatementBegin
CREATE FUNCTION transfer.release_content() RETURNS trigger
LANGUAGE plpgsql
AS $$
DECLARE
    shared uuid := coalesce((SELECT o.content FROM transfer.objects o WHERE o.uid = NEW.object), NEW.object);
    n      bigint;
BEGIN
    SELECT c.holders INTO n FROM transfer.shared_contents c WHERE c.content = shared FOR UPDATE;
    IF n = 1 THEN
        DELETE FROM transfer.shared_contents c WHERE c.content = shared;
        UPDATE transfer.discarded_objects d SET discarded_at = NEW.discarded_at, busy_until = NULL WHERE d.object = shared;
        IF FOUND THEN
            RETURN NULL;
        END IF;
        NEW.object := shared;
        RETURN NEW;
    END IF;
    IF n > 1 THEN
        UPDATE transfer.shared_contents c SET holders = c.holders - 1 WHERE c.content = shared;
        NEW.discarded_at := 'infinity';
        NEW.busy_until := 'infinity';
    END IF;
    IF shared <> NEW.object THEN
        RETURN NULL;
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd
CREATE TRIGGER discarded_objects_shared BEFORE INSERT ON transfer.discarded_objects
    FOR EACH ROW WHEN (NOT NEW.unshared) EXECUTE FUNCTION transfer.release_content();

-- The end of a transfer deletes its objects. A row here names the keys of their bytes, until these are deleted and that is stated.
CREATE TABLE transfer.erasing (
    transfer uuid   NOT NULL,
    contents uuid[] NOT NULL,
    CONSTRAINT erasing_pkey PRIMARY KEY (transfer)
);

-- Segments that are stored encrypted (contract 4.24): the key of each, and where its bytes lie. The key is sealed for the segment and its place
-- in its object. Without the row the bytes are erased. There is no foreign key: a row is deleted with the bytes.
CREATE TABLE transfer.sealed_segments (
    segment uuid   NOT NULL,
    key     bytea  NOT NULL, -- sealed
    layout  bytea  NOT NULL, -- runs of ciphertext
    version bigint NOT NULL, -- how often the layout was saved
    CONSTRAINT sealed_segments_pkey PRIMARY KEY (segment)
);

-- What is known about the bytes of objects: the verdict of the malware scanner and the kinds of content. A row is made when a transfer is
-- delivered whose policy wants it. Bytes without a row are unscanned. content is the key of the bytes, transfer the first that has them.
CREATE TABLE transfer.inspections (
    content    uuid        NOT NULL,
    transfer   uuid        NOT NULL,
    bytes      bigint      NOT NULL,
    state      text        NOT NULL DEFAULT 'scanning',
    engine     text,
    signatures text,
    finding    text,
    rules      text[]      NOT NULL DEFAULT '{}',
    created_at timestamptz NOT NULL,
    scanned_at timestamptz,           -- the last verdict
    due_at     timestamptz,           -- the next attempt, also the lease of the server that scans; null: none
    attempts   integer     NOT NULL DEFAULT 0,
    removed_at timestamptz,           -- the bytes were deleted because of the finding
    CONSTRAINT inspections_pkey PRIMARY KEY (content),
    CONSTRAINT inspections_state CHECK (state IN ('scanning', 'clean', 'infected', 'partly', 'failed'))
);
CREATE INDEX inspections_due ON transfer.inspections (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX inspections_scanning ON transfer.inspections (transfer) WHERE state = 'scanning';
CREATE INDEX inspections_recent ON transfer.inspections (created_at) WHERE due_at IS NULL;
CREATE INDEX inspections_infected ON transfer.inspections (scanned_at) WHERE state = 'infected' AND removed_at IS NULL;

-- Contents whose stored bytes a read or a check has found lost or damaged (contract 4.11). No replica gives out anything of them until a check
-- finds them in order. The row goes with the bytes.
CREATE TABLE transfer.damaged_contents (
    content    uuid        NOT NULL,
    detail     text        NOT NULL,
    found_at   timestamptz NOT NULL,
    checked_at timestamptz NOT NULL, -- when the bytes were last read
    CONSTRAINT damaged_contents_pkey PRIMARY KEY (content)
);
CREATE INDEX damaged_contents_checked_at ON transfer.damaged_contents (checked_at);

-- Checks of all stored files that operators or a job start (contract 9.7). A server works on one while it has the lease, and goes on after the
-- object that was compared last. At most one runs.
CREATE TABLE transfer.storage_checks (
    uid         uuid        NOT NULL,
    started_at  timestamptz NOT NULL,
    finished_at timestamptz,
    state       text        NOT NULL DEFAULT 'running',
    scrub       boolean     NOT NULL DEFAULT false, -- a job has started it, and it reads slowly
    total       bigint,                             -- objects at the beginning; null: not counted yet
    compared    uuid,                               -- the object that was compared last; null: none
    listed      boolean     NOT NULL DEFAULT false, -- all rows were compared; what lies in the storage without a row is looked for
    objects     bigint      NOT NULL DEFAULT 0,
    bytes       bigint      NOT NULL DEFAULT 0,
    findings    bigint      NOT NULL DEFAULT 0,
    problems    jsonb       NOT NULL DEFAULT '[]',  -- the first findings: kind, object, detail
    sweep_off   boolean     NOT NULL DEFAULT false,
    epoch       bigint      NOT NULL DEFAULT 0,     -- of the lease
    lease_until timestamptz,
    CONSTRAINT storage_checks_pkey PRIMARY KEY (uid),
    CONSTRAINT storage_checks_state_known CHECK (state IN ('running', 'done', 'cancelled')),
    CONSTRAINT storage_checks_finished CHECK ((state = 'running') = (finished_at IS NULL))
);
CREATE UNIQUE INDEX storage_checks_running ON transfer.storage_checks ((true)) WHERE state = 'running';
CREATE INDEX storage_checks_started_at ON transfer.storage_checks (started_at);
