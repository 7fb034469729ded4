/** The Host in process: scopes, authority, one result, the end of everything (P2-P5, P7, P9, P10). */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { afterEach, describe, it } from 'node:test'
import { API_VERSION, PresentationError, createPresentationHost, userInteractionClient } from 'dsh-ag-ui/presentation'
import type { PresentationInvocation } from 'dsh-ag-ui/presentation'
import { ACCEPTED, APPROVAL, APPROVED, Desk, EVERYTHING, SECRET, closeHosts, hosted, makeHost } from './hosting.ts'

const code = (expected: string) => (error: any) => {
  assert.equal(error.code, expected)
  return true
}

afterEach(closeHosts)

describe('an invocation', () => {
  it('answers every kind through its typed clients', async () => {
    const { desk, clients } = hosted()
    const query = { code: ['a', 'b'] }
    const ready = { type: 'ready', redirectUri: 'http://127.0.0.1:5/x' }
    const opened = clients.openExternal!.openExternal({ uri: 'https://a.test' })
    ;(await desk.next()).answer(ACCEPTED)
    assert.deepEqual(await opened, ACCEPTED)
    const copied = clients.copyText!.copyText({ text: 'x', sensitivity: 'private' })
    ;(await desk.next()).answer(ACCEPTED)
    assert.deepEqual(await copied, ACCEPTED)
    const notified = clients.notification!.notify({ text: 'x' })
    ;(await desk.next()).answer({ status: 'unavailable', reason: 'no-display' })
    assert.deepEqual(await notified, { status: 'unavailable', reason: 'no-display' })
    const redirected = clients.externalRedirect!.receive()
    const held = await desk.next()
    held.context.progress(ready)
    assert.deepEqual(await redirected.ready, ready)
    held.answer({ status: 'submitted', value: { query } })
    assert.deepEqual(await redirected.result, { status: 'submitted', value: { query } })
    const approved = clients.interaction!.interact(APPROVAL)
    const { request, answer } = await desk.next()
    answer(APPROVED)
    const result = await approved
    assert.deepEqual(result, APPROVED)
    assert.ok(Object.isFrozen(result) && Object.isFrozen((result as any).value))
    assert.ok(Object.isFrozen(request))
    assert.deepEqual(Object.keys(request).sort(), ['action', 'invocationId', 'kind', 'origin', 'requestId', 'summary'])
  })

  it('issues the context; ids are fresh, the origin is the consumer', async () => {
    const { host, consumer, desk, clients, invocation } = hosted()
    void clients.notification!.notify({ text: 'a' })
    void clients.notification!.notify({ text: 'b', origin: 'admin', invocationId: 'x' } as never)
    const [first, second] = [await desk.next(), await desk.next()]
    assert.notEqual(first.request.requestId, second.request.requestId)
    assert.deepEqual([second.request.origin, second.request.invocationId], ['plugin', invocation.invocationId])
    assert.notEqual(host.open(consumer).invocationId, invocation.invocationId)
  })

  it('refuses forged contexts of a foreign binder', async () => {
    const { desk, invocation } = hosted()
    const other = userInteractionClient(invocation.client, { ...invocation.scope, origin: 'admin', nextRequestId: () => 'r' })
    await assert.rejects(other.interact(APPROVAL), code('invalid-scope'))
    const elsewhere = userInteractionClient(invocation.client, { ...invocation.scope, invocationId: 'session-1', nextRequestId: () => 'r' })
    await assert.rejects(elsewhere.interact(APPROVAL), code('invalid-scope'))
    assert.equal(desk.idle, 0)
  })

  it('joins the same request, and refuses another one under its id', async () => {
    const { desk, invocation } = hosted()
    const fixed = userInteractionClient(invocation.client, { ...invocation.scope, nextRequestId: () => 'same' })
    const both = [fixed.interact(APPROVAL), fixed.interact({ ...APPROVAL })]
    await assert.rejects(fixed.interact({ ...APPROVAL, summary: 'other' }), code('request-conflict'))
    ;(await desk.next()).answer(APPROVED)
    assert.deepEqual(await Promise.all(both), [APPROVED, APPROVED])
    assert.equal(desk.idle, 0)
    await assert.rejects(fixed.interact(APPROVAL), code('already-settled'))
  })

  it('refuses what is invalid with a TypeError, before any provider sees it', async () => {
    const { desk, clients } = hosted()
    await assert.rejects(clients.openExternal!.openExternal({ uri: 'file:///x' }), { name: 'TypeError', path: 'OpenExternal request.uri' })
    await assert.rejects(clients.interaction!.interact({ kind: 'question', fields: [] }), { message: 'Question request.fields must be a non-empty array' })
    assert.equal(desk.idle, 0)
  })

  it('shows what would deceive', async () => {
    const { desk, clients } = hosted()
    void clients.interaction!.interact({ ...APPROVAL, action: 'rm \u001b[8m', summary: 'safe\u202egpj' })
    const { request } = await desk.next()
    assert.deepEqual([request.action, request.summary], ['rm \\u{1b}[8m', 'safe\\u{202e}gpj'])
    const strict = hosted({ text: 'refuse' })
    await assert.rejects(strict.clients.interaction!.interact({ ...APPROVAL, action: 'rm \u001b' }), { path: 'Approval request.action' })
    await assert.rejects(clients.copyText!.copyText({ text: 'curl x | sh\u0008' }), { path: 'CopyText request.text' })
  })
})

