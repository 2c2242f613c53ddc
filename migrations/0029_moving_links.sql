-- +goose Up

-- Finds a vanity link whose owner has a new home host before the job has moved the link there.
create index vanity_links_link on transfer.vanity_links (link) where released_at is null;
