/** What the fake of the newer generations promises to those who test on it (host-api §3, §4). */

import assert from 'node:assert/strict'
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import type { Context } from '@deepseek-ai/cordis'
import { freezeMessage } from '@deepseek-ai/dsh-llm'
import { callTools, fail, Gate, hostTool, makeHome, MODEL, mountPlugin, PROVIDER, say } from '../support/gateway.ts'
import type { NewerAgent } from '../support/newer/agent.ts'
import type { FileRef, NewerAttachments } from '../support/newer/attachments.ts'
import type { AttemptFrame } from '../support/newer/attempt.ts'
import { bootNewerHost } from '../support/newer/host.ts'
import type { Generation, NewerHost } from '../support/newer/host.ts'
import type { PresetsOfB, PresetsOfC } from '../support/newer/presets.ts'
import type { NewerPersistence } from '../support/newer/storage.ts'
import type { NewerUploads } from '../support/newer/uploads.ts'

interface Handle { readonly agent: NewerAgent, dispose(): Promise<void> }
type Setup = (ctx: Context, agent?: NewerAgent) => Promise<void>

const options = { provider: PROVIDER, model: MODEL }

async function boot(t: TestContext, generation: Generation, home?: string): Promise<NewerHost> {
  const host = await bootNewerHost(generation, home === undefined ? {} : { home })
  t.after(() => host.dispose())
  return host
}

function create(host: NewerHost, sessionId: string, setup?: Setup): Promise<Handle> {
  const request = { sessionId, agentOptions: options, meta: { cwd: host.home }, ...setup === undefined ? {} : { setup } }
  return host.ctx.agents.create(request as never) as unknown as Promise<Handle>
}

function resume(host: NewerHost, resumeSessionId: string): Promise<Handle> {
  return host.ctx.agents.resume({ resumeSessionId, agentOptions: options } as never) as unknown as Promise<Handle>
}

let messages = 0

function message(text: string, source: object = { kind: 'user' }) {
  messages += 1
  return freezeMessage({ id: `m${messages}`, role: 'user', content: [{ type: 'text', text }], source } as never) as never
}

async function turn(agent: NewerAgent, text: string): Promise<void> {
  agent.followup(message(text))
  await agent.whenIdle()
}

const types = (agent: NewerAgent) => agent.session.snapshotEvents().map(({ type }) => type)
const data = <T>(agent: NewerAgent, type: string) => agent.session.snapshotEvents().filter(event => event.type === type).map(event => event.data as T)
const service = <T>(host: NewerHost, name: string) => host.ctx.get(name as never) as unknown as T

