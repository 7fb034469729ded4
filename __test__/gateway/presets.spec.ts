/** Choosing the preset of a blank thread (G17), on directories of presets. */

import assert from 'node:assert/strict'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Agent } from '@deepseek-ai/dsh-agent'
import AgUi from 'dsh-ag-ui'
import {
  after, answer, bootGateway, bootHost, browserTool, callTools, configOf, errorOf, Gate, history, input, logOf, makeHome, nextEvent, original, say, toolsSeen, transcript, user,
} from '../support/gateway.ts'
import type { InputFields, TestGateway } from '../support/gateway.ts'

type Boot = Parameters<typeof bootGateway>

/** A preset with one Tool of its own. */
const TOOL = (name: string): string => `
  export const name = 'own-tool-${name}'
  export const inject = ['tools']
  export function apply(ctx) {
    ctx.tools.register({
      name: '${name}', description: 'Does it.', parameters: { type: 'object', properties: {} },
      output: { schema: {}, render: () => [{ type: 'text', text: '${name}' }] }, execute: async () => null,
    })
  }`
const PRESETS = {
  alpha: '- id: tool\n  name: ./alpha.mjs\n',
  beta: '- id: tool\n  name: ./beta.mjs\n',
  gamma: '- id: noop\n  name: ./noop.mjs\n',
}
const GRANTS = { 'tenant-1': ['alpha', 'beta'] }

function presetsHome(t: TestContext): string {
  const home = makeHome(t)
  mkdirSync(join(home, 'presets'))
  for (const id of ['alpha', 'beta']) writeFileSync(join(home, 'presets', `${id}.mjs`), TOOL(`of_${id}`))
  return home
}

async function boot(t: TestContext, config: Boot[1] = {}, options: Boot[2] = {}): Promise<TestGateway> {
  return await bootGateway(t, { selectableAgentPresets: GRANTS, ...config }, { home: presetsHome(t), presets: PRESETS, ...options })
}

const choose = (agentPreset: unknown, fields: InputFields = {}): InputFields => ({ forwardedProps: { agentPreset }, ...fields })
const says = (id: string) => ({ messages: [user(id, 'hi')] })

/** Presets that the log of a thread says were selected. */
function selected(gateway: TestGateway): unknown[] {
  return logOf(gateway.agent()).filter(({ type }) => type === 'agent-preset/selected').map(({ data }) => data)
}

test('a blank thread gets the preset that its first run asks for, and keeps it', async (t) => {
  const home = presetsHome(t)
  const first = await boot(t, { agentPreset: 'alpha' }, { home })
  first.adapter.queue(say('one'), say('two'))
  await first.run(choose('beta', says('u-1')))
  assert.deepEqual(toolsSeen(first), ['of_beta'])
  assert.deepEqual(selected(first), [{ agentPreset: 'beta' }])
  // Naming it again changes nothing; naming none keeps it.
  await first.run(choose('beta', says('u-2')))
  assert.deepEqual(selected(first), [{ agentPreset: 'beta' }])
  const refused = async (gateway: TestGateway, preset: string) => {
    const { status, code } = await gateway.refuse(input(choose(preset, says('u-9'))))
    return [status, code]
  }
  assert.deepEqual(await refused(first, 'alpha'), [409, 'PRESET_LOCKED'])
  assert.deepEqual(await refused(first, 'gamma'), [403, 'PRESET_NOT_ALLOWED'])
  await first.host.dispose()

  const second = await boot(t, { agentPreset: 'alpha' }, { home })
  second.adapter.queue(say('three'), say('four'))
  await second.run(choose('beta', says('u-3')))
  await second.run(says('u-4'))
  assert.deepEqual(toolsSeen(second), ['of_beta'])
  assert.deepEqual(selected(second), [{ agentPreset: 'beta' }])
  assert.deepEqual(await refused(second, 'alpha'), [409, 'PRESET_LOCKED'])
  assert.deepEqual(transcript(history(await second.run())).length, 8)
})

test('the preset that a thread has needs no grant and is not selected', async (t) => {
  const gateway = await boot(t, { agentPreset: 'gamma', selectableAgentPresets: {} })
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('gamma', says('u-1')))
  assert.deepEqual(selected(gateway), [])
})

test('a thread without a preset may choose one', async (t) => {
  const gateway = await boot(t)
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('beta', says('u-1')))
  assert.deepEqual(toolsSeen(gateway), ['of_beta'])
})

