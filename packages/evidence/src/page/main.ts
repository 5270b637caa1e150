// The page that verifies exports in a browser: the verifier of this package, run on the files that somebody chooses. It asks nothing
// of any network. app/link-page.ts of the server makes one script of it; markup.ts has the rest of the page.

import { EvidenceError } from '../errors.ts';
import { type ExportArchive, type Manifest, manifestBytes, parseManifest } from '../export/manifest.ts';
import { exportVerdictRows, refusalRows, type VerdictRow } from '../export/verdict-rows.ts';
import { verifyExport } from '../export/verify-export.ts';
import { noteVerifier, parseNote, type Verifier } from '../note/note.ts';
import { openChosen } from './chosen-files.ts';
import { element, newElement, page } from './dom.ts';

/** What the files say of themselves; nothing of it is verified. */
interface Chosen {
  readonly archive: ExportArchive;
  readonly manifest: Manifest;
  readonly title: string;
}

let chosen: Chosen | undefined;
/** Goes up with every choice: what an older one finds out is not shown any more. */
let choice = 0;

function start(): void {
  const file = element('file');
  file.addEventListener('change', () => void choose(file.files));
  element('key').addEventListener('input', () => showReady());
  element('form').addEventListener('submit', (event) => {
    event.preventDefault();
    void verify();
  });
  page().body.addEventListener('dragover', (event) => event.preventDefault());
  page().body.addEventListener('drop', (event) => {
    event.preventDefault();
    file.files = event.dataTransfer?.files ?? null;
    void choose(file.files);
  });
  void requireAbilities();
}

/** The base point of the curve stands for any key. */
const ANY_PUBLIC_KEY = Uint8Array.from({ length: 32 }, (_, i) => (i === 0 ? 0x58 : 0x66));

async function requireAbilities(): Promise<void> {
  try {
    await globalThis.crypto.subtle.importKey('raw', ANY_PUBLIC_KEY, 'Ed25519', false, ['verify']);
    if (new DecompressionStream('deflate-raw').readable.locked) throw new Error('it cannot unpack');
  } catch {
    element('unable').hidden = false;
  }
}

async function choose(files: ArrayLike<File> | null): Promise<void> {
  const all = Array.from(files ?? []);
  if (all.length === 0) return;
  const own = ++choice;
  chosen = undefined;
  element('verdict').hidden = true;
  element('progress').hidden = true;
  const title = all.map(({ name }) => name).join(', ');
  element('signed').hidden = true;
  try {
    const archive = await openChosen(all);
    const { manifest, note } = parseManifest(await manifestBytes(archive));
    if (own !== choice) return;
    chosen = { archive, manifest, title };
    const ids = parseNote(note).signatures.map(({ name, keyId }) => `${name}+${keyId}`);
    element('signers').textContent = ids.join(', ');
    element('signed').hidden = false;
  } catch (error) {
    if (own === choice) showFailure(title, error);
  }
  showReady();
}

function showReady(): void {
  element('verify').disabled = chosen === undefined || element('key').value.trim() === '';
}

async function verify(): Promise<void> {
  if (chosen === undefined) return;
  const own = ++choice;
  const { archive, manifest, title } = chosen;
  element('verify').disabled = true;
  element('verdict').hidden = true;
  try {
    const verifiers = await verifiersIn(element('key').value);
    const entry = withProgress(archive, manifest, () => own === choice);
    const verdict = await verifyExport({ names: archive.names, entry }, { verifiers });
    if (own === choice) show('verified', `Verified: ${title}`, exportVerdictRows(verdict));
  } catch (error) {
    if (own === choice) showFailure(title, error);
  } finally {
    if (own === choice) {
      element('progress').hidden = true;
      showReady();
    }
  }
}

/** A mistake in the key is none of the file. */
class KeyUnusable extends Error {}

async function verifiersIn(text: string): Promise<Verifier[]> {
  const keys = text.split('\n').map((line) => line.trim());
  const verifiers: Verifier[] = [];
  for (const key of keys.filter((line) => line !== ''))
    try {
      verifiers.push(await noteVerifier(key));
    } catch (cause) {
      throw new KeyUnusable(`This is no public key of a log: ${(cause as Error).message}.`, { cause });
    }
  return verifiers;
}

/** The bytes of a file, with a breath for the page behind each piece, and an end as soon as nobody waits for the verdict. */
function withProgress(archive: ExportArchive, manifest: Manifest, isWanted: () => boolean) {
  const progress = element('progress');
  let done = 0;
  progress.max = manifest.data.size + manifest.evidence.size;
  progress.hidden = false;
  const showDone = (): void => {
    (progress as unknown as { value: number }).value = Math.min(done, progress.max);
  };
  showDone();
  return async function* (name: string): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of archive.entry(name)) {
      yield chunk;
      if (!isWanted()) return;
      done += chunk.length;
      showDone();
      await breath();
    }
  };
}

function breath(): Promise<void> {
  const { port1, port2 } = new MessageChannel();
  return new Promise((resolve) => {
    const onMessage = () => {
      port1.close();
      resolve();
    };
    port1.addEventListener('message', onMessage);
    port1.start();
    port2.postMessage(undefined);
  });
}

function showFailure(title: string, error: unknown): void {
  if (error instanceof EvidenceError) show('refused', `NOT verified: ${title}`, refusalRows(error));
  else {
    const why = error instanceof Error ? error.message : String(error);
    show('unknown', 'No verdict', [[error instanceof KeyUnusable ? 'key' : 'because', why]]);
  }
}

function show(kind: 'verified' | 'refused' | 'unknown', title: string, rows: readonly VerdictRow[]): void {
  const verdict = element('verdict');
  verdict.className = kind;
  element('verdict-title').textContent = title;
  element('verdict-rows').replaceChildren(
    ...rows.flatMap(([name, said]) => [newElement('dt', name), newElement('dd', said)]),
  );
  element('meaning').hidden = kind !== 'verified';
  verdict.hidden = false;
  verdict.focus();
}

// Last, when all that it uses is there.
start();