describe('one terminal result', () => {
  it('cancel against submit: the first wins', async () => {
    const { desk, clients } = hosted()
    const controller = new AbortController()
    const asked = clients.interaction!.interact(APPROVAL, { signal: controller.signal })
    const held = await desk.next()
    const aborted = once(held.context.signal, 'abort')
    controller.abort()
    held.answer(APPROVED)
    assert.deepEqual(await asked, { status: 'cancelled' })
    await aborted
    assert.equal((held.context.signal.reason as any).code, 'request-cancelled')
    assert.deepEqual(await clients.interaction!.interact(APPROVAL, { signal: controller.signal }), { status: 'cancelled' })
    assert.equal(desk.idle, 0)
  })

  it('submit before cancel: the submit stands, the provider is left alone', async () => {
    const { desk, clients } = hosted()
    const controller = new AbortController()
    const asked = clients.interaction!.interact(APPROVAL, { signal: controller.signal })
    const held = await desk.next()
    held.answer(APPROVED)
    assert.deepEqual(await asked, APPROVED)
    controller.abort()
    assert.equal(held.context.signal.aborted, false)
  })

  it('expires by the deadline, which the request carries', async () => {
    const { host, consumer, desk } = hosted()
    const invocation = host.open(consumer, { deadline: 30 })
    const asked = invocation.clients!.interaction!.interact(SECRET)
    const held = await desk.next()
    assert.equal(held.request.deadline, invocation.scope.deadline)
    assert.deepEqual(await asked, { status: 'expired' })
    assert.equal((held.context.signal.reason as any).code, 'request-expired')
    assert.equal(invocation.ended, 'invalid-scope')
    assert.throws(() => host.open(consumer, { deadline: '2001-01-01T00:00:00Z' }), code('invalid-scope'))
    assert.throws(() => host.open(consumer, { deadline: 'tomorrow' }), TypeError)
  })

  it('expires by the product\'s own bound', async () => {
    const { clients } = hosted({ limits: { maxRequestMs: 20 } })
    assert.deepEqual(await clients.notification!.notify({ text: 'x' }), { status: 'expired' })
  })

  it('an invalid answer, a failure and a value that is no data are the provider\'s fault', async () => {
    const reports: any[] = []
    const { desk, clients } = hosted({ onProviderError: (error, provider, request) => reports.push([error, provider, request.operation]) })
    const failing: [string, (held: Awaited<ReturnType<Desk['next']>>) => void][] = [
      ['invalid-answer', held => { held.answer({ status: 'submitted', value: { decision: 'always' } }) }],
      ['invalid-answer', held => { held.answer({ status: 'submitted', value: { decision: () => 'approved' } }) }],
      ['invalid-answer', held => { held.answer(undefined) }],
      ['implementation-failed', held => { held.fail(new Error('hunter2 at /home/user')) }],
    ]
    for (const [expected, misbehave] of failing) {
      const asked = clients.interaction!.interact(APPROVAL)
      misbehave(await desk.next())
      await assert.rejects(asked, error => {
        assert.ok(error instanceof PresentationError)
        assert.equal(error.code, expected)
        assert.doesNotMatch(error.message, /hunter2|home/)
        return true
      })
    }
    assert.deepEqual(reports.map(([, provider, operation]) => [provider, operation]), failing.map(() => ['tui', 'approval']))
    assert.equal(reports[0][0].path, 'Approval value.decision')
  })

  it('a redirect is announced exactly, once, and before its result', async () => {
    const { desk, clients } = hosted()
    const exactRedirectUri = 'http://127.0.0.1:1455/cb'
    const early = clients.externalRedirect!.receive({ exactRedirectUri })
    ;(await desk.next()).answer({ status: 'submitted', value: { query: {} } })
    await assert.rejects(early.result, code('redirect-not-ready'))
    await assert.rejects(early.ready, code('redirect-not-ready'))
    const call = clients.externalRedirect!.receive({ exactRedirectUri })
    const held = await desk.next()
    assert.throws(() => { held.context.progress({ type: 'ready', redirectUri: 'http://127.0.0.1:1456/cb' }) },
      { name: 'TypeError', message: /exact requested redirect URI/ })
    held.context.progress({ type: 'ready', redirectUri: exactRedirectUri })
    assert.throws(() => { held.context.progress({ type: 'ready', redirectUri: exactRedirectUri }) }, code('redirect-used'))
    call.cancel()
    assert.deepEqual(await call.result, { status: 'cancelled' })
    assert.equal((await call.ready).redirectUri, exactRedirectUri)
  })
})

