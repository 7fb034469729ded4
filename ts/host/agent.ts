/**
 * One live DSH agent behind the port.
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import type { Session, UserMessage } from '@deepseek-ai/dsh-session'
import type { ToolExecutionResult } from '@deepseek-ai/dsh-tools'
import { AttemptReader } from './attempts.ts'
import { CardReader } from './cards.ts'
import { ASSISTANT_CHUNK, findParentScope, readEvents, sessionPreset } from './compat.ts'
import type { AssistantFrame, ChunkData, LoggedEvent, ParentScope } from './compat.ts'
import { readDeliverable } from './deliverables.ts'
import { errorLabel, HostError } from './error.ts'
import type { HostLogger } from './error.ts'
import { stageFile } from './files.ts'
import { HeldReports, SILENCE } from './outlet.ts'
import { People } from './people.ts'
import { INTERRUPTION_TOLD } from './port.ts'
import type { AgentEvents, HostAgent, HostMessage, HostTool, RunNeeds, StoredFile } from './port.ts'
import { selectPreset } from './presets.ts'
import { bindFiles, checkFiles, HeldUploads, release } from './prompt-files.ts'
import type { BoundMessage } from './prompt-files.ts'
import { AskTool } from './questions.ts'
import type { QuestionPlace } from './questions.ts'
import { encodeHistory, encodeRecord } from './records.ts'
import { sameNames, toDefinition } from './tools.ts'
import type { OwnTool, ToolCatalog } from './tools.ts'

/** How long the end of a run waits for the disk, in milliseconds: a disk that hangs must not hang its clients. */
const FLUSH_MS = 5000

/** What an agent shares with the others of its Host. */
export interface AgentSurroundings {
  readonly ctx: Context
  readonly catalog: ToolCatalog
  readonly questions: QuestionPlace
  readonly logger: HostLogger
  /** Called once, when the agent is gone or disposed. */
  released(agent: DshAgent): Promise<void>
}

/**
 * The port's view of a DSH agent.
 *
 * Its life: {@link attach} while the Host composes the agent, {@link adopt} once it is published, reports from the
 * moment that {@link history} is read, {@link dispose} or the Host's own disposal.
 *
 * Reports never call back into the agent. Calls of the port from inside a report of a durable record throw
 * `REENTRANT_CALL`, because the session cannot append while it publishes (host-api §0.2-1).
 */
export class DshAgent implements HostAgent {
  readonly agent: Agent
  readonly #around: AgentSurroundings
  readonly #session: Session
  readonly #events: AgentEvents
  readonly #held = new HeldReports()
  readonly #attempts = new AttemptReader(this.#held)
  readonly #cards: CardReader
  /** The people behind the agent. */
  readonly people: People
  readonly #askTool: AskTool
  /** Where reports go: held until the history was read, then the receiver, then nowhere. */
  #sink: AgentEvents = this.#held
  /** Number of events that the history contains; unset until it is read. */
  #boundary: number | undefined
  /** Sequence number of the next event to report. */
  #cursor = 0
  /** Set while the session publishes an event to us. */
  #publishing = false
  /** The status reported last. */
  #status: 'idle' | 'running' = 'idle'
  /** Batches that must not join the turn that runs. */
  #waiting: BoundMessage[][] = []
  readonly #uploads = new HeldUploads()
  readonly #bodies = new Set<string>()
  readonly #own = new Map<string, OwnTool>()
  #parentOf: ParentScope | undefined
  #inherited: readonly string[] = []
  #handle: AgentHandle | undefined
  #gone = false
  #disposing: Promise<void> | undefined

