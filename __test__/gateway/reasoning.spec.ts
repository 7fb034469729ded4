/** Reasoning, for clients that ask for it (X3). */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { StreamChunk } from '@deepseek-ai/dsh-llm'
import { connect, VERSIONS } from '../support/client.ts'
import {
  body, bootGateway, browserTool, callTools, fail, Gate, history, hostTool, input, registerTools, say, think, transcript, user,
} from '../support/gateway.ts'
import type { TestGateway, WireEvent, WireMessage } from '../support/gateway.ts'

const ASKED = { forwardedProps: { dsh: { reasoning: true } } }

/** A reasoning span as {@link lines} shows it. */
const span = (id: string, text: string): string[] =>
  [`REASONING_START ${id}`, `REASONING_MESSAGE_START ${id}`, `REASONING_MESSAGE_CONTENT ${id} ${text}`, `REASONING_MESSAGE_END ${id}`, `REASONING_END ${id}`]

/** Events behind the opening, reasoning with its ids; ids are shortened to what follows the session's part. */
function lines(events: readonly WireEvent[]): string[] {
  const opening = events.findIndex(({ type }) => type === 'MESSAGES_SNAPSHOT')
  const merged: string[] = []
  for (const { type, messageId, delta } of events.slice(opening + 1)) {
    if (!type.startsWith('REASONING')) continue
    const start = `${type} ${messageId?.replace(/^[^-]+-/u, '')}`
    if (delta !== undefined && merged.at(-1)?.startsWith(start)) merged[merged.length - 1] += delta
    else merged.push(delta === undefined ? start : `${start} ${delta}`)
  }
  return merged
}

function types(events: readonly WireEvent[]): string[] {
  return events.map(({ type }) => type).filter((type, index, all) => type !== all[index - 1])
}

const reason = (index: number, text: string): StreamChunk => ({ type: 'reasoning-delta', index, text })
const speak = (index: number, text: string): StreamChunk => ({ type: 'text-delta', index, text })
const endOf = (index: number, type: 'text' | 'reasoning', text: string): StreamChunk => ({ type: 'block-end', index, block: { type, text } })
const STOP: StreamChunk = { type: 'finish', reason: { kind: 'stop' } }