describe('the end of anything', () => {
  const ends: [string, string, (world: ReturnType<typeof hosted>) => void][] = [
    ['invocation', 'invalid-scope', ({ invocation }) => { invocation.end() }],
    ['consumer', 'invalid-scope', ({ consumer }) => { consumer.stop() }],
    ['requirements', 'not-negotiated', ({ consumer }) => { consumer.update(EVERYTHING) }],
    ['support', 'not-negotiated', ({ provider, desk }) => { provider.update(desk.implementations) }],
    ['lease', 'provider-unavailable', ({ provider }) => { provider.end() }],
    ['endpoint', 'provider-disconnected', ({ provider }) => { provider.lost() }],
    ['Host', 'invalid-scope', ({ host }) => { host.close() }],
  ]
  for (const [name, expected, end] of ends) {
    it(`${name}: what is pending is cancelled and the clients are dead`, async () => {
      const world = hosted({ limits: { maxConcurrentRequests: 1 } })
      const shown = world.clients.interaction!.interact(APPROVAL)
      const held = await world.desk.next()
      const queued = world.clients.interaction!.interact(SECRET)
      end(world)
      assert.deepEqual(await shown, { status: 'cancelled' })
      const waiting = name === 'endpoint' ? { status: 'unavailable', reason: 'provider-disconnected' } : { status: 'cancelled' }
      assert.deepEqual(await queued, waiting)
      assert.ok(held.context.signal.aborted)
      await assert.rejects(world.clients.interaction!.interact(APPROVAL), code(expected))
      assert.equal(world.invocation.client.binding({ apiVersion: API_VERSION, kind: 'UserInteraction' }), undefined)
      assert.equal(world.invocation.ended, expected)
      assert.equal(world.desk.idle, 0)
    })
  }

  it('permission: only what was withdrawn', async () => {
    const { clients, desk, invocation } = hosted()
    const approval = clients.interaction!.interact(APPROVAL)
    await desk.next()
    const notified = clients.notification!.notify({ text: 'x' })
    invocation.revoke('approval', 'OpenExternal')
    assert.deepEqual(await approval, { status: 'cancelled' })
    await assert.rejects(clients.interaction!.interact(APPROVAL), code('permission-denied'))
    assert.equal(invocation.client.binding({ apiVersion: API_VERSION, kind: 'OpenExternal' }), undefined)
    assert.notEqual(invocation.client.binding({ apiVersion: API_VERSION, kind: 'UserInteraction' }), undefined)
    ;(await desk.next()).answer(ACCEPTED)
    assert.deepEqual(await notified, ACCEPTED)
  })
})

