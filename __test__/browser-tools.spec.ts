import assert from 'node:assert/strict'
import { after, before, describe, it, mock } from 'node:test'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import ToolRuntime from '@deepseek-ai/dsh-tools'
import BrowserTools, { BrowserToolError } from 'dsh-ag-ui/browser-tools'
import type { BrowserTool, BrowserToolCall, BrowserToolLease, BrowserToolsConfig, BrowserToolTransport } from 'dsh-ag-ui/browser-tools'
import { toolResults, turnEnd, TurnHost } from './support/turns.ts'

const PICK: BrowserTool = {
  name: 'pick_colour',
  description: 'Asks the page for a colour.',
  parameters: { type: 'object', properties: { label: { type: 'string' } }, required: ['label'] },
}
const SCROLL: BrowserTool = { name: 'scroll', description: 'Scrolls the page.' }

/** A browser that waits to be told what to answer. */
class Page implements BrowserToolTransport {
  readonly calls: { call: BrowserToolCall, signal: AbortSignal, resolve: (value: unknown) => void, reject: (error: unknown) => void }[] = []
  #waiting: (() => void)[] = []

  invoke(call: BrowserToolCall, signal: AbortSignal): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.calls.push({ call, signal, resolve, reject })
    for (const resume of this.#waiting.splice(0)) resume()
    return promise
  }

