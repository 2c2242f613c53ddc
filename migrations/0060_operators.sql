-- +goose Up

-- The operators of the installation (contract 9.1). Deleting a person removes the row.
create table identity.operators (
    person   uuid        not null,
    added_at timestamptz not null,
    constraint operators_pkey primary key (person),
    constraint operators_person_fkey foreign key (person) references identity.persons on delete cascade
);
