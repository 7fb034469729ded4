/** Generation A holds images and no other files (G16, N8). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { bootGateway } from '../../support/gateway.ts'
import { png } from '../../support/png.ts'
import { transfer, upload, uploadHeaders } from '../../support/transfers.ts'
import type { Transfer } from '../../support/transfers.ts'

const brief = async (begun: Transfer): Promise<readonly [number, string]> => {
  const [status, code] = await begun.refused()
  return [status, code]
}

test('what this Host cannot hold is refused before its body is read', async (t) => {
  const gateway = await bootGateway(t)
  for (const [mediaType, length, status, code] of [
    ['text/plain', 100_000, 501, 'HOST_SERVICE_MISSING'],
    ['image/svg+xml', 100_000, 501, 'HOST_SERVICE_MISSING'],
    // The image store's own limit is lower than that of files.
    ['image/png', 4_000_000, 413, 'FILE_TOO_LARGE'],
  ] as const) {
    // Not one byte of the body is sent: the answer does not wait for it.
    const begun = transfer(gateway, `${gateway.url}/threads/thread-1/files`, {
      method: 'POST', headers: uploadHeaders('x', mediaType, length),
    })
    begun.request.flushHeaders()
    assert.deepEqual(await brief(begun), [status, code], mediaType)
    assert.equal((await begun.response()).headers.connection, 'close')
  }
  assert.deepEqual(gateway.agents, [])
  await gateway.host.attachments.dispose()
  assert.deepEqual(await brief(upload(gateway, png(), 'a.png', 'image/png')), [501, 'HOST_SERVICE_MISSING'])
})
