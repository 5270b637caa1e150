// The exports of a tenant over HTTP. A request is retried if its answer is lost; the Idempotency-Key makes sure that there is one export.

import type { Export, ExportReceipt, ExportRequest } from '@tallystick/contract';
import { allPages, type AskedService, askerOf, misshapen } from '../ask-json.ts';
import { areTexts, areTextsIfAny, isCount, membersOf } from '../members.ts';
import { type Change, retried } from '../retried-change.ts';

export interface ServedExports {
  /** All of them, newest first. */
  list(status?: string): Promise<Export[]>;
  get(exportId: string): Promise<Export>;
  create(wanted: ExportRequest, change: Change): Promise<ExportReceipt>;
  retry(exportId: string, change: Change): Promise<ExportReceipt>;
  remove(exportId: string): Promise<void>;
}

const PAGE = 100;
const ROOT = 'exports';
const ADVICE = {
  401: 'give an API key that may export (audit:export) by TALLYSTICK_API_KEY or --api-key',
  403: 'the API key may not export here: it needs audit:export, the role Admin or Auditor if it has roles, and the tenant',
  404: 'is this the address of a service?',
} as const;
/** Of one export the service says itself that it is missing. */
const ONE_ADVICE = { ...ADVICE, 404: undefined } as const;

export function servedExports(service: AskedService): ServedExports {
  const ask = askerOf(service, ADVICE);
  const receipt = async (path: string, change: Change, body: object): Promise<ExportReceipt> => {
    const { answer } = await retried(change, (headers) =>
      ask(path, { method: 'POST', headers, body, advice: ONE_ADVICE }),
    );
    if (!isReceipt(answer)) throw misshapen(path);
    return answer;
  };
  return {
    list: (status) => allPages(ask, ROOT, { status, limit: String(PAGE) }, isExport),
    async get(exportId) {
      const { answer, path } = await ask(exportPath(exportId), { advice: ONE_ADVICE });
      if (!isExport(answer)) throw misshapen(path);
      return answer;
    },
    create: (wanted, change) => receipt(ROOT, change, wanted),
    retry: (exportId, change) => receipt(`${exportPath(exportId)}/retry`, change, {}),
    async remove(exportId) {
      await ask(exportPath(exportId), { method: 'DELETE', advice: ONE_ADVICE });
    },
  };
}

export function exportPath(exportId: string): string {
  return `${ROOT}/${encodeURIComponent(exportId)}`;
}

/** Any server may be at the address. */
function isReceipt(value: unknown): value is ExportReceipt {
  const receipt = membersOf(value);
  return areTexts(receipt, ['exportId', 'status', 'requestedAt']) && isProgress(receipt['progress']);
}

function isExport(value: unknown): value is Export {
  const one = membersOf(value);
  const optional = ['name', 'checksum', 'startedAt', 'completedAt', 'failureReason', 'errorDetails'];
  return (
    isReceipt(value) &&
    areTexts(one, ['format', 'compression', 'requestedBy']) &&
    areTextsIfAny(one, optional) &&
    ['eventCount', 'fileSize'].every((name) => one[name] === undefined || isCount(one[name]))
  );
}

function isProgress(value: unknown): boolean {
  const { percent, processedEvents, totalEvents, eventsPerSecond } = membersOf(value);
  return (
    typeof percent === 'number' &&
    isCount(processedEvents) &&
    (totalEvents === undefined || isCount(totalEvents)) &&
    (eventsPerSecond === undefined || isCount(eventsPerSecond)) &&
    areTextsIfAny(membersOf(value), ['estimatedCompletionAt'])
  );
}
