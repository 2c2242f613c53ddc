-- +goose Up

-- What the charts of the console show (contract 9.6): a row for each five minutes in which a server ran. The counters are those of all replicas: each
-- adds what it has counted since it last did. Null: not known.
CREATE TABLE samples (
    at         timestamptz NOT NULL, -- beginning of the five minutes
    requests   bigint      NOT NULL DEFAULT 0,
    errors     bigint      NOT NULL DEFAULT 0, -- requests that failed by the server's fault
    uploads    bigint      NOT NULL DEFAULT 0, -- requests that brought bytes of files
    downloads  bigint      NOT NULL DEFAULT 0, -- requests that fetched bytes of files
    bytes_in   bigint      NOT NULL DEFAULT 0,
    bytes_out  bigint      NOT NULL DEFAULT 0,
    free       bigint,                         -- on the volume of the replica that has least
    logins     bigint,                         -- known once the five minutes are over
    deliveries bigint,                         -- transfers that were confirmed; known then, too
    mails      bigint,                         -- waiting
    jobs       bigint,                         -- due
    database   bigint,                         -- bytes
    people     bigint,
    transfers  bigint,                         -- that have not ended
    CONSTRAINT samples_pkey PRIMARY KEY (at)
);
