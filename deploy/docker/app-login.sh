#!/bin/bash
# Run once by the image of PostgreSQL, for an empty database: the login of the service, which owns nothing.
set -euo pipefail
psql --set ON_ERROR_STOP=1 --username "$POSTGRES_USER" --dbname "$POSTGRES_DB" --set password="$APP_PASSWORD" <<'SQL'
CREATE ROLE app LOGIN PASSWORD :'password';
SQL
