/** Clicks on surfaces as the official A2UI middleware reports them: good ones, broken ones, early ones, repeated ones (G19). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { A2UIMiddleware, LOG_A2UI_EVENT_TOOL_NAME } from '@ag-ui/a2ui-middleware'
import { HttpAgent } from '@ag-ui/client'
import { DshHttpAgent } from 'dsh-ag-ui/client'
import { bootGateway, browserTool, callTools, history, logOf, makeHome, outline, said, say, SECRET, turnsOf, user } from '../support/gateway.ts'
import type { TestGateway, WireEvent, WireMessage } from '../support/gateway.ts'

const ACTION = {
  timestamp: '2026-01-01T00:00:00Z', name: 'book', surfaceId: 's1', sourceComponentId: 'root', dataContextPath: '/',
  context: { seat: 7, from: { z: 1, a: 2 } },
}
const TOLD = 'User performed action "book" on surface "s1" (component: root). Context: {"seat":7,"from":{"z":1,"a":2}}\n\n'
  + '{"context":{"from":{"a":2,"z":1},"seat":7},"dataContextPath":"/","name":"book","sourceComponentId":"root","surfaceId":"s1",'
  + '"timestamp":"2026-01-01T00:00:00Z"}'
const HISTORY_ONLY = ['RUN_STARTED', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED']

/** A request as it leaves the page, behind the middleware. */
interface Sent {
  readonly runId: string
  readonly messages: readonly WireMessage[]
}

/** A page with surfaces. */
class Page {
  readonly sent: Sent[] = []
  /** Codes of the requests that were refused. */
  readonly refusals: string[] = []
  readonly #agent: HttpAgent
  readonly #tools: readonly object[]

  constructor(gateway: TestGateway, Client: typeof HttpAgent, tools: readonly object[] = []) {
    this.#tools = tools
    this.#agent = new Client({
      url: gateway.url,
      threadId: 'thread-1',
      headers: { 'authorization': `Bearer ${SECRET}`, 'x-dsh-tenant-id': 'tenant-1', 'x-dsh-user-id': 'user-1' },
      fetch: async (url, init) => {
        this.sent.push(JSON.parse(init.body as string) as Sent)
        const response = await fetch(url, init)
        if (!response.ok) this.refusals.push((await response.clone().json() as { code: string }).code)
        return response
      },
    })
    // Its types are of the client's CommonJS build; the class is the same.
    this.#agent.use(new A2UIMiddleware({ injectA2UITool: true }) as never)
  }

  /** The last request that the page sent. */
  get last(): Sent {
    const sent = this.sent.at(-1)
    assert.ok(sent !== undefined, 'the page has sent a request')
    return sent
  }

  async say(id: string, content: string): Promise<readonly WireEvent[]> {
    return await this.#add({ id, role: 'user', content })
  }

  async answer(id: string, toolCallId: string, content: string): Promise<readonly WireEvent[]> {
    return await this.#add({ id, role: 'tool', toolCallId, content })
  }

  /** A click; the middleware makes its pair of messages of it, under new ids. */
  async click(userAction: unknown = ACTION): Promise<readonly WireEvent[]> {
    return await this.#run({ a2uiAction: { userAction } })
  }

  /** A click that the gateway refuses. Returns the code. */
  async clickInVain(userAction: unknown = ACTION): Promise<string | undefined> {
    const count = this.refusals.length
    await assert.rejects(this.click(userAction))
    assert.equal(this.refusals.length, count + 1)
    return this.refusals.at(-1)
  }

  async #add(message: WireMessage): Promise<readonly WireEvent[]> {
    this.#agent.addMessage(message as never)
    return await this.#run({})
  }

  async #run(forwardedProps: object): Promise<readonly WireEvent[]> {
    const events: WireEvent[] = []
    await this.#agent.runAgent({ tools: this.#tools as never, forwardedProps }, {
      onEvent: ({ event }) => { events.push(event as unknown as WireEvent) },
    })
    return events
  }
}

function turns(gateway: TestGateway): number {
  return turnsOf(gateway.agent()).filter(type => type === 'turn/start').length
}

/** The client reports on the console what it throws as well. */
function muteErrors(t: TestContext): void {
  t.mock.method(console, 'error', () => {})
}

