/** CopilotKit's runtime and the core of its pages in front of the gateway: its habits are handled (X7, X8). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { connect } from '../support/client.ts'
import { copilotKit, CopilotPage, CopilotServer } from '../support/copilotkit.ts'
import type { PageTool } from '../support/copilotkit.ts'
import {
  bootGateway, callTools, Gate, hostTool, logOf, nextEvent, registerTools, resultsSeen, say, sayThrough, transcript, turnsOf,
} from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'
import { guard } from '../support/people.ts'

/** The first use installs it. */
const PATIENCE = { timeout: 300_000 }
const PASSED_OVER = 'Error: the browser did not answer; the person went on with a new message'
const PICK = callTools([{ id: 'c-1', name: 'pick', args: { label: 'x' } }])

interface Scene {
  readonly gateway: TestGateway
  readonly server: CopilotServer
  readonly page: CopilotPage
  /** The agent of the page's thread. */
  agent(): Agent
}

let threads = 0

async function scene(t: TestContext, tools: readonly PageTool[] = [], options: { readonly a2ui?: object } = {}): Promise<Scene> {
  const gateway = await bootGateway(t)
  const server = await CopilotServer.start(t, gateway, options)
  // The runtime remembers threads for all that run in one process.
  threads += 1
  const threadId = `thread-${threads}`
  return { gateway, server, page: new CopilotPage(server, threadId, tools), agent: () => gateway.agent(threadId) }
}

/** Words only: what the page shows. */
const shown = ({ messages }: CopilotPage): string[] => transcript(messages.filter(({ role }) => role !== 'activity'))

/** A page and a fresh reader of the gateway hold the same conversation. */
async function assertConsistent({ gateway, page }: Scene): Promise<void> {
  const reader = connect(gateway, '0.0.59', { threadId: page.agent.threadId })
  await reader.run()
  assert.deepEqual(shown(page), transcript(reader.messages))
  assert.deepEqual(page.messages.filter(({ role }) => role !== 'activity').map(({ id }) => id), reader.messages.map(({ id }) => id))
}

function pick(handler?: (args: { readonly label?: string }) => unknown, others: Partial<PageTool> = {}): PageTool {
  const { z } = copilotKit()
  return { name: 'pick', parameters: z.object({ label: z.string().optional() }), ...handler === undefined ? {} : { handler }, ...others }
}

test('a conversation through the runtime', PATIENCE, async (t) => {
  const all = await scene(t)
  const { gateway, page } = all
  gateway.adapter.queue(say('Hello.'), say('Fine.'))
  await page.say('hi')
  await page.say('how are you?')
  assert.deepEqual(shown(page), ['user hi', 'assistant Hello.', 'user how are you?', 'assistant Fine.'])
  assert.deepEqual(page.errors, [])
  await assertConsistent(all)
})

test('Tools of the page run, and the turn goes on with what they give', PATIENCE, async (t) => {
  const { z } = copilotKit()
  const steps: PageTool = {
    name: 'generate_task_steps',
    parameters: z.object({ steps: z.array(z.object({ description: z.string(), status: z.enum(['enabled', 'disabled', 'executing']) })) }),
    handler: ({ steps: chosen }: { readonly steps: readonly object[] }) => ({ accepted: true, steps: chosen }),
  }
  const all = await scene(t, [pick(({ label }) => `picked ${label}`), steps])
  const { gateway, page } = all
  const chosen = { steps: [{ description: 'a', status: 'enabled' }] }
  gateway.adapter.queue(callTools([
    { id: 'c-1', name: 'pick', args: { label: 'x' } }, { id: 'c-2', name: 'generate_task_steps', args: chosen },
  ]), say('Both.'))
  await page.say('go')
  // Without a description the page sends an empty one; the model reads the name.
  assert.deepEqual(gateway.adapter.requests[0]?.tools?.map(({ name, description }) => `${name}: ${description}`).sort(),
    ['generate_task_steps: generate_task_steps', 'pick: pick'])
  assert.deepEqual(resultsSeen(gateway), ['c-1 picked x', `c-2 ${JSON.stringify({ accepted: true, ...chosen })}`])
  assert.equal(turnsOf(all.agent()).filter(type => type === 'turn/start').length, 1)
  assert.equal(shown(page).at(-1), 'assistant Both.')
  assert.deepEqual(page.errors, [])
  await assertConsistent(all)
})

