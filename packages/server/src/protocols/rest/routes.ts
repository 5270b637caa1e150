// The served paths, made from the contract's bindings and from the bound operations: `/api/v1/…`, `/api/v2/…`, and
// `/api/…`, where the version is read from elsewhere; probes of the process stand at the root. A path or method
// that is not in this table does not exist.

import { type OperationName, operationsIn, type Version, VERSIONS } from '@tallystick/contract';
import type { Operations } from '../../operations.ts';
import { prepareBinding, type InputBinding } from './input.ts';

export interface Route {
  readonly method: string;
  /** In the router's form: `/api/v1/audit-events/:eventId`. */
  readonly url: string;
  /** The version that the path names. */
  readonly version: Version | undefined;
  /** Stands outside all versions. */
  readonly atRoot: boolean;
  /** The query is ignored: load balancers and monitors add parameters of their own. */
  readonly ignoresQuery: boolean;
  /** The operation as each version has it. */
  readonly bindings: ReadonlyMap<Version, InputBinding>;
}

export function routesFor(bound: Operations): Route[] {
  const byName = new Map<OperationName, Map<Version, InputBinding>>();
  for (const version of VERSIONS) {
    for (const operation of operationsIn(version)) {
      if (bound[operation.name] === undefined) continue;
      const bindings = byName.get(operation.name) ?? new Map<Version, InputBinding>();
      byName.set(operation.name, bindings.set(version, prepareBinding(operation)));
    }
  }
  return [...byName.values()].flatMap(routesOf);
}

function routesOf(bindings: ReadonlyMap<Version, InputBinding>): Route[] {
  const [{ operation }] = [...bindings.values()] as [InputBinding];
  const { method, path, atRoot = false } = operation.rest;
  const ignoresQuery = atRoot && operation.permission === null;
  const url = path.replace(/\{(\w+)\}/g, ':$1').replace(/\{\w+\+\}$/, '*');
  if (atRoot) return [{ method, url, version: undefined, atRoot, ignoresQuery, bindings }];
  const versioned = [...bindings.keys()].map((version) => ({ version, url: `/api/${version}${url}` }));
  return [...versioned, { version: undefined, url: `/api${url}` }].map((place) => ({
    method,
    atRoot,
    ignoresQuery,
    bindings,
    ...place,
  }));
}