test('what is not granted to the tenant is refused, and an id that is none', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const refused = async (preset: unknown, headers = {}) => {
    const { status, code } = await gateway.refuse(input(choose(preset, says('u-1'))), { headers })
    return [status, code]
  }
  for (const preset of ['gamma', 'nowhere', '../x']) assert.deepEqual(await refused(preset), [403, 'PRESET_NOT_ALLOWED'])
  assert.deepEqual(await refused('beta', { 'x-dsh-tenant-id': 'tenant-2' }), [403, 'PRESET_NOT_ALLOWED'])
  for (const bad of ['', ' ', 1, true, {}, ['beta']]) assert.deepEqual(await refused(bad), [400, 'INVALID_AGUI_INPUT'])
  gateway.adapter.queue(say('one'))
  await gateway.run(choose(null, says('u-1')))
  assert.deepEqual(toolsSeen(gateway), ['of_alpha'])
})

test('history selects nothing, whatever it names; its session may still choose', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  for (const preset of ['beta', 'gamma']) assert.equal((await gateway.run(choose(preset))).at(-1)?.type, 'RUN_FINISHED')
  assert.deepEqual(selected(gateway), [])
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('beta', says('u-1')))
  assert.deepEqual(toolsSeen(gateway), ['of_beta'])
})

test('Tool names are held against the composition that is selected, before the stream begins', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const tools = [browserTool('of_beta')]
  const refusal = await gateway.refuse(input(choose('beta', { ...says('u-1'), tools })))
  assert.deepEqual([refusal.status, refusal.code], [409, 'FRONTEND_TOOL_NAME_COLLISION'])
  // The selection stays, no turn has begun, and the thread may choose again.
  assert.deepEqual(selected(gateway), [{ agentPreset: 'beta' }])
  assert.equal((await gateway.refuse(input({ ...says('u-1'), tools }))).code, 'FRONTEND_TOOL_NAME_COLLISION')
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('alpha', { ...says('u-1'), tools }))
  assert.deepEqual(toolsSeen(gateway), ['of_alpha', 'of_beta'])
  assert.deepEqual(selected(gateway), [{ agentPreset: 'beta' }, { agentPreset: 'alpha' }])
})

test('shared state is held against the composition that is selected, too', async (t) => {
  const home = presetsHome(t)
  writeFileSync(join(home, 'presets', 'beta.mjs'), TOOL('ag_ui_update_state'))
  const gateway = await boot(t, { agentPreset: 'alpha' }, { home })
  const refusal = await gateway.refuse(input(choose('beta', { ...says('u-1'), state: { a: 1 } })))
  assert.deepEqual([refusal.status, refusal.code], [409, 'SHARED_STATE_TOOL_COLLISION'])
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('alpha', { ...says('u-1'), state: { a: 1 } }))
})

test('a continuation of the turn keeps the preset', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const tools = [browserTool('pick')]
  gateway.adapter.queue(callTools([{ id: 'c-1', name: 'pick', args: {} }]), say('done'))
  await gateway.run(choose('beta', { ...says('u-1'), tools }))
  const messages = [answer('t-1', 'c-1', 'yes')]
  const refusal = await gateway.refuse(input(choose('alpha', { messages, tools })))
  assert.deepEqual([refusal.status, refusal.code], [409, 'PRESET_LOCKED'])
  await gateway.run(choose('beta', { messages, tools }))
  assert.deepEqual(toolsSeen(gateway), ['of_beta', 'pick'])
})

test('a selection that the Host cannot make refuses the run and keeps what was', async (t) => {
  const home = presetsHome(t)
  const gateway = await boot(t, { agentPreset: 'alpha' }, { home })
  // It was there when the gateway started.
  rmSync(join(home, 'presets', 'beta'), { recursive: true })
  const refusal = await gateway.refuse(input(choose('beta', says('u-1'))))
  assert.deepEqual([refusal.status, refusal.code, refusal.message], [500, 'AGENT_EXECUTION_ERROR', 'the Host failed'])
  gateway.adapter.queue(say('one'))
  await gateway.run(says('u-1'))
  assert.deepEqual(toolsSeen(gateway), ['of_alpha'])
})

test('a Host that selects by itself is asked to, and its refusal has its code', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  // The way of generations B and C (host-api §4.1), on the service of generation A.
  const presets = original(gateway.host.ctx.agentPresets)
  const select = async (agent: Agent, id: string): Promise<void> => {
    if (id === 'beta') throw Object.assign(new Error('at /secret'), { code: 'agent-preset/locked' })
    await presets.recompose(agent.ctx, id)
    agent.session.append('agent-preset/selected', { agentPreset: id })
  }
  Object.assign(presets, { select })
  const refusal = await gateway.refuse(input(choose('beta', says('u-1'))))
  assert.deepEqual([refusal.status, refusal.code], [409, 'PRESET_LOCKED'])
  assert.ok(!refusal.message.includes('secret'))
  await gateway.unload()
  await gateway.mount({ selectableAgentPresets: { 'tenant-1': ['gamma'] } })
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('gamma', says('u-1')))
  assert.deepEqual(selected(gateway), [{ agentPreset: 'gamma' }])
})

