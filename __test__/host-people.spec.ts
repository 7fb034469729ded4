/** How requests to people come out of the Host: the events of the newer generations, the call that asks, and what is not ours (G18, N8). */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { TestContext } from 'node:test'
import { createScope, scopeTarget } from '@deepseek-ai/dsh-scope'
import { UserQuestionError } from '@deepseek-ai/dsh-user-questions'
import type { PersonOutcome, PersonRequest } from 'dsh-ag-ui/host'
import { bootPuppetPort } from './support/puppet-host.ts'
import type { PuppetAgent, PuppetHost } from './support/puppet-host.ts'
import { openThread, Recorder } from './support/port.ts'
import type { Thread } from './support/port.ts'

const QUESTION = { id: 'q', question: 'Which?', options: [{ label: 'a' }], intent: { kind: 'plan-review', approve: 'a' }, detail: 'plan' }
const ANSWERED: PersonOutcome = { status: 'answered', answers: [{ id: 'q', selected: ['a'] }] }
const CANCELLED: PersonOutcome = { status: 'cancelled', message: 'nobody came' }

async function open(t: TestContext, outcome: PersonOutcome): Promise<Thread & { host: PuppetHost, newer: PuppetAgent }> {
  const { host, port } = await bootPuppetPort(t)
  const thread = await openThread(port, 'thread')
  await Promise.resolve() // the first read of the history lets requests go from the next microtask on
  thread.log.onAsk = () => Promise.resolve(outcome)
  return { ...thread, host, newer: host.agent('thread') }
}

/** Asks as the services of B and C do: a waterfall whose carrier is the agent. */
function ask(host: PuppetHost, agent: object, name: 'approval/request' | 'user-questions/request', request: object): Promise<unknown> {
  const waterfall = host.ctx.waterfall.bind(host.ctx) as unknown as
    (carrier: object, name: string, request: object, next: () => Promise<unknown>) => Promise<unknown>
  return waterfall(scopeTarget(agent, agent as never), name, { agent, ...request }, () => Promise.resolve('nobody'))
}

/** What was asked, without the signals. */
function asked(log: Recorder): PersonRequest[] {
  return log.of('ask').map(([, request]) => request as PersonRequest)
}

test('questions come as an event, whole, and the answer goes back', async (t) => {
  const { host, newer, log } = await open(t, ANSWERED)
  const { signal } = new AbortController()
  assert.deepEqual(await ask(host, newer, 'user-questions/request', { questions: [QUESTION], signal }), { answers: [{ id: 'q', selected: ['a'] }] })
  assert.deepEqual(asked(log), [{ kind: 'questions', questions: [QUESTION] }])
  assert.equal(log.of('ask')[0]?.[2], signal)
})

test('questions without an answer fail as the Host\'s own error', async (t) => {
  const { host, newer } = await open(t, CANCELLED)
  await assert.rejects(ask(host, newer, 'user-questions/request', { questions: [QUESTION] }), (error) => {
    assert.ok(error instanceof UserQuestionError)
    assert.deepEqual([error.name, error.code, error.message], ['UserQuestionError', 'ASK_ABORTED', 'nobody came'])
    return true
  })
})

for (const [outcome, native] of [
  [{ status: 'allowed' }, 'allowed-once'], [{ status: 'rejected' }, 'rejected'], [CANCELLED, 'cancelled'], [ANSWERED, 'cancelled'],
] as const) {
  test(`an approval that is ${outcome.status} is ${native}`, async (t) => {
    const { host, newer, log } = await open(t, outcome)
    assert.equal(await ask(host, newer, 'approval/request', { toolName: 'bash', callId: 'c-1', reason: 'why' }), native)
    assert.deepEqual(asked(log), [{ kind: 'approval', toolName: 'bash', callId: 'c-1', reason: 'why' }])
    await ask(host, newer, 'approval/request', { toolName: 'bash' })
    assert.deepEqual(asked(log)[1], { kind: 'approval', toolName: 'bash' })
  })
}

test('whoever answered before us does not hear of our agents, and hears of all others', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const heard: unknown[] = []
  for (const name of ['approval/request', 'user-questions/request']) {
    host.ctx.on(name as never, (({ agent }: { agent: unknown }) => {
      heard.push(agent)
      return Promise.resolve('other')
    }) as never)
  }
  const { log } = await openThread(port, 'thread')
  await Promise.resolve()
  log.onAsk = () => Promise.resolve(ANSWERED)
  const newer = host.agent('thread')
  await ask(host, newer, 'user-questions/request', { questions: [QUESTION] })
  assert.equal(await ask(host, newer, 'approval/request', { toolName: 'x' }), 'cancelled')
  assert.deepEqual(heard, [])
  // A child lives in a scope below its owner's, whose listeners hear it too.
  const child = { id: 'child' }
  createScope(newer.ctx, child as never)
  const stranger = { id: 'stranger' }
  for (const agent of [child, stranger]) {
    assert.equal(await ask(host, agent, 'user-questions/request', { questions: [QUESTION] }), 'other')
    assert.equal(await ask(host, agent, 'approval/request', { toolName: 'x' }), 'other')
  }
  assert.deepEqual(heard, [child, child, stranger, stranger])
  assert.equal(asked(log).length, 2)
})

test('what a body asks is asked by its call, whatever the Host says of it', async (t) => {
  const { host, newer, log } = await open(t, ANSWERED)
  const { tools } = host.ctx
  newer.ctx.tools.register({
    name: 'outer', description: 'Asks.', parameters: { type: 'object' }, output: { schema: {}, render: () => [] },
    execute: async () => {
      await ask(host, newer, 'user-questions/request', { questions: [QUESTION] })
      await ask(host, newer, 'approval/request', { toolName: 'inner', callId: 'c-1:code:1' })
      return null
    },
  })
  const { signal } = new AbortController()
  await tools.execute({ callId: 'c-1' as never, name: 'outer', arguments: {}, agent: newer as never, signal })
  await ask(host, newer, 'user-questions/request', { questions: [QUESTION] })
  assert.deepEqual(asked(log).map(({ callId }) => callId), ['c-1', 'c-1', undefined])
})

test('what is asked before the history was read waits for that', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const log = new Recorder()
  log.onAsk = () => Promise.resolve(ANSWERED)
  const agent = await port.host.open({ sessionId: 'early', workspace: join(port.workspaces, 'early') }, log.events)
  const answer = ask(host, host.agent('early'), 'user-questions/request', { questions: [QUESTION] })
  await Promise.resolve()
  assert.deepEqual(log.reports, [])
  assert.equal(agent.history, '[]')
  assert.deepEqual(await answer, { answers: [{ id: 'q', selected: ['a'] }] })
})

test('an agent that goes before or after its history was read leaves nobody waiting', async (t) => {
  const { host, port } = await bootPuppetPort(t)
  const log = new Recorder()
  const agent = await port.host.open({ sessionId: 'early', workspace: join(port.workspaces, 'early') }, log.events)
  const newer = host.agent('early')
  const question = ask(host, newer, 'user-questions/request', { questions: [QUESTION] })
  question.catch(() => {})
  const approval = ask(host, newer, 'approval/request', { toolName: 'x' })
  await agent.dispose()
  await assert.rejects(question, { code: 'ASK_ABORTED' })
  assert.equal(await approval, 'cancelled')
  assert.deepEqual(log.reports, [])
})
