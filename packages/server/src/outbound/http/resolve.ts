// From a name to addresses, as the system does it: by the files, services and search domains of its configuration. It waits
// in one of few threads that file access needs as well, so it is for the peers that an operator has named.

import { lookup } from 'node:dns/promises';

/** All addresses of a name; rejects where there is none. No deadline here: the caller has one. */
export type Resolve = (name: string) => Promise<readonly string[]>;

export const systemResolve: Resolve = async (name) => {
  const found = await lookup(name, { all: true });
  return found.map(({ address }) => address);
};
