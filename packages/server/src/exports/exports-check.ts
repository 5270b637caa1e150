// The health of exports: whether files can be written where they are kept.

import type { Check } from '../admin/health.ts';
import type { ExportFiles } from './export-files.ts';

export function exportsCheck(files: Pick<ExportFiles, 'tryOut'>): Check {
  return {
    name: 'exports',
    essential: false,
    async run() {
      try {
        await files.tryOut();
        return { status: 'Healthy', description: 'Files of exports can be written.' };
      } catch {
        const description = 'Files of exports cannot be written at the moment. The diagnostics say why.';
        return { status: 'Degraded', description };
      }
    },
  };
}
