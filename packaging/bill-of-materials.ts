// What is in the packages that are published, made of what npm says is in the lockfile. npm's own `--omit dev` leaves out what a tool
// needs as well, `pg` for one; so here what is reached from the command is kept, and nothing else. The same lockfile gives the
// same bytes.

import { createHash } from 'node:crypto';

export interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly purl?: string;
  readonly licenses?: readonly object[];
  readonly [member: string]: unknown;
}

export interface Bill {
  readonly metadata: { readonly component: Component; readonly [member: string]: unknown };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
  readonly [member: string]: unknown;
}

export interface Published {
  /** The command, by its name: all that is installed with it is reached from there. */
  readonly root: string;
  /** Names of packages that operators install themselves if they want them. */
  readonly peers: ReadonlySet<string>;
  /** What is copied into a package of ours, by the name of that package. */
  readonly copied: Readonly<Record<string, readonly Component[]>>;
  /** Licences that the lockfile does not tell, by name. */
  readonly licenses: Readonly<Record<string, string>>;
  /** When the sources were last changed. */
  readonly at: Date;
}

export function publishedBill(whole: Bill, { root, peers, copied, licenses, at }: Published): Bill {
  const names = new Map(whole.components.map((each) => [each['bom-ref'], nameOf(each)]));
  const needs = new Map(
    whole.dependencies.map(({ ref, dependsOn }) => [
      ref,
      dependsOn.filter((other) => !peers.has(names.get(other) ?? other)),
    ]),
  );
  const rootRef = [...names].find(([, name]) => name === root)?.[0];
  if (rootRef === undefined) throw new Error(`there is no ${root} in the lockfile`);
  const reached = new Set([rootRef]);
  // A Set is gone through with what is added on the way.
  for (const ref of reached) for (const other of needs.get(ref) ?? []) reached.add(other);

  const there = whole.components
    .filter((each) => reached.has(each['bom-ref']))
    .map((each) => withLicense({ ...each, name: nameOf(each) }, licenses));
  const main = there.find((each) => each['bom-ref'] === rootRef)!;
  const added = Object.values(copied).flat();
  const components = [...there.filter((each) => each !== main), ...added];
  const copiesOf = (ref: string) => (copied[names.get(ref) ?? ref] ?? []).map((each) => each['bom-ref']);
  const dependencies = [...reached, ...added.map((each) => each['bom-ref'])].map((ref) => ({
    ref,
    dependsOn: [...(needs.get(ref) ?? []), ...copiesOf(ref)],
  }));
  const { tools } = whole.metadata;
  const bill = {
    ...whole,
    metadata: { timestamp: at.toISOString(), tools, component: { ...main, type: 'application' } },
    components,
    dependencies,
  };
  return { ...bill, serialNumber: `urn:uuid:${uuidOf(JSON.stringify([components, dependencies]))}` };
}

/** npm gives the folder of a workspace as its name. */
function nameOf({ purl, name }: Component): string {
  return decodeURIComponent(/^pkg:npm\/(.+)@/.exec(purl ?? '')?.[1] ?? name);
}

function withLicense(component: Component, known: Readonly<Record<string, string>>): Component {
  const id = known[component.name];
  if (component.licenses !== undefined || id === undefined) return component;
  return { ...component, licenses: [{ license: { id } }] };
}

/** Version 8 of RFC 9562: bits of our own making. */
function uuidOf(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x80;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  return bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}
