/**
 * Who answers the questions of generation A (host-api §3.9).
 *
 * Its service has one place for an answerer. Where that is free, the gateway takes it. Where somebody else has it, as in
 * the web profile, the gateway does not fight for it: its own agents get a Tool of their own over the one that asks.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import type { ToolDefinition } from '@deepseek-ai/dsh-tools'
import { questionError, unwrapService } from './compat.ts'
import type { ParentScope } from './compat.ts'
import { errorLabel } from './error.ts'
import type { HostLogger } from './error.ts'
import type { People, QuestionAnswers, QuestionRequest } from './people.ts'
import type { PersonQuestion } from './port.ts'
import type { ToolCatalog } from './tools.ts'

/** The Tool that asks, in every preset that has one. */
const ASK_TOOL = 'ask_user_question'

/** How questions of our agents reach us. */
export type QuestionRoute =
  /** Through the service: its place is ours, or it tells by events. */
  | 'service'
  /** Somebody else has the place. */
  | 'tool'

interface QuestionService {
  registerProvider?(provider: { ask(request: QuestionRequest): Promise<QuestionAnswers> }): () => void
}

/** The place in the Host's service, for all agents of the gateway. */
export class QuestionPlace {
  readonly #ctx: Context
  readonly #logger: HostLogger
  readonly #peopleOf: (agent: Agent) => People | undefined
  /** The service that was asked last, and what came of it. */
  #asked: { readonly service: object, readonly route: QuestionRoute, readonly leave?: () => void } | undefined

  /**
   * @param ctx - The plugin's own context, which owns the place.
   * @param logger - Learns of refusals that nobody expects.
   * @param peopleOf - The people behind an agent of ours.
   */
  constructor(ctx: Context, logger: HostLogger, peopleOf: (agent: Agent) => People | undefined) {
    this.#ctx = ctx
    this.#logger = logger
    this.#peopleOf = peopleOf
  }

  /**
   * Takes the place where it is free. Each service is asked once, and not before there is an agent of ours: whoever else
   * answers questions in this Host has had its turn then, and keeps the place over a reload.
   */
  route(): QuestionRoute {
    const service = this.#ctx.get('userQuestions' as never) as QuestionService | undefined
    if (service?.registerProvider === undefined) return 'service'
    const identity = unwrapService(service)
    if (this.#asked?.service !== identity) {
      this.#asked?.leave?.()
      this.#asked = { service: identity, ...this.#take(service as Required<QuestionService>) }
    }
    return this.#asked.route
  }

  #take(service: Required<QuestionService>): { readonly route: QuestionRoute, readonly leave?: () => void } {
    try {
      return { route: 'service', leave: service.registerProvider({ ask: request => this.#answer(request) }) }
    } catch (error) {
      if (errorLabel(error) !== 'DUPLICATE_PROVIDER') {
        this.#logger.warn(`the Host's questions cannot be answered through its service (${errorLabel(error)})`)
      }
      return { route: 'tool' }
    }
  }

  async #answer(request: QuestionRequest): Promise<QuestionAnswers> {
    const people = request.agent === undefined ? undefined : this.#peopleOf(request.agent)
    // For everybody else the Host is as it would be without us.
    if (people === undefined) throw await questionError('no user-questions provider is registered', 'NO_PROVIDER')
    return await people.answer(request)
  }
}

/** The Tool over the one that an agent inherits, as long as it inherits one. */
export class AskTool {
  readonly #ctx: Context
  readonly #catalog: ToolCatalog
  readonly #agent: Agent
  readonly #people: People
  #shadowed: ToolDefinition | undefined
  #unregister: (() => void) | undefined

  /**
   * @param ctx - A context with `tools`.
   * @param catalog - Through which the agent's own scope changes.
   * @param agent - The agent.
   * @param people - The people behind it.
   */
  constructor(ctx: Context, catalog: ToolCatalog, agent: Agent, people: People) {
    this.#ctx = ctx
    this.#catalog = catalog
    this.#agent = agent
    this.#people = people
  }

  /**
   * Brings the Tool up to date with what the agent inherits now.
   *
   * @param route - Whether it is needed at all.
   * @param parentOf - Reads the agent's enclosing scope.
   */
  refresh(route: QuestionRoute, parentOf: ParentScope | undefined): void {
    const inherited = route === 'tool' ? this.#inherited(parentOf) : undefined
    if (inherited === this.#shadowed && (inherited === undefined) === (this.#unregister === undefined)) return
    this.#takeBack()
    this.#shadowed = inherited
    if (inherited !== undefined) this.#register(inherited)
  }

  #inherited(parentOf: ParentScope | undefined): ToolDefinition | undefined {
    if (parentOf !== undefined) return this.#ctx.tools.get(ASK_TOOL, parentOf(this.#agent) as Agent | undefined)
    // Ours would hide the one that it stands for.
    this.#takeBack()
    return this.#ctx.tools.get(ASK_TOOL, this.#agent)
  }

  #register(inherited: ToolDefinition): void {
    try {
      this.#unregister = this.#catalog.quietly(this.#agent, () => this.#agent.ctx.tools.register(this.#over(inherited)))
    } catch {
      // Somebody has registered a Tool of that name for this very agent: it is nearer than what we stand for.
      this.#shadowed = undefined
    }
  }

  #takeBack(): void {
    const unregister = this.#unregister
    this.#unregister = undefined
    if (unregister !== undefined) this.#catalog.quietly(this.#agent, unregister)
  }

  /** For the model the same Tool; only who is asked differs. */
  #over(inherited: ToolDefinition): ToolDefinition {
    return {
      ...inherited,
      execute: async (args, exec) => {
        // An agent below ours sees our Tool too, and is answered as it would be without us.
        if (exec.agent !== this.#agent) return await inherited.execute(args, exec)
        return await this.#people.answer({ questions: questionsOf(args), signal: exec.signal }, exec.rootCallId)
      },
    }
  }
}

/** The questions in the model's arguments. What does not fit is found where they are read. */
function questionsOf(args: unknown): PersonQuestion[] {
  const { questions } = (args ?? {}) as { questions?: unknown }
  if (!Array.isArray(questions)) return []
  return questions.map((question: unknown) => {
    const { id, question: text, header, options, multi_select: multiSelect } = (question ?? {}) as Record<string, unknown>
    return { id, question: text, header, options, multiSelect } as unknown as PersonQuestion
  })
}
