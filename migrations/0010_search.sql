-- +goose Up

-- A search looks for letters in one piece with their accents (NFC). What had been stored with both apart, as systems of Apple name files,
-- would be found no more, however it is typed.
UPDATE transfer.transfers SET search = lower(normalize(search)) WHERE search IS NOT NFC NORMALIZED;
