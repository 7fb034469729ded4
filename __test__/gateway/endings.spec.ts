/** How runs end that do not end well: clients that leave, providers that fail, turns that are cancelled or refused (G7, G21). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { connect, VERSIONS } from '../support/client.ts'
import {
  body, bootGateway, browserTool, callTools, compact, cut, errorOf, fail, history, hostTool, input, mountPlugin, nextEvent, outline,
  registerTools, said, say, transcript, user,
} from '../support/gateway.ts'

test('a client that leaves mid-text cancels its turn; the run is kept as disconnected; the next one works', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue('hang', say('Welcome back.'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const run = gateway.post(request)
  await run.next('TEXT_MESSAGE_CONTENT')
  const ended = nextEvent(gateway.agent(), 'turn/end')
  run.leave()
  const { reason } = (await ended).data as { reason: unknown }
  assert.deepEqual(reason, { kind: 'aborted', reason: { kind: 'user' } })
  const replay = await gateway.post(request).end()
  assert.deepEqual(outline(replay), ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'TEXT_MESSAGE_START', 'text partial', 'error CLIENT_DISCONNECTED'])
  assert.equal(gateway.adapter.requests.length, 1)
  const next = await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'again')] })
  assert.deepEqual(transcript(history(next)), ['user hi', 'assistant partial', 'user again', 'assistant Welcome back.'])
})

for (const version of VERSIONS) {
  test(`client ${version} stops its run and goes on`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue('hang', say('Welcome back.'))
    const client = connect(gateway, version)
    const seen = Promise.withResolvers<void>()
    client.agent.subscribe({ onTextMessageContentEvent: () => { seen.resolve() } })
    const stopped = client.say('hi').catch(() => 'aborted')
    await seen.promise
    const ended = nextEvent(gateway.agent(), 'turn/end')
    client.agent.abortRun()
    await ended
    await stopped
    await client.say('again')
    assert.deepEqual(transcript(client.messages).slice(-2), ['user again', 'assistant Welcome back.'])
  })

  test(`client ${version} sees a retried attempt once`, async (t) => {
    const gateway = await bootGateway(t)
    await mountPlugin(gateway.host.ctx, [], (plugin) => {
      let retries = 0
      plugin.on('agent/request-error', (_request, next) => retries++ === 0 ? Promise.resolve({ kind: 'retry' as const }) : next())
    })
    gateway.adapter.queue(fail('half of i'), say('All of it.'))
    const client = connect(gateway, version)
    const events = await client.say('hi')
    assert.deepEqual(body(events), [
      'TEXT_MESSAGE_START', 'text half of i', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT',
      'TEXT_MESSAGE_START', 'text All of it.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    assert.deepEqual(transcript(client.messages), ['user hi', 'assistant All of it.'])
  })

  test(`client ${version} resolves a failed run and may try again`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(fail('Well, '), say('Now.'))
    const client = connect(gateway, version)
    const events = await client.say('hi')
    assert.deepEqual(errorOf(events), { code: 'SCRIPT_FAILED', message: 'provider failed' })
    await client.say('again')
    assert.deepEqual(transcript(client.messages), ['user hi', 'user again', 'assistant Now.'])
  })
}

test('a provider that fails after some text closes it and ends the run with its own code', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(fail('Well, ', 'quota exceeded', 'RATE_LIMITED'), say('Now.'))
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(body(events), ['TEXT_MESSAGE_START', 'text Well, ', 'TEXT_MESSAGE_END', 'error RATE_LIMITED'])
  assert.deepEqual(events.at(-1), {
    type: 'RUN_ERROR', message: 'quota exceeded', code: 'RATE_LIMITED', threadId: 'thread-1', runId: events[0]?.runId,
  })
  const next = await gateway.run({ messages: [user('u-2', 'again')] })
  assert.deepEqual(transcript(history(next)), ['user hi', 'user again', 'assistant Now.'])
})

test('a client that says which version it speaks gets declared fields only', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(fail('Well, '))
  const request = { ...input({ messages: [user('u-1', 'hi')] }), protocolVersion: '1.0' }
  const events = await gateway.post(request).end()
  assert.deepEqual(events.at(-1), { type: 'RUN_ERROR', message: 'provider failed', code: 'SCRIPT_FAILED' })
})

test('a provider that fails inside a call closes it and takes it back', async (t) => {
  const gateway = await bootGateway(t)
  const [start, first] = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }])
  assert.ok(start !== undefined && first !== undefined)
  gateway.adapter.queue([start, first, { type: 'finish', reason: { kind: 'error', failure: { message: 'gone', code: 'LOST' } } }])
  const events = await gateway.run({ messages: [user('u-1', 'hi')], tools: [browserTool('pick')] })
  assert.deepEqual(body(events), ['call c-1 pick', 'args c-1 {"label', 'end c-1', 'MESSAGES_SNAPSHOT', 'error LOST'])
  assert.deepEqual(transcript(history(events)), ['user hi'])
})

test('a provider that throws is reported by its code, an unknown one without internals', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(() => { throw new Error('secret stack') })
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.equal(events.at(-1)?.type, 'RUN_ERROR')
  assert.deepEqual(body(events), ['error UNKNOWN'])
})

test('a model provider that nobody registered', async (t) => {
  const gateway = await bootGateway(t, { provider: 'nobody' })
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.equal(errorOf(events).code, 'NO_ADAPTER')
})

test('a call that the output limit cuts off still ends well', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(cut('Once'))
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.equal(events.at(-1)?.type, 'RUN_FINISHED')
})

test('a turn that the Host cancels', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue('hang', say('ok'))
  const run = gateway.post(input({ messages: [user('u-1', 'hi')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  gateway.agent().cancel({ kind: 'user' })
  const events = await run.end()
  assert.deepEqual(body(events), ['TEXT_MESSAGE_START', 'text partial', 'TEXT_MESSAGE_END', 'error AGENT_ABORTED'])
  assert.ok(said(await gateway.run({ messages: [user('u-2', 'again')] })) === 'ok')
})

test('a turn that a policy of the Host refuses; the message may be sent again under its id', async (t) => {
  const gateway = await bootGateway(t)
  const policy = await mountPlugin(gateway.host.ctx, [], (plugin) => {
    plugin.on('agent/pre-step', () => Promise.resolve({ kind: 'reject' as const }))
  })
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(body(events), ['error AGENT_BLOCKED'])
  await policy.dispose()
  gateway.adapter.queue(say('ok'))
  const next = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.deepEqual(transcript(history(next)), ['user hi', 'assistant ok'])
})

test('what a failed turn had taken stays accepted; the failed run keeps its error', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(fail('Well, '), say('Now.'))
  const request = input({ messages: [user('u-1', 'hi')] })
  const failed = await gateway.post(request).end()
  assert.deepEqual(compact(await gateway.post(request).end()), compact(failed))
  assert.deepEqual(body(await gateway.run({ messages: [user('u-1', 'hi')] })), ['RUN_FINISHED'])
  assert.equal((await gateway.refuse(input({ messages: [user('u-1', 'ho')] }))).code, 'MESSAGE_ID_CONFLICT')
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'hi'), user('u-2', 'again')] })), 'Now.')
})

test('a client that leaves before it has sent its request changes nothing', async (t) => {
  const gateway = await bootGateway(t)
  const text = JSON.stringify(input({ messages: [user('u-1', 'hi')] }))
  const run = gateway.post(text.slice(0, 20), { headers: { 'content-length': String(text.length) } })
  await gateway.run()
  const left = gateway.left(run)
  run.leave()
  await left
  await run.received
  gateway.adapter.queue(say('ok'))
  assert.equal(said(await gateway.run({ messages: [user('u-1', 'ho')] })), 'ok')
  assert.equal(gateway.adapter.requests.length, 1)
})

test('an agent that somebody else disposes ends its runs, and the thread comes back with its history', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('one'), 'hang', say('three'))
  await gateway.run({ messages: [user('u-1', 'a')] })
  const run = gateway.post(input({ messages: [user('u-2', 'b')] }))
  await run.next('TEXT_MESSAGE_CONTENT')
  const waiting = gateway.post(input({ messages: [user('u-3', 'c')] }))
  await waiting.received
  await gateway.host.loop.restart()
  assert.equal(errorOf(await run.end()).code, 'AGENT_NOT_AVAILABLE')
  assert.equal((await waiting.refused()).code, 'AGENT_NOT_AVAILABLE')
})

test('a Tool of the Host that fails is no failure of the run', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('look', { execute: () => Promise.reject(new Error('no such thing')) }))
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'look', args: {} }]), say('Sorry.'))
  const events = await gateway.run({ messages: [user('u-1', 'hi')] })
  assert.ok(body(events).includes('result c-1 Error: no such thing'))
  assert.equal(events.at(-1)?.type, 'RUN_FINISHED')
})
