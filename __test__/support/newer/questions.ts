/**
 * `ctx.userQuestions` of B and C (host-api §3.9, §4.1): no provider slot, a waterfall with the agent as carrier. The
 * model's Tool `ask_user_question` is the real one of A, whose contract did not drift.
 */

import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import { scopeTarget } from '@deepseek-ai/dsh-scope'
import { UserQuestionError } from '@deepseek-ai/dsh-user-questions'
import type { AskUserQuestionAnswer, AskUserQuestionItem } from '@deepseek-ai/dsh-user-questions'
import type { NewerAgent } from './agent.ts'

/** Questions for a person. */
export interface QuestionRequest {
  readonly questions: readonly AskUserQuestionItem[]
  readonly agent?: NewerAgent
  readonly signal?: AbortSignal
}

type Next = () => Promise<AskUserQuestionAnswer>
type Waterfall = (...args: [carrier: object, name: string, request: QuestionRequest, next: Next]) => Promise<AskUserQuestionAnswer>

export class NewerQuestions extends Service {
  constructor(ctx: Context) {
    super(ctx, 'userQuestions')
  }

  /** Asks those who listen, the nearest first. */
  async ask(request: QuestionRequest): Promise<AskUserQuestionAnswer> {
    const { agent, questions, signal } = request
    if (isAborted(signal)) throw abortedError()
    if (questions.length === 0) throw new UserQuestionError('ask_user_question requires at least one question', 'EMPTY_QUESTIONS')
    if (agent !== undefined) this.assertRoot(agent)
    for (const { id, intent, options = [], detail } of questions) {
      if (intent === undefined) continue
      if (detail === undefined || !options.some(({ label }) => label === intent.approve)) {
        throw new UserQuestionError(`question ${id} declares an intent that it does not carry`, 'BAD_INTENT')
      }
    }
    const nobody: Next = () => Promise.reject(new UserQuestionError('no user-questions answerer accepted the request', 'NO_PROVIDER'))
    // Without an agent there is no scope to ask in: everybody hears.
    const carrier = agent === undefined ? scopeTarget(this as object, undefined) : scopeTarget(agent as object, agent)
    try {
      return await (this.ctx.waterfall as unknown as Waterfall)(carrier, 'user-questions/request', request, nobody)
    } catch (error) {
      if (error instanceof Error && error.name === 'UserQuestionError') throw error
      throw isAborted(signal) ? abortedError(error) : error
    }
  }

  private assertRoot(agent: NewerAgent): void {
    const { agents } = this.ctx.root as Context
    if (agents.get(agent.id as never) as unknown !== agent) {
      throw new UserQuestionError('human interaction requires the exact live calling agent', 'CALLER_NOT_LIVE')
    }
    if (!agents.roots().includes(agent as never)) {
      throw new UserQuestionError('human interaction is unavailable to an agent that another one owns', 'DELEGATED_CALLER')
    }
  }
}

function isAborted(signal: AbortSignal | undefined): boolean {
  return signal?.aborted ?? false
}

function abortedError(cause?: unknown): UserQuestionError {
  return new UserQuestionError('ask_user_question was aborted before the user answered', 'ASK_ABORTED', cause === undefined ? undefined : { cause })
}
