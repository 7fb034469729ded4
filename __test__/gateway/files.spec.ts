/** Uploads and downloads over HTTP (G16). What messages make of them is in `file-messages.spec.ts`. */

import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { watchUploads } from '../support/file-uploads.ts'
import type { WatchedUploads } from '../support/file-uploads.ts'
import { bootGateway, Gate, input, makeHome, nextEvent, original, user } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import type { NewerAttachments } from '../support/newer/attachments.ts'
import { OWN_PATH, ownServer } from '../support/own-server.ts'
import { png } from '../support/png.ts'
import { get, partOf, transfer, upload, uploadHeaders } from '../support/transfers.ts'
import type { Transfer, TransferOptions } from '../support/transfers.ts'

const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const brief = async (begun: Transfer): Promise<readonly [number, string]> => {
  const [status, code] = await begun.refused()
  return [status, code]
}

/** Names of everything that the image store holds. */
function imagesIn(gateway: TestGateway): string[] {
  const root = join(gateway.host.home, 'attachments')
  return existsSync(root) ? readdirSync(root, { recursive: true, withFileTypes: true }).filter(entry => entry.isFile()).map(({ name }) => name) : []
}

/** A gateway on a Host that holds files of any type. */
async function withUploads(t: TestContext, config = {}, options = {}): Promise<{ gateway: TestGateway, uploads: WatchedUploads }> {
  const gateway = await bootGateway(t, config, options)
  return { gateway, uploads: await watchUploads(gateway.host) }
}

test('an image is stored by the Host and downloaded by its URL, without any agent', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  const bytes = png(16, 16)
  const part = await partOf(upload(first, bytes, 'Bild ü.png', 'Image/PNG; a=b'))
  assert.deepEqual(part, {
    type: 'image',
    source: { type: 'url', value: part.source.value, mimeType: 'image/png' },
    metadata: { filename: 'Bild ü.png', size: bytes.length, sha256: sha256(bytes) },
  })
  assert.ok(part.source.value.startsWith('/ag-ui/threads/thread-1/files/'), part.source.value)
  assert.deepEqual(imagesIn(first), [sha256(bytes)])
  const { status, headers, body } = await get(first, part.source.value).answer()
  assert.equal(status, 200)
  assert.ok(body.equals(bytes))
  assert.deepEqual({ ...headers, date: undefined, connection: undefined }, {
    'content-type': 'image/png',
    'content-length': String(bytes.length),
    'content-disposition': `attachment; filename="Bild _.png"; filename*=UTF-8''Bild%20%C3%BC.png`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    'date': undefined,
    'connection': undefined,
  })
  assert.deepEqual(first.agents, [])
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  assert.ok((await get(second, part.source.value).answer()).body.equals(bytes))
  assert.deepEqual(second.agents, [])
})

test('every image type that the Host takes, under the name that it is', async (t) => {
  const gateway = await bootGateway(t)
  const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///ywAAAAAAQABAAACAUwAOw==', 'base64')
  assert.equal((await partOf(upload(gateway, gif, 'a.gif', 'image/gif'))).type, 'image')
  assert.deepEqual(await brief(upload(gateway, gif, 'a.png', 'image/png')), [415, 'UNSUPPORTED_MEDIA_TYPE'])
  assert.deepEqual(await brief(upload(gateway, 'no image at all', 'a.png', 'image/png')), [415, 'UNSUPPORTED_MEDIA_TYPE'])
  assert.deepEqual(await brief(upload(gateway, '', 'a.png', 'image/png')), [415, 'UNSUPPORTED_MEDIA_TYPE'])
  assert.deepEqual(await brief(upload(gateway, png().subarray(0, 60), 'a.png', 'image/png')), [415, 'UNSUPPORTED_MEDIA_TYPE'])
  assert.deepEqual(await brief(upload(gateway, png(2001, 1), 'a.png', 'image/png')), [413, 'FILE_TOO_LARGE'])
  assert.deepEqual(imagesIn(gateway), [sha256(gif)])
})

