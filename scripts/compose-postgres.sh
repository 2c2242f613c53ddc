#!/bin/sh
# Runs in the image postgres at the first start of compose.yaml. Makes the role consign, which owns the database consign and nothing
# else. It takes the superuser's password away, so that nobody signs in as superuser over the network.
set -eu
psql --username "$POSTGRES_USER" --dbname postgres --no-psqlrc -v ON_ERROR_STOP=1 -v password="$POSTGRES_PASSWORD" <<'SQL'
CREATE ROLE consign LOGIN PASSWORD :'password';
CREATE DATABASE consign OWNER consign;
REVOKE ALL ON DATABASE consign FROM public;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
