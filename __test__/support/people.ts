/** People in front of the gateway: what they are asked, and what they answer. */

import assert from 'node:assert/strict'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition, ToolRunContext } from '@deepseek-ai/dsh-tools'
import type {} from '@deepseek-ai/dsh-user-approval'
import { callTools, hostTool, input, logOf, mountPlugin, user } from './gateway.ts'
import type { Exchange, InputFields, ScriptedCall, TestGateway } from './gateway.ts'
import type { WireEvent, WireInterrupt } from './wire.ts'

/** Makes the Host ask for an approval before Tools of these names run. */
export async function guard(gateway: TestGateway, names: readonly string[], reason?: string): Promise<void> {
  await mountPlugin(gateway.host.ctx, ['tools'], (plugin) => {
    plugin.on('tools/pre-execute', async (exec, next) => names.includes(exec.name)
      ? { kind: 'ask', ...reason === undefined ? {} : { reason } } : await next())
  })
}

/** A Tool whose body asks for an approval, and answers with its outcome. Several of them run at the same time. */
export function escalatingTool(gateway: TestGateway, name: string): ToolDefinition {
  return hostTool(name, {
    isConcurrencySafe: () => true,
    execute: async (_args, exec: ToolRunContext) => {
      assert.ok(exec.agent !== undefined)
      return await gateway.host.ctx.approval.request({
        agent: exec.agent, toolName: name, callId: exec.callId, reason: `${name} wants more`, signal: exec.signal,
      })
    },
  })
}

/** A question as a model puts it. */
export interface Asked {
  readonly id: string
  readonly question: string
  readonly header?: string
  readonly options?: readonly { readonly label: string, readonly description?: string }[]
  readonly multi_select?: boolean
}

/** The call by which a model asks. */
export function asking(id: string, ...questions: readonly Asked[]): ScriptedCall {
  return { id, name: 'ask_user_question', args: { questions } }
}

export const COLOR: Asked = { id: 'color', question: 'Which color?', header: 'Color', options: [{ label: 'red', description: 'Warm.' }, { label: 'blue' }] }
export const TOPPINGS: Asked = { id: 'toppings', question: 'Which toppings?', options: [{ label: 'nuts' }, { label: 'honey' }], multi_select: true }
export const NAME: Asked = { id: 'name', question: 'What is your name?' }

/** What a run left for people. */
export function interruptsOf(events: readonly WireEvent[]): readonly WireInterrupt[] {
  const last = events.at(-1)
  assert.equal(last?.type, 'RUN_FINISHED')
  // A client of 1.0 learns there, too, which calls its page owes.
  if (last.outcome?.type !== 'interrupt') return []
  const interrupts = last.outcome.interrupts ?? []
  for (const { id, expiresAt } of interrupts) {
    assert.match(id, /^interrupt-[0-9a-f]{32}$/)
    assert.equal(expiresAt, undefined)
  }
  return interrupts
}

/** The one thing that a run left for people. */
export function interruptOf(events: readonly WireEvent[]): WireInterrupt {
  const [interrupt, ...others] = interruptsOf(events)
  assert.ok(interrupt !== undefined && others.length === 0, 'the run leaves one interrupt')
  return interrupt
}

/** An entry of `resume[]` with a payload. */
export function resolved({ id }: WireInterrupt, payload: unknown): object {
  return { interruptId: id, status: 'resolved', payload }
}

export function approve(interrupt: WireInterrupt): object {
  return resolved(interrupt, { approved: true })
}

export function deny(interrupt: WireInterrupt): object {
  return resolved(interrupt, { approved: false })
}

/** Answers each question of an interrupt with options, or with words where it is a text. */
export function reply(interrupt: WireInterrupt, answers: Readonly<Record<string, readonly string[] | string>>): object {
  return resolved(interrupt, {
    answers: Object.entries(answers).map(([id, given]) =>
      typeof given === 'string' ? { id, selected: [], custom: given } : { id, selected: given }),
  })
}

export function withdraw({ id }: WireInterrupt): object {
  return { interruptId: id, status: 'cancelled' }
}

/** Lets the model make calls, and gives what people are asked then. */
export async function turn(gateway: TestGateway, calls: readonly ScriptedCall[], fields: InputFields = {}): Promise<readonly WireInterrupt[]> {
  gateway.adapter.queue(callTools(calls))
  return interruptsOf(await gateway.run({ messages: [user('u-1', 'go')], ...fields }))
}

/** Sends answers. */
export function resume(gateway: TestGateway, entries: readonly object[], fields: InputFields = {}): Exchange {
  return gateway.post(input({ resume: entries, ...fields }))
}

/** Outcomes of all approvals in an agent's log. */
export function decisions(agent: Agent): string[] {
  return logOf(agent).flatMap(event => event.type === 'approval/decided' ? [event.data.outcome] : [])
}

/** Codes of the errors in an agent's Tool results. */
export function errorCodes(agent: Agent): (string | undefined)[] {
  return logOf(agent).flatMap(event => event.type === 'tool/result' ? [event.data.error?.code] : [])
}
