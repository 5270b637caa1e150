// How a copy begins, from what both sides say: the row `copy` in the database, and moved.json in the data directory. A copy
// resumes only if both name the same copy: then nothing here has changed since it began.

import { StartError } from '../start-error.ts';
import type { Installation } from '../storage/installation.ts';
import type { Move } from '../storage/files/moved-store.ts';
import type { CopyTargetState } from '../storage/postgres/copy/copy-mark.ts';

/** `Anew`: the database has a part of another state of this directory, which is removed. `Before`: it has all of it. */
export type CopyStart =
  | { readonly how: 'Fresh' | 'Anew' }
  | { readonly how: 'GoOn' | 'Before'; readonly copyId: string };

/** Throws StartError for a database that holds anything else, and for a directory that has moved elsewhere. */
export function copyStart(
  target: CopyTargetState,
  move: Move | undefined,
  { installationId }: Installation,
): CopyStart {
  const { mark, installation, isEmpty } = target;
  const isSame = mark !== undefined && mark.copyId === move?.copyId;
  if (move?.state === 'Moved' && !isSame)
    throw new StartError(
      `the data has moved to ${move.to} already, and may have gone on there: copy from there, or, if a service was never started there, remove moved.json`,
    );
  if (mark === undefined) {
    if (installation !== undefined)
      throw new StartError(`the database holds an installation already: ${installation.logOrigin}`);
    if (!isEmpty) throw new StartError('the database is not empty');
    return { how: 'Fresh' };
  }
  if (installation?.installationId !== installationId)
    throw new StartError(
      `the database holds a copy of another installation: ${installation?.logOrigin ?? 'of unknown name'}`,
    );
  if (mark.state === 'Whole') {
    if (isSame) return { how: 'Before', copyId: mark.copyId };
    throw new StartError(
      'the database holds a whole copy already, and may have been served: name another, or, if a service was never started there, drop its schema tallystick',
    );
  }
  return isSame && mark.state === 'Copying' ? { how: 'GoOn', copyId: mark.copyId } : { how: 'Anew' };
}
