/**
 * What an agent asks people, on its way to the gateway (spec: gateway, 原生问题与审批; host-api §3.8, §3.9).
 *
 * The gateway answers for the exact root agents that it owns. Approvals, and the questions of generations B and C, are
 * events of the agent's own scope, which it hears before anybody else. Questions of generation A come through the one
 * place that the Host's service has for whoever answers (see `questions.ts`). Where the Host lacks a service, nothing is
 * asked; nothing is ever installed, and no policy is changed.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { questionError } from './compat.ts'
import type { AgentEvents, PersonQuestion, PersonRequest, QuestionAnswer } from './port.ts'

/** A pending decision, alike in every generation. */
export interface ApprovalRequest {
  readonly agent: Agent
  readonly toolName: string
  readonly callId?: string
  readonly reason?: string
  readonly signal?: AbortSignal
}

/** The outcomes that the gateway gives; `allowed-once` is the only grant that there is. */
export type ApprovalOutcome = 'allowed-once' | 'rejected' | 'cancelled'

/** Questions of an agent, alike in every generation. */
export interface QuestionRequest {
  readonly agent?: Agent
  readonly questions: readonly PersonQuestion[]
  readonly signal?: AbortSignal
}

/** Answers, one a question. */
export interface QuestionAnswers {
  readonly answers: QuestionAnswer[]
}

/** Asks the people behind one agent. */
export class People {
  readonly #agent: Agent
  readonly #ask: AgentEvents['ask']
  /** The Tool call whose body is under way, for whatever happens in it. */
  readonly #body = new AsyncLocalStorage<string>()

  /**
   * @param agent - The agent; nobody else's requests are answered.
   * @param ask - Where requests go.
   */
  constructor(agent: Agent, ask: AgentEvents['ask']) {
    this.#agent = agent
    this.#ask = ask
  }

  /**
   * Listens, ahead of every other answerer.
   *
   * @param agentCtx - The agent's scoped context. Its listeners also hear the scopes below it.
   */
  attach(agentCtx: Context): void {
    const on = agentCtx.on.bind(agentCtx) as unknown as ListenToWaterfall
    on('approval/request', (request, next) => request.agent === this.#agent ? this.approve(request) : next(), { prepend: true })
    on('user-questions/request', (request, next) => request.agent === this.#agent ? this.answer(request) : next(), { prepend: true })
  }

  /** Runs a Tool's body, so that what it asks is known to be asked by that call. */
  inBody<T>(callId: string, body: () => T): T {
    return this.#body.run(callId, body)
  }

  /** Asks for one decision. */
  async approve({ toolName, callId, reason, signal }: ApprovalRequest): Promise<ApprovalOutcome> {
    const outcome = await this.#send({
      kind: 'approval',
      toolName,
      ...this.#callOf(callId),
      ...reason === undefined ? {} : { reason },
    }, signal)
    switch (outcome.status) {
      case 'allowed': return 'allowed-once'
      case 'rejected': return 'rejected'
      case 'answered':
      case 'cancelled': return 'cancelled'
    }
  }

  /**
   * Asks questions.
   *
   * @param callId - The call that asks, where the caller knows it.
   * @throws The Host's `UserQuestionError` with code `ASK_ABORTED` when nobody answers.
   */
  async answer({ questions, signal }: QuestionRequest, callId?: string): Promise<QuestionAnswers> {
    const outcome = await this.#send({ kind: 'questions', questions, ...this.#callOf(callId) }, signal)
    if (outcome.status === 'answered') return { answers: [...outcome.answers] }
    throw await questionError(outcome.status === 'cancelled' ? outcome.message : 'the user did not answer', 'ASK_ABORTED')
  }

  #send(request: PersonRequest, signal: AbortSignal | undefined): ReturnType<AgentEvents['ask']> {
    return this.#ask(request, signal ?? new AbortController().signal)
  }

  /** A call inside another one's body is none of the client's: it knows the outer one. */
  #callOf(callId: string | undefined): { callId?: string } {
    const call = this.#body.getStore() ?? callId
    return call === undefined ? {} : { callId: call }
  }
}

/** `ctx.on` for the two waterfalls, whose names not every generation's types know. */
interface ListenToWaterfall {
  (name: 'approval/request', listener: Answerer<ApprovalRequest, string>, options: { prepend: true }): () => void
  (name: 'user-questions/request', listener: Answerer<QuestionRequest, QuestionAnswers>, options: { prepend: true }): () => void
}

type Answerer<Request, Outcome> = (request: Request, next: () => Promise<Outcome>) => Promise<Outcome>
