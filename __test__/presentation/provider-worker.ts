/** A user interface in a worker thread: it serves a provider over its parent port. */

import { parentPort } from 'node:worker_threads'
import { attach, userInteractionImplementation } from 'dsh-ag-ui/presentation'

const implementation = userInteractionImplementation('worker', { operations: ['approval', 'secret-input'] }, {
  interact: async (request: any) => (request.kind === 'approval'
    ? { status: 'submitted', value: { decision: 'approved' } }
    : { status: 'submitted', value: { secret: 'pä"ss\\wörd' } }),
} as never)

const attachment = attach(parentPort!, { participantId: 'worker', implementations: [implementation] })
void attachment.closed.then(() => { parentPort!.close() })
