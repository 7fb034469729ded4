/**
 * The agent of B and C: turns and steps over an inbox (host-api §1.4, §3.2, §4.1). Differences to A that the gateway can
 * see: attempts are frames and one record, a failed attempt is logged as one, C logs what the model is told of the system
 * and of Tools as messages.
 */

import type { Context } from '@deepseek-ai/cordis'
import { agentEvents, assembleContextFor } from '@deepseek-ai/dsh-agent'
import { deepFreeze, errorChain, LlmError, markAgentLoopRequest } from '@deepseek-ai/dsh-llm'
import type { ContentBlock, GenerateOptions, LlmCallConfig, PreparedLlmCall, ToolSchema } from '@deepseek-ai/dsh-llm'
import { createScope } from '@deepseek-ai/dsh-scope'
import type { Scope } from '@deepseek-ai/dsh-scope'
import { joinContextSections, renderContextSections, renderPrompt } from '@deepseek-ai/dsh-system-prompt'
import type { PromptAssembly } from '@deepseek-ai/dsh-system-prompt'
import { Attempt } from './attempt.ts'
import { runCalls } from './calls.ts'
import { assistantMessage, contextMessage, producedMessage } from './generation.ts'
import type { AnyMessage } from './generation.ts'
import { NewerInbox } from './inbox.ts'
import type { InboxTarget } from './inbox.ts'
import type { NewerSession } from './session.ts'

/** Options of an agent. */
export interface NewerAgentOptions {
  readonly provider?: string
  readonly model?: string
  readonly maxTokens?: number
  readonly reasoningEffort?: string
}

type CancelCause = { readonly kind: string, readonly reason?: string }
type TurnEnd = { readonly kind: string, readonly [key: string]: unknown }

/** What keeps an agent busy. */
interface Activity {
  readonly kind: 'turns' | 'maintenance'
  abort: AbortController
  /** A message came that this activity will not take. */
  wakeAfter: boolean
}

/** Dispatches events with the agent as subject and carrier. The installed types do not know all of them. */
interface Dispatch {
  emit(name: string, payload: object): void
  serial(name: string, payload: object): Promise<unknown>
  waterfall<T>(name: string, payload: object, next: () => Promise<T>): Promise<T>
}

interface RequestHeader {
  readonly config: LlmCallConfig
  readonly system?: string
  readonly tools?: readonly ToolSchema[]
}

export class NewerAgent {
  readonly id: string
  readonly options: NewerAgentOptions
  readonly session: NewerSession
  readonly inbox: NewerInbox
  readonly scope: Scope
  readonly ctx: Context
  readonly #loop: Context
  readonly #dispatch: Dispatch
  readonly #counters = { revision: 0, attempts: 0 }
  #activity: Activity | undefined
  #done: Promise<void> = Promise.resolve()
  #turn: number
  #step = 0
  #announcedHeader = false

