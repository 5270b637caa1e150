// A store with real files and its checkpointer, for tests; what is around either can be put in its place.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before } from 'node:test';
import { createSigning, type Signing } from '../keys/signing.ts';
import { type Clock, systemClock } from '../runtime/clock.ts';
import { Deadline } from '../runtime/deadline.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { openOwnAnchor } from '../storage/anchor/file-anchor.ts';
import { NOW_MS } from '../storage/conformance/claims.ts';
import { openSigningKeys } from '../storage/keys/signing-key-files.ts';
import { fillLog, openPlainStore } from './plain-store.ts';
import type { OpenSealing } from '../storage/sealing/sealing.ts';
import type { Storage } from '../storage/storage.ts';
import type { Anchor } from '../streams/anchor/anchor.ts';
import { createCheckpointer } from '../streams/checkpoints/checkpointer.ts';
import { createTelemetry } from '../telemetry.ts';

export interface Around {
  readonly anchor?: (anchor: Anchor) => Anchor;
  readonly tree?: (tree: Storage['tree']) => Storage['tree'];
  readonly sign?: (signing: Signing) => Signing['sign'];
  readonly intervalMs?: number;
  readonly openSealing?: OpenSealing;
  readonly clock?: Clock;
}

/**
 * To be called outside of any test: its directories are there from the first test of the file to the last. Other files may
 * share the process.
 */
export function checkpointedStores() {
  let folder = '';
  /** What a test that failed has left open would keep the process from ending. */
  const stacks: AsyncDisposableStack[] = [];
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'tallystick-checkpointer-'));
  });
  after(async () => {
    for (const stack of stacks) await stack.disposeAsync();
    rmSync(folder, { recursive: true });
  });
  return {
    newPlace: () => mkdtempSync(join(folder, 'data-')),
    open: (directory: string, around?: Around) => {
      const stack = new AsyncDisposableStack();
      stacks.push(stack);
      return openCheckpointed(stack, directory, around);
    },
  };
}

export type CheckpointedStore = Awaited<ReturnType<typeof openCheckpointed>>;

/** A store with real files, its checkpointer settled and running. */
async function openCheckpointed(stack: AsyncDisposableStack, directory: string, around: Around = {}) {
  const random = createSystemRandom();
  const storage = stack.use(await openPlainStore(directory, around.openSealing));
  const lines: string[] = [];
  const telemetry = createTelemetry({
    level: 'Info',
    form: 'json',
    secrets: [],
    clock: systemClock,
    write: (line) => void lines.push(line),
  });
  const signing = createSigning(systemClock);
  signing.use(await openSigningKeys(directory, NOW_MS));
  const file = stack.use(await openOwnAnchor(directory));
  const checkpointer = stack.use(
    createCheckpointer({
      tree: around.tree?.(storage.tree) ?? storage.tree,
      anchor: around.anchor?.(file) ?? file,
      signing: {
        reload: () => signing.reload(),
        sign: around.sign?.(signing) ?? ((head) => signing.sign(head)),
      },
      clock: around.clock ?? systemClock,
      random,
      telemetry,
      intervalMs: around.intervalMs ?? 5,
    }),
  );
  await checkpointer.settle(storage.logOrigin);
  checkpointer.start();
  const fill = (tenant: string, count: number) => fillLog(storage, tenant, count);
  const latest = async (tenant: string) => (await storage.tree.forTenant(tenant).tree())?.latest();
  const covers = async (tenant: string, size: number) =>
    checkpointer.covers(
      { tenant, size, deadline: new Deadline() },
      async () => ((await latest(tenant))?.size ?? 0) >= size,
    );
  const close = () => stack.disposeAsync();
  return { storage, signing, anchor: file, checkpointer, lines, fill, latest, covers, close };
}

export const headOf = (anchor: Anchor, tenant: string) => anchor.heads().get(`audit.example.com/t/${tenant}`);
