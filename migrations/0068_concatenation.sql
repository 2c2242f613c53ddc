-- +goose Up

-- Concatenation of tus (contract 4.25). partial: the object holds bytes of a file that a final upload will name. It is in no list, does not
-- count to object_count, and has no row once its reservation is confirmed. final: the object whose bytes are copied from it. Of that object,
-- upload_concat is the header of its creation, and partials and partial_sizes are the client ids and sizes of what it is made of, in order.
-- They stay when the partial rows are deleted. Older versions take a partial upload for an object without a final one, and refuse to make any.
ALTER TABLE transfer.objects ADD COLUMN partial boolean NOT NULL DEFAULT false,
    ADD COLUMN final uuid,
    ADD COLUMN upload_concat text,
    ADD COLUMN partials text[],
    ADD COLUMN partial_sizes bigint[],
    ADD CONSTRAINT objects_final_of_partial CHECK (final IS NULL OR partial) NOT VALID,
    ADD CONSTRAINT objects_partials_known CHECK ((partials IS NULL) = (upload_concat IS NULL) AND (partials IS NULL) = (partial_sizes IS NULL)) NOT VALID;
