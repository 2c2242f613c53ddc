INSERT INTO identity.known_clients (person, client_hash, device_epoch, seen_at) VALUES
    ('00000000-0000-7000-8000-00000000000a', decode(repeat('c1', 32), 'hex'), 1, '2998-01-01Z');