test('a client that leaves while its preset is selected frees the thread; the selection stays', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const gate = gateway.holdSelection()
  const run = gateway.post(input(choose('beta', says('u-1'))))
  await gate.reached
  const next = gateway.post(input(says('u-2')))
  await next.received
  run.leave()
  await gateway.left(run)
  gateway.adapter.queue(say('one'))
  gate.open()
  assert.deepEqual(transcript(history(await next.end())), ['user hi', 'assistant one'])
  assert.deepEqual(selected(gateway), [{ agentPreset: 'beta' }])
  assert.deepEqual(toolsSeen(gateway), ['of_beta'])
  assert.equal(gateway.adapter.requests.length, 1)
})

test('a client that leaves alone leaves the selection behind, and no turn', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const gate = gateway.holdSelection()
  const run = gateway.post(input(choose('beta', says('u-1'))))
  await gate.reached
  const logged = nextEvent(gateway.agent(), 'agent-preset/selected')
  run.leave()
  await gateway.left(run)
  gate.open()
  await logged
  gateway.adapter.queue(say('one'))
  await gateway.run(choose('alpha', says('u-1')))
  assert.deepEqual(selected(gateway), [{ agentPreset: 'beta' }, { agentPreset: 'alpha' }])
  assert.deepEqual(toolsSeen(gateway), ['of_alpha'])
})

test('runs that come while a preset is selected wait, and the same run joins', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const gate = gateway.holdSelection()
  const body = input(choose('beta', says('u-1')))
  const first = gateway.post(body)
  await gate.reached
  const twin = gateway.post(body)
  await twin.received
  assert.equal((await gateway.refuse({ ...body, messages: [] })).code, 'RUN_ID_CONFLICT')
  gateway.adapter.queue(say('one'))
  gate.open()
  const [events, again] = await Promise.all([first.end(), twin.end()])
  assert.deepEqual(history(events), history(again))
  assert.equal(gateway.adapter.requests.length, 1)
})

test('unloading the gateway while a preset is selected refuses the run', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  const gate = gateway.holdSelection()
  const run = gateway.post(input(choose('beta', says('u-1'))))
  await gate.reached
  const unloaded = gateway.unload()
  const refusal = await run.refused()
  assert.deepEqual([refusal.status, refusal.code], [410, 'AGENT_NOT_AVAILABLE'])
  gate.open()
  await unloaded
  assert.deepEqual(gateway.agents, [])
})

/** A message that comes from the Host's side. */
const own = { id: 'own', role: 'user', content: [{ type: 'text', text: 'x' }], source: { kind: 'user' } } as never

test('a turn that the Host begins first locks the preset', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha' })
  await gateway.run()
  const gate = new Gate()
  gateway.adapter.queue(after(gate, say('of the Host')))
  gateway.agent().followup(own)
  await gate.reached
  const run = gateway.post(input(choose('beta', says('u-1'))))
  await run.received
  gate.open()
  const { status, code } = await run.refused()
  assert.deepEqual([status, code], [409, 'PRESET_LOCKED'])
})

for (const [name, config] of [
  ['an unknown grant', { selectableAgentPresets: { 'tenant-1': ['nowhere'] } }],
  ['a broken grant', { selectableAgentPresets: { 'tenant-1': ['broken'] } }],
  ['an unknown default', { agentPreset: 'nowhere' }],
  ['an unknown preset of a tenant', { tenantPresets: { 'tenant-1': 'nowhere' } }],
] as const) {
  test(`${name} stops the gateway from starting`, async (t) => {
    const host = await bootHost({ home: presetsHome(t), presets: { ...PRESETS, broken: 'no: list' } })
    t.after(() => host.dispose())
    await assert.rejects(async () => { await host.ctx.plugin(AgUi, configOf(host, config as never) as never) }, /preset "(nowhere|broken)"/u)
  })
}

test('a Host without presets cannot grant any', async (t) => {
  const host = await bootHost({ presets: 'none' })
  t.after(() => host.dispose())
  await assert.rejects(async () => { await host.ctx.plugin(AgUi, configOf(host, { selectableAgentPresets: GRANTS }) as never) }, /agentPresets/u)
})

test('the keep-alive may begin a response that waits for its preset', async (t) => {
  const gateway = await boot(t, { agentPreset: 'alpha', keepAliveMs: 20 })
  const gate = gateway.holdSelection()
  const run = gateway.post(input(choose('beta', { ...says('u-1'), tools: [browserTool('of_beta')] })))
  await gate.reached
  await run.comment()
  gate.open()
  assert.equal(errorOf(await run.end()).code, 'FRONTEND_TOOL_NAME_COLLISION')
})
