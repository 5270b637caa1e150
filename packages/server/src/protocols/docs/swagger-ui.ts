// The files of Swagger UI. A package of ours has a copy beside its modules, made when it is packed, so that those who install it get
// two files and not the packages that come with them; in the repository they are where npm has put them.

import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export type SwaggerUiFile = 'swagger-ui-bundle.js' | 'swagger-ui.css';

const BESIDE = join(import.meta.dirname, 'swagger-ui');

export async function readSwaggerUi(file: SwaggerUiFile): Promise<Buffer> {
  try {
    return await readFile(join(BESIDE, file));
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error;
  }
  const manifest = createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json');
  return readFile(join(manifest, '..', 'static', file));
}