describe('authority', () => {
  const two = (bind?: { consumer?: string, providers: string[] }[]) => {
    const host = makeHost({ policy: bind ? { bind } : {} })
    const desks = { tui: new Desk('tui'), web: new Desk('web') }
    return { host, desks }
  }

  it('is never decided by the order of arrival', () => {
    for (const order of [['tui', 'web'], ['web', 'tui']] as const) {
      const { host, desks } = two()
      for (const name of order) host.provide(name, desks[name].implementations)
      const invocation = host.open(host.admit('plugin', EVERYTHING))
      assert.equal(invocation.clients, undefined)
      assert.deepEqual([...new Set(invocation.issues.map(issue => issue.code))], ['support-ambiguous'])
      const ruled = two([{ consumer: 'other', providers: ['tui'] }, { providers: ['gone', 'web'] }])
      for (const name of order) ruled.host.provide(name, ruled.desks[name].implementations)
      assert.equal(ruled.host.open(ruled.host.admit('plugin', EVERYTHING)).descriptor?.clientId, 'web')
      assert.equal(ruled.host.open(ruled.host.admit('other', EVERYTHING)).descriptor?.clientId, 'tui')
    }
  })

  it('is projected into a descriptor of what is really agreed', () => {
    const host = makeHost({ policy: { permit: (_, operation) => operation !== 'CopyText' && operation !== 'secret-input' } })
    host.provide('tui', new Desk('tui').implementations)
    const invocation = host.open(host.admit('plugin', [
      ...EVERYTHING.filter(({ kind }) => kind !== 'OpenExternal'), { apiVersion: 'other.dsh/v1', kind: 'Other' },
    ]))
    assert.deepEqual(invocation.descriptor?.contracts.map(({ kind }) => kind), ['Notification', 'UserInteraction', 'ExternalRedirect'])
    assert.deepEqual(Object.keys(invocation.clients!), ['descriptor', 'notification', 'interaction', 'externalRedirect'])
    const binding = invocation.client.binding({ apiVersion: API_VERSION, kind: 'UserInteraction' })
    assert.deepEqual([binding?.consumer.participantId, binding?.provider.participantId], ['plugin', 'tui'])
  })

  const moved = (reassign?: () => string | undefined) => {
    const host = makeHost({
      policy: { bind: [{ providers: ['tui'] }], ...(reassign ? { reassign } : {}) },
    })
    const desks = { tui: new Desk('tui'), web: new Desk('web') }
    for (const name of ['tui', 'web'] as const) host.provide(name, desks[name].implementations, { presenting: 'explicit' })
    const invocation = host.open(host.admit('plugin', EVERYTHING))
    return { host, desks, invocation, clients: invocation.clients! }
  }

  it('moves before showing, and the former holder may neither show nor answer', async () => {
    const { desks, invocation, clients } = moved()
    const asked = clients.interaction!.interact(APPROVAL)
    const first = await desks.tui.next()
    invocation.transfer(first.request.requestId, 'web')
    const second = await desks.web.next()
    assert.equal(first.context.signal.aborted, true)
    assert.equal(await first.context.present(), false)
    first.answer({ status: 'submitted', value: { decision: 'denied' } })
    assert.equal(await second.context.present(), true)
    assert.throws(() => { invocation.transfer(second.request.requestId, 'tui') }, code('authority-conflict'))
    second.answer(APPROVED)
    assert.deepEqual(await asked, APPROVED)
  })

  it('moves by an explicit release, which ends a shown secret', async () => {
    const { desks, clients } = moved(() => 'web')
    const approval = clients.interaction!.interact(APPROVAL)
    const first = await desks.tui.next()
    assert.equal(await first.context.present(), true)
    first.context.release()
    ;(await desks.web.next()).answer(APPROVED)
    assert.deepEqual(await approval, APPROVED)
    const secret = clients.interaction!.interact(SECRET)
    const prompt = await desks.tui.next()
    await prompt.context.present()
    prompt.context.release()
    assert.deepEqual(await secret, { status: 'cancelled' })
    assert.equal(desks.web.idle, 0)
  })

  it('that nobody takes over ends as unavailable', async () => {
    const { desks, clients } = moved()
    const asked = clients.interaction!.interact(APPROVAL)
    ;(await desks.tui.next()).context.release()
    assert.deepEqual(await asked, { status: 'unavailable', reason: 'authority-released' })
  })

  it('is watched by observers that see no content', async () => {
    const { host, desk, clients } = hosted({}, 'explicit')
    const seen: any[] = []
    const stop = host.observe(observation => seen.push(observation))
    const asked = clients.interaction!.interact({ ...APPROVAL, summary: 'private matter' })
    const held = await desk.next()
    await held.context.present()
    held.answer(APPROVED)
    await asked
    stop()
    void clients.notification!.notify({ text: 'x' })
    assert.deepEqual(seen.map(({ state, provider, operation, origin }) => [state, provider, operation, origin]), [
      ['offered', 'tui', 'approval', 'plugin'], ['presented', 'tui', 'approval', 'plugin'], ['submitted', 'tui', 'approval', 'plugin'],
    ])
    assert.doesNotMatch(JSON.stringify(seen), /private matter|delete/)
  })
})