test('stop: the turn is cancelled, what the runtime fills in is no answer, and the conversation goes on', PATIENCE, async (t) => {
  const all = await scene(t, [pick(() => 'red')])
  const { gateway, page } = all
  const gate = new Gate()
  await registerTools(gateway, hostTool('slow', { execute: async (_args, exec) => { await gate.pass(exec.signal) } }))
  gateway.adapter.queue(
    'hang', callTools([{ id: 'c-1', name: 'slow', args: {} }]),
    // Stopped inside the arguments of a call that nobody will ever know of.
    async function* ({ signal }) {
      yield { type: 'block-start', index: 0, blockType: 'tool-call' }
      yield { type: 'tool-call-delta', index: 0, id: 'c-2' as never, name: 'pick', argumentsDelta: '{"lab' }
      await new Gate().pass(signal)
    },
    say('Here I am.'),
  )
  const stopped = async (text: string, type: string): Promise<void> => {
    const begun = page.next(event => event.type === type)
    const run = page.say(text)
    await begun
    const ended = nextEvent(all.agent(), 'turn/end')
    page.stop()
    assert.equal(((await ended).data as { reason: { kind: string } }).reason.kind, 'aborted')
    await run
  }
  await stopped('write', 'TEXT_MESSAGE_CONTENT')
  await stopped('work', 'TOOL_CALL_END')
  await stopped('show', 'TOOL_CALL_ARGS')
  await page.say('still there?')
  assert.equal(shown(page).at(-1), 'assistant Here I am.')
  await assertConsistent(all)
})

test('a handler that failed: its error arrives with the next words, and both go into the turn that waits', PATIENCE, async (t) => {
  const all = await scene(t, [pick(() => { throw new Error('no camera') })])
  const { gateway, page } = all
  gateway.adapter.queue(PICK, say('I see.'))
  await page.say('go')
  assert.deepEqual(page.errors.map(({ error }) => error.message), ['no camera'])
  assert.deepEqual(turnsOf(all.agent()), ['turn/start', 'assistant/message', 'tool/call'])
  await page.say('never mind')
  assert.deepEqual(resultsSeen(gateway), ['c-1 Error: no camera'])
  assert.equal(turnsOf(all.agent()).filter(type => type === 'turn/start').length, 1)
  assert.deepEqual(shown(page).slice(-3), ['tool c-1 Error: no camera', 'user never mind', 'assistant I see.'])
  await assertConsistent(all)
})

test('a model that fails within a call: the page does not carry it out, and the conversation goes on', PATIENCE, async (t) => {
  const carried: unknown[] = []
  const all = await scene(t, [pick((args) => { carried.push(args) })])
  const { gateway, page } = all
  const failure = { type: 'finish', reason: { kind: 'error', failure: { message: 'overloaded', code: 'OVERLOADED' } } }
  gateway.adapter.queue([...PICK.slice(0, -2), failure] as never, say('Here I am.'))
  await page.say('go')
  await page.say('are you there?')
  assert.deepEqual(carried, [])
  assert.deepEqual(shown(page), ['user go', 'user are you there?', 'assistant Here I am.'])
  await assertConsistent(all)
})

test('a Tool without a follow-up: its result arrives with the next words', PATIENCE, async (t) => {
  const all = await scene(t, [pick(() => 'red', { followUp: false })])
  const { gateway, page } = all
  gateway.adapter.queue(PICK, say('Red it is.'))
  await page.say('go')
  await page.say('thanks')
  assert.deepEqual(resultsSeen(gateway), ['c-1 red'])
  assert.deepEqual(shown(page).slice(-2), ['user thanks', 'assistant Red it is.'])
  await assertConsistent(all)
})

test('a person who writes on while a form is open: the call ends for the model, the words join its turn', PATIENCE, async (t) => {
  const opened = Promise.withResolvers<void>()
  const form = Promise.withResolvers<string>()
  const all = await scene(t, [pick(() => {
    opened.resolve()
    return form.promise
  }, { type: 'human-in-the-loop' })])
  const { gateway, page } = all
  gateway.adapter.queue(PICK, say('Something else, then.'))
  const first = page.say('go')
  await opened.promise
  await page.say('something else')
  assert.deepEqual(resultsSeen(gateway), [`c-1 ${PASSED_OVER}`])
  assert.equal(turnsOf(all.agent()).filter(type => type === 'turn/start').length, 1)
  assert.deepEqual(shown(page), [
    'user go', 'assistant c-1=pick({"label":"x"})', `tool c-1 ${PASSED_OVER}`, 'user something else', 'assistant Something else, then.',
  ])
  // The form is filled in after all: nobody waits for it any more.
  form.resolve('late')
  await first
  gateway.adapter.queue(say('Yes?'))
  await page.say('hello?')
  assert.deepEqual(shown(page).slice(-2), ['user hello?', 'assistant Yes?'])
  await assertConsistent(all)
})