test('every rule of an upload\'s head has its code', async (t) => {
  const gateway = await bootGateway(t, { maxFileBytes: 100 })
  const send = (options: TransferOptions & { rest?: string, raw?: boolean }): Transfer => {
    const begun = transfer(gateway, `${gateway.url}${options.rest ?? '/threads/thread-1/files'}`, {
      method: 'POST', ...options, headers: { ...uploadHeaders('x', 'image/png', 0), ...options.headers },
    })
    begun.request.end()
    return begun
  }
  const headers = (headers: TransferOptions['headers']): Transfer => send({ headers: headers ?? {} })
  const cases: [Transfer, number, string][] = [
    [headers({ 'content-length': undefined, 'transfer-encoding': 'chunked' }), 411, 'LENGTH_REQUIRED'],
    [headers({ 'content-length': '101' }), 413, 'FILE_TOO_LARGE'],
    [headers({ 'x-file-name': undefined }), 400, 'INVALID_FILE_NAME'],
    ...['', '%20', '.', '..', 'a/b', '%2e%2E', 'a%2Fb', 'a%5cb', 'a%0Ab', '%', '%f', '%zz', '%ff', 'x'.repeat(256)].map(
      name => [headers({ 'x-file-name': name }), 400, 'INVALID_FILE_NAME'] as [Transfer, number, string]),
    [headers({ 'x-file-name': ['a', 'b'] }), 400, 'INVALID_FILE_NAME'],
    [headers({ 'content-type': 'png' }), 415, 'UNSUPPORTED_MEDIA_TYPE'],
    [send({ rest: '/threads/-x/files' }), 400, 'INVALID_IDENTITY'],
    [send({ rest: '/threads/%25/files' }), 400, 'INVALID_IDENTITY'],
    [send({ rest: `/threads/${'x'.repeat(257)}/files` }), 400, 'INVALID_IDENTITY'],
    [send({ rest: '/threads//files' }), 400, 'INVALID_IDENTITY'],
    [send({ rest: '/threads/a/files/' }), 404, 'NOT_FOUND'],
    [send({ method: 'PUT' }), 405, 'METHOD_NOT_ALLOWED'],
    [headers({ authorization: 'Bearer no' }), 401, 'UNAUTHORIZED'],
    [headers({ 'x-dsh-user-id': 'a b' }), 400, 'INVALID_IDENTITY'],
  ]
  for (const [begun, status, code] of cases) assert.deepEqual(await brief(begun), [status, code])
  const wrongMethod = send({ method: 'GET' })
  assert.equal((await wrongMethod.response()).headers.allow, 'POST')
  assert.deepEqual(gateway.agents, [])
})

test('lengths that Node\'s own parser would not let through', async (t) => {
  const gateway = await bootGateway(t)
  // A server in front that lets a body have both framings, and a length that is none.
  const raw = await ownServer(t, gateway, {
    insecureHTTPParser: true,
    change: (req) => { if (req.headers['x-length'] !== undefined) req.headers['content-length'] = String(req.headers['x-length']) },
  })
  const send = (headers: Record<string, string>, body: string): Promise<string> => raw(`POST ${OWN_PATH}/threads/a/files`, {
    'x-file-name': 'x', 'content-type': 'image/png', 'transfer-encoding': 'chunked', ...headers,
  }, body)
  const three = '3\r\nabc\r\n0\r\n\r\n'
  assert.equal(await send({ 'content-length': '2' }, three), '400 CONTENT_LENGTH_MISMATCH')
  assert.equal(await send({ 'content-length': '4' }, three), '400 CONTENT_LENGTH_MISMATCH')
  assert.equal(await send({ 'x-length': '1e1' }, three), '400 INVALID_CONTENT_LENGTH')
  assert.equal(await send({ 'x-length': '-1' }, three), '400 INVALID_CONTENT_LENGTH')
  assert.deepEqual(imagesIn(gateway), [])
})

test('only the owner opens a URL, as long as the secret is the same', async (t) => {
  const home = makeHome(t)
  const gateway = await bootGateway(t, {}, { home })
  const { source: { value: url } } = await partOf(upload(gateway, png(), 'a.png', 'image/png'))
  const { source: { value: other } } = await partOf(upload(gateway, png(), 'b.png', 'image/png', { thread: 'thread-2' }))
  const [path = '', query = ''] = url.split('?')
  const [, otherQuery = ''] = other.split('?')
  const forbidden = async (...args: [string, TransferOptions?]) => {
    assert.deepEqual(await brief(get(gateway, ...args)), [403, 'FILE_FORBIDDEN'], args[0])
  }
  await forbidden(url, { userId: 'user-2' })
  await forbidden(url, { tenantId: 'tenant-2' })
  await forbidden(url.replace('thread-1', 'thread-2'))
  await forbidden(path)
  await forbidden(`${path}?${otherQuery}`)
  await forbidden(`${path}?file=e30&sig=e30`)
  await forbidden(`${url}&sig=AAAA`)
  await forbidden(`${path}?${query.replace(/.$/u, last => last === 'A' ? 'Q' : 'A')}`)
  await forbidden(`${path}?${query.replace('file=', 'file=A')}`)
  assert.deepEqual(await brief(get(gateway, url, { headers: { authorization: undefined } })), [401, 'UNAUTHORIZED'])
  assert.deepEqual(await brief(get(gateway, url, { method: 'DELETE' })), [405, 'METHOD_NOT_ALLOWED'])
  assert.equal((await get(gateway, `${url}&trace=1`).answer()).status, 200)
  rmSync(join(home, 'attachments'), { recursive: true })
  assert.deepEqual(await brief(get(gateway, url)), [404, 'FILE_NOT_FOUND'])
  await gateway.host.attachments.dispose()
  assert.deepEqual(await brief(get(gateway, url)), [501, 'HOST_SERVICE_MISSING'])
  await gateway.unload()
  await gateway.mount({ sharedSecret: 'another secret of it' })
  assert.deepEqual(await brief(get(gateway, url, { headers: { authorization: 'Bearer another secret of it' } })), [403, 'FILE_FORBIDDEN'])
})

