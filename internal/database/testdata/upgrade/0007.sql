INSERT INTO identity.external_logins (state_hash, redirect_url, expires_at, forget_at) VALUES
    (decode(repeat('57', 32), 'hex'), 'https://files.example.com/login', '2999-01-01Z', '2999-01-01Z');
INSERT INTO identity.external_tokens (fingerprint, expires_at) VALUES (decode(repeat('f1', 32), 'hex'), '2999-01-01Z');
