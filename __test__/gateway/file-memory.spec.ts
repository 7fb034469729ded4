/** 100 MB go through a process whose memory stays what it was (G16). */

import assert from 'node:assert/strict'
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { test } from 'node:test'
import { SECRET } from '../support/gateway.ts'
import type { Report } from '../support/transfer-worker.ts'
import { uploadHeaders } from '../support/transfers.ts'
import type { FilePart } from '../support/transfers.ts'

const PIECE = Buffer.alloc(64 * 1024, 0x5a)
const LIMIT = 16 * 1024 * 1024

test('100 MB up and down through a process that grows by less than 16 MB', async (t) => {
  const child = fork(join(import.meta.dirname, '..', 'support', 'transfer-worker.ts'), { execArgv: ['--expose-gc'] })
  t.after(() => { child.kill() })
  const report = async (): Promise<Report> => (await once(child, 'message'))[0] as Report
  const ask = async (order: string): Promise<Report> => {
    const answered = report()
    child.send(order)
    return await answered
  }
  const ready = await report()
  assert.ok(ready.kind === 'ready')
  const identity = { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 't', 'x-dsh-user-id': 'u' }

  const upload = async (megabytes: number): Promise<string> => {
    const length = megabytes * 1_000_000
    const request = httpRequest(`${ready.url}/ag-ui/threads/a/files`, {
      method: 'POST', headers: { ...identity, ...uploadHeaders('big.bin', 'application/octet-stream', length) },
    })
    const responded = once(request, 'response') as Promise<[IncomingMessage]>
    await pipeline(Readable.from(pieces(length)), request)
    const [response] = await responded
    const body = Buffer.concat(await response.toArray() as Buffer[]).toString()
    assert.equal(response.statusCode, 201, body)
    return (JSON.parse(body) as FilePart).source.value
  }
  const download = async (url: string): Promise<number> => {
    const request = httpRequest(new URL(url, ready.url), { headers: identity })
    request.end()
    const [response] = await once(request, 'response') as [IncomingMessage]
    let length = 0
    for await (const chunk of response) length += (chunk as Buffer).length
    return length
  }

  // What a first transfer loads stays for the others.
  await download(await upload(2))
  await ask('begin')
  const url = await upload(100)
  const up = await ask('measure')
  assert.ok(up.kind === 'measured' && up.pieces > 1000, JSON.stringify(up))
  assert.ok(up.grown < LIMIT, `uploading grew the process by ${up.grown} bytes`)
  await ask('begin')
  assert.equal(await download(url), 100_000_000)
  const down = await ask('measure')
  assert.ok(down.kind === 'measured' && down.pieces > 1000, JSON.stringify(down))
  assert.ok(down.grown < LIMIT, `downloading grew the process by ${down.grown} bytes`)
  const exited = once(child, 'exit')
  child.send('end')
  assert.deepEqual(await exited, [0, null])
})

function* pieces(length: number): Generator<Buffer> {
  for (let left = length; left > 0; left -= PIECE.length) yield left < PIECE.length ? PIECE.subarray(0, left) : PIECE
}
