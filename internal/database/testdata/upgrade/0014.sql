-- Rules of the organization.
UPDATE transfer.adminunits SET retention = '{"transfers": {"least": 30, "most": 3650}}', retention_at = '2026-11-27 02:00:00Z';
INSERT INTO holds (uid, kind, subject, name, reason, until, created_at, organization)
SELECT '00000000-0000-7000-8000-000000014001', 'retention', organization, 'Retention', 'The organization keeps it at least so long.',
    '2027-01-01 00:00:00Z', '2026-11-27 02:00:00Z', organization FROM transfer.adminunits LIMIT 1;
