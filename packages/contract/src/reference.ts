// The reference pages as functions of the contract. The test beside this file holds the committed pages against
// them, and writes them when UPDATE_REFERENCE=1 is set.

import { errorsPage } from './reference/errors-page.ts';
import { limitsPage } from './reference/limits-page.ts';
import { mcpPage } from './reference/mcp-page.ts';
import { operationsPage } from './reference/operations-page.ts';
import { permissionsPage } from './reference/permissions-page.ts';
import { protocolsPage } from './reference/protocols-page.ts';
import { schemasPage } from './reference/schemas-page.ts';

/** Each page below docs/reference, with the function that writes it. */
export const REFERENCE_PAGES: Readonly<Record<string, () => string>> = {
  'errors.md': errorsPage,
  'limits.md': limitsPage,
  'mcp.md': mcpPage,
  'operations.md': operationsPage,
  'permissions.md': permissionsPage,
  'protocols.md': protocolsPage,
  'schemas.md': schemasPage,
};