  constructor(loop: Context, session: NewerSession, options: NewerAgentOptions) {
    this.id = session.id
    this.session = session
    this.options = options
    this.#loop = loop
    this.#dispatch = agentEvents(loop, this as never) as unknown as Dispatch
    this.scope = createScope(loop, this)
    this.ctx = scopedContext(this)
    this.inbox = new NewerInbox(session, {
      inserted: (message) => { this.#dispatch.emit('agent/inbox/inserted', { message }) },
      discarded: (message) => { this.#dispatch.emit('agent/inbox/discarded', { message }) },
      claimed: (message, turn) => { this.#dispatch.emit('agent/inbox/claimed', { message, turn }) },
    })
    this.#turn = (session.last('turn/start') as { turn: number } | undefined)?.turn ?? 0
  }

  get status(): 'idle' | 'running' {
    return this.#activity?.kind === 'turns' ? 'running' : 'idle'
  }

  followup(message: AnyMessage): void { this.send(message, 'next-turn', true) }
  steer(message: AnyMessage): void { this.send(message, 'next-step', true) }
  inject(message: AnyMessage): void { this.send(message, 'next-step', false) }

  send(message: AnyMessage, target: InboxTarget, wakeup: boolean): void {
    const activity = this.#activity
    // What comes after a cancellation begins a turn of its own.
    const late = wakeup && activity !== undefined && activity.abort.signal.aborted
    this.inbox.append(late ? 'next-turn' : target, message)
    if (!wakeup) return
    if (activity === undefined) this.#drive()
    else if (this.#cause(activity)?.kind !== 'disposed' && (activity.kind === 'maintenance' || late)) activity.wakeAfter = true
  }

  cancel(cause: CancelCause, { keepInbox = false }: { keepInbox?: boolean } = {}): void {
    if (!keepInbox) {
      this.inbox.clear()
      if (this.#activity !== undefined) this.#activity.wakeAfter = false
    }
    this.#activity?.abort.abort(cause)
  }

  async whenIdle(): Promise<void> {
    for (let seen: Promise<void> | undefined; seen !== this.#done;) await (seen = this.#done)
  }

  runMaintenance<T>(task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#activity !== undefined) throw new Error(`agent "${this.id}" already has active work`)
    const activity: Activity = { kind: 'maintenance', abort: new AbortController(), wakeAfter: false }
    this.#activity = activity
    const work = (async () => await task(activity.abort.signal))()
    this.#done = work.then(() => {}, () => {}).then(() => { this.#rest(activity) })
    return work
  }

  #cause({ abort: { signal } }: Activity): CancelCause | undefined {
    if (!signal.aborted) return undefined
    const { kind, reason } = signal.reason as CancelCause
    return reason === undefined ? { kind } : { kind, reason }
  }

  #drive(): void {
    const activity: Activity = { kind: 'turns', abort: new AbortController(), wakeAfter: false }
    this.#activity = activity
    const driver = Promise.withResolvers<void>()
    this.#done = driver.promise
    this.#dispatch.emit('agent/status', { status: 'running' })
    this.#loop.agents.withInitiator(this as never, () => this.#turns(activity)).then(driver.resolve, driver.reject)
  }

  async #turns(activity: Activity): Promise<void> {
    try {
      while (await this.#runTurn(activity)) {
        activity.abort = new AbortController()
        activity.wakeAfter = false
      }
    } catch {
      // Told by `agent/error` and `turn/end`.
    }
    this.#rest(activity)
  }

  #rest(activity: Activity): void {
    this.#activity = undefined
    if (activity.kind === 'turns') this.#dispatch.emit('agent/status', { status: 'idle' })
    if (activity.wakeAfter && this.#pending && this.#activity === undefined) this.#drive()
  }

  get #pending(): boolean {
    return this.inbox.nextTurn.length + this.inbox.nextStep.length > 0
  }

  /** Runs a turn. Returns whether another one waits. */
  async #runTurn(activity: Activity): Promise<boolean> {
    const { signal } = activity.abort
    const turn = this.#turn + 1
    this.session.append('turn/start', { turn })
    this.#turn = turn
    this.#step = 0
    let reason: TurnEnd = { kind: 'completed' }
    try {
      const outcome = await this.#steps(turn, signal)
      reason = { kind: outcome }
      if (outcome === 'blocked') return false
    } catch (error) {
      const cause = this.#cause(activity)
      if (cause !== undefined) reason = { kind: 'aborted', reason: cause }
      else {
        reason = { kind: 'error', error: error instanceof LlmError ? error.failure : { message: errorChain(error), code: 'UNKNOWN' } }
        this.#dispatch.emit('agent/error', { turn, step: this.#step, error })
      }
      throw error
    } finally {
      this.session.append('turn/end', { turn, reason })
    }
    return this.#step > 0 && this.#pending
  }

  async #steps(turn: number, signal: AbortSignal): Promise<'completed' | 'max-tokens' | 'blocked'> {
    let end: 'completed' | 'max-tokens' | undefined
    let target: InboxTarget = 'next-turn'
    for (;;) {
      signal.throwIfAborted()
      const step = this.#step + 1
      const claimed = this.inbox.claim(target, turn)
      const assembly = await this.#loop.systemPrompt.assemble(assembleContextFor(this as never, signal))
      signal.throwIfAborted()
      const proposed = { kind: 'enter' as const, messages: [...claimed, ...this.#context(assembly)] }
      const decision = await this.#dispatch.waterfall<typeof proposed | { kind: 'reject' }>(
        'agent/pre-step', { messages: claimed, turn, step, signal }, () => Promise.resolve(proposed))
      signal.throwIfAborted()
      if (decision.kind === 'reject') return 'blocked'
      if (decision.messages.length === 0 && (end !== undefined || step === 1)) return end ?? 'completed'
      this.session.append('step/start', { turn, step })
      this.#step = step
      try {
        const stepEnd = await this.#runStep(turn, step, assembly, decision.messages, signal)
        if (end !== 'max-tokens') end = stepEnd
      } finally {
        this.session.append('step/end', { turn, step })
      }
      signal.throwIfAborted()
      if (end !== undefined && this.inbox.nextStep.length === 0) {
        await this.#dispatch.serial('agent/turn-stopping', { turn, signal })
        signal.throwIfAborted()
        if (this.inbox.nextStep.length === 0) return end
      }
      target = 'next-step'
    }
  }

  /** What the Host tells the model of its surroundings, where it changed. */
  #context(assembly: PromptAssembly): AnyMessage[] {
    const sections = renderContextSections(assembly)
    const text = joinContextSections(sections)
    const told = this.session.snapshotEvents().findLast(({ type, data }) =>
      type === 'user/message' && (data as AnyMessage).source['form'] === 'snapshot')?.data as AnyMessage | undefined
    const [block] = told?.content ?? []
    if (text === '' && told === undefined || block?.type === 'text' && block.text === text) return []
    return [contextMessage(this.session.generation, text, sections)]
  }

