-- +goose Up

-- How many recipients a person's transfers had on a day (UTC).
create table transfer.daily_recipients (
    person     uuid    not null,
    day        date    not null,
    recipients integer not null,
    constraint daily_recipients_pkey primary key (person, day)
);

-- With created_at: young accounts send to fewer recipients.
CREATE OR REPLACE VIEW directory.persons AS
SELECT p.uid                                                                                                  AS person,
       p.name,
       p.locale,
       p.time_zone,
       (SELECT a.address FROM identity.addresses a WHERE a.person = p.uid AND a.is_primary)                   AS email,
       m.organization,
       coalesce(m.roles, '{}')                                                                                AS roles,
       coalesce((SELECT h.host FROM identity.hosts h WHERE h.organization = m.organization AND h.active),
                (SELECT h.host FROM identity.organizations f JOIN identity.hosts h ON h.organization = f.uid AND h.active
                 WHERE f.free))                                                                               AS host,
       coalesce(m.organization, (SELECT f.uid FROM identity.organizations f WHERE f.free))                    AS limits_organization,
       p.upload_volume_bytes,
       p.epoch,
       p.created_at
FROM identity.persons p
LEFT JOIN identity.memberships m ON m.person = p.uid
WHERE p.deleted_at IS NULL;
