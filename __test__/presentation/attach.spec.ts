/** The same semantics over message channels, and a defined end for whatever a channel or a peer does (P6). */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import { afterEach, describe, it } from 'node:test'
import { MessageChannel, Worker } from 'node:worker_threads'
import { WebSocket, WebSocketServer } from 'ws'
import { attach } from 'dsh-ag-ui/presentation'
import type { AttachPort, PresentationAttachment, PresentationHost, TextPort } from 'dsh-ag-ui/presentation'
import { ACCEPTED, APPROVAL, APPROVED, Desk, EVERYTHING, SECRET, closeHosts, makeHost } from './hosting.ts'

const code = (expected: string) => (error: any) => {
  assert.equal(error.code, expected)
  return true
}

afterEach(closeHosts)

interface Channel {
  readonly host: AttachPort
  readonly provider: AttachPort
  close(): void
}

const channels: Record<string, () => Promise<Channel>> = {
  async 'a MessageChannel'() {
    const { port1, port2 } = new MessageChannel()
    return { host: port1, provider: port2, close: () => { port1.close() } }
  },
  async 'a WebSocket'() {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await once(server, 'listening')
    const connected = once(server, 'connection')
    const client = new WebSocket(`ws://127.0.0.1:${(server.address() as { port: number }).port}`)
    const [socket] = await connected
    return {
      host: socket,
      provider: client,
      close: () => {
        client.terminate()
        server.close()
      },
    }
  },
  async 'a pair of streams'() {
    const [down, up] = [new PassThrough(), new PassThrough()]
    return { host: { input: up, output: down }, provider: { input: down, output: up }, close: () => { down.destroy(); up.destroy() } }
  },
}

async function connected(channel: Channel, presenting: 'on-offer' | 'explicit' = 'on-offer') {
  const host = makeHost()
  const desk = new Desk('tui')
  const served = attach(channel.provider, { participantId: 'tui', implementations: desk.implementations, presenting })
  const attachment = await host.attach(channel.host, { participantId: 'screen-1' })
  await served.opened
  const invocation = host.open(host.admit('plugin', EVERYTHING))
  return { host, desk, served, attachment, invocation, clients: invocation.clients! }
}

for (const [name, make] of Object.entries(channels)) {
  describe(`over ${name}`, () => {
    let channel: Channel
    afterEach(() => { channel.close() })

    it('every kind is answered as in process', async () => {
      channel = await make()
      const { desk, clients, invocation, served, attachment } = await connected(channel)
      assert.equal(invocation.descriptor?.clientId, 'screen-1')
      assert.deepEqual(invocation.descriptor?.contracts.length, 5)
      const approved = clients.interaction!.interact(APPROVAL)
      const held = await desk.next()
      assert.equal(held.request.origin, 'plugin')
      assert.ok(Object.isFrozen(held.request))
      held.answer(APPROVED)
      const result = await approved
      assert.deepEqual(result, APPROVED)
      assert.ok(Object.isFrozen(result))
      const secret = clients.interaction!.interact(SECRET)
      ;(await desk.next()).answer({ status: 'submitted', value: { secret: 'pä"ss\\wörd\n' } })
      assert.deepEqual(await secret, { status: 'submitted', value: { secret: 'pä"ss\\wörd\n' } })
      const call = clients.externalRedirect!.receive()
      const receiver = await desk.next()
      receiver.context.progress({ type: 'ready', redirectUri: 'http://127.0.0.1:9/x' })
      assert.equal((await call.ready).redirectUri, 'http://127.0.0.1:9/x')
      receiver.answer({ status: 'submitted', value: { query: { a: ['1', '2'] } } })
      assert.deepEqual(await call.result, { status: 'submitted', value: { query: { a: ['1', '2'] } } })
      attachment.close()
      assert.deepEqual([await attachment.closed, await served.closed], ['channel-closed', 'channel-closed'])
      await assert.rejects(clients.interaction!.interact(APPROVAL), code('provider-unavailable'))
    })

    it('a cancel reaches the provider, and its late answer settles nothing', async () => {
      channel = await make()
      const { desk, clients } = await connected(channel)
      const controller = new AbortController()
      const asked = clients.interaction!.interact(APPROVAL, { signal: controller.signal })
      const held = await desk.next()
      const aborted = once(held.context.signal, 'abort')
      controller.abort()
      assert.deepEqual(await asked, { status: 'cancelled' })
      await aborted
      assert.equal((held.context.signal.reason as any).code, 'request-cancelled')
      held.answer(APPROVED)
      const next = clients.notification!.notify({ text: 'x' })
      ;(await desk.next()).answer(ACCEPTED)
      assert.deepEqual(await next, ACCEPTED)
    })

    it('a lost channel cancels what was shown and makes the rest unavailable', async () => {
      channel = await make()
      const { desk, clients, served, attachment } = await connected(channel, 'explicit')
      const shown = clients.interaction!.interact(SECRET)
      const held = await desk.next()
      assert.equal(await held.context.present(), true)
      assert.equal(await held.context.present(), false)
      const unseen = clients.interaction!.interact(APPROVAL)
      await desk.next()
      channel.close()
      assert.deepEqual(await shown, { status: 'cancelled' })
      assert.deepEqual(await unseen, { status: 'unavailable', reason: 'provider-disconnected' })
      assert.equal(await attachment.closed, 'channel-lost')
      assert.equal(await served.closed, 'channel-lost')
      assert.ok(held.context.signal.aborted)
      await assert.rejects(clients.interaction!.interact(APPROVAL), code('provider-disconnected'))
    })

    it('the provider\'s goodbye ends its lease', async () => {
      channel = await make()
      const { desk, clients, served, attachment } = await connected(channel)
      const asked = clients.interaction!.interact(APPROVAL)
      await desk.next()
      served.close()
      assert.deepEqual(await asked, { status: 'cancelled' })
      assert.equal(await attachment.closed, 'channel-closed')
    })
  })
}

