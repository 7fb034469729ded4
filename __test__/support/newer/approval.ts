/**
 * `ctx.approval` of B and C (host-api §3.8, §4.1): as in A, with the agent as the carrier of the event.
 */

import { randomUUID } from 'node:crypto'
import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import { scopeTarget } from '@deepseek-ai/dsh-scope'
import type { NewerAgent } from './agent.ts'
import type { NewerSession } from './session.ts'

export type ApprovalOutcome = 'allowed-once' | 'rejected' | 'cancelled' | 'unavailable'
export type ApprovalPolicy = 'ask' | 'never'

/** A decision that a person is asked for. */
export interface ApprovalRequest {
  readonly agent: NewerAgent
  readonly toolName: string
  readonly callId?: string
  readonly reason?: string
  readonly signal?: AbortSignal
}

type Waterfall = (carrier: object, name: string, request: ApprovalRequest, next: () => Promise<ApprovalOutcome>) => Promise<unknown>

const OUTCOMES: readonly unknown[] = ['allowed-once', 'rejected', 'cancelled', 'unavailable']

export class NewerApproval extends Service {
  static inject = ['systemPrompt']
  private readonly defaultPolicy: ApprovalPolicy

  constructor(ctx: Context, policy: ApprovalPolicy) {
    super(ctx, 'approval')
    this.defaultPolicy = policy
    // The Host tells the model of it, in a message beside those of people.
    ctx.systemPrompt.context({
      name: 'approval:policy',
      order: 115,
      text: ({ agent }) => agent === undefined ? '' : `Approval policy: ${this.policyOf(agent.session as never)}.`,
    })
  }

  /** Changes what a session's asks come to. */
  setPolicy(agent: NewerAgent, policy: ApprovalPolicy): void {
    if (this.policyOf(agent.session) !== policy) agent.session.append('approval/policy', { policy })
  }

  overrideOf(session: NewerSession): ApprovalPolicy | undefined {
    return (session.last('approval/policy') as { policy: ApprovalPolicy } | undefined)?.policy
  }

  /** Asks, and logs the question and its outcome. */
  async request(request: ApprovalRequest): Promise<ApprovalOutcome> {
    const { agent: { session }, toolName, callId, reason } = request
    const boundary = session.snapshotEvents().findLast(({ type }) => type === 'turn/start' || type === 'turn/end')
    if (boundary?.type !== 'turn/start') throw new Error('approval.request() outside an open turn')
    const id = randomUUID()
    session.append('approval/asked', {
      id, toolName, ...callId === undefined ? {} : { callId }, ...reason === undefined ? {} : { reason },
    })
    const outcome = await this.decide(request)
    session.append('approval/decided', { id, outcome })
    return outcome
  }

  private policyOf(session: NewerSession): ApprovalPolicy {
    return this.overrideOf(session) ?? this.defaultPolicy
  }

  private async decide(request: ApprovalRequest): Promise<ApprovalOutcome> {
    const { agent, signal } = request
    if (signal?.aborted === true) return 'cancelled'
    if (this.policyOf(agent.session) === 'never') return 'rejected'
    const waterfall = this.ctx.waterfall as unknown as Waterfall
    const answer = Promise.resolve()
      .then(() => waterfall(scopeTarget(agent as object, agent), 'approval/request', request, () => Promise.resolve('unavailable')))
      .then(outcome => OUTCOMES.includes(outcome) ? outcome as ApprovalOutcome : 'unavailable', () => 'unavailable' as const)
    if (signal === undefined) return await answer
    const { promise: withdrawn, resolve } = Promise.withResolvers<ApprovalOutcome>()
    const withdraw = (): void => { resolve('cancelled') }
    signal.addEventListener('abort', withdraw, { once: true })
    try {
      return await Promise.race([answer, withdrawn])
    } finally {
      signal.removeEventListener('abort', withdraw)
    }
  }
}
