/** Declared deliverables: activities in runs, and their files (G15). */

import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { FsError } from '@deepseek-ai/dsh-fs'
import { connect, VERSIONS } from '../support/client.ts'
import {
  bootGateway, callTools, Gate, history, hostTool, input, logOf, makeHome, original, outline, registerTools, say, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway, WireEvent } from '../support/gateway.ts'
import { get, mountPresent } from '../support/transfers.ts'

interface Content {
  readonly turn: number
  readonly callId: string
  readonly files: readonly { readonly path: string, readonly description?: string, readonly url: string }[]
}

type Boot = Parameters<typeof bootGateway>

/** A gateway whose agents can present. */
async function boot(t: TestContext, config: Boot[1] = {}, options: Boot[2] = {}): Promise<TestGateway> {
  const gateway = await bootGateway(t, config, options)
  await mountPresent(gateway)
  return gateway
}

function activitiesOf(events: readonly WireEvent[]): readonly WireEvent[] {
  return events.filter(({ type }) => type === 'ACTIVITY_SNAPSHOT')
}

function contentOf(events: readonly WireEvent[]): Content {
  const [activity] = activitiesOf(events)
  assert.ok(activity !== undefined, 'the run has an activity')
  return activity.content as unknown as Content
}

/** Where the thread works. Its first run makes it. */
async function workspaceOf(gateway: TestGateway): Promise<string> {
  await gateway.run()
  return gateway.agent().session.header.cwd ?? assert.fail('the session has a directory')
}

const present = (...files: object[]) => callTools([{ id: 'c-1', name: 'present', args: { files } }])

/** A run that presents files, and the URL of the first. */
async function presented(gateway: TestGateway, ...files: object[]): Promise<{ events: readonly WireEvent[], url: string }> {
  gateway.adapter.queue(present(...files), say('Here you are.'))
  const events = await gateway.run({ messages: [user('u-1', 'make it')] })
  return { events, url: contentOf(events).files[0]?.url ?? assert.fail('a file has a URL') }
}

