-- +goose Up

-- Export targets (contract 3.28) are webhooks whose url begins with s3+ or webdav+; secret is their sealed password. An older version
-- refuses such a url, and its attempt is repeated.
ALTER TABLE identity.webhooks ADD COLUMN username text; -- of an export target; else NULL
