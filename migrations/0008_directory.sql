-- +goose Up

-- The views of schema directory, so written that a statement which joins them stays within what the planner reorders
-- (join_collapse_limit, 8 relations): before, a mailbox looked up by its vanity link read every person there is. What
-- belongs to the free organization is looked up once a statement, what a statement does not ask for not at all.
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
       p.epoch
FROM identity.persons p
LEFT JOIN identity.memberships m ON m.person = p.uid
WHERE p.deleted_at IS NULL;

CREATE OR REPLACE VIEW directory.organizations AS
SELECT o.uid AS organization,
       o.name,
       coalesce((SELECT h.host FROM identity.hosts h WHERE h.organization = o.uid AND h.active),
                (SELECT h.host FROM identity.organizations f JOIN identity.hosts h ON h.organization = f.uid AND h.active
                 WHERE f.free)) AS host,
       o.free,
       o.locale,
       o.time_zone
FROM identity.organizations o;

CREATE OR REPLACE VIEW directory.limits AS
SELECT o.uid                                                                     AS organization,
       coalesce(l.service_enabled, f.service_enabled)                            AS service_enabled,
       coalesce(l.users, f.users)                                                AS users,
       coalesce(l.transfer_volume_bytes, f.transfer_volume_bytes)                AS transfer_volume_bytes,
       coalesce(l.storage_volume_bytes, f.storage_volume_bytes)                  AS storage_volume_bytes,
       coalesce(l.gdpr_contract, f.gdpr_contract)                                AS gdpr_contract,
       coalesce(l.secure_spaces, f.secure_spaces)                                AS secure_spaces,
       coalesce(l.mime_type_filter, f.mime_type_filter)                          AS mime_type_filter,
       coalesce(l.new_transfer_limit, f.new_transfer_limit)                      AS new_transfer_limit,
       coalesce(l.new_transfer_drain_rate, f.new_transfer_drain_rate)            AS new_transfer_drain_rate,
       coalesce(l.new_transfer_receivers_limit, f.new_transfer_receivers_limit)  AS new_transfer_receivers_limit,
       coalesce(l.admin_portal, f.admin_portal)                                  AS admin_portal,
       coalesce(l.mailbox_groups, f.mailbox_groups)                              AS mailbox_groups,
       coalesce(l.change_hostname, f.change_hostname)                            AS change_hostname
FROM identity.organizations o
LEFT JOIN identity.limits l ON l.organization = o.uid
LEFT JOIN identity.limits f ON f.organization = (SELECT fo.uid FROM identity.organizations fo WHERE fo.free);
