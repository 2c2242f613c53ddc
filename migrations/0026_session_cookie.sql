-- +goose Up

-- Whether an ID token was put into the session cookie, or replaces one that was. All tabs of a browser present such a token, so a replaced one
-- stands for its successor for a short time. What an older replica replaces has no successor: it ends at once.
alter table identity.id_tokens
    add column in_cookie boolean not null default false,
    add column successor uuid; -- the token that replaced this one, while the replaced one may still be presented