test('a declaration is an activity at its place, in every history, and after a restart', async (t) => {
  const home = makeHome(t)
  const first = await boot(t, {}, { home })
  const workspace = await workspaceOf(first)
  writeFileSync(join(workspace, 'out.txt'), 'one')
  writeFileSync(join(workspace, 'more.txt'), 'two')
  const { events, url } = await presented(first, { path: 'out.txt', description: 'the out' }, { path: 'more.txt' })
  assert.deepEqual(outline(events).filter(line => !line.startsWith('args')), [
    'RUN_STARTED', 'MESSAGES_SNAPSHOT', 'call c-1 present', 'end c-1', 'card call c-1 generic',
    'ACTIVITY_SNAPSHOT', 'result c-1 Presented out.txt\nPresented more.txt', 'card result c-1 generic',
    'TEXT_MESSAGE_START', 'text Here you are.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const seq = logOf(first.agent()).find(({ type }) => type === 'deliverables/presented' as never)?.seq
  const base = `/ag-ui/threads/thread-1/deliverables/${seq}/files`
  const [activity] = activitiesOf(events)
  assert.deepEqual(activity, {
    type: 'ACTIVITY_SNAPSHOT',
    messageId: activity?.messageId,
    activityType: 'dsh-deliverables',
    content: {
      turn: 1,
      callId: 'c-1',
      files: [{ path: 'out.txt', description: 'the out', url: `${base}/0` }, { path: 'more.txt', url: `${base}/1` }],
    },
  })
  const again = await first.run()
  assert.deepEqual(activitiesOf(again), [activity])
  assert.equal(outline(again).at(-2), 'ACTIVITY_SNAPSHOT')
  const answer = await get(first, `${base}/1`).answer()
  assert.deepEqual([answer.status, answer.body.toString()], [200, 'two'])
  await first.host.dispose()

  const second = await boot(t, {}, { home })
  // The file alone: the thread is opened for it and let go.
  const gone = new Promise<void>((resolve) => { second.host.ctx.on('agent/disposed', () => { resolve() }) })
  writeFileSync(join(workspace, 'out.txt'), 'changed')
  assert.equal((await get(second, url).answer()).body.toString(), 'changed')
  await gone
  assert.deepEqual(second.agents, [])
  assert.deepEqual(activitiesOf(await second.run()), [activity])
})

test('a download is an attachment of the bytes that are there now', async (t) => {
  const gateway = await boot(t)
  const workspace = await workspaceOf(gateway)
  const bytes = Buffer.from(Array.from({ length: 70_000 }, (_, at) => at % 256))
  writeFileSync(join(workspace, 'Bericht ü.bin'), bytes)
  const { url } = await presented(gateway, { path: 'Bericht ü.bin' })
  const { status, headers, body } = await get(gateway, url).answer()
  assert.equal(status, 200)
  assert.ok(body.equals(bytes))
  const { 'content-length': length, 'content-type': type, 'content-disposition': disposition } = headers
  assert.deepEqual([length, type, disposition], [
    '70000', 'application/octet-stream', `attachment; filename="Bericht _.bin"; filename*=UTF-8''Bericht%20%C3%BC.bin`,
  ])
  assert.deepEqual([headers['cache-control'], headers['x-content-type-options']], ['no-store', 'nosniff'])
  writeFileSync(join(workspace, 'Bericht ü.bin'), '')
  assert.deepEqual((await get(gateway, url).answer()).body.length, 0)
})

test('dotfiles and absolute paths that the provider allows', async (t) => {
  const gateway = await boot(t)
  const workspace = await workspaceOf(gateway)
  const outside = join(gateway.host.home, 'outside.txt')
  writeFileSync(join(workspace, '.env'), 'dot')
  writeFileSync(outside, 'absolute')
  const { events } = await presented(gateway, { path: '.env' }, { path: outside })
  const bodies = await Promise.all(contentOf(events).files.map(async ({ url }) => (await get(gateway, url).answer()).body.toString()))
  assert.deepEqual(bodies, ['dot', 'absolute'])
})

test('what is no regular file any more, or too large, is not read', async (t) => {
  const gateway = await boot(t, { maxFileBytes: 8 })
  const workspace = await workspaceOf(gateway)
  const file = join(workspace, 'out.txt')
  writeFileSync(file, '12345678')
  const { url } = await presented(gateway, { path: 'out.txt' })
  assert.equal((await get(gateway, url).answer()).body.toString(), '12345678')
  const refused = async () => (await get(gateway, url).refused()).slice(0, 2)
  writeFileSync(file, '123456789')
  assert.deepEqual(await refused(), [413, 'FILE_TOO_LARGE'])
  rmSync(file)
  assert.deepEqual(await refused(), [404, 'FILE_NOT_FOUND'])
  writeFileSync(join(workspace, 'other.txt'), 'x')
  symlinkSync('other.txt', file)
  assert.deepEqual(await refused(), [404, 'FILE_NOT_FOUND'])
  rmSync(file)
  mkdirSync(file)
  assert.deepEqual(await refused(), [404, 'FILE_NOT_FOUND'])
})

test('only declared files of the own thread are read, and nothing else is made of a question', async (t) => {
  const gateway = await boot(t)
  const workspace = await workspaceOf(gateway)
  writeFileSync(join(workspace, 'out.txt'), 'x')
  writeFileSync(join(workspace, 'secret.txt'), 'x')
  const { url } = await presented(gateway, { path: 'out.txt' })
  const workspaces = readdirSync(join(workspace, '..'))
  const wrong = async (...args: [string, object?]) => (await get(gateway, ...args).refused()).slice(0, 2)
  for (const other of [
    url.replace(/files\/0$/u, 'files/1'), url.replace(/deliverables\/\d+/u, 'deliverables/0'),
    url.replace(/files\/0$/u, 'files/99999999999999999999'), url.replace(/deliverables\/\d+/u, 'deliverables/99999999999999999999'),
    url.replace(/files\/0$/u, 'files/secret.txt'), url.replace(/files\/0$/u, 'files/-1'), url.replace('thread-1', 'thread-2'),
  ]) assert.deepEqual(await wrong(other), [404, 'FILE_NOT_FOUND'], other)
  assert.deepEqual(await wrong(url, { userId: 'user-2' }), [404, 'FILE_NOT_FOUND'])
  assert.deepEqual(await wrong(url, { tenantId: 'tenant-2' }), [404, 'FILE_NOT_FOUND'])
  assert.deepEqual(await wrong(url, { headers: { authorization: 'Bearer no' } }), [401, 'UNAUTHORIZED'])
  assert.deepEqual(await wrong(url.replace('thread-1', 'thread%201')), [400, 'INVALID_IDENTITY'])
  assert.deepEqual(await wrong(url.replace(/\/0$/u, '')), [404, 'NOT_FOUND'])
  const posted = get(gateway, url, { method: 'POST' })
  assert.deepEqual((await posted.refused()).slice(0, 2), [405, 'METHOD_NOT_ALLOWED'])
  assert.equal((await posted.response()).headers.allow, 'GET')
  assert.equal(gateway.agents.length, 1)
  assert.deepEqual(readdirSync(join(workspace, '..')), workspaces)
  assert.equal((await get(gateway, url).answer()).status, 200)
})

for (const [native, status, code] of [
  ['FS_PERMISSION_DENIED', 403, 'FILE_FORBIDDEN'], ['FS_SANDBOX_DENIED', 403, 'FILE_FORBIDDEN'], ['FS_TOO_LARGE', 413, 'FILE_TOO_LARGE'],
  ['FS_NOT_FOUND', 404, 'FILE_NOT_FOUND'], ['FS_IO_ERROR', 500, 'AGENT_EXECUTION_ERROR'],
] as const) {
  test(`a file system that says ${native}`, async (t) => {
    const gateway = await boot(t)
    writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
    const { url } = await presented(gateway, { path: 'out.txt' })
    const fs = original(gateway.host.ctx.fs)
    fs.readBytes = () => Promise.reject(new FsError('/secret/place says no', native))
    const refusal = await get(gateway, url).refused()
    assert.deepEqual(refusal.slice(0, 2), [status, code])
    assert.ok(!refusal[2].includes('secret'))
  })
}

test('the file system is the one that the agent\'s preset has', async (t) => {
  const home = makeHome(t)
  mkdirSync(join(home, 'presets'))
  writeFileSync(join(home, 'presets', 'own-fs.mjs'), `
    const bytes = new TextEncoder().encode('of the preset')
    export const name = 'own-fs'
    export function apply(ctx) {
      ctx.provide('fs', {
        lstat: async () => ({ type: 'file' }), stat: async () => ({ type: 'file' }), resolve: async path => ({ path }), readBytes: async () => bytes,
      })
    }`)
  const gateway = await boot(t, { agentPreset: 'own' }, {
    home, presets: { own: '- id: own-fs\n  name: ./own-fs.mjs\n  isolate:\n    fs: true\n' },
  })
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'of the Host')
  const { url } = await presented(gateway, { path: 'out.txt' })
  assert.equal((await get(gateway, url).answer()).body.toString(), 'of the preset')
})

test('a Host without a file system cannot deliver', async (t) => {
  const gateway = await boot(t)
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
  const { url } = await presented(gateway, { path: 'out.txt' })
  await gateway.host.fs.dispose()
  assert.deepEqual((await get(gateway, url).refused()).slice(0, 2), [501, 'HOST_SERVICE_MISSING'])
})

/** A read that waits until it is aborted, and whether it was. */
function holdRead(gateway: TestGateway): { reading: Promise<void>, aborted: Promise<void>, release(): void } {
  const [reading, aborted] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const fs = original(gateway.host.ctx.fs)
  const { readBytes } = fs
  fs.readBytes = (_target, signal) => new Promise((_resolve, reject) => {
    signal?.addEventListener('abort', () => {
      aborted.resolve()
      reject(new FsError('read aborted', 'FS_ABORTED'))
    })
    reading.resolve()
  })
  return { reading: reading.promise, aborted: aborted.promise, release: () => { fs.readBytes = readBytes } }
}

test('a client that leaves cancels the read', async (t) => {
  const gateway = await boot(t)
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
  const { url } = await presented(gateway, { path: 'out.txt' })
  const held = holdRead(gateway)
  const download = get(gateway, url)
  await held.reading
  download.leave()
  await held.aborted
  held.release()
  assert.equal((await get(gateway, url).answer()).status, 200)
})

test('a client that leaves while its thread is being opened lets the thread go', async (t) => {
  const home = makeHome(t)
  const first = await boot(t, {}, { home })
  writeFileSync(join(await workspaceOf(first), 'out.txt'), 'x')
  const { url } = await presented(first, { path: 'out.txt' })
  await first.host.dispose()
  const second = await boot(t, {}, { home })
  const gate = new Gate()
  const agents = original(second.host.ctx.agents)
  const { resume } = agents
  agents.resume = async function (options) {
    await gate.pass()
    return await resume.call(this, options)
  }
  const left = new Promise<void>((resolve) => {
    second.host.ctx.on('agent/disposed', () => { resolve() })
  })
  const download = get(second, url)
  await gate.reached
  download.leave()
  gate.open()
  await left
  assert.deepEqual(second.agents, [])
})

test('unloading the gateway ends a download', async (t) => {
  const gateway = await boot(t)
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
  const { url } = await presented(gateway, { path: 'out.txt' })
  const held = holdRead(gateway)
  const download = get(gateway, url)
  await held.reading
  await Promise.all([held.aborted, gateway.unload()])
  assert.deepEqual((await download.refused()).slice(0, 2), [410, 'AGENT_NOT_AVAILABLE'])
})

test('a nested declaration stands although the Tool around it fails', async (t) => {
  const gateway = await boot(t)
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
  const { tools } = gateway.host.ctx
  await registerTools(gateway, hostTool('outer', {
    async execute(_args, exec) {
      await tools.execute({
        name: 'present', arguments: { files: [{ path: 'out.txt' }] }, callId: 'inner' as never,
        rootCallId: exec.rootCallId, parent: exec.token, signal: exec.signal, ...exec.agent === undefined ? {} : { agent: exec.agent },
      })
      throw new Error('the outer Tool failed')
    },
  }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'outer', args: {} }]), say('Well.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')] })
  assert.equal(contentOf(events).callId, 'inner')
  assert.ok(transcript(history(events)).some(line => line.includes('the outer Tool failed')))
  assert.equal((await get(gateway, contentOf(events).files[0]?.url ?? '').answer()).status, 200)
})