for (const [name, Client] of [['HttpAgent', HttpAgent], ['DshHttpAgent', DshHttpAgent]] as const) {
  test(`the model reads the whole click, people do not, and later requests do without it, ${name}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue(say('Booked.'), say('You are welcome.'))
    const page = new Page(gateway, Client)
    const events = await page.click()
    assert.equal(said(events), 'Booked.')
    assert.ok(JSON.stringify(gateway.adapter.requests.at(-1)?.messages).includes(JSON.stringify(TOLD).slice(1, -1)))
    assert.deepEqual(history(events).map(({ role }) => role), ['assistant'])
    assert.equal(said(await page.say('u-1', 'thanks')), 'You are welcome.')
    assert.ok(!JSON.stringify(page.last.messages).includes(LOG_A2UI_EVENT_TOOL_NAME))
    assert.equal(turns(gateway), 2)
  })

  test(`a click that the middleware itself makes something broken of is refused and changes nothing, ${name}`, async (t) => {
    muteErrors(t)
    const gateway = await bootGateway(t)
    gateway.adapter.queue(say('Hello.'), say('Booked.'))
    const page = new Page(gateway, Client)
    await page.say('u-1', 'hi')
    const before = logOf(gateway.agent()).length
    const { name: _name, ...nameless } = ACTION
    const { surfaceId: _surface, ...surfaceless } = ACTION
    for (const bad of [
      'book', {}, nameless, surfaceless, { ...ACTION, name: '' }, { ...ACTION, name: 7 }, { ...ACTION, name: 'x'.repeat(2000) },
      { ...ACTION, context: [] }, { ...ACTION, context: 'seat' }, { ...ACTION, timestamp: 1 }, { ...ACTION, more: 1 },
    ]) {
      assert.equal(await page.clickInVain(bad), 'INVALID_A2UI_ACTION', JSON.stringify(bad).slice(0, 80))
    }
    assert.equal(logOf(gateway.agent()).length, before)
    assert.equal(said(await page.click()), 'Booked.')
  })
}

test('a click waits for what the browser owes, and what was refused leaves its id free', async (t) => {
  muteErrors(t)
  const gateway = await bootGateway(t)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('Red.'), say('Booked.'))
  const page = new Page(gateway, HttpAgent, [browserTool('pick')])
  await page.say('u-1', 'pick one')
  const before = logOf(gateway.agent()).length
  assert.equal(await page.clickInVain(), 'AGENT_BUSY')
  assert.equal(logOf(gateway.agent()).length, before)
  const early = page.last
  assert.equal(said(await page.answer('t-1', 'c-1', 'red')), 'Red.')
  const mixed = await gateway.refuse({ ...early, runId: 'mixed', messages: [user('u-9', 'new'), ...early.messages.slice(-2)] })
  assert.deepEqual([mixed.status, mixed.code], [400, 'INVALID_MESSAGE_BATCH'])
  assert.equal(said(await gateway.post({ ...early, runId: 'again' }).end()), 'Booked.')
  assert.equal(turns(gateway), 2)
})

test('one click counts once, also after a restart; another click of the same content counts again', async (t) => {
  const home = makeHome(t)
  const first = await bootGateway(t, {}, { home })
  first.adapter.queue(say('Booked.'), say('Booked again.'))
  const page = new Page(first, HttpAgent)
  await page.click()
  const clicked = page.last
  assert.deepEqual(outline(await first.post({ ...clicked, runId: 'retry' }).end()), HISTORY_ONLY)
  assert.equal(said(await page.click()), 'Booked again.')
  assert.notEqual(page.last.messages.at(-1)?.id, clicked.messages.at(-1)?.id)
  assert.equal(turns(first), 2)
  await first.host.dispose()
  const second = await bootGateway(t, {}, { home })
  // The same run id, too: its record went with the process.
  assert.deepEqual(outline(await second.post(clicked).end()), HISTORY_ONLY)
  assert.deepEqual(outline(await second.post({ ...clicked, runId: 'late-retry' }).end()), HISTORY_ONLY)
  assert.equal(second.adapter.requests.length, 0)
  second.adapter.queue(say('Booked once more.'))
  assert.equal(said(await new Page(second, DshHttpAgent).click()), 'Booked once more.')
})
