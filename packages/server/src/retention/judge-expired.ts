// Judges expired content before it is removed. Who can write to the database can move an expiry, or exchange what is stored about the
// decision: so the texts of each event are held against the signed log, and the decision is made again from them and from the
// settings and policies that were in force. What does not follow stays. Where no rule had a condition, no text has decided anything,
// and none is read.

import type { TenantId } from '@tallystick/contract';
import type { Signing } from '../keys/signing.ts';
import type { ContentsPortion, ProvenContent } from '../streams/removal/proven.ts';
import type { ExpiredRun } from '../streams/removal/removal.ts';
import type { TreesWith } from '../streams/tree.ts';
import type { RecordHistories, RecordHistory } from './record-history.ts';

/** Consecutive events that stay. */
export interface KeptRun {
  readonly firstIndex: number;
  readonly endIndex: number;
  /** Of the first one. */
  readonly why: string;
  /** Its expiry may be right: it is only not known, and the longest retention that it may have is not over. */
  readonly isUndecided: boolean;
}

export interface Judged {
  /** In order; each run is a part of one that was asked for. */
  readonly removable: readonly ExpiredRun[];
  readonly kept: readonly KeptRun[];
}

export interface JudgeParts {
  readonly trees: TreesWith<'provenContents'>;
  readonly signing: Pick<Signing, 'publicKeys'>;
  readonly histories: RecordHistories;
}

/** Enough for one portion. */
const RUNS_AT_ONCE = 1000;
const UNDECIDED =
  'it is not known what has decided about it, and the longest retention that it may have is not over';

/** `runs` are in order, in one log, and signed. */
export async function judgeExpired(
  tenant: TenantId,
  runs: readonly ExpiredRun[],
  untilMs: number,
  { trees, signing, histories }: JudgeParts,
  pause: () => Promise<void> | undefined,
): Promise<Judged> {
  const verdicts = new Verdicts(untilMs);
  const history = histories.of(tenant);
  await history.readTo(runs.at(-1)?.endIndex ?? 0, pause);
  let sinceMs = -Infinity;
  for (let left = runs; left.length > 0; ) {
    const spans = left.slice(0, RUNS_AT_ONCE).map(({ firstIndex, endIndex }) => ({ firstIndex, endIndex }));
    const whole = { firstIndex: spans[0]!.firstIndex, endIndex: spans.at(-1)!.endIndex };
    const isWithoutTexts = await history.asksNothing(whole, sinceMs);
    const request = { spans, publicKeys: signing.publicKeys(), isWithoutTexts };
    const portion = await trees.forTenant(tenant).provenContents(request);
    await judgePortion(portion, left, history, verdicts, pause);
    sinceMs = portion.contents.at(-1)?.receivedAtMs ?? sinceMs;
    left = from(portion.nextIndex, left);
  }
  return verdicts.judged();
}

async function judgePortion(
  { contents, unproven }: ContentsPortion,
  runs: readonly ExpiredRun[],
  history: RecordHistory,
  verdicts: Verdicts,
  pause: () => Promise<void> | undefined,
): Promise<void> {
  for (const { index, message } of unproven) verdicts.keep(index, message);
  let at = 0;
  for (const content of contents) {
    while (runs[at]!.endIndex <= content.index) at++;
    const past = history.at(content.index);
    const known = past instanceof Promise ? await past : past;
    const { decidedBy } = runs[at]!;
    verdicts.judge(content, decidedBy, known.endOf({ ...content, decidedBy }));
    await pause();
  }
}

function from(index: number, runs: readonly ExpiredRun[]): ExpiredRun[] {
  return runs
    .filter(({ endIndex }) => endIndex > index)
    .map((run) => ({ ...run, firstIndex: Math.max(run.firstIndex, index) }));
}

class Verdicts {
  readonly #untilMs: number;
  readonly #removable: ExpiredRun[] = [];
  readonly #kept: KeptRun[] = [];

  constructor(untilMs: number) {
    this.#untilMs = untilMs;
  }

  judge(
    { index, expiresAtMs = Infinity }: ProvenContent,
    decidedBy: string | undefined,
    end: { readonly atMs: number } | { readonly why: string },
  ): void {
    if ('why' in end) return this.keep(index, end.why);
    // Its row was corrected meanwhile.
    if (expiresAtMs > this.#untilMs) return;
    if (end.atMs > this.#untilMs) return this.keep(index, UNDECIDED, true);
    const last = this.#removable.at(-1);
    if (last?.endIndex === index && last.decidedBy === decidedBy)
      this.#removable[this.#removable.length - 1] = { ...last, endIndex: index + 1 };
    else this.#removable.push({ firstIndex: index, endIndex: index + 1, decidedBy });
  }

  keep(index: number, why: string, isUndecided = false): void {
    const last = this.#kept.at(-1);
    if (last?.endIndex === index && last.isUndecided === isUndecided)
      this.#kept[this.#kept.length - 1] = { ...last, endIndex: index + 1 };
    else this.#kept.push({ firstIndex: index, endIndex: index + 1, why, isUndecided });
  }

  judged(): Judged {
    return { removable: this.#removable, kept: this.#kept };
  }
}
