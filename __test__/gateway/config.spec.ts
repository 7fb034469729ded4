/** Configurations that the plugin takes, and those that it refuses at mount, naming the field (G2, G17). */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import AgUi from 'dsh-ag-ui'
import { bootGateway, bootHost, configOf, input, say, said, SECRET, TestGateway, toolsSeen, user } from '../support/gateway.ts'

const SIZES = [
  'maxRequestBytes', 'maxIdentityBytes', 'maxMessages', 'maxMessageBytes', 'maxContexts', 'maxContextBytes', 'maxTools', 'maxToolBytes',
  'maxToolSchemaDepth', 'maxForwardedPropsBytes', 'maxStateBytes', 'maxThreads', 'maxRunEvents', 'maxRunEventBytes', 'maxRunsPerThread',
  'maxFileBytes', 'maxFilesPerMessage', 'maxPendingInterrupts',
]
const TIMES = ['threadIdleMs', 'frontendToolTimeoutMs', 'humanInteractionTimeoutMs', 'keepAliveMs']

/** Field, bad value, and what the message says of it. */
const REFUSED: readonly (readonly [field: string, value: unknown, words: RegExp])[] = [
  ['path', 'ag-ui', /must be an absolute path/u],
  ['path', '/', /must name a route/u],
  ['path', '/ag-ui/', /must name a route and not end with a slash/u],
  ['path', '/a b', /plain path segments/u],
  ['path', '/a/../b', /plain path segments/u],
  ['path', '/a//b', /plain path segments/u],
  ['path', 7, /string/u],
  ['tenantHeader', 'X-Tenant', /lower-case header name/u],
  ['tenantHeader', '', /lower-case header name/u],
  ['userHeader', 'x_user', /lower-case header name/u],
  ['userHeader', 'x-dsh-tenant-id', /must differ from tenantHeader/u],
  ['sharedSecret', '0123456789abcde', /at least 16 UTF-8 bytes/u],
  ['sharedSecret', undefined, /missing required value/u],
  ['provider', undefined, /missing required value/u],
  ['model', undefined, /missing required value/u],
  ['provider', '', /must not be empty/u],
  ['model', ' ', /must not be empty/u],
  ['workspaceRoot', 'workspaces', /must be an absolute path/u],
  ['toolSchemas', 'lenient', /./u],
  ['allowNonLoopback', 'yes', /boolean/u],
  ...SIZES.flatMap(field => [[field, 0, /positive integer|must hold/u], [field, -1, /./u], [field, 1.5, /./u], [field, '7', /number/u]] as const),
  ...TIMES.flatMap(field => [[field, 0, /positive integer/u], [field, 2_147_483_648, /at most 2147483647/u]] as const),
  ['flushIntervalMs', 2_147_483_648, /at most 2147483647/u],
  ['flushIntervalMs', -1, /./u],
  ['reconnectGraceMs', 2_147_483_648, /at most 2147483647/u],
  ['reconnectGraceMs', -1, /./u],
  ['selectableAgentPresets', { 'tenant-1': 'alpha' }, /./u],
  ['maxRunEvents', 1, /opening and terminal events/u],
  ['maxRunEventBytes', 1024, /opening and terminal events/u],
]

test('a bad value fails the activation, names its field and leaves no route', async (t) => {
  const host = await bootHost()
  t.after(() => host.dispose())
  for (const [field, value, words] of REFUSED) {
    await assert.rejects(async () => { await host.ctx.plugin(AgUi, { ...configOf(host), [field]: value } as never) }, (error: Error) => {
      assert.ok(error.message.includes(field), `${field}=${String(value)}: ${error.message}`)
      assert.match(error.message, words, `${field}=${String(value)}`)
      assert.ok(!error.message.includes(SECRET), field)
      return true
    }, `${field}=${String(value)}`)
    assert.equal(host.ctx.get('agUi'), undefined)
  }
  const gateway = new TestGateway(host, {})
  await gateway.mount()
  gateway.adapter.queue(say('still fine'))
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'hi')] })), 'still fine')
})

test('sixteen bytes of a secret are enough, whatever they spell', async (t) => {
  const gateway = await bootGateway(t, { sharedSecret: '✓✓✓✓✓0' })
  assert.equal((await gateway.refuse(input())).code, 'UNAUTHORIZED')
})

test('the record must hold its mandatory events at the longest identity, and then does', async (t) => {
  const longest = { maxIdentityBytes: 512, maxRunEvents: 3 }
  const host = await bootHost()
  t.after(() => host.dispose())
  const mount = async (bytes: number): Promise<TestGateway> => {
    const gateway = new TestGateway(host, { ...longest, maxRunEventBytes: bytes })
    await gateway.mount()
    return gateway
  }
  const refusal = await mount(1).then(() => '', (error: Error) => error.message)
  const least = Number(/\((\d+) bytes\)/u.exec(refusal)?.[1])
  await assert.rejects(mount(least - 1), /maxRunEventBytes/u)
  const gateway = await mount(least)
  const id = 'x'.repeat(512)
  const headers = { 'x-dsh-tenant-id': id, 'x-dsh-user-id': id }
  const events = await gateway.post(input({ threadId: id, runId: id, parentRunId: id }), { headers }).end()
  assert.deepEqual(events.map(({ type }) => type), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('a Host that binds beyond loopback is refused unless that is wanted', async (t) => {
  const host = await bootHost({ bind: '0.0.0.0' })
  t.after(() => host.dispose())
  const gateway = new TestGateway(host, {})
  await assert.rejects(gateway.mount(), /allowNonLoopback/u)
  await gateway.mount({ allowNonLoopback: true })
  gateway.adapter.queue(say('ok'))
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'hi')] })), 'ok')
})

test('route and headers are those of the configuration', async (t) => {
  const gateway = await bootGateway(t, { path: '/api/v1.0/agent', tenantHeader: 'x-org', userHeader: 'x-person' })
  const identity = { 'x-dsh-tenant-id': undefined, 'x-dsh-user-id': undefined, 'x-org': 'o', 'x-person': 'p' }
  assert.equal((await gateway.post(input(), { headers: identity }).end()).length, 3)
  assert.notEqual(gateway.agentOf('thread-1', 'o', 'p'), undefined)
  assert.equal((await gateway.refuse(input())).message, 'header x-org must carry exactly one valid identity')
})

test('workspaces lie under the configured root, named by the session', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('ok'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  const { id, session } = gateway.agent()
  assert.equal(session.header.cwd, join(gateway.host.home, 'workspaces', id))
  assert.ok(existsSync(session.header.cwd))
})

test('presets: the tenant\'s over the default, an unknown one fails the activation', async (t) => {
  const gateway = await bootGateway(t, { agentPreset: 'demo', tenantPresets: { 'tenant-2': 'bare' } })
  gateway.adapter.queue(say('a'), say('b'))
  await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(toolsSeen(gateway), ['ask_user_question'])
  await gateway.post(input({ messages: [user('u-1', 'hi')] }), { headers: { 'x-dsh-tenant-id': 'tenant-2' } }).end()
  assert.deepEqual(toolsSeen(gateway), [])
  await gateway.unload()
  await assert.rejects(gateway.mount({ agentPreset: 'nobody' }), /nobody/u)
  await assert.rejects(gateway.mount({ tenantPresets: { 'tenant-3': 'nobody' } }), /nobody/u)
})

test('presets on a Host without them fail the activation', async (t) => {
  const host = await bootHost({ presets: 'none' })
  t.after(() => host.dispose())
  await assert.rejects(new TestGateway(host, {}).mount({ agentPreset: 'demo' }), /agentPresets/u)
})
