// A log that signs whatever size it is asked for, for tests of witnesses. Its entry i is the text "<label> i", so that two
// logs of different labels have different roots at every size.

import {
  formatAddCheckpoint,
  leafHash,
  nodeHash,
  noteSigner,
  proveConsistency,
  sha256,
  signCheckpoint,
  type Signer,
  treeRoot,
} from '@tallystick/evidence';

export interface SampleLog {
  readonly origin: string;
  readonly verifierKey: string;
  readonly signer: Signer;
  /** The signed checkpoint of that size. */
  note(size: number): Promise<string>;
  prove(from: number, to: number): Uint8Array[];
  /** The request that asks to cosign `size` after `oldSize`. */
  request(oldSize: number, size: number): Promise<string>;
}

const utf8 = (text: string) => new TextEncoder().encode(text);

export async function sampleLog(
  origin: string,
  { label = 'entry', key = 'the key of the sample log' } = {},
): Promise<SampleLog> {
  const signer = await noteSigner(origin, sha256(utf8(key)));
  const hashes = new Map<string, Uint8Array>();
  const read = (level: number, index: number): Uint8Array => {
    const place = `${level} ${index}`;
    const hash =
      hashes.get(place) ??
      (level === 0
        ? leafHash(utf8(`${label} ${index}`))
        : nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1)));
    hashes.set(place, hash);
    return hash;
  };
  const note = (size: number) => signCheckpoint({ origin, size, root: treeRoot(size, read) }, [signer]);
  const prove = (from: number, to: number) => (from === 0 ? [] : proveConsistency(from, to, read));
  return {
    origin,
    verifierKey: signer.verifierKey,
    signer,
    note,
    prove,
    request: async (oldSize, size) =>
      formatAddCheckpoint({ oldSize, proof: prove(oldSize, size), note: await note(size) }),
  };
}
