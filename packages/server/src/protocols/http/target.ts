// The target of a request: its path, and its query as it was sent.

export interface Target {
  readonly path: string;
  readonly queryText: string;
}

const ORIGIN = /^https?:\/\/[^/?#]*/i;

/** A target may name the whole URL; whose it is was decided by the connection. */
export function splitTarget(target: string): Target {
  const local = target.startsWith('/') ? target : target.replace(ORIGIN, '') || '/';
  const at = local.indexOf('?');
  return at === -1
    ? { path: local, queryText: '' }
    : { path: local.slice(0, at), queryText: local.slice(at + 1) };
}
