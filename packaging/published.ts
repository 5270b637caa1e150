// The manifest of a package as it is published: it asks for Node 24, which the repository brings itself, and leads to the build
// only, because the sources stay here.

export interface Manifest {
  readonly exports?: Readonly<Record<string, Readonly<Record<string, string>> | string>>;
  readonly scripts?: object;
  readonly [member: string]: unknown;
}

export const ENGINES = { node: '>=24' };

/** `commit` is that of the sources; `/status` shows it. */
export function publishedManifest(manifest: Manifest, commit: string | undefined): Manifest {
  const published: Record<string, unknown> = { ...manifest, engines: ENGINES };
  delete published['scripts'];
  if (commit !== undefined) published['gitHead'] = commit;
  if (manifest.exports !== undefined) {
    const entries = Object.entries(manifest.exports).map(([name, entry]) => [name, withoutSource(entry)]);
    published['exports'] = Object.fromEntries(entries);
  }
  return published;
}

function withoutSource(entry: Readonly<Record<string, string>> | string) {
  if (typeof entry === 'string') return entry;
  return Object.fromEntries(Object.entries(entry).filter(([condition]) => condition !== 'source'));
}