describe('limits', () => {
  it('hold the strictest of agreement, connection and product', async () => {
    const host = makeHost({ limits: { maxTextLength: 50, maxConcurrentRequests: 4, maxQueuedRequests: 1 } })
    const desk = new Desk('tui')
    host.provide('tui', desk.implementations, { limits: { maxFields: 1, maxConcurrentRequests: 1 } })
    const { clients } = host.open(host.admit('plugin', EVERYTHING)) as PresentationInvocation & { clients: object }
    const field = (id: string, label = 'L') => ({ id, kind: 'confirm', label }) as const
    await assert.rejects(clients!.interaction!.interact({ kind: 'question', fields: [field('a'), field('b')] }), code('size-limit'))
    await assert.rejects(clients!.interaction!.interact({ kind: 'question', fields: [field('a', 'x'.repeat(51))] }), code('size-limit'))
    const first = clients!.interaction!.interact(APPROVAL)
    const second = clients!.interaction!.interact(APPROVAL)
    await assert.rejects(clients!.interaction!.interact(APPROVAL), code('queue-limit'))
    ;(await desk.next()).answer(APPROVED)
    await first
    ;(await desk.next()).answer(APPROVED)
    assert.deepEqual(await second, APPROVED)
  })

  it('are named when they are no limits', () => {
    assert.throws(() => createPresentationHost({ limits: { maxFields: 0 } }),
      { name: 'TypeError', message: 'Presentation host options.limits.maxFields must be a positive safe integer' })
    assert.throws(() => hosted().host.provide('web', [], { limits: { maxFields: 1.5 } }),
      { name: 'TypeError', message: 'Presentation connection limits.maxFields must be a positive safe integer' })
  })
})

describe('notifications', () => {
  it('of one key merge while they wait, within the invocation', async () => {
    const { host, consumer, desk, clients } = hosted({ limits: { maxConcurrentRequests: 1 } })
    const other = host.open(consumer).clients!
    const texts: string[] = []
    const sent = [
      clients.notification!.notify({ text: 'shown', deduplicationKey: 'k' }),
      clients.notification!.notify({ text: '10 %', deduplicationKey: 'k' }),
      other.notification!.notify({ text: 'other', deduplicationKey: 'k' }),
      clients.notification!.notify({ text: '20 %', deduplicationKey: 'k' }),
    ]
    for (let count = 0; count < 3; count += 1) {
      const held = await desk.next()
      texts.push(held.request.text)
      held.answer(ACCEPTED)
    }
    assert.deepEqual(await Promise.all(sent), [ACCEPTED, ACCEPTED, ACCEPTED, ACCEPTED])
    assert.deepEqual(texts, ['shown', '20 %', 'other'])
  })
})

describe('participants', () => {
  it('are one of a name, and speak presentation', () => {
    const { host, desk } = hosted()
    assert.throws(() => host.provide('tui', desk.implementations), { name: 'TypeError', message: /attached already/ })
    assert.throws(() => host.admit('plugin', []), { name: 'TypeError', message: /admitted already/ })
    assert.throws(() => host.admit('evil\u202e', []), { name: 'TypeError', message: /control or bidirectional/ })
    assert.throws(() => host.provide('x', [{ participantId: 'x', protocol: { apiVersion: 'a/v1', kind: 'B' }, handle: () => {} }]), TypeError)
    assert.throws(() => host.provide('x', [desk.implementations[0]!, desk.implementations[0]!]), /duplicate/)
  })

  it('never serve themselves', () => {
    const host = makeHost()
    host.provide('plugin', new Desk('plugin').implementations)
    assert.equal(host.open(host.admit('plugin', EVERYTHING)).clients, undefined)
  })
})
