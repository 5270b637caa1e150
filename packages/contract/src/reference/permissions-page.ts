// The page of permissions: what each allows, who holds it, and which operations ask for it.

import type { Operation } from '../operation.ts';
import { OPERATIONS } from '../operations.ts';
import { PERMISSION_NAMES, PERMISSIONS, ROLE_NAMES, ROLES } from '../permissions.ts';
import type { Permission, Role } from '../permissions.ts';
import { anchor, code, headingAnchor, link, page, table } from './markdown.ts';

const operationLink = ({ name }: Operation): string =>
  link(code(name), `operations.md${headingAnchor(name)}`);

function rolesTable(): string {
  const rows = ROLE_NAMES.map((role) => [role, ROLES[role].meaning, code(ROLES[role].clearance)]);
  return `## Roles\n\n${table(['role', 'meaning', 'clearance'], rows)}

The clearance is the highest classification that is shown unredacted. Without a role it is \`Internal\`. An event of
class \`Secret\` is not even listed for readers below \`Confidential\`.`;
}

function permissionsTable(): string {
  const rows = PERMISSION_NAMES.map((name) => {
    const { scope, allows, roles } = PERMISSIONS[name];
    const held = ROLE_NAMES.map((role) => ((roles as readonly Role[]).includes(role) ? 'yes' : '–'));
    return [`${anchor(name)}${code(name)}`, scope === null ? '–' : code(scope), allows, ...held];
  });
  return `## Permissions\n\n${table(['permission', 'scope', 'allows', ...ROLE_NAMES], rows)}

A caller with roles only has theirs; with scopes or permission claims only, theirs; with both, what both allow.`;
}

function operationsTable(): string {
  const needing = (permission: Permission | null) => {
    const operations = OPERATIONS.filter((each) => each.permission === permission);
    return operations.map(operationLink).join(', ');
  };
  const rows = PERMISSION_NAMES.map((name) => [code(name), needing(name)]);
  return `## Operations by permission\n\n${table(['permission', 'operations'], [...rows, ['none', needing(null)]])}`;
}

export function permissionsPage(): string {
  return page(
    'Permissions',
    'Who may do what: roles hold permissions, and tokens carry scopes that grant them.',
    [rolesTable(), permissionsTable(), operationsTable()],
  );
}