for (const version of VERSIONS) {
  test(`the model's reasoning streams before its text, and stays with the client, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    const client = connect(gateway, version)
    gateway.adapter.queue(think('The user\nasks.', 'So.'), think('Again?', 'Yes.'))
    const events = await client.say('why?', ASKED)
    assert.deepEqual(types(events), [
      'RUN_STARTED', 'MESSAGES_SNAPSHOT', 'REASONING_START', 'REASONING_MESSAGE_START', 'REASONING_MESSAGE_CONTENT',
      'REASONING_MESSAGE_END', 'REASONING_END', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT', 'TEXT_MESSAGE_END',
      'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    const [first] = span('1-1-reasoning-1', 'The user\nasks.')
    assert.equal(lines(events)[0], first)
    assert.deepEqual(transcript(client.messages).toSorted(), ['assistant So.', 'reasoning The user\nasks.', 'user why?'])
    // No history holds it, so every later one leaves it alone.
    assert.deepEqual(transcript(history(events)), ['user why?', 'assistant So.'])
    await client.say('again', ASKED)
    assert.deepEqual(transcript(client.messages).filter(line => line.startsWith('reasoning')), ['reasoning The user\nasks.', 'reasoning Again?'])
    const ids = client.messages.map(({ id }) => id)
    assert.equal(new Set(ids).size, ids.length)
  })
}

test('who does not ask gets none, whatever else the props say', async (t) => {
  const gateway = await bootGateway(t)
  for (const [index, forwardedProps] of [undefined, {}, { dsh: null }, { dsh: {} }, { dsh: { reasoning: false, other: 1 } }, { reasoning: true }].entries()) {
    gateway.adapter.queue(think('hmm', 'So.'))
    const events = await gateway.run({ messages: [user(`u-${index}`, 'why?')], forwardedProps })
    assert.deepEqual(body(events), ['TEXT_MESSAGE_START', 'text So.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
  }
})

test('other shapes are refused before anything happens', async (t) => {
  const gateway = await bootGateway(t)
  for (const dsh of [true, 'reasoning', 1, ['reasoning'], [true, true], { reasoning: 'yes' }, { reasoning: 1 }, { stateDelta: {} }]) {
    const refusal = await gateway.refuse(input({ messages: [user('u-1', 'hi')], forwardedProps: { dsh } }))
    assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_AGUI_INPUT'], JSON.stringify(dsh))
  }
  assert.deepEqual(gateway.agents, [])
})

test('reasoning deltas stream as they come, and count as first ones do', async (t) => {
  const gateway = await bootGateway(t)
  const gate = new Gate()
  gateway.adapter.queue(async function* ({ signal }) {
    yield reason(0, 'slowly ')
    await gate.pass(signal)
    yield reason(0, 'thinking')
    yield endOf(0, 'reasoning', 'slowly thinking')
    yield* [speak(1, 'done'), endOf(1, 'text', 'done'), STOP]
  })
  const run = gateway.post(input({ messages: [user('u-1', 'hi')], ...ASKED }))
  assert.equal((await run.next('REASONING_MESSAGE_CONTENT')).delta, 'slowly ')
  gate.open()
  assert.deepEqual(lines(await run.end()), span('1-1-reasoning-1', 'slowly thinking'))
})

test('each stretch of reasoning is a message of its own, closed before text and calls go on', async (t) => {
  const gateway = await bootGateway(t)
  await registerTools(gateway, hostTool('look', { execute: () => Promise.resolve('seen') }))
  const [call, ...rest] = callTools([{ id: 'c-1', name: 'look', args: {} }]).map(chunk => 'index' in chunk ? { ...chunk, index: 3 } : chunk)
  gateway.adapter.queue([
    reason(0, 'one'), speak(1, 'text '), reason(2, 'two'), speak(1, 'goes on'), endOf(1, 'text', 'text goes on'),
    call!, ...rest.slice(0, 1), reason(4, 'three'), ...rest.slice(1),
  ], think('four', 'Done.'))
  const events = await gateway.run({ messages: [user('u-1', 'hi')], ...ASKED })
  assert.deepEqual(lines(events), [
    ...span('1-1-reasoning-1', 'one'), ...span('1-1-reasoning-2', 'two'), ...span('1-1-reasoning-3', 'three'), ...span('1-2-reasoning-1', 'four'),
  ])
  assert.ok(insideOfSpans(events).every(type => type.startsWith('REASONING')))
  assert.deepEqual(transcript(history(events)), [
    'user hi', 'assistant text goes on c-1=look({})', 'tool c-1 "seen"', 'assistant Done.',
  ])
})

/** Types of the events between a start of reasoning and its end. */
function insideOfSpans(events: readonly WireEvent[]): string[] {
  let open = false
  return events.flatMap(({ type }) => {
    open = type === 'REASONING_START' || (open && type !== 'REASONING_END')
    return open ? [type] : []
  })
}

/** A call whose arguments the model interrupts to reason, and a text that it interrupts. */
async function interrupted(gateway: TestGateway): Promise<void> {
  await registerTools(gateway, hostTool('look', { execute: () => Promise.resolve('seen') }))
  const id = 'c-1' as never
  gateway.adapter.queue([
    { type: 'tool-call-delta', index: 0, id, name: 'look', argumentsDelta: '{"path":' },
    reason(1, 'where?'), endOf(1, 'reasoning', 'where?'),
    { type: 'tool-call-delta', index: 0, id, argumentsDelta: '"home"}' },
    { type: 'block-end', index: 0, block: { type: 'tool-call', id, name: 'look', arguments: '{"path":"home"}' } },
    { type: 'finish', reason: { kind: 'tool-calls' } },
  ], [speak(0, 'a'), reason(1, 'b?'), endOf(1, 'reasoning', 'b?'), speak(0, 'b'), endOf(0, 'text', 'ab'), STOP])
}

test('reasoning in the middle of a call or a text ends neither, asked for or not', async (t) => {
  for (const props of [ASKED, {}]) {
    const gateway = await bootGateway(t)
    await interrupted(gateway)
    const events = await gateway.run({ messages: [user('u-1', 'hi')], ...props })
    const shown = body(events).filter(line => !line.startsWith('REASONING') && !line.startsWith('card'))
    const parts = props === ASKED ? ['args c-1 {"path":', 'args c-1 "home"}'] : ['args c-1 {"path":"home"}']
    const texts = props === ASKED ? ['text a', 'text b'] : ['text ab']
    assert.deepEqual(shown, [
      'call c-1 look', ...parts, 'end c-1', 'result c-1 "seen"',
      'TEXT_MESSAGE_START', ...texts, 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
    ])
    await gateway.unload()
  }
})

for (const version of VERSIONS) {
  test(`a run that parks or fails leaves no reasoning open, with client ${version}`, async (t) => {
    const gateway = await bootGateway(t)
    const client = connect(gateway, version)
    const tools = [browserTool('pick')]
    gateway.adapter.queue(
      [reason(0, 'which?'), ...callTools([{ id: 'c-1', name: 'pick', args: {} }]).map(chunk => 'index' in chunk ? { ...chunk, index: 1 } : chunk)],
      [reason(0, 'half a thou'), ...fail('partial').slice(-1)],
    )
    const parked = await client.say('pick one', { tools, ...ASKED })
    assert.equal(parked.at(-1)?.type, 'RUN_FINISHED')
    assert.deepEqual(lines(parked), span('1-1-reasoning-1', 'which?'))
    const failed = await client.answer({ 'c-1': 'red' }, { tools, ...ASKED })
    assert.equal(failed.at(-1)?.code, 'SCRIPT_FAILED')
    assert.deepEqual(lines(failed), span('1-2-reasoning-1', 'half a thou'))
    assert.deepEqual(
      (client.messages as readonly WireMessage[]).filter(({ role }) => role === 'reasoning').map(({ content }) => content),
      ['which?', 'half a thou'],
    )
    gateway.adapter.queue(say('fine'))
    assert.equal((await client.say('and now?', ASKED)).at(-1)?.type, 'RUN_FINISHED')
  })
}
