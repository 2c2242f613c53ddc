-- Bob's passkey, a challenge that it has answered, and the passkey before a change.
INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at)
VALUES ('00000000-0000-7000-8000-0000000000d9', '00000000-0000-7000-8000-00000000000b', 'webauthn', 'Laptop', true, '2026-01-01Z', '2026-01-01Z');
INSERT INTO identity.passkeys (authenticator, host, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, aaguid, used_at) VALUES
    ('00000000-0000-7000-8000-0000000000d9', 'consign.test', '\x01', '\x02', 7, '{internal}', true, true, '\x', '2026-01-02Z');
INSERT INTO identity.used_challenges (hash, expires_at) VALUES ('\x03', '2026-12-31Z');
INSERT INTO identity.security_change_factors (change, uid, type, registered_at, updated_at, codes, passkey)
SELECT seq, '00000000-0000-7000-8000-0000000000d9', 'webauthn', '2026-01-01Z', '2026-01-01Z', '{}', to_jsonb(k)
FROM identity.security_changes, identity.passkeys k LIMIT 1;
