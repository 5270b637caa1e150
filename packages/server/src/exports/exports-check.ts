// The health of exports: whether files can be written where they are kept, and whether that is the same place for all nodes.

import type { Check } from '../admin/health.ts';
import type { ExportFiles } from './export-files.ts';
import type { SharedFolder } from './shared-folder.ts';

const NAMED_MAX = 5;

export function exportsCheck(
  files: Pick<ExportFiles, 'tryOut'>,
  sharing: Pick<SharedFolder, 'apart'>,
): Check {
  return {
    name: 'exports',
    essential: false,
    async run() {
      try {
        await files.tryOut();
      } catch {
        const description = 'Files of exports cannot be written at the moment. The diagnostics say why.';
        return { status: 'Degraded', description };
      }
      const apart = sharing.apart();
      if (apart.length > 0) return { status: 'Degraded', description: apartText(apart) };
      return { status: 'Healthy', description: 'Files of exports can be written.' };
    },
  };
}

function apartText(apart: readonly string[]): string {
  const others = apart.length > NAMED_MAX ? ` and ${apart.length - NAMED_MAX} others` : '';
  const names = apart.slice(0, NAMED_MAX).join(', ') + others;
  return (
    `Other nodes keep files of exports elsewhere than this one, or cannot write them: ${names}. ` +
    'Set Exports__Directory of all nodes to one directory that they share.'
  );
}
