/**
 * A process that serves one gateway with a store for files of any type, and measures itself: what its memory was before
 * a transfer, and the most that it was at any piece of it. Its parent is the client.
 */

import AgUi from 'dsh-ag-ui'
import { watchUploads } from './file-uploads.ts'
import { configOf } from './gateway.ts'
import { bootHost } from './host.ts'

/** What the parent is told. */
export type Report =
  | { readonly kind: 'ready', readonly url: string }
  | { readonly kind: 'measured', readonly grown: number, readonly pieces: number }

const host = await bootHost()
await host.ctx.plugin(AgUi, configOf(host) as never)
const uploads = await watchUploads(host)

let [before, most, pieces] = [0, 0, 0]
uploads.onChunk = () => {
  pieces += 1
  // V8 lets 32 MB of dead buffers wait before it collects them: what counts is what is held.
  if (pieces % 8 === 0) globalThis.gc?.({ type: 'minor', execution: 'sync' })
  most = Math.max(most, process.memoryUsage().rss)
}

process.on('message', (order: 'begin' | 'measure' | 'end') => {
  if (order === 'begin') {
    globalThis.gc?.()
    ;[before, most, pieces] = [process.memoryUsage().rss, 0, 0]
    process.send?.({ kind: 'measured', grown: 0, pieces })
  } else if (order === 'measure') {
    process.send?.({ kind: 'measured', grown: most - before, pieces } satisfies Report)
  } else {
    void host.dispose().then(() => { process.disconnect() })
  }
})
process.send?.({ kind: 'ready', url: host.url } satisfies Report)
