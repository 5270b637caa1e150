// Where several nodes serve from one database, any of them may be asked for a file that another has made, so all of them must keep files in
// one directory. Each node leaves a mark in its directory and renews it. A node that serves, and whose mark does not change in the directory of
// this one, keeps its files elsewhere, or cannot write there; a mark that somebody has copied with the directory does not change either.

import type { NodeState } from '../nodes/nodes.ts';
import type { Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';

/** Beside the files of exports: a text for each node, by its name. */
export interface NodeMarks {
  leave(node: string, text: string): Promise<void>;
  read(): Promise<ReadonlyMap<string, string>>;
  remove(node: string): Promise<void>;
}

export interface SharedFolderParts {
  readonly marks: NodeMarks;
  /** All that take part; none, if this process has the store to itself. */
  readonly nodes: () => readonly Pick<NodeState, 'name' | 'isGone' | 'isSelf'>[];
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'warn' | 'error' | 'info'>;
  /** For diagnostics. */
  readonly directory: string;
}

const PACE_MS = 10_000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 60_000;
/** NFS may show a new file a minute late. */
const APART_NS = 90e9;
/** Marks of names that no node has any more. */
const LEFT_NS = 3600e9;

interface Seen {
  readonly text: string | undefined;
  readonly sinceNs: number;
}

export class SharedFolder {
  readonly #parts: SharedFolderParts;
  readonly #seen = new Map<string, Seen>();
  #serving: readonly string[] = [];
  #apart: readonly string[] = [];

  constructor(parts: SharedFolderParts) {
    this.#parts = parts;
  }

  /** The nodes that keep their files elsewhere. */
  apart(): readonly string[] {
    return this.#apart;
  }

  start(): Loop {
    const { clock, random, telemetry } = this.#parts;
    return startLoop({
      clock,
      random,
      paceMs: PACE_MS,
      backOffMs: BACK_OFF_MS,
      backOffMsMax: BACK_OFF_MS_MAX,
      turn: () => this.look(),
      onFailure: ({ error }) =>
        telemetry.error('the mark of this node among the files of exports failed', error),
      onBroken: (error) =>
        telemetry.error('nodes no longer look whether they share the files of exports', error),
    });
  }

  async look(): Promise<void> {
    const { marks, nodes, random, clock } = this.#parts;
    const all = nodes();
    const self = all.find(({ isSelf }) => isSelf);
    if (self === undefined) return;
    await marks.leave(self.name, random.uuid());
    const there = await marks.read();
    const nowNs = clock.monotonicNs();
    const serving = all.filter(({ isSelf, isGone }) => !isSelf && !isGone).map(({ name }) => name);
    for (const name of new Set([...serving, ...there.keys(), ...this.#seen.keys()])) {
      const text = there.get(name);
      const seen = this.#seen.get(name);
      // One that serves again has not had the time to renew its mark.
      const isBack = serving.includes(name) && !this.#serving.includes(name);
      if (seen?.text !== text || seen === undefined || isBack) this.#seen.set(name, { text, sinceNs: nowNs });
      else if (text === undefined && !serving.includes(name)) this.#seen.delete(name);
    }
    this.#serving = serving;
    const silentNs = (name: string) => nowNs - this.#seen.get(name)!.sinceNs;
    this.#tell(serving.filter((name) => silentNs(name) >= APART_NS));
    const known = new Set(all.map(({ name }) => name));
    for (const name of there.keys())
      if (!known.has(name) && silentNs(name) >= LEFT_NS) await marks.remove(name);
  }

  #tell(apart: readonly string[]): void {
    const { telemetry, directory } = this.#parts;
    const isSame = apart.join() === this.#apart.join();
    this.#apart = apart;
    if (isSame) return;
    if (apart.length === 0) telemetry.info('all nodes share the directory of exports', { directory });
    else
      telemetry.warn(
        'other nodes keep files of exports elsewhere, or cannot write them: set Exports__Directory of all nodes to one directory that they share',
        { directory, nodes: apart.join(', ') },
      );
  }
}
