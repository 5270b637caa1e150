// A change that somebody makes to a database on purpose, as its superuser, with what must be found of it.

import type { Reason } from '@tallystick/evidence';
import type { Check } from '../../../../packages/server/src/storage/fsck/checks.ts';
import type { Say } from './tampered-database.ts';

export interface NamedChange {
  readonly title: string;
  readonly on?: 'plain' | 'tiled';
  readonly tamper: (say: Say) => Promise<void>;
  readonly expected: readonly [tenant: string | undefined, reason: Reason, index?: number];
  /** The checks without which it is missed. */
  readonly control?: Check | readonly Check[];
}

export const sql = (text: string) => async (say: Say) => void (await say(text));
export const at = (tenant: string, index: number) => `tenant_id = '${tenant}' AND leaf_index = ${index}`;
export const ACME = "tenant_id = 'acme'";
