-- +goose Up

-- Requests with an Idempotency-Key (contract 1.15) and their answers. A row is claimed before the request runs. The transaction of the effect
-- marks it as done. Then the answer is stored.
CREATE TABLE idempotency_keys (
    key         bytea       NOT NULL, -- SHA-256 of the caller and the key
    caller      bytea       NOT NULL, -- SHA-256 of the caller
    fingerprint bytea       NOT NULL, -- SHA-256 of the request
    claim       uuid        NOT NULL, -- of the server that runs the request
    done        boolean     NOT NULL DEFAULT false,
    busy_until  timestamptz NOT NULL, -- until then nobody else takes over a request that is not done
    expires_at  timestamptz NOT NULL,
    answer      bytea,                -- sealed
    CONSTRAINT idempotency_keys_pkey PRIMARY KEY (key)
);
CREATE INDEX idempotency_keys_caller ON idempotency_keys (caller, expires_at);
CREATE INDEX idempotency_keys_expires_at ON idempotency_keys (expires_at);

-- Marks a request as done, in the transaction of its effect. A server that was overtaken gets an error, which rolls that back.
-- +goose StatementBegin
CREATE FUNCTION mark_idempotent(k bytea, c uuid) RETURNS void
LANGUAGE plpgsql
AS $$
BEGIN
    UPDATE idempotency_keys SET done = true WHERE key = k AND claim = c;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'another server runs this request' USING ERRCODE = 'CN409';
    END IF;
END
$$;
-- +goose StatementEnd
