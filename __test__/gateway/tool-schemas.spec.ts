/**
 * Tool schemas as generators and clients write them, recorded from the real ones: what becomes of each, and what is refused
 * with everything that is wrong (X8).
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { bootGateway, browserTool, callTools, input, say, toolsSeen, user } from '../support/gateway.ts'
import type { TestGateway } from '../support/gateway.ts'

/** A recorded schema. */
interface Row {
  /** What wrote it, several where they agree. */
  readonly from: string
  readonly name: string
  readonly parameters: object
  /** Whether DSH takes it as it stands. */
  readonly strict: 'taken' | 'refused'
  /** What the model sees of it, where that is not what was sent. */
  readonly becomes?: object
  /** What nobody can enforce. */
  readonly violations?: readonly string[]
}

const ROWS = readFileSync(new URL('../vectors/tool-schemas.jsonl', import.meta.url), 'utf8').trim().split('\n').map(line => JSON.parse(line) as Row)

/** The Tool of a row, under a name of its own. */
const tool = ({ name, parameters }: Row, at: number): { readonly name: string, readonly parameters: object } => ({ ...browserTool(`${name}_${at}`), name: `${name}_${at}`, parameters })

/** What the model was given, by name. */
const parametersSeen = (gateway: TestGateway): Record<string, unknown> =>
  Object.fromEntries((gateway.adapter.requests.at(-1)?.tools ?? []).map(({ name, parameters }) => [name, parameters]))

test('what can be enforced reaches the model, and says the same', async (t) => {
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('ok'))
  const good = ROWS.filter(({ violations }) => violations === undefined)
  assert.ok(good.length >= 24)
  await gateway.run({ messages: [user('u-1', 'hi')], tools: good.map(tool) })
  assert.deepEqual(parametersSeen(gateway), Object.fromEntries(good.map((row, at) => [tool(row, at).name, row.becomes ?? row.parameters])))
})

test('what cannot be enforced is refused with the whole list, and nothing changes', async (t) => {
  const gateway = await bootGateway(t)
  const bad = ROWS.filter(({ violations }) => violations !== undefined)
  assert.ok(bad.length >= 8)
  for (const row of bad) {
    const refusal = await gateway.refuse(input({ messages: [user('u-1', 'hi')], tools: [tool(row, 0)] }))
    assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_FRONTEND_TOOL_SCHEMA'], row.from)
    const told = `parameters of browser Tool "${row.name}_0" cannot be enforced: ${row.violations?.join('; ')}`
    assert.equal(refusal.message, told, row.from)
  }
  assert.equal(gateway.agents.length, 0)
})

test('strict takes exactly what DSH takes', async (t) => {
  const gateway = await bootGateway(t, { toolSchemas: 'strict', maxTools: 64 })
  const taken = ROWS.filter(({ strict }) => strict === 'taken')
  gateway.adapter.queue(say('ok'))
  await gateway.run({ messages: [user('u-1', 'hi')], tools: taken.map(tool) })
  assert.equal(toolsSeen(gateway).length, taken.length)
  for (const row of ROWS.filter(({ strict }) => strict === 'refused')) {
    const refusal = await gateway.refuse(input({ messages: [user('u-2', 'hi')], tools: [tool(row, 0)] }))
    assert.equal(refusal.code, 'INVALID_FRONTEND_TOOL_SCHEMA', row.from)
  }
})

test('what a schema says holds for the calls of the model', async (t) => {
  const gateway = await bootGateway(t)
  const steps = ROWS.find(({ name }) => name === 'generate_task_steps')
  assert.ok(steps !== undefined)
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'generate_task_steps', args: { steps: [{ description: 'a', status: 'maybe' }] } }]), say('Sorry.'))
  const events = await gateway.run({ messages: [user('u-1', 'go')], tools: [{ ...browserTool('generate_task_steps'), parameters: steps.parameters }] })
  const result = events.find(({ type }) => type === 'TOOL_CALL_RESULT')
  assert.match(result?.content ?? '', /^Error: invalid arguments: .*status/u)
})

test('an empty description takes the name of its Tool where schemas are normalised; a blank one is a mistake', async (t) => {
  const nameless = { ...browserTool('pick'), description: '' }
  const gateway = await bootGateway(t)
  gateway.adapter.queue(say('ok'), say('ok'))
  await gateway.run({ messages: [user('u-1', 'hi')], tools: [nameless] })
  assert.deepEqual(gateway.adapter.requests.at(-1)?.tools?.map(({ name, description }) => [name, description]), [['pick', 'pick']])
  // Sent again it is the same Tool.
  await gateway.run({ messages: [user('u-2', 'hi')], tools: [nameless] })
  assert.deepEqual(toolsSeen(gateway), ['pick'])
  const blank = await gateway.refuse(input({ messages: [user('u-3', 'hi')], tools: [{ ...nameless, description: ' ' }] }))
  assert.equal(blank.code, 'INVALID_FRONTEND_TOOL')
  const strict = await bootGateway(t, { toolSchemas: 'strict' })
  const refusal = await strict.refuse(input({ messages: [user('u-1', 'hi')], tools: [nameless] }))
  assert.deepEqual([refusal.status, refusal.code], [400, 'INVALID_FRONTEND_TOOL'])
})