test('regenerating with a shortened history gives back what was said', PATIENCE, async (t) => {
  const all = await scene(t)
  const { gateway, page } = all
  gateway.adapter.queue(say('One.'), say('Two.'))
  await page.say('a')
  await page.say('b')
  const before = shown(page)
  page.agent.setMessages(page.agent.messages.slice(0, -1))
  await page.run()
  assert.deepEqual(shown(page), before)
  assert.equal(gateway.adapter.requests.length, 2)
  await assertConsistent(all)
})

test('other words for the last ones: the conversation has both, in one order', PATIENCE, async (t) => {
  const all = await scene(t)
  const { gateway, page } = all
  gateway.adapter.queue(say('One.'), say('Two.'), say('Three.'))
  await page.say('a')
  await page.say('b')
  page.agent.setMessages(page.agent.messages.slice(0, -2))
  await page.say('c')
  assert.deepEqual(shown(page), ['user a', 'assistant One.', 'user b', 'assistant Two.', 'user c', 'assistant Three.'])
  await assertConsistent(all)
})

test('an approval is answered under the id of the run that it ended, with a message beside it', PATIENCE, async (t) => {
  const all = await scene(t)
  const { gateway, page } = all
  await registerTools(gateway, hostTool('deploy'))
  await guard(gateway, ['deploy'])
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'deploy', args: { path: 'prod' } }]), say('Deployed.'))
  await page.say('deploy')
  const last = page.events.findLast(({ type }) => type === 'RUN_FINISHED')
  const [interrupt] = last?.outcome?.interrupts ?? []
  assert.ok(interrupt !== undefined && last?.runId !== undefined)
  await page.run({ runId: last.runId, resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] })
  assert.deepEqual(resultsSeen(gateway), ['c-1 {"path":"prod"}'])
  assert.equal(shown(page).at(-1), 'assistant Deployed.')
  assert.deepEqual(page.errors, [])
  await assertConsistent(all)
})

test('a page that reloads gets the conversation from the runtime, and goes on', PATIENCE, async (t) => {
  const all = await scene(t)
  const { gateway, server, page } = all
  gateway.adapter.queue(say('Hello.'), say('Again.'))
  await page.say('hi')
  const reloaded = new CopilotPage(server, page.agent.threadId)
  await reloaded.reconnect()
  assert.deepEqual(shown(reloaded), shown(page))
  await reloaded.say('more')
  assert.deepEqual(shown(reloaded).slice(-2), ['user more', 'assistant Again.'])
  await assertConsistent({ ...all, page: reloaded })
})

test('surfaces through the runtime: painted while the model writes them, and acted upon', PATIENCE, async (t) => {
  const all = await scene(t, [], { a2ui: { injectA2UITool: true } })
  const { gateway, page } = all
  const components = [{ id: 'root', component: 'Text', text: 'Hi' }]
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'render_a2ui', args: { surfaceId: 's1', components } }]), say('There.'), say('Booked.'))
  await page.say('show')
  const painted = page.messages.find(({ role }) => role === 'activity')
  assert.ok(JSON.stringify(painted?.content).includes('"a2ui_operations"'))
  assert.deepEqual(resultsSeen(gateway), ['c-1 {"status":"rendered"}'])
  await page.run({ forwardedProps: { a2uiAction: { userAction: { name: 'book', surfaceId: 's1', context: {} } } } })
  assert.equal(shown(page).at(-1), 'assistant Booked.')
  assert.ok(logOf(all.agent()).some(({ data }) => JSON.stringify(data).includes('a2ui-action')))
  assert.deepEqual(page.errors, [])
  await assertConsistent(all)
})

test('text streams through both hops as the model writes it', PATIENCE, async (t) => {
  const { gateway, page } = await scene(t)
  const gate = new Gate()
  gateway.adapter.queue(sayThrough(gate, 'one ', 'two'))
  const first = page.next(({ type }) => type === 'TEXT_MESSAGE_CONTENT')
  const run = page.say('go')
  assert.equal((await first).delta, 'one ')
  gate.open()
  await run
  assert.equal(shown(page).at(-1), 'assistant one two')
})
