// The standard event of every benchmark: a request body of about 1,000 bytes of ASCII JSON that makes
// 15 units. The same index gives the same event; another index gives another one of the same size.

const FIRST_TIMESTAMP_MS = Date.UTC(2026, 0, 2, 3, 4, 5, 678);

export function standardEvent(index = 0) {
  const number = String(index).padStart(8, '0');
  return {
    timestamp: new Date(FIRST_TIMESTAMP_MS + index).toISOString(),
    actor: { actorType: 'User', userId: `u-${number}`, userName: `ana.${number}@acme.test` },
    action: 'Approve.Invoice',
    resource: { resourceType: 'Invoice', resourceId: `INV-${number}` },
    classification: 'Confidential',
    outcome: 'Success',
    correlationId: `7d3f0c52-6a3e-4b51-9a0e-2f6b${number}`,
    context: {
      ipAddress: '203.0.113.7',
      userAgent:
        'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0 Safari/537.36',
    },
    payload: {
      amount: 1250.5,
      lines: [
        {
          sku: 'chair/oak',
          quantity: 2,
          price: 399.95,
          taxed: true,
          delivery: '2026-01-15',
          costCentre: null,
        },
        {
          sku: 'desk/oak',
          quantity: 1,
          price: 450.6,
          taxed: true,
          delivery: '2026-02-01',
          costCentre: 'B-7',
        },
      ],
      note: 'Approved above the limit of the team. The supplier takes ten per cent off both chairs if they are ordered in January; the desk has no discount. See the offer of 30 December and the answer of the board, both in the file of the project.',
    },
  };
}