test('other files are staged with the thread\'s agent, and are there after a restart', async (t) => {
  const home = makeHome(t)
  const { gateway, uploads } = await withUploads(t, {}, { home })
  const bytes = Buffer.from(Array.from({ length: 300_000 }, (_, at) => at % 251))
  const part = await partOf(upload(gateway, bytes, 'report.pdf', 'application/pdf'))
  assert.deepEqual([part.type, part.source.mimeType, part.metadata], [
    'document', 'application/pdf', { filename: 'report.pdf', size: bytes.length, sha256: sha256(bytes) },
  ])
  // The agent stays, and with it what is staged.
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 1)
  const again = await partOf(upload(gateway, bytes, 'report.pdf', 'application/pdf'))
  assert.notEqual(again.source.value, part.source.value)
  const kinds = ['audio/ogg', 'video/mp4', 'image/svg+xml', 'text/plain'].map(
    async mediaType => (await partOf(upload(gateway, 'x', 'x', mediaType))).type)
  assert.deepEqual(await Promise.all(kinds), ['audio', 'video', 'image', 'document'])
  const empty = await partOf(upload(gateway, '', 'empty', 'text/plain'))
  assert.deepEqual(empty.metadata, { filename: 'empty', size: 0, sha256: sha256(Buffer.alloc(0)) })
  assert.equal((await get(gateway, empty.source.value).answer()).headers['content-length'], '0')
  await gateway.host.dispose()
  const second = await withUploads(t, {}, { home })
  const answer = await get(second.gateway, part.source.value).answer()
  assert.ok(answer.body.equals(bytes))
  assert.equal(answer.headers['content-type'], 'application/pdf')
  assert.deepEqual(second.gateway.agents, [])
  rmSync(uploads.root, { recursive: true })
  assert.deepEqual(await brief(get(second.gateway, part.source.value)), [404, 'FILE_NOT_FOUND'])
})

test('an image that the image store would not take is staged as a file', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const bytes = Buffer.alloc(4_000_000)
  const part = await partOf(upload(gateway, bytes, 'big.png', 'image/png'))
  assert.equal(part.type, 'image')
  assert.equal(uploads.receiptsOf(gateway.agent()).size, 1)
  assert.ok((await get(gateway, part.source.value).answer()).body.equals(bytes))
})

test('threads are limited for uploads too', async (t) => {
  const { gateway } = await withUploads(t, { maxThreads: 1 })
  await partOf(upload(gateway, 'x', 'x', 'text/plain'))
  assert.deepEqual(await brief(upload(gateway, 'x', 'x', 'text/plain', { thread: 'thread-2' })), [429, 'THREAD_LIMIT_REACHED'])
  await partOf(upload(gateway, 'x', 'x', 'text/plain'))
})

test('a client that leaves in the middle of its upload leaves nothing behind', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const reached = Promise.withResolvers<void>()
  uploads.onChunk = () => { reached.resolve() }
  const gone = new Promise<void>((resolve) => { gateway.host.ctx.on('agent/disposed', () => { resolve() }) })
  const begun = transfer(gateway, `${gateway.url}/threads/thread-1/files`, {
    method: 'POST', headers: uploadHeaders('x', 'text/plain', 1_000_000),
  })
  begun.request.write(Buffer.alloc(100_000))
  await reached.promise
  begun.leave()
  await gone
  assert.deepEqual(readdirSync(uploads.root), [])
  assert.deepEqual(gateway.agents, [])
  const image = transfer(gateway, `${gateway.url}/threads/thread-1/files`, {
    method: 'POST', headers: uploadHeaders('x', 'image/png', 1_000_000),
  })
  const closed = new Promise<void>((resolve) => { image.request.once('close', resolve) })
  image.request.write(png())
  image.leave()
  await closed
  assert.deepEqual(imagesIn(gateway), [])
})