for (const generation of ['B', 'C'] as const) {
  test(`${generation}: a turn with a Tool, in the log's own order and shapes`, async (t) => {
    const host = await boot(t, generation)
    await mountPlugin(host.ctx, ['tools'], (plugin) => { plugin.tools.register(hostTool('look')) })
    const { agent } = await create(host, 's')
    host.adapter.queue(callTools([{ id: 'c1', name: 'look', args: { path: 'x' } }], 'I look.'), say('done'))
    await turn(agent, 'go')
    const opening = ['agent/inbox/spliced', 'turn/start', 'agent/inbox/spliced', 'step/start']
    const said = ['user/message', 'user/message'] // the person's, and what the Host tells of its surroundings
    const told = generation === 'B' ? said : ['system/message', ...said]
    assert.deepEqual(types(agent), [
      ...opening, ...told, 'request/header', 'request/context', 'assistant/message', 'tool/call', 'tool/result', 'step/end',
      'step/start', 'assistant/message', 'step/end', 'turn/end',
    ])
    assert.deepEqual(data<{ source: { kind: string } }>(agent, 'user/message').map(({ source }) => source.kind),
      ['user', generation === 'B' ? 'plugin' : 'system-prompt'])
    const result = data<{ message: { role: string } }>(agent, 'tool/result')[0]?.message
    assert.equal(result?.role, generation === 'B' ? 'user' : 'tool')
    assert.equal((agent.session as { events?: unknown }).events, undefined)
    assert.equal(agent.session.header.version, generation === 'B' ? 3 : 4)
    assert.equal(agent.session.header.isSeeded, false)
    assert.deepEqual(data<{ stream: { type: string }[] }>(agent, 'assistant/message')[1]?.stream.map(({ type }) => type),
      ['chunk', 'text-chunks', 'chunk', 'chunk', 'chunk'])
  })

  test(`${generation}: a failed attempt is logged as one before its end is told, and a retry is an attempt of its own`, async (t) => {
    const host = await boot(t, generation)
    const { agent } = await create(host, 's')
    const seen: string[] = []
    agent.ctx.on('agent/assistant-stream' as never, (({ frame }: { frame: AttemptFrame }) => {
      if (frame.type === 'start') seen.push(`start ${frame.attemptId}`)
      if (frame.type === 'end') seen.push(`end ${frame.attemptId} ${JSON.stringify(frame.outcome)} of ${agent.session.seq}`)
    }) as never)
    agent.ctx.on('agent/request-error', () => Promise.resolve({ kind: 'retry' }))
    host.adapter.queue(fail('half'), say('whole'))
    await turn(agent, 'go')
    const at = (type: string) => agent.session.snapshotEvents().find(event => event.type === type)?.seq ?? -1
    const [failed, made] = [at('assistant/attempt'), at('assistant/message')]
    assert.deepEqual(seen, [
      'start s:1', `end s:1 {"kind":"committed","eventType":"assistant/attempt","seq":${failed}} of ${failed + 1}`,
      'start s:2', `end s:2 {"kind":"committed","eventType":"assistant/message","seq":${made}} of ${made + 1}`,
    ])
  })

  test(`${generation}: a crash in a turn is repaired when the session is opened for writing`, async (t) => {
    const host = await boot(t, generation)
    const gate = new Gate()
    await mountPlugin(host.ctx, ['tools'], (plugin) => {
      plugin.tools.register(hostTool('park', { execute: async (_args, exec) => { await gate.pass(exec.signal) } }))
    })
    const { agent } = await create(host, 's')
    host.adapter.queue(callTools([{ id: 'c1', name: 'park', args: {} }, { id: 'c2', name: 'park', args: {} }]))
    agent.followup(message('go'))
    await gate.reached
    const home = makeHome(t)
    cpSync(join(host.home, 'sessions'), join(home, 'sessions'), { recursive: true })
    await assert.rejects(resume(host, 's'), { name: 'SessionAlreadyOwnedError', sessionId: 's' })
    const next = await boot(t, generation, home)
    await assert.rejects(resume(next, 'none'), { name: 'SessionPersistenceNotFoundError', sessionId: 'none' })
    await assert.rejects(create(next, 's'), { name: 'SessionAlreadyExistsError', sessionId: 's' })
    const second = await resume(next, 's')
    assert.deepEqual(types(second.agent).slice(-5), ['tool/result', 'tool/result', 'step/end', 'turn/end', 'session/end-seed'])
    const results = data<{ error: { code: string }, message: { role: string } }>(second.agent, 'tool/result')
    assert.deepEqual(results.map(({ error }) => error.code), ['TOOL_OUTCOME_UNKNOWN', 'TOOL_NOT_STARTED'])
    assert.equal(results[0]?.message.role, generation === 'B' ? 'user' : 'tool')
    const persistence = service<NewerPersistence>(next, 'sessionPersistence')
    assert.deepEqual((await persistence.list()).map(({ header }) => header.id), ['s'])
    assert.equal((await persistence.stat('s'))?.eventCount, second.agent.session.seq)
    assert.equal(await persistence.stat('none'), undefined)
  })

  test(`${generation}: an approval is asked in the agent's scope and logged with its outcome`, async (t) => {
    const host = await boot(t, generation)
    const asked: unknown[] = []
    const answers = ['allowed-once', 'rejected', 'nonsense']
    await mountPlugin(host.ctx, ['tools'], (plugin) => {
      plugin.tools.register(hostTool('risky'))
      plugin.on('tools/pre-execute', () => Promise.resolve({ kind: 'ask', reason: 'it is risky' }))
    })
    const { agent } = await create(host, 's')
    const other = await create(host, 'other')
    other.agent.ctx.on('approval/request' as never, (() => { asked.push('other') }) as never)
    agent.ctx.on('approval/request' as never, ((request: { toolName: string, callId: string, reason: string }) => {
      asked.push([request.toolName, request.callId, request.reason, data(agent, 'approval/asked').length])
      return Promise.resolve(answers.shift())
    }) as never)
    host.adapter.queue(callTools([1, 2, 3].map(n => ({ id: `c${n}`, name: 'risky', args: {} }))), say('done'))
    await turn(agent, 'go')
    assert.deepEqual(asked, [1, 2, 3].map(n => ['risky', `c${n}`, 'it is risky', n]))
    assert.deepEqual(data<{ outcome: string }>(agent, 'approval/decided').map(({ outcome }) => outcome),
      ['allowed-once', 'rejected', 'unavailable'])
    await assert.rejects(service<{ request(r: object): Promise<string> }>(host, 'approval').request({ agent, toolName: 'x' }), /open turn/u)
  })

  test(`${generation}: a question goes to whoever listens in the agent's scope, and nobody is an error`, async (t) => {
    const host = await boot(t, generation)
    const setup: Setup = async (ctx) => { await host.ctx.agentPresets.mount(ctx, 'demo') }
    const { agent } = await create(host, 's', setup)
    const questions = [{ id: 'q', question: 'Which?', options: [{ label: 'a' }, { label: 'b' }], multi_select: true }]
    const asked: unknown[] = []
    const stop = agent.ctx.on('user-questions/request' as never, ((request: { agent: unknown, questions: unknown, signal: AbortSignal }) => {
      asked.push(request.agent === agent, request.questions, request.signal.aborted)
      return Promise.resolve({ answers: [{ id: 'q', selected: ['b'] }] })
    }) as never) as () => void
    host.adapter.queue(callTools([{ id: 'c1', name: 'ask_user_question', args: { questions } }]), say('ok'))
    await turn(agent, 'go')
    assert.deepEqual(asked, [true, [{ id: 'q', question: 'Which?', options: [{ label: 'a' }, { label: 'b' }], multiSelect: true }], false])
    const text = (at: number) => JSON.stringify(data<object>(agent, 'tool/result')[at])
    assert.ok(text(0).includes(String.raw`{\"answers\":[{\"id\":\"q\",\"selected\":[\"b\"]}]}`))
    stop()
    host.adapter.queue(callTools([{ id: 'c2', name: 'ask_user_question', args: { questions } }]), say('ok'))
    await turn(agent, 'go')
    assert.ok(text(1).includes('NO_PROVIDER'))
    assert.equal('registerProvider' in host.ctx.userQuestions, false)
  })

  test(`${generation}: a blank agent changes its preset, one that had a turn does not`, async (t) => {
    const host = await boot(t, generation)
    const presets = service<PresetsOfB & PresetsOfC>(host, 'agentPresets')
    const { agent } = await create(host, 's', async (ctx) => { await presets.mount(ctx, 'demo') })
    const tools = () => host.ctx.tools.schemas(agent as never).map(({ name }) => name)
    assert.deepEqual(tools(), ['ask_user_question'])
    await presets.select(agent, 'bare')
    assert.deepEqual(tools(), [])
    assert.deepEqual(data(agent, 'agent-preset/selected'), [{ agentPreset: 'bare' }])
    await assert.rejects(presets.select(agent, 'none'), {
      name: 'RemoteError', code: 'agent-preset/not-found', details: { agentPreset: 'none', available: ['bare', 'demo'] },
    })
    await assert.rejects(presets.select(agent, ''), { code: 'gateway/bad-request' })
    host.adapter.queue(say('hi'))
    await turn(agent, 'go')
    await assert.rejects(presets.select(agent, 'demo'), { code: 'agent-preset/locked', details: { sessionId: 's', agentPreset: 'demo' } })
    await assert.rejects(create(host, 'x', async (ctx) => { await presets.mount(ctx, 'none') }), { code: 'agent-preset/not-found' })
    assert.equal(host.ctx.agents.get('x' as never), undefined)
    if (generation === 'B') {
      assert.deepEqual(await presets.standingKeyFor('demo'), { agentPreset: 'demo' })
      assert.equal('acquireScope' in presets, false)
    } else {
      assert.equal(presets.standingKeyFor, undefined)
      const scope = await presets.acquireScope('demo')
      assert.deepEqual([scope.key, presets.lent], [{ agentPreset: 'demo' }, 1])
      await scope[Symbol.asyncDispose]()
      assert.equal(presets.lent, 0)
    }
  })

  test(`${generation}: an uploaded file is good for the agent that it was sent to, until a message names it`, async (t) => {
    const host = await boot(t, generation)
    const uploads = service<NewerUploads>(host, 'fileUploads')
    const store = service<NewerAttachments>(host, 'attachments')
    const { agent } = await create(host, 's')
    const other = await create(host, 'other')
    async function* bytes() {
      yield Buffer.from('hel')
      yield Buffer.from('lo')
    }
    const { receiptId, file } = await uploads.uploadStream({ sessionId: 's', data: bytes(), name: '../a.txt' })
    const hash = '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'
    assert.deepEqual(file, { attachmentId: `sha256:${hash}`, name: 'a.txt', bytes: 5 })
    assert.deepEqual(uploads.resolve(agent, receiptId), file)
    assert.equal(uploads.resolve(other.agent, receiptId), undefined)
    const refused = { code: 'session/attachment-invalid', details: { reason: 'FILE_NOT_STAGED' } }
    assert.throws(() => uploads.bindPrompt(other.agent, [receiptId], 'r'), refused)
    const undone = uploads.bindPrompt(agent, [receiptId], 'r0')
    undone[Symbol.dispose]()
    uploads.retirePrompt(agent, 'r0')
    const binding = uploads.bindPrompt(agent, [receiptId], 'r1')
    host.adapter.queue(say('thanks'))
    agent.followup(message('here', { kind: 'user', rpcId: 'r1' }))
    binding.commit()
    binding[Symbol.dispose]()
    await agent.whenIdle()
    assert.equal(uploads.resolve(agent, receiptId), undefined)
    const read: Buffer[] = []
    for await (const chunk of store.readFileStream(file)) read.push(Buffer.from(chunk))
    assert.equal(Buffer.concat(read).toString(), 'hello')
    const lost: FileRef = { ...file, attachmentId: `sha256:${'0'.repeat(64)}` }
    await assert.rejects(async () => { for await (const _ of store.readFileStream(lost)); }, { code: 'ATTACHMENT_NOT_FOUND' })
    await assert.rejects(uploads.uploadStream({ sessionId: 'none', data: bytes() }), { code: 'session/not-found' })
  })
}

test('in C, nothing names the agent but the second argument of setup', async (t) => {
  const host = await boot(t, 'C')
  const named: unknown[] = []
  const { agent } = await create(host, 's', async (ctx, composed) => {
    named.push(composed)
    assert.throws(() => ctx.agent, /without inject/u)
  })
  assert.deepEqual(named, [agent])
})