for (const version of VERSIONS) {
  test(`client ${version} holds the deliverables, also one that reloads`, async (t) => {
    const gateway = await boot(t)
    writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
    gateway.adapter.queue(present({ path: 'out.txt' }), say('Here.'), say('Bye.'))
    const client = connect(gateway, version)
    await client.say('make it')
    await client.say('thanks')
    const reloaded = connect(gateway, version)
    await reloaded.run()
    for (const { messages } of [client, reloaded]) {
      const [activity, ...others] = messages.filter(({ role }) => role === 'activity')
      assert.deepEqual(others, [])
      assert.deepEqual((activity?.content as Content | undefined)?.files.map(({ path }) => path), ['out.txt'])
      assert.equal(messages.length, 7)
    }
  })
}

test('a declaration made while no run drives is shown by the next', async (t) => {
  const gateway = await boot(t)
  writeFileSync(join(await workspaceOf(gateway), 'out.txt'), 'x')
  const exchange = gateway.post(input())
  await exchange.end()
  const { session } = gateway.agent()
  const append = session.append.bind(session) as (type: string, data: object) => unknown
  append('deliverables/presented', { turn: 1, callId: 'c', files: [{ path: 'out.txt' }] })
  const { files } = contentOf(await gateway.run())
  assert.equal((await get(gateway, files[0]?.url ?? '').answer()).body.toString(), 'x')
})