  /** Waits until so many calls have arrived. */
  async arrived(count: number): Promise<typeof this.calls> {
    while (this.calls.length < count) await new Promise<void>(resume => this.#waiting.push(resume))
    return this.calls
  }
}

const refusesToAnswer: BrowserToolTransport = { invoke: () => assert.fail('the browser must not be asked') }

function codeOf(act: () => unknown): string | undefined {
  try {
    act()
  } catch (error) {
    assert.ok(error instanceof Error)
    return (error as Error & { code?: string }).code
  }
  return undefined
}

/** Why a call was taken back from the browser. */
function reasonCode(parked: { readonly signal: AbortSignal } | undefined): string | undefined {
  const reason: unknown = parked?.signal.reason
  return reason instanceof BrowserToolError ? reason.code : undefined
}

describe('ctx.browserTools (G23)', () => {
  let host: TurnHost
  before(async () => { host = await TurnHost.boot() })
  after(async () => { await host.dispose() })

  /** Mounts the service, and a plugin that uses it, for one test. */
  async function mounted(config: BrowserToolsConfig = {}) {
    const service = await host.ctx.plugin(BrowserTools, config)
    let caller: Context | undefined
    const user = await host.ctx.plugin({ name: 'user', inject: ['browserTools'], apply: (ctx: Context) => { caller = ctx } })
    const handle = await host.agent()
    assert.ok(caller !== undefined)
    const { browserTools } = caller
    return {
      service,
      user,
      handle,
      agent: handle.agent,
      bind: (agent: Agent, owner: string, tools: readonly BrowserTool[], transport: BrowserToolTransport): BrowserToolLease =>
        browserTools.bind(agent, owner, tools, transport),
      async [Symbol.asyncDispose]() {
        await handle.dispose()
        await user.dispose()
        await service.dispose()
      },
    }
  }

  const visible = (name: string, agent?: Agent): boolean => host.ctx.tools.get(name, agent) !== undefined

  it('registers Tools in the scope of exactly one Agent and hands results to the model', async () => {
    await using test = await mounted()
    const other = await host.agent()
    const page = new Page()
    const lease = test.bind(test.agent, 'page-1', [PICK, SCROLL], page)
    assert.deepEqual(lease.tools, ['pick_colour', 'scroll'])
    assert.deepEqual([lease.agent, lease.owner], [test.agent, 'page-1'])
    assert.deepEqual([visible('scroll', test.agent), visible('scroll', other.agent), visible('scroll')], [true, false, false])

    host.scriptTurn({ name: 'pick_colour', args: { label: 'sky' } }, { name: 'scroll', args: '' })
    host.start(test.agent)
    const [pick, scroll] = await page.arrived(2)
    assert.deepEqual(pick?.call, { callId: 'call-0', name: 'pick_colour', arguments: { label: 'sky' } })
    assert.deepEqual(scroll?.call, { callId: 'call-1', name: 'scroll', arguments: {} })
    assert.equal(test.agent.status, 'running')
    pick?.resolve('blue')
    scroll?.resolve({ top: 10, ok: [true, null] })
    await test.agent.whenIdle()
    assert.deepEqual(toolResults(test.agent), [
      { callId: 'call-0', text: 'blue', isError: false },
      { callId: 'call-1', text: '{"top":10,"ok":[true,null]}', isError: false },
    ])
    assert.equal(turnEnd(test.agent), 'completed')
    const offered = host.requests.at(-1)?.tools?.find(tool => tool.name === 'pick_colour')
    assert.deepEqual(offered, { name: PICK.name, description: PICK.description, parameters: PICK.parameters })
    await other.dispose()
  })

  it('brings all calls of one step to the browser at once, answered in any order', async () => {
    await using test = await mounted()
    const page = new Page()
    test.bind(test.agent, 'page', [SCROLL], page)
    host.scriptTurn({ name: 'scroll', args: { to: 1 } }, { name: 'scroll', args: { to: 2 } }, { name: 'scroll', args: { to: 3 } })
    host.start(test.agent)
    const calls = await page.arrived(3)
    for (const { call, resolve } of calls.toReversed()) resolve((call.arguments as { to: number }).to)
    await test.agent.whenIdle()
    assert.deepEqual(toolResults(test.agent).map(({ callId, text }) => [callId, text]), [['call-0', '1'], ['call-1', '2'], ['call-2', '3']])
  })

  it('refuses Tools that break the rules, and registers none of them', async () => {
    await using test = await mounted({ maxTools: 2 })
    const refused = (...tools: BrowserTool[]) => codeOf(() => test.bind(test.agent, 'page', [SCROLL, ...tools].slice(-3), refusesToAnswer))
    assert.equal(refused({ name: 'no spaces', description: 'x' }), 'INVALID_FRONTEND_TOOL_NAME')
    assert.equal(refused({ name: 'ag_ui_update_state', description: 'x' }), 'RESERVED_FRONTEND_TOOL_NAME')
    assert.equal(refused(SCROLL), 'DUPLICATE_FRONTEND_TOOL')
    assert.equal(refused({ name: 'blank', description: ' ' }), 'INVALID_FRONTEND_TOOL')
    assert.equal(refused(PICK, { ...PICK, name: 'third' }), 'TOOL_LIMIT_EXCEEDED')
    assert.equal(refused({ ...PICK, parameters: { type: 'array' } }), 'INVALID_FRONTEND_TOOL_SCHEMA')
    assert.equal(refused({ ...PICK, parameters: { loop: 1n } }), 'INVALID_FRONTEND_TOOL')
    assert.throws(
      () => test.bind(test.agent, 'page', [{ ...PICK, parameters: { type: 'object', minProperties: 1 } }], refusesToAnswer),
      { code: 'INVALID_FRONTEND_TOOL_SCHEMA', status: 400, violations: ['schema.minProperties: cannot be enforced'] },
    )
    for (const owner of ['', 'a b', '-a', 'x'.repeat(129)]) {
      assert.equal(codeOf(() => test.bind(test.agent, owner, [], refusesToAnswer)), 'INVALID_BROWSER_TOOL_OWNER')
    }
    assert.equal(visible('scroll', test.agent), false)
    test.bind(test.agent, 'page', [SCROLL], refusesToAnswer) // no refusal left a lease behind
  })

  it('refuses names that the Agent has from anywhere else', async () => {
    await using test = await mounted()
    const remove = await host.globalTool('add')
    const refused = (name: string, owner = 'page') => codeOf(() => test.bind(test.agent, owner, [{ ...SCROLL, name }], refusesToAnswer))
    assert.equal(refused('add'), 'FRONTEND_TOOL_NAME_COLLISION', 'global')
    assert.equal(refused('ask_user_question'), 'FRONTEND_TOOL_NAME_COLLISION', 'of the preset')
    const lease = test.bind(test.agent, 'page', [SCROLL], refusesToAnswer)
    assert.equal(refused('scroll', 'other'), 'FRONTEND_TOOL_NAME_COLLISION', 'of another lease')
    assert.equal(codeOf(() => lease.update([SCROLL, { ...SCROLL, name: 'add' }])), 'FRONTEND_TOOL_NAME_COLLISION')
    assert.equal(refused('zoom'), 'BROWSER_TOOL_LEASE_EXISTS')
    await remove()
    lease.update([SCROLL, { ...SCROLL, name: 'add' }])
    assert.deepEqual(lease.tools, ['scroll', 'add'])
    // Another owner, and another Agent, are other leases.
    test.bind(test.agent, 'other', [PICK], refusesToAnswer)
    const second = await host.agent()
    test.bind(second.agent, 'page', [SCROLL, PICK], refusesToAnswer)
    await second.dispose()
  })

  it('answers to its own Agent only', async () => {
    await using test = await mounted()
    const other = await host.agent()
    test.bind(test.agent, 'page', [SCROLL], refusesToAnswer)
    const definition = host.ctx.tools.get('scroll', test.agent)
    const run = { agent: other.agent, callId: 'x', signal: new AbortController().signal }
    await assert.rejects(async () => definition?.execute({}, run as never), { code: 'AGENT_NOT_AVAILABLE' })
    await other.dispose()
  })

  it('does not ask the browser about invalid arguments', async () => {
    await using test = await mounted()
    test.bind(test.agent, 'page', [PICK], refusesToAnswer)
    host.scriptTurn({ name: 'pick_colour', args: { label: 7 } }, { name: 'pick_colour', args: '{"label":' }, { name: 'pick_colour', args: '' })
    const prefix = 'Error: invalid arguments for browser Tool "pick_colour": '
    assert.deepEqual(await host.turn(test.agent), [
      { callId: 'call-0', text: `${prefix}label: must be of type string`, isError: true },
      { callId: 'call-1', text: `${prefix}arguments: must be an object`, isError: true },
      { callId: 'call-2', text: `${prefix}label: is required`, isError: true },
    ])
  })

  it('tells the browser and the model when the turn is cancelled', async () => {
    await using test = await mounted()
    const page = new Page()
    test.bind(test.agent, 'page', [SCROLL], page)
    host.scriptCalls({ name: 'scroll', args: {} })
    host.start(test.agent)
    const [parked] = await page.arrived(1)
    test.agent.cancel({ kind: 'user' })
    await test.agent.whenIdle()
    assert.equal(reasonCode(parked), 'BROWSER_TOOL_ABORTED')
    parked?.resolve('too late')
    const [result] = toolResults(test.agent)
    assert.equal(result?.isError, true)
    assert.match(result.text, /cancelled/u)
    assert.equal(turnEnd(test.agent), 'aborted')
  })

  it('gives up on a browser that does not answer in time', async () => {
    await using test = await mounted({ toolTimeoutMs: 5000 })
    const page = new Page()
    test.bind(test.agent, 'page', [SCROLL], page)
    host.scriptTurn({ name: 'scroll', args: {} })
    mock.timers.enable({ apis: ['setTimeout'] })
    try {
      host.start(test.agent)
      const [parked] = await page.arrived(1)
      mock.timers.tick(4999)
      assert.equal(parked?.signal.aborted, false)
      mock.timers.tick(1)
      assert.equal(reasonCode(parked), 'BROWSER_TOOL_TIMEOUT')
    } finally {
      mock.timers.reset()
    }
    await test.agent.whenIdle()
    assert.deepEqual(toolResults(test.agent), [
      { callId: 'call-0', text: 'Error: browser Tool "scroll" did not answer within 5000 ms', isError: true },
    ])
    assert.equal(turnEnd(test.agent), 'completed')
  })

  it('turns every failure of the transport into an error that the model can read', async () => {
    await using test = await mounted()
    const failing = (body: () => unknown): BrowserToolTransport => ({ invoke: body })
    const outcomes: [() => unknown, string, boolean][] = [
      [() => { throw new Error('page crashed') }, 'Error: page crashed', true],
      [() => Promise.reject(new Error('gone')), 'Error: gone', true],
      [() => Promise.reject('plain text'), 'Error: plain text', true], // eslint-disable-line prefer-promise-reject-errors
      [() => Promise.reject({ kind: 'odd' }), 'Error: browser Tool "scroll" failed', true], // eslint-disable-line prefer-promise-reject-errors
      [() => undefined, 'null', false],
      [() => 'text', 'text', false],
      [() => Number.NaN, 'Error: tool "scroll" returned invalid output: value is not lossless JSON', true],
    ]
    for (const [body, text, isError] of outcomes) {
      const lease = test.bind(test.agent, 'page', [SCROLL], failing(body))
      host.scriptTurn({ name: 'scroll', args: {} })
      const results = await host.turn(test.agent)
      assert.deepEqual(results.at(-1), { callId: 'call-0', text, isError })
      lease.dispose()
    }
  })

  it('replaces Tools all or nothing, keeping what is unchanged and what is in flight', async () => {
    await using test = await mounted()
    const page = new Page()
    const lease = test.bind(test.agent, 'page', [PICK, SCROLL], page)
    const definition = () => host.ctx.tools.get('pick_colour', test.agent)
    const unchanged = definition()
    const zoom = { ...SCROLL, name: 'zoom' }
    host.scriptTurn({ name: 'scroll', args: {} })
    host.start(test.agent)
    const [parked] = await page.arrived(1)

    assert.equal(codeOf(() => lease.update([zoom, { ...zoom, name: '' }])), 'INVALID_FRONTEND_TOOL_NAME')
    assert.deepEqual(lease.tools, ['pick_colour', 'scroll'])
    lease.update([zoom, { ...PICK }])
    assert.deepEqual(lease.tools, ['zoom', 'pick_colour'])
    assert.deepEqual([visible('scroll', test.agent), visible('zoom', test.agent)], [false, true])
    assert.equal(definition(), unchanged)
    lease.update([{ ...PICK, description: 'Another text.' }])
    assert.notEqual(definition(), unchanged)

    parked?.resolve('still heard')
    await test.agent.whenIdle()
    assert.equal(toolResults(test.agent)[0]?.text, 'still heard')
  })

  it('puts the old Tools back when the Host refuses a new one', async () => {
    await using test = await mounted()
    const lease = test.bind(test.agent, 'page', [PICK, SCROLL], refusesToAnswer)
    const prototype = ToolRuntime.prototype as unknown as { register(definition: { name: string }): () => void }
    const { register } = prototype
    mock.method(prototype, 'register', function (this: typeof prototype, definition: { name: string }) {
      if (definition.name === 'refused') throw new Error('the Host says no')
      return register.call(this, definition)
    })
    const zoom = { ...SCROLL, name: 'zoom' }
    try {
      assert.throws(() => lease.update([zoom, { ...SCROLL, name: 'refused' }]), /the Host says no/u)
    } finally {
      mock.restoreAll()
    }
    assert.deepEqual(lease.tools, ['pick_colour', 'scroll'])
    assert.deepEqual(['pick_colour', 'scroll', 'zoom'].map(name => visible(name, test.agent)), [true, true, false])
  })

  it('gives way to a Tool that the Agent gets from elsewhere', async () => {
    await using test = await mounted()
    const page = new Page()
    const lease = test.bind(test.agent, 'page', [PICK, SCROLL], page)
    host.scriptTurn({ name: 'scroll', args: {} }, { name: 'pick_colour', args: { label: 'x' } })
    host.start(test.agent)
    const [scroll, pick] = await page.arrived(2)
    const remove = await host.globalTool('scroll')
    assert.equal(reasonCode(scroll), 'FRONTEND_TOOL_NAME_COLLISION')
    assert.deepEqual(lease.tools, ['pick_colour'])
    assert.equal(host.ctx.tools.get('scroll', test.agent)?.description, 'A global Tool.')
    pick?.resolve('green')
    await test.agent.whenIdle()
    assert.deepEqual(toolResults(test.agent), [
      { callId: 'call-0', text: 'Error: browser Tool "scroll" collides with a Tool that the Agent got from elsewhere', isError: true },
      { callId: 'call-1', text: 'green', isError: false },
    ])
    await remove()
    lease.update([PICK, SCROLL])
    assert.equal(host.ctx.tools.get('scroll', test.agent)?.description, SCROLL.description)
  })

  it('rejects what is pending when the lease is disposed', async () => {
    await using test = await mounted()
    const page = new Page()
    const lease = test.bind(test.agent, 'page', [SCROLL], page)
    host.scriptTurn({ name: 'scroll', args: {} })
    host.start(test.agent)
    const [parked] = await page.arrived(1)
    lease.dispose()
    lease.dispose()
    assert.equal(reasonCode(parked), 'BROWSER_TOOL_LEASE_DISPOSED')
    await test.agent.whenIdle()
    assert.deepEqual(toolResults(test.agent), [
      { callId: 'call-0', text: 'Error: browser Tool lease of "page" is disposed', isError: true },
    ])
    assert.equal(turnEnd(test.agent), 'completed')
    assert.equal(visible('scroll', test.agent), false)
    assert.deepEqual(lease.tools, [])
    assert.equal(codeOf(() => lease.update([SCROLL])), 'BROWSER_TOOL_LEASE_DISPOSED')
    test.bind(test.agent, 'page', [SCROLL], page).dispose()
  })

  for (const who of ['user', 'service'] as const) {
    it(`ends leases with the ${who}, even while a call is parked`, async () => {
      await using test = await mounted()
      const page = new Page()
      const lease = test.bind(test.agent, 'page', [SCROLL], page)
      host.scriptTurn({ name: 'scroll', args: {} })
      host.start(test.agent)
      await page.arrived(1) // never answered
      await test[who].dispose()
      await test.agent.whenIdle()
      assert.equal(toolResults(test.agent)[0]?.isError, true)
      assert.deepEqual([lease.tools, visible('scroll', test.agent)], [[], false])
    })
  }

  it('ends leases with the Agent, even while a call is parked', async () => {
    await using test = await mounted()
    const page = new Page()
    const lease = test.bind(test.agent, 'page', [SCROLL], page)
    host.scriptCalls({ name: 'scroll', args: {} })
    host.start(test.agent)
    const [parked] = await page.arrived(1)
    await test.handle.dispose()
    assert.equal(parked?.signal.aborted, true)
    assert.deepEqual(lease.tools, [])
    assert.equal(codeOf(() => test.bind(test.agent, 'page', [SCROLL], page)), 'AGENT_NOT_AVAILABLE')
  })

  it('can be reloaded again and again', async () => {
    const { agent, dispose } = await (async () => {
      const handle = await host.agent()
      return { agent: handle.agent, dispose: () => handle.dispose() }
    })()
    for (let round = 0; round < 3; round++) {
      const service = await host.ctx.plugin(BrowserTools, {})
      const user = await host.ctx.plugin({
        name: 'user',
        inject: ['browserTools'],
        apply: (ctx: Context) => { ctx.browserTools.bind(agent, 'page', [SCROLL], refusesToAnswer) },
      })
      assert.equal(visible('scroll', agent), true)
      await service.dispose()
      assert.equal(visible('scroll', agent), false)
      await user.dispose()
    }
    await dispose()
  })

  it('refuses a configuration that makes no sense', async () => {
    for (const config of [{ toolTimeoutMs: 0 }, { toolTimeoutMs: 2 ** 31 }, { maxTools: -1 }, { maxToolBytes: 1.5 }, { toolSchemas: 'lax' }]) {
      await assert.rejects(async () => { await host.ctx.plugin(BrowserTools, config as BrowserToolsConfig) }, /invalid config/u, JSON.stringify(config))
    }
  })
})
