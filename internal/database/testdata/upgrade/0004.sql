-- Ann's password is "the tide is out at noon".
INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at, secret, salt) VALUES
    ('00000000-0000-7000-8000-0000000000d1', '00000000-0000-7000-8000-00000000000a', 'bcrypt', NULL, true, '2026-01-01Z', '2026-01-01Z',
     convert_to('$2a$04$olQXq.jsWpAKaBsxeDN9j.FF5LlngpT4DxFgpFo3bJmpjWfVPomg.', 'UTF8'), NULL),
    ('00000000-0000-7000-8000-0000000000d2', '00000000-0000-7000-8000-00000000000a', 'recovery', 'codes', true, '2026-01-01Z', '2026-01-01Z', NULL, decode('5a17', 'hex'));
INSERT INTO identity.recovery_codes (authenticator, hash) VALUES ('00000000-0000-7000-8000-0000000000d2', decode(repeat('c0', 32), 'hex'));
INSERT INTO identity.id_tokens (jti, person, sid, auth_level, auth_time, issued_at, expires_at, user_agent, ip) VALUES
    ('00000000-0000-7000-8000-0000000000e1', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-0000000000e2', 1, '2026-01-02Z', '2026-01-02Z', '2999-01-01Z', 'curl', '203.0.113.7');
INSERT INTO identity.pending_logins (jti, person, set_password, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000e3', '00000000-0000-7000-8000-00000000000a', false, '2999-01-01Z');
INSERT INTO identity.parked_tokens (jti, person, sid, parent_sid, auth_level, auth_time, token_expires_at, federated, external_sid, expires_at) VALUES
    ('00000000-0000-7000-8000-0000000000e4', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-0000000000e5', '00000000-0000-7000-8000-0000000000e2', 1,
     '2026-01-02Z', '2999-01-01Z', false, 'provider-session', '2999-01-01Z');
INSERT INTO identity.reset_keys (key_hash, person, address, expires_at) VALUES
    (decode(repeat('0e', 32), 'hex'), '00000000-0000-7000-8000-00000000000a', 'ann@example.com', '2999-01-01Z');
INSERT INTO identity.external_logins (state_hash, host, redirect_url, binding_hash, expires_at, forget_at) VALUES
    (decode(repeat('57', 32), 'hex'), 'files.example.com', 'https://files.example.com/login', decode(repeat('b1', 32), 'hex'), '2999-01-01Z', '2999-01-01Z');
INSERT INTO identity.external_tokens (fingerprint, expires_at) VALUES (decode(repeat('f1', 32), 'hex'), '2999-01-01Z');
INSERT INTO identity.security_changes (person, kind, made_at, undo_hash, end_hash, addresses, verified_at, email_proved_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', 'factor-added', '2998-01-01Z', decode(repeat('ad', 32), 'hex'), decode(repeat('ed', 32), 'hex'),
     '{ann@example.com}', '{2026-01-01Z}', '2026-01-01Z');
INSERT INTO identity.security_change_factors (change, uid, type, name, registered_at, updated_at, secret, salt, codes)
    SELECT seq, '00000000-0000-7000-8000-0000000000d2', 'recovery', 'codes', '2026-01-01Z', '2026-01-01Z', NULL, decode('5a17', 'hex'), ARRAY[decode(repeat('c0', 32), 'hex')]
    FROM identity.security_changes;
INSERT INTO identity.organization_changes (organization, kind, object, made_at, made_by, undo_hash, before) VALUES
    ('00000000-0000-7000-8000-000000000002', 'origins.changed', '', '2998-01-01Z', '00000000-0000-7000-8000-00000000000a',
     decode(repeat('0c', 32), 'hex'), '["https://www.example.org"]');
INSERT INTO identity.factor_tries (person, source, failures, next_at, forget_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', '00000000-0000-0000-0000-000000000000', 3, '2026-11-20Z', '2999-01-01Z');
INSERT INTO identity.known_clients (person, client_hash, device_epoch, seen_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', decode(repeat('c1', 32), 'hex'), 1, '2998-01-01Z');
-- An API token of Ann and one of her organization.
INSERT INTO identity.api_tokens (uid, secret_hash, person, membership, organization, name, scopes, mailboxes, mailbox_keys, strong, created_at, expires_at) VALUES
    ('00000000-0000-7000-8000-000000000a01', '\x01', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002', NULL,
     'Scanner', '{mailbox:drop}', '{00000000-0000-7000-8000-00000000000b}', '{bob}', true, '2026-01-01Z', '2026-12-31Z'),
    ('00000000-0000-7000-8000-000000000a02', '\x02', '00000000-0000-7000-8000-00000000000a', '00000000-0000-7000-8000-000000000002',
     '00000000-0000-7000-8000-000000000002', 'Directory', '{organization:read}', '{}', '{}', true, '2026-01-01Z', '2026-12-31Z');
-- A program that Ann has approved.
INSERT INTO identity.device_logins (device_hash, user_hash, host, name, user_agent, ip, network, poll_seconds, created_at, expires_at, person, epoch, auth_level, auth_time, federated) VALUES
    ('\x01', '\x02', '00000000-0000-7000-8000-000000000001', 'consign', 'consign/1.0', '127.0.0.1', '127.0.0.1', 5, '2026-01-01Z', '2026-01-01T00:10:00Z',
     '00000000-0000-7000-8000-00000000000a', 4, 1, '2026-01-01Z', false);
-- Bob's passkey, a challenge that it has answered, and the passkey before a change.
INSERT INTO identity.authenticators (uid, person, type, name, verified, registered_at, updated_at)
VALUES ('00000000-0000-7000-8000-0000000000d9', '00000000-0000-7000-8000-00000000000b', 'webauthn', 'Laptop', true, '2026-01-01Z', '2026-01-01Z');
INSERT INTO identity.passkeys (authenticator, host, credential_id, public_key, sign_count, transports, backup_eligible, backed_up, aaguid, used_at) VALUES
    ('00000000-0000-7000-8000-0000000000d9', 'consign.test', '\x01', '\x02', 7, '{internal}', true, true, '\x', '2026-01-02Z');
INSERT INTO identity.used_challenges (hash, expires_at) VALUES ('\x03', '2026-12-31Z');
INSERT INTO identity.security_change_factors (change, uid, type, registered_at, updated_at, codes, passkey)
SELECT seq, '00000000-0000-7000-8000-0000000000d9', 'webauthn', '2026-01-01Z', '2026-01-01Z', '{}', to_jsonb(k)
FROM identity.security_changes, identity.passkeys k LIMIT 1;
