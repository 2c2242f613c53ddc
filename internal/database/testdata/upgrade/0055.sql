-- The key of a file that is stored encrypted.
INSERT INTO transfer.sealed_objects (object, key, layout, version) VALUES ('00000000-0000-7000-8000-000000000e01', '\x01', '\x010a0000', 1);
