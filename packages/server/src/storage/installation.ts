// The name of an installation: fixed by its first start, in the rows of `meta`.

import { StartError } from '../start-error.ts';

export interface Installation {
  /** A ULID. */
  readonly installationId: string;
  /** The name under which every log of this installation is signed. */
  readonly logOrigin: string;
}

export interface WantedInstallation {
  /** Undefined: keep the current one; a new installation gets a name derived from its id. */
  readonly logOrigin: string | undefined;
  readonly nextId: () => string;
}

export function newInstallation({ logOrigin, nextId }: WantedInstallation): Installation {
  const installationId = nextId();
  return { installationId, logOrigin: logOrigin ?? `tallystick.local/${installationId}` };
}

/** The installation stored in `meta`; undefined before the first start. */
export function installationIn(
  rows: readonly { readonly [column: string]: unknown }[],
): Installation | undefined {
  const values = new Map(rows.map(({ name, value }) => [name, value]));
  const installationId = values.get('installation_id');
  const logOrigin = values.get('log_origin');
  if (typeof installationId !== 'string' || typeof logOrigin !== 'string') return undefined;
  return { installationId, logOrigin };
}

/** Throws StartError if another name is configured than the fixed one. */
export function requireOrigin({ logOrigin }: Installation, wanted: WantedInstallation): void {
  if (wanted.logOrigin === undefined || wanted.logOrigin === logOrigin) return;
  throw new StartError(
    `Log__Origin is ${wanted.logOrigin}; this installation has signed as ${logOrigin} since its first start, and that cannot change`,
  );
}