  /**
   * @param around - What the Host's agents share.
   * @param agent - The agent, not yet published.
   * @param events - Receives its reports.
   */
  constructor(around: AgentSurroundings, agent: Agent, events: AgentEvents) {
    this.#around = around
    this.agent = agent
    this.#session = agent.session
    this.#events = events
    this.#cards = new CardReader(name => around.ctx.tools.get(name, agent))
    this.people = new People(agent, (request, signal) => this.#sink.ask(request, signal))
    this.#askTool = new AskTool(around.ctx, around.catalog, agent, this.people)
  }

  /**
   * Takes part in what the agent does, before the Host publishes it. What its session logs and streams comes from the
   * Host's own listeners, which have begun by then: nothing is missed.
   *
   * @param agentCtx - The agent's scoped context, which owns the subscriptions.
   */
  async attach(agentCtx: Context): Promise<void> {
    // Listeners of a scope also hear scopes below it; this one looks for its own agent.
    agentCtx.on('tools/execute', (exec, next) => {
      const own = exec.agent === this.agent && exec.parent === undefined
      return own ? this.#body(exec.callId, next) : next()
    }, { prepend: true })
    this.people.attach(agentCtx)
    this.#parentOf = await findParentScope(this.agent, agentCtx)
  }

  /** Takes the published agent over. */
  adopt(handle: AgentHandle): void {
    this.#handle = handle
    this.#refreshAskTool()
    this.#inherited = this.#readInherited()
  }

  get history(): string {
    const first = this.#start()
    const cards = first ? this.#cards : new CardReader(name => this.#around.ctx.tools.get(name, this.agent))
    return encodeHistory(readEvents(this.#session).slice(0, this.#boundary), cards)
  }

  deliver(messages: readonly HostMessage[], wake: boolean): void {
    this.#assertCallable()
    if (messages.length === 0) return
    const batch = bindFiles(this.#around.ctx, this.agent, messages)
    // Joined messages would enter the turn that runs, ahead of the one that wakes. The Host keeps single ones in order.
    const joins = batch.length > 1 && this.agent.status === 'running'
    if (wake && (joins || this.#waiting.length > 0)) this.#waiting.push(batch)
    else this.#enqueue(batch, wake)
  }

  async flush(): Promise<void> {
    const written = this.#write()
    const late = Promise.withResolvers<void>()
    const timer = setTimeout(late.resolve, FLUSH_MS)
    timer.unref()
    await Promise.race([written, late.promise.then(() => { this.#warn('takes longer than its clients can wait') })])
    clearTimeout(timer)
  }

  noteInterruption(): void {
    this.#assertCallable()
    const text = 'The client was told that a restart of the host interrupted the last turn.'
    const note = toUserMessage({ content: [{ type: 'text', text }], source: INTERRUPTION_TOLD })
    this.agent.inject(note)
    this.agent.inbox.remove(note.id)
  }

  cancel(): void {
    if (this.#over) return
    this.#assertCallable()
    this.#dropWaiting()
    this.agent.cancel({ kind: 'user' })
  }

  registerTool(tool: HostTool): () => void {
    if (this.#over) throw gone(this.agent.id)
    const { ctx, catalog } = this.#around
    const own: OwnTool = { definition: toDefinition(tool), shadowing: ctx.tools.get(tool.name, this.agent) !== undefined }
    const unregister = catalog.quietly(this.agent, () => this.agent.ctx.tools.register(own.definition))
    this.#own.set(tool.name, own)
    return () => {
      if (this.#own.get(tool.name) === own) this.#own.delete(tool.name)
      catalog.quietly(this.agent, unregister)
    }
  }

  inheritedTools(): string[] {
    return [...this.#readInherited()]
  }

  get preset(): string | undefined {
    return sessionPreset(this.#session)
  }

  async prepare({ preset, files }: RunNeeds): Promise<void> {
    this.#assertCallable()
    await checkFiles(this.#around.ctx, this.agent, files)
    if (preset === undefined) return
    await selectPreset(this.#around.ctx, this.agent, preset)
    this.#around.catalog.forget(this.agent)
    this.#inherited = this.#readInherited()
  }

  async stageFile(file: { data: AsyncIterable<Uint8Array>, name: string, signal: AbortSignal }): Promise<StoredFile> {
    if (this.#over) throw gone(this.agent.id)
    return await stageFile(this.#around.ctx, this.agent.id, file)
  }

  async readDeliverable(path: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
    if (this.#over) throw gone(this.agent.id)
    return await readDeliverable(this.#around.ctx, this.agent, { path, maxBytes, signal })
  }

  dispose(): Promise<void> {
    return this.#disposing ??= this.#release()
  }

  /** The session has logged an event. */
  logged(event: LoggedEvent): void {
    this.#publishing = true
    try {
      if (event.type === 'user/message') this.#uploads.logged((event.data as { readonly id: string }).id)
      if (this.#boundary === undefined) {
        this.#settleAttempt(event)
        // What the log holds will be in the history: only an attempt that is still open must be told.
        if (!this.#attempts.open) this.#held.clear()
        return
      }
      if (event.seq < this.#cursor) return
      if (event.seq > this.#cursor) this.#catchUp(event.seq)
      this.#cursor = event.seq + 1
      if (event.type === ASSISTANT_CHUNK) this.#attempts.chunkLogged(event.data as ChunkData)
      else this.#report(event)
    } finally {
      this.#publishing = false
    }
  }

  /** Generations B and C: the agent's model has streamed a frame. */
  frame(frame: AssistantFrame): void {
    this.#attempts.frame(frame)
    if (this.#boundary === undefined && !this.#attempts.open) this.#held.clear()
  }

  /** The agent's status has changed. */
  statusChanged(status: 'idle' | 'running'): void {
    if (status === 'idle') this.#uploads.release()
    if (status === 'idle' && this.#waiting.length > 0) queueMicrotask(() => this.#deliverWaiting())
    else this.#reportStatus(status)
  }

  /** The registry changed: reports it if this agent inherits other Tools than before. */
  toolsChanged(): void {
    if (this.#over) return
    this.#refreshAskTool()
    const names = this.#readInherited()
    const same = sameNames(names, this.#inherited)
    this.#inherited = names
    if (!same && this.#boundary !== undefined) this.#sink.toolsChanged()
  }

  /** The Host announced that the agent was disposed. */
  disposed(): void {
    if (this.#gone) return
    this.#gone = true
    if (this.#disposing !== undefined) return
    if (this.#sink === this.#events) this.#reportGone()
    void this.#around.released(this)
  }

  get #over(): boolean {
    return this.#gone || this.#disposing !== undefined
  }

  /** Writes the log. Never rejects: what failed is kept by the Host, and tried again with what comes next. */
  async #write(): Promise<void> {
    try {
      await this.#around.ctx.sessions.flush(this.#session)
    } catch (error) {
      // A session that goes is written on its way out.
      if (!this.#over) this.#warn(`failed (${errorLabel(error)})`)
    }
  }

  #warn(what: string): void {
    this.#around.logger.warn(`writing the log of agent "${this.agent.id}" ${what}`)
  }

  /** Fixes where the history ends and lets the reports go, once the caller has had it. */
  #start(): boolean {
    if (this.#boundary !== undefined) return false
    this.#boundary = this.#cursor = readEvents(this.#session).length
    const running = this.#status === 'running'
    const bodies = [...this.#bodies]
    queueMicrotask(() => {
      if (this.#sink !== this.#held) return
      if (running) this.#events.status('running')
      for (const callId of bodies) this.#events.body(callId, true)
      this.#held.release(this.#events)
      this.#redirect(this.#events)
      if (this.#gone) this.#reportGone()
    })
    return true
  }

  #reportGone(): void {
    this.#redirect(SILENCE)
    this.#events.gone()
  }

  #redirect(sink: AgentEvents): void {
    this.#sink = sink
    this.#attempts.sink = sink
  }

  /** Reports events that were appended without being published to us. */
  #catchUp(end: number): void {
    for (const event of readEvents(this.#session).slice(this.#cursor, end)) this.#report(event)
  }

  #report(event: LoggedEvent): void {
    if (event.type === 'step/end') this.#attempts.stepEnding()
    const record = encodeRecord(event, this.#cards)
    if (record !== undefined) this.#sink.record(record)
    if (event.type === 'assistant/message') this.#attempts.messageLogged()
  }

  #settleAttempt(event: LoggedEvent): void {
    if (event.type === ASSISTANT_CHUNK) this.#attempts.chunkLogged(event.data as ChunkData)
    else if (event.type === 'assistant/message') this.#attempts.messageLogged()
    else if (event.type === 'step/end') this.#attempts.stepEnding()
  }

  async #body(callId: string, next: () => Promise<ToolExecutionResult>): Promise<ToolExecutionResult> {
    this.#bodies.add(callId)
    if (this.#boundary !== undefined) this.#sink.body(callId, true)
    try {
      return await this.people.inBody(callId, next)
    } finally {
      this.#bodies.delete(callId)
      if (this.#boundary !== undefined) this.#sink.body(callId, false)
    }
  }

  #reportStatus(status: 'idle' | 'running'): void {
    if (status === this.#status) return
    this.#status = status
    if (this.#boundary !== undefined) this.#sink.status(status)
  }

  #deliverWaiting(): void {
    if (this.#over || this.agent.status === 'running') return // a turn that others began: wait for its end
    const batch = this.#waiting.shift()
    if (batch === undefined) this.#reportStatus('idle')
    else this.#enqueue(batch, true)
  }

  #enqueue(batch: readonly BoundMessage[], wake: boolean): void {
    // The agent may have been composed anew since its last turn, which the registry does not tell.
    if (wake) this.#refreshAskTool()
    try {
      for (const [index, bound] of batch.entries()) {
        const message = toUserMessage(bound.message)
        // A message that a crash left in the inbox and that its client sends again: the Host refuses pending ids.
        this.agent.inbox.remove(message.id)
        if (wake && index === batch.length - 1) this.agent.followup(message)
        else this.agent.inject(message)
      }
      this.#uploads.hold(batch)
    } catch (error) {
      release(batch)
      throw error
    }
  }

  #dropWaiting(): void {
    release(this.#waiting.flat())
    this.#waiting = []
  }

  #refreshAskTool(): void {
    this.#askTool.refresh(this.#around.questions.route(), this.#parentOf)
  }

  #readInherited(): readonly string[] {
    return this.#around.catalog.inheritedBy(this.agent, this.#parentOf, this.#own)
  }

  async #release(): Promise<void> {
    this.#dropWaiting()
    if (this.#sink === this.#held) {
      // Nobody will read the history, and a body that asks a person must not keep the agent from going.
      this.#redirect(SILENCE)
      this.#held.release(SILENCE)
    }
    if (this.#publishing) await undefined // the Host logs the cancellation, which it cannot do right now
    try {
      await this.#handle?.dispose()
    } catch (error) {
      this.#around.logger.warn(`agent "${this.agent.id}" was not disposed cleanly: ${errorLabel(error)}`)
    }
    this.#redirect(SILENCE)
    await this.#around.released(this)
  }

  #assertCallable(): void {
    if (this.#over) throw gone(this.agent.id)
    if (this.#publishing) {
      throw new HostError('REENTRANT_CALL', `agent "${this.agent.id}" cannot be called while it reports a record`)
    }
  }
}

function gone(id: string): HostError {
  return new HostError('AGENT_GONE', `agent "${id}" has been disposed`)
}

/** The Host's own form of a message, with our id: immutable, as everything that enters a log. */
function toUserMessage(message: HostMessage): UserMessage {
  const { id, content, source } = structuredClone(message)
  return freeze({ id: id ?? randomUUID(), role: 'user', content, source }) as unknown as UserMessage
}

function freeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null) return value
  for (const member of Object.values(value)) freeze(member)
  return Object.freeze(value)
}
