-- +goose Up

-- The size of an object whose uploader says it later (tus Upload-Defer-Length, IETF uploads without a length) is unknown at first. Until then
-- intended_size is the maximum, so older versions see an incomplete object.
ALTER TABLE transfer.objects ADD COLUMN size_deferred boolean NOT NULL DEFAULT false;

-- The header Upload-Metadata of a tus upload, which HEAD repeats.
ALTER TABLE transfer.objects ADD COLUMN upload_metadata text;