describe('over a worker thread', () => {
  it('asks a user interface that lives in the worker, and survives its end', async () => {
    const worker = new Worker(new URL('./provider-worker.ts', import.meta.url))
    const host = makeHost()
    const attachment = await host.attach(worker, { participantId: 'worker' })
    const requirement = { apiVersion: 'presentation.dsh/v1alpha1', kind: 'UserInteraction', spec: { operations: ['approval', 'secret-input'] } }
    const { clients } = host.open(host.admit('plugin', [requirement]))
    assert.deepEqual(await clients!.interaction!.interact(APPROVAL), APPROVED)
    assert.deepEqual(await clients!.interaction!.interact(SECRET), { status: 'submitted', value: { secret: 'pä"ss\\wörd' } })
    await worker.terminate()
    assert.equal(await attachment.closed, 'channel-lost')
    await assert.rejects(clients!.interaction!.interact(APPROVAL), code('provider-disconnected'))
  })
})

/** A hand-driven peer: what the Host sends is recorded, what it receives is ours to choose. */
class Peer implements TextPort {
  readonly sent: any[] = []
  closed = false
  #events: Parameters<TextPort['start']>[0] | undefined
  #waiting: (() => void)[] = []

  send(text: string): void {
    this.sent.push(JSON.parse(text))
    for (const wake of this.#waiting.splice(0)) wake()
  }

  start(events: Parameters<TextPort['start']>[0]): void { this.#events = events }
  close(): void { this.closed = true }
  say(message: unknown): void { this.#events!.message(typeof message === 'string' ? message : JSON.stringify(message)) }
  noise(): void { this.#events!.message(undefined) }

  async seen(t: string): Promise<any> {
    for (;;) {
      const found = this.sent.find(message => message.t === t)
      if (found) return found
      await new Promise<void>(resolve => { this.#waiting.push(resolve) })
    }
  }
}

const SUPPORTS = [{ apiVersion: 'presentation.dsh/v1alpha1', kind: 'UserInteraction', spec: { operations: ['question', 'approval', 'secret-input'] } }]

async function withPeer(link?: object): Promise<{ host: PresentationHost, peer: Peer, attachment: PresentationAttachment, clients: any }> {
  const host = makeHost()
  const peer = new Peer()
  const attaching = host.attach(peer, { participantId: 'tui', ...(link ? { link } : {}) })
  peer.say({ t: 'hello', v: 1, participant: 'admin', supports: SUPPORTS })
  const attachment = await attaching
  const invocation = host.open(host.admit('plugin', SUPPORTS))
  assert.equal(invocation.descriptor?.clientId, 'tui', 'what a peer calls itself grants nothing')
  return { host, peer, attachment, clients: invocation.clients }
}

describe('a hostile peer', () => {
  const misdeeds: [string, string, (peer: Peer) => void][] = [
    ['no JSON', 'malformed-message', peer => { peer.say('{') }],
    ['no text', 'malformed-message', peer => { peer.noise() }],
    ['an unknown message', 'malformed-message', peer => { peer.say({ t: 'exec', id: 1 }) }],
    ['too much', 'message-too-large', peer => { peer.say({ t: 'progress', id: 1, value: 'x'.repeat(5 << 20) }) }],
    ['a second greeting', 'message-out-of-order', peer => { peer.say({ t: 'hello', v: 1, participant: 'x', supports: [] }) }],
    ['a Host\'s message', 'message-out-of-order', peer => { peer.say({ t: 'granted', id: 1 }) }],
    ['another request', 'unknown-request', peer => { peer.say({ t: 'result', id: 7, result: { status: 'cancelled' } }) }],
  ]
  for (const [name, expected, misbehave] of misdeeds) {
    it(`that sends ${name} ends the link with ${expected}`, async () => {
      const { peer, attachment, clients } = await withPeer()
      const asked = clients.interaction.interact(APPROVAL)
      await peer.seen('request')
      misbehave(peer)
      assert.equal(await attachment.closed, expected)
      assert.deepEqual(await asked, { status: 'unavailable', reason: 'provider-disconnected' })
      assert.deepEqual(await peer.seen('bye'), { t: 'bye', code: expected })
      assert.ok(peer.closed)
    })
  }

  it('that answers twice is told, and settles once', async () => {
    const { peer, clients } = await withPeer()
    const asked = clients.interaction.interact(APPROVAL)
    const { id } = await peer.seen('request')
    peer.say({ t: 'result', id, result: { status: 'submitted', value: { decision: 'denied' } } })
    peer.say({ t: 'result', id, result: APPROVED })
    assert.deepEqual(await asked, { status: 'submitted', value: { decision: 'denied' } })
    assert.deepEqual(await peer.seen('settled'), { t: 'settled', id, code: 'already-settled' })
  })

  it('whose answer does not fit is told, and the consumer is not given it', async () => {
    const { peer, clients } = await withPeer()
    const asked = clients.interaction.interact(APPROVAL)
    const { id } = await peer.seen('request')
    peer.say({ t: 'result', id, result: { status: 'submitted', value: { decision: 'always' } } })
    await assert.rejects(asked, code('invalid-answer'))
    assert.deepEqual(await peer.seen('settled'), { t: 'settled', id, code: 'invalid-answer' })
  })

  it('that claims to be gone while it talks still settles its request', async () => {
    const { peer, clients } = await withPeer()
    const asked = clients.interaction.interact(APPROVAL)
    const { id } = await peer.seen('request')
    peer.say({ t: 'failed', id, code: 'provider-disconnected' })
    await assert.rejects(asked, code('implementation-failed'))
  })

  it('that greets wrongly or not at all is not attached', async () => {
    const host = makeHost()
    const wrong = new Peer()
    const attaching = host.attach(wrong, { participantId: 'tui' })
    wrong.say({ t: 'hello', v: 1, participant: 'x', supports: [{ apiVersion: 'other/v1', kind: 'X' }] })
    await assert.rejects(attaching, code('invalid-request'))
    const early = new Peer()
    const rushing = host.attach(early, { participantId: 'tui' })
    early.say({ t: 'result', id: 1, result: {} })
    await assert.rejects(rushing, code('message-out-of-order'))
    const silent = host.attach(new Peer(), { participantId: 'tui', link: { openingMs: 5 } })
    const alive = setInterval(() => {}, 1_000)
    await assert.rejects(silent, code('channel-timeout'))
    clearInterval(alive)
  })

  it('that is silent is pinged', async () => {
    const { peer, attachment } = await withPeer({ pingMs: 5 })
    assert.deepEqual(await peer.seen('ping'), { t: 'ping' })
    attachment.close()
  })

  // A process that was held up for so long may do so without having pinged: how one follows the other is tested in Rust.
  it('that stays silent is given up', async () => {
    const { attachment, clients } = await withPeer({ pingMs: 5, silenceMs: 20 })
    const asked = clients.interaction.interact(APPROVAL)
    assert.equal(await attachment.closed, 'channel-timeout')
    assert.deepEqual(await asked, { status: 'unavailable', reason: 'provider-disconnected' })
  })

  it('cannot take another\'s place', async () => {
    const { host } = await withPeer()
    const second = new Peer()
    const attaching = host.attach(second, { participantId: 'tui' })
    second.say({ t: 'hello', v: 1, participant: 'tui', supports: SUPPORTS })
    await assert.rejects(attaching, code('invalid-request'))
  })
})

describe('a hostile Host', () => {
  it('gets no handler called for what is no request', async () => {
    const peer = new Peer()
    const desk = new Desk('tui')
    const served = attach(peer, { participantId: 'tui', implementations: desk.implementations })
    assert.equal((await peer.seen('hello')).supports.length, 5)
    peer.say({ t: 'welcome', v: 1 })
    await served.opened
    peer.say({ t: 'request', id: 1, kind: 'OpenExternal', input: { uri: 'file:///etc/passwd' } })
    assert.deepEqual(await peer.seen('failed'), { t: 'failed', id: 1, code: 'invalid-request' })
    assert.equal(desk.idle, 0)
    peer.say({ t: 'request', id: 9, kind: 'OpenExternal', input: {} })
    assert.equal(await served.closed, 'message-out-of-order')
  })
})

describe('ports', () => {
  it('that are none are refused', () => {
    assert.throws(() => attach({} as never, { participantId: 'tui', implementations: [] }), TypeError)
    assert.throws(() => attach(new Peer(), { participantId: 'tui', implementations: [], link: { pingMs: 0 } }),
      { name: 'TypeError', message: 'Presentation attachment limits.pingMs must be a positive safe integer' })
  })
})
