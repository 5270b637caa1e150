// Makes the manifest of an export; the format is that of manifest.ts, which checks what is made here.

import { canonicalJson } from '../json/canonical-json.ts';

type Unsigned = Readonly<Record<string, unknown>>;

/** What the key of the log signs: the text of a note. */
export function manifestText(manifest: Unsigned): string {
  return `${canonicalJson(manifest)}\n`;
}

/** `signatures`: the signature lines of that note, without their newlines. */
export function formatManifest(manifest: Unsigned, signatures: readonly string[]): string {
  return `${canonicalJson({ ...manifest, signatures })}\n`;
}
