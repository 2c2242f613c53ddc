-- +goose NO TRANSACTION
-- +goose Up

-- What a search finds of a transfer that has not ended: one row of text with the persons who may find it. Through its index, a rare
-- word costs the same for a person with many transfers as for one with few. The statement of the search decides what a person may
-- find; the text contains more than some of them may. Triggers keep it, also while an older version serves beside this one.
-- Every statement can be repeated after a broken attempt.
CREATE TABLE IF NOT EXISTS transfer.search_texts (
    transfer uuid   NOT NULL,
    parties  uuid[] NOT NULL, -- the sender who manages it, and the recipients
    words    text   NOT NULL, -- transfers.search, then name and address of each recipient
    CONSTRAINT search_texts_pkey PRIMARY KEY (transfer),
    CONSTRAINT search_texts_transfer FOREIGN KEY (transfer) REFERENCES transfer.transfers (uid) ON DELETE CASCADE
);

-- The sequences of three characters in a text, each as the number of its three code points. The extension pg_trgm would depend on the
-- locale (with the character type C it sees no letters but those of ASCII) and on a package that some systems install separately.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.trigrams(words text) RETURNS bigint[]
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE COST 10000
AS $$
DECLARE
    grams  bigint[] := '{}';
    gram   bigint   := 0;
    n      integer  := 0;
    letter text;
BEGIN
    FOREACH letter IN ARRAY string_to_array(words, NULL) LOOP
        n := n + 1;
        gram := (gram & 4398046511103) << 21 | ascii(letter); -- the last two of 21 bits, then the new one
        IF n > 2 THEN
            grams[n - 2] := gram;
        END IF;
    END LOOP;
    RETURN grams;
END
$$;
-- +goose StatementEnd

-- Writes the rows of transfers that have a text.
-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.write_search_texts(uids uuid[]) RETURNS void
LANGUAGE sql
AS $$
    INSERT INTO transfer.search_texts (transfer, parties, words)
    SELECT t.uid, array_remove(array_agg(DISTINCT d.person) || CASE WHEN t.sender_managed THEN t.sender END, NULL),
        concat_ws(E'\n', t.search, lower(normalize(string_agg(concat_ws(' ', d.name, d.email), E'\n' ORDER BY d.position))))
    FROM transfer.transfers t JOIN transfer.deliveries d ON d.transfer = t.uid WHERE t.uid = ANY (uids) AND t.search IS NOT NULL
    GROUP BY t.uid ORDER BY t.uid
    ON CONFLICT ON CONSTRAINT search_texts_pkey DO UPDATE SET parties = excluded.parties, words = excluded.words
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.add_search_texts() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    PERFORM transfer.write_search_texts(ARRAY(SELECT DISTINCT transfer FROM added));
    RETURN NULL;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
CREATE OR REPLACE FUNCTION transfer.remove_search_text() RETURNS trigger
LANGUAGE plpgsql
AS $$
BEGIN
    DELETE FROM transfer.search_texts WHERE transfer = NEW.uid;
    RETURN NULL;
END
$$;
-- +goose StatementEnd

CREATE OR REPLACE TRIGGER deliveries_searched AFTER INSERT ON transfer.deliveries
REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION transfer.add_search_texts();
CREATE OR REPLACE TRIGGER transfers_searched AFTER UPDATE ON transfer.transfers
FOR EACH ROW WHEN (OLD.search IS NOT NULL AND NEW.search IS NULL) EXECUTE FUNCTION transfer.remove_search_text();

-- Rows of older transfers, in short transactions. Answers to the fields of a mailbox become part of the text; those with an escape that
-- Postgres cannot store as text do not.
-- +goose StatementBegin
CREATE OR REPLACE PROCEDURE transfer.fill_search_texts()
LANGUAGE plpgsql
AS $$
DECLARE
    batch uuid[] := '{00000000-0000-0000-0000-000000000000}';
BEGIN
    LOOP
        batch := ARRAY(SELECT uid FROM transfer.transfers WHERE uid > batch[cardinality(batch)] AND search IS NOT NULL ORDER BY uid LIMIT 2000 FOR SHARE);
        EXIT WHEN batch = '{}';
        UPDATE transfer.transfers t
        SET search = concat_ws(' ', t.search, (SELECT lower(normalize(left(string_agg(value, ' '), 16384))) FROM json_each_text(t.fields)))
        WHERE t.uid = ANY (batch) AND json_typeof(t.fields) = 'object' AND t.fields::text !~* '\\u(0000|d[89a-f])'
            AND NOT EXISTS (SELECT FROM transfer.search_texts s WHERE s.transfer = t.uid);
        PERFORM transfer.write_search_texts(batch);
        COMMIT;
    END LOOP;
END
$$;
-- +goose StatementEnd
CALL transfer.fill_search_texts();
DROP PROCEDURE transfer.fill_search_texts();

DROP INDEX CONCURRENTLY IF EXISTS transfer.search_texts_words;
CREATE INDEX CONCURRENTLY search_texts_words ON transfer.search_texts USING gin (parties, transfer.trigrams(words)) WITH (gin_pending_list_limit = 1024);
-- ANALYZE would compute the trigrams of its whole sample.
ALTER INDEX transfer.search_texts_words ALTER COLUMN 2 SET STATISTICS 0;
