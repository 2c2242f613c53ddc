-- +goose Up

-- A started download continues only in the browser that started it, up to a number of bytes. cookie_hash is the SHA-256 of the
-- browser's cookie. client is the client network of a browser that sent no cookie at the start. sent counts the bytes of all answers.
alter table transfer.one_time_keys add column cookie_hash bytea, add column client text, add column sent bigint not null default 0,
    add constraint one_time_keys_sent_not_negative check (sent >= 0);