  /** Runs a step. Returns how the turn ends with it, if it does. */
  async #runStep(
    turn: number, step: number, assembly: PromptAssembly, messages: readonly AnyMessage[], signal: AbortSignal,
  ): Promise<'completed' | 'max-tokens' | undefined> {
    const log = () => { for (const message of messages) this.session.append('user/message', message, { surfaceOp: 'append' }) }
    if (this.session.generation === 'B') log()
    for (let first = true; ; first = false) {
      const { config, call } = await this.#prepare(turn, step, signal)
      if (this.session.generation === 'C') this.#logSystem(turn, step, renderPrompt(assembly))
      if (first && this.session.generation === 'C') log()
      const request = this.#request(turn, step, config, assembly, signal)
      const attempt = new Attempt(this.id, this.#counters, (frame) => { this.#dispatch.emit('agent/assistant-stream', { frame }) })
      const content = await this.#stream(attempt, turn, step, request, call)
      const { finish } = attempt.result
      if (content === undefined) {
        if (finish.kind !== 'error' && finish.kind !== 'aborted') throw new Error('an attempt without an outcome')
        const action = await this.#dispatch.waterfall<{ kind: 'retry' } | undefined>('agent/request-error', {
          turn, step, provider: config.provider, failure: finish.failure, retryPolicy: call?.retryPolicy, signal,
        }, () => Promise.resolve(undefined))
        signal.throwIfAborted()
        if (action?.kind !== 'retry') throw new LlmError(finish.failure.message, finish.failure.code, finish.failure)
        continue
      }
      if (finish.kind === 'max-tokens') return 'max-tokens'
      const calls = content.filter(block => block.type === 'tool-call')
      if (calls.length === 0) return 'completed'
      const concluded = await runCalls(this.#loop, { agent: this, turn, step, signal }, calls,
        (message) => { this.inbox.append('next-step', message) })
      return concluded ? 'completed' : undefined
    }
  }

  /** Streams an attempt and commits it. Returns what the model said, or nothing where the provider failed. */
  async #stream(
    attempt: Attempt, turn: number, step: number, request: GenerateOptions, call: PreparedLlmCall | undefined,
  ): Promise<readonly ContentBlock[] | undefined> {
    const { signal } = request
    const commitAttempt = () => { attempt.settle('assistant/attempt', () => this.session.append('assistant/attempt', { turn, step, stream: attempt.stream }).seq) }
    const commitMessage = (content: readonly ContentBlock[], interrupted: { interrupted?: true }) => {
      const { usage } = attempt.result
      const message = assistantMessage(content, request)
      attempt.settle('assistant/message', () => this.session.append('assistant/message', {
        turn, step, message, ...interrupted, ...usage === undefined ? {} : { usage }, stream: attempt.stream,
      }, { surfaceOp: 'append' }).seq)
    }
    const chunks = call?.stream(request) ?? this.#loop.llm.stream(request)
    signal?.throwIfAborted()
    attempt.start(turn, step)
    try {
      for await (const chunk of chunks) {
        signal?.throwIfAborted()
        attempt.push(chunk)
      }
      signal?.throwIfAborted()
    } catch (error) {
      const said = signal?.aborted === true ? attempt.result.interruptedBlocks() : []
      if (said.length > 0) commitMessage(said, { interrupted: true })
      else commitAttempt()
      throw error
    }
    const { finish } = attempt.result
    if (finish.kind === 'error' || finish.kind === 'aborted') {
      commitAttempt()
      return undefined
    }
    const content = attempt.result.blocks()
    commitMessage(content, {})
    return content
  }

  /** Resolves the route of the next request. */
  async #prepare(turn: number, step: number, signal: AbortSignal): Promise<{ config: LlmCallConfig, call?: PreparedLlmCall }> {
    const { provider = '', model = '', maxTokens, reasoningEffort } = this.options
    const own = deepFreeze({
      provider, model, ...maxTokens === undefined ? {} : { maxTokens }, ...reasoningEffort === undefined ? {} : { reasoningEffort },
    }) as LlmCallConfig
    const config = await this.#dispatch.waterfall<LlmCallConfig>('agent/request', { turn, step, signal }, () => Promise.resolve(own))
    signal.throwIfAborted()
    if (config.provider === '' || config.model === '') throw new Error(`agent "${this.id}" has no provider/model`)
    try {
      const call = await this.#loop.llm.prepareCall(config, signal)
      signal.throwIfAborted()
      return { config: call.config, call }
    } catch (error) {
      if (!(error instanceof LlmError) || error.code !== 'NO_ADAPTER') throw error
      return { config }
    }
  }

  /** Logs what the request differs in from the one before, and makes it. */
  #request(turn: number, step: number, config: LlmCallConfig, assembly: PromptAssembly, signal: AbortSignal): GenerateOptions {
    const { session } = this
    const { tools } = assembly
    const system = renderPrompt(assembly)
    const inHeader = session.generation === 'B' && system !== '' ? { system } : {}
    const header: RequestHeader = { config, ...inHeader, ...tools.length === 0 ? {} : { tools } }
    const before = (session.last('request/header') as { header: RequestHeader } | undefined)?.header
    const changed = JSON.stringify(before) !== JSON.stringify(header)
    if (!this.#announcedHeader || changed) {
      const reason = this.#announcedHeader ? 'change' : before === undefined ? 'initial' : 'resume'
      const { seq } = session.append('request/header', { header, reason })
      this.#announcedHeader = true
      if (session.generation === 'C' && before !== undefined) this.#logTools(turn, step, before.tools ?? [], tools, seq)
    }
    const context = { provider: config.provider, model: config.model }
    if (JSON.stringify(session.last('request/context')) !== JSON.stringify(context)) session.append('request/context', context)
    signal.throwIfAborted()
    return markAgentLoopRequest(deepFreeze({
      ...header, ...header.config, messages: session.deriveMessages() as never, sessionId: session.id as never, signal,
    }) as never)
  }

  /** C: the system prompt is a message, logged where it changed. */
  #logSystem(turn: number, step: number, text: string): void {
    const told = (this.session.last('system/message') as { message: AnyMessage } | undefined)?.message.content[0]
    if (text === '' || told?.type === 'text' && told.text === text) return
    const message = producedMessage('system', 'system-prompt', [{ type: 'text', text }])
    this.session.append('system/message', { turn, step, message }, { surfaceOp: 'append' })
  }

  /** C: the model is told of Tools that came and went. */
  #logTools(turn: number, step: number, before: readonly ToolSchema[], now: readonly ToolSchema[], headerSeq: number): void {
    const added = now.filter(({ name }) => !before.some(tool => tool.name === name))
    const removed = before.filter(({ name }) => !now.some(tool => tool.name === name))
    if (added.length + removed.length === 0) return
    const message = producedMessage('developer', 'tool-registry', [
      ...added.map(({ name }) => ({ type: 'tool-addition', toolName: name })),
      ...removed.map(({ name }) => ({ type: 'tool-removal', toolName: name })),
    ])
    const at = added.length === 0 ? {} : { headerSeq }
    this.session.append('developer/message', { turn, step, message, ...at }, { surfaceOp: 'append' })
  }
}

/** The agent's own context. In B it names the agent; in C nothing does, and asking for it throws as for any stranger. */
function scopedContext(agent: NewerAgent): Context {
  if (agent.session.generation === 'B') return agent.scope.ctx.extend({ agent } as never)
  const ctx = agent.scope.ctx.extend({})
  Object.defineProperty(ctx, 'agent', {
    get() {
      throw new Error('cannot get property "agent" without inject')
    },
  })
  return ctx
}