test('a client that leaves while its thread is being opened lets the thread go', async (t) => {
  const { gateway } = await withUploads(t)
  const gate = new Gate()
  const letThrough = gateway.holdOpening(gate)
  const gone = new Promise<void>((resolve) => { gateway.host.ctx.on('agent/disposed', () => { resolve() }) })
  const begun = upload(gateway, 'x', 'x', 'text/plain')
  await gate.reached
  begun.leave()
  gate.open()
  await gone
  letThrough()
  assert.deepEqual(gateway.agents, [])
})

test('unloading the gateway ends uploads and downloads, and waits for them', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const part = await partOf(upload(gateway, Buffer.alloc(1_000_000), 'x', 'text/plain'))
  let arrivals = 0
  const both = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  uploads.onChunk = async () => {
    arrivals += 1
    if (arrivals === 2) both.resolve()
    await gate.promise
  }
  const up = upload(gateway, Buffer.alloc(1_000_000), 'y', 'text/plain')
  const down = get(gateway, part.source.value)
  await both.promise
  const unloaded = gateway.unload()
  gate.resolve()
  await unloaded
  assert.deepEqual(await brief(up), [410, 'AGENT_NOT_AVAILABLE'])
  assert.deepEqual(await brief(down), [410, 'AGENT_NOT_AVAILABLE'])
  assert.deepEqual(readdirSync(uploads.root).length, 1)
})

test('an agent that goes away takes its uploads along', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const reached = Promise.withResolvers<void>()
  uploads.onChunk = () => { reached.resolve() }
  const begun = transfer(gateway, `${gateway.url}/threads/thread-1/files`, {
    method: 'POST', headers: uploadHeaders('x', 'text/plain', 1_000_000),
  })
  begun.request.write(Buffer.alloc(100_000))
  await reached.promise
  void gateway.host.loop.dispose()
  assert.deepEqual(await brief(begun), [410, 'AGENT_NOT_AVAILABLE'])
  assert.deepEqual(readdirSync(uploads.root), [])
})

test('a store that fails tells the client nothing of itself', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  uploads.onChunk = () => { throw new Error('disk /dev/secret is full') }
  const [status, code, message] = await upload(gateway, 'x', 'x', 'text/plain').refused()
  assert.deepEqual([status, code, message], [500, 'AGENT_EXECUTION_ERROR', 'the Host failed'])
})

test('a large body that is refused in its middle still gets its answer', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const bytes = Buffer.alloc(8_000_000)
  uploads.onChunk = () => { throw new Error('the disk is full') }
  for (let round = 0; round < 5; round += 1) {
    assert.deepEqual(await brief(upload(gateway, bytes, 'x', 'text/plain')), [500, 'AGENT_EXECUTION_ERROR'])
  }
  await gateway.host.attachments.dispose()
  assert.deepEqual(await brief(upload(gateway, bytes, 'x', 'text/plain', { headers: { 'x-file-name': '/' } })), [400, 'INVALID_FILE_NAME'])
  assert.deepEqual(readdirSync(uploads.root), [])
})

test('a download that fails in its middle is broken off', async (t) => {
  const { gateway, uploads } = await withUploads(t)
  const part = await partOf(upload(gateway, Buffer.alloc(1_000_000), 'x', 'text/plain'))
  let pieces = 0
  uploads.onChunk = () => {
    pieces += 1
    if (pieces > 3) throw new Error('the disk is gone')
  }
  await assert.rejects(get(gateway, part.source.value).answer())
})

test('a client that leaves its download stops the reading', async (t) => {
  const { gateway } = await withUploads(t)
  const part = await partOf(upload(gateway, Buffer.alloc(30_000_000), 'x', 'text/plain'))
  const stopped = Promise.withResolvers<void>()
  const store = original(gateway.host.ctx.attachments) as unknown as NewerAttachments
  const { readFileStream } = store
  store.readFileStream = async function* (...args) {
    try {
      yield* readFileStream.apply(this, args)
    } finally {
      stopped.resolve()
    }
  }
  const begun = get(gateway, part.source.value)
  const response = await begun.response()
  response.once('readable', () => { begun.leave() })
  response.on('error', () => {})
  await stopped.promise
})

test('an upload goes on beside a run', async (t) => {
  const { gateway } = await withUploads(t)
  gateway.adapter.queue('hang')
  const run = gateway.post(input({ messages: [user('u-1', 'hi')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  const part = await partOf(upload(gateway, 'x', 'x', 'text/plain'))
  assert.equal(part.metadata.size, 1)
  const ended = nextEvent(gateway.agent(), 'turn/end')
  run.leave()
  await ended
})
