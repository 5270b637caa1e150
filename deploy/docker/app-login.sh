#!/bin/bash
# Run once by the image of PostgreSQL, for an empty database: the owner of the tables, and the login of the service, which owns
# nothing. Neither is a superuser; that has no password from now on, and is for `docker compose exec` alone.
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" \
  --set owner="$POSTGRES_PASSWORD" --set app="$APP_PASSWORD" --set database="$POSTGRES_DB" <<'SQL'
CREATE ROLE owner LOGIN CREATEROLE PASSWORD :'owner';
CREATE ROLE app LOGIN PASSWORD :'app';
ALTER DATABASE :"database" OWNER TO owner;
ALTER ROLE CURRENT_USER PASSWORD NULL;
SQL
