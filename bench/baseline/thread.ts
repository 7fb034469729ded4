/** One AG-UI thread over one DSH Agent: message and run idempotency, and one driving run at a time. */
import { EventType } from '@ag-ui/core'
import type { Message, UserMessage } from '@ag-ui/core'
import type { Agent, AgentHandle } from '@deepseek-ai/dsh-agent'
import { freezeMessage } from '@deepseek-ai/dsh-llm'
import type { MessageId } from '@deepseek-ai/dsh-llm'
import type { ToolRuntime } from '@deepseek-ai/dsh-tools'

import type { BaselineConfig } from './config.ts'
import { canonicalJson, sha256 } from './digest.ts'
import { GatewayError } from './errors.ts'
import { readCards, readMessages } from './history.ts'
import { RunProjection } from './projection.ts'
import type { RunRequest } from './request.ts'
import { Run } from './run.ts'

export class Thread {
  readonly #handle: AgentHandle
  readonly #tools: ToolRuntime
  readonly #config: BaselineConfig
  /** Digests of accepted user messages by message id. */
  readonly #accepted = new Map<string, string>()
  /** Retained runs by run id, oldest first. */
  readonly #runs = new Map<string, Run>()
  /** Settles when the run that was admitted last has left the Agent idle. */
  #tail: Promise<void> = Promise.resolve()
  #pending = 0
  #driving: Run | undefined
  #projection: RunProjection | undefined

  constructor(handle: AgentHandle, tools: ToolRuntime, config: BaselineConfig) {
    this.#handle = handle
    this.#tools = tools
    this.#config = config
    handle.agent.ctx.on('session/event', (_session, event) => this.#projection?.handle(event))
  }

  get #agent(): Agent {
    return this.#handle.agent
  }

  /** Whether a run drives the Agent or waits for it. */
  get isBusy(): boolean {
    return this.#pending > 0
  }

  /**
   * Admits a request: a retained run for a duplicate, a new one otherwise.
   *
   * @throws GatewayError when the request is refused; nothing has changed then.
   */
  admit({ input, digest }: RunRequest): { run: Run, isNew: boolean } {
    const retained = this.#runs.get(input.runId)
    if (retained !== undefined) {
      if (retained.digest !== digest) throw new GatewayError(409, 'RUN_ID_CONFLICT', 'the run id was used with another body')
      return { run: retained, isNew: false }
    }
    const fresh = this.#newMessages(input.messages)
    if (fresh.size > 0 && this.#pending > this.#config.maxRunsPerThread) {
      throw new GatewayError(429, 'RUN_QUEUE_FULL', 'too many runs wait for this thread')
    }
    this.#makeRoom()

    const run: Run = new Run(input.threadId, input.runId, digest, this.#config, () => this.#cancel(run))
    this.#runs.set(run.runId, run)
    for (const [message, messageDigest] of fresh) this.#accepted.set(message.id, messageDigest)
    if (fresh.size === 0) this.#serveHistory(run, input.parentRunId)
    else this.#enqueue(run, input.parentRunId, [...fresh.keys()])
    return { run, isNew: true }
  }

  /** The client of a run left: ends the run and cancels its turn. */
  abandon(run: Run): void {
    if (run.isEnded) return
    run.end({ kind: 'error', code: 'CLIENT_DISCONNECTED', message: 'the client disconnected' })
    this.#cancel(run)
  }

  async dispose(): Promise<void> {
    await this.#handle.dispose()
  }

  /** The user messages that were not accepted before, with their digests. */
  #newMessages(messages: readonly Message[]): Map<UserMessage, string> {
    const fresh = new Map<UserMessage, string>()
    const seen = new Map<string, string>()
    for (const message of messages) {
      if (message.role !== 'user') continue // The server owns every other role.
      const digest = sha256(canonicalJson(message))
      const known = this.#accepted.get(message.id) ?? seen.get(message.id)
      if (known !== undefined) {
        if (known !== digest) throw new GatewayError(409, 'MESSAGE_ID_CONFLICT', 'the message id was used with other content')
        continue
      }
      if (typeof message.content !== 'string') {
        throw new GatewayError(400, 'UNSUPPORTED_MESSAGE_CONTENT', 'only text messages are supported')
      }
      seen.set(message.id, digest)
      fresh.set(message, digest)
    }
    return fresh
  }

  /** Evicts the oldest finished run when the ledger is full. */
  #makeRoom(): void {
    if (this.#runs.size < this.#config.maxRunsPerThread) return
    for (const [runId, run] of this.#runs) {
      if (run.isEnded) {
        this.#runs.delete(runId)
        return
      }
    }
    throw new GatewayError(429, 'RUN_LEDGER_FULL', 'every retained run is active')
  }

  #serveHistory(run: Run, parentRunId: string | undefined): void {
    this.#open(run, parentRunId, [])
    run.end({ kind: 'finished' })
  }

  #enqueue(run: Run, parentRunId: string | undefined, messages: readonly UserMessage[]): void {
    this.#pending += 1
    this.#tail = this.#tail
      .then(() => this.#drive(run, parentRunId, messages))
      .catch((error: unknown) => {
        run.end({ kind: 'error', code: 'AGENT_EXECUTION_ERROR', message: error instanceof Error ? error.name : 'unknown failure' })
      })
      .finally(() => { this.#pending -= 1 })
  }

  async #drive(run: Run, parentRunId: string | undefined, messages: readonly UserMessage[]): Promise<void> {
    if (run.isEnded) { // The client left while the run waited: its messages were never delivered.
      for (const message of messages) this.#accepted.delete(message.id)
      return
    }
    this.#open(run, parentRunId, messages)
    this.#projection = new RunProjection(run, this.#agent, this.#tools)
    this.#driving = run
    const delivered = messages.map(message => freezeMessage({
      id: message.id as MessageId,
      role: 'user',
      content: [{ type: 'text', text: message.content as string }],
      source: { kind: 'user' },
    }))
    const last = delivered.pop()
    for (const message of delivered) this.#agent.inject(message)
    if (last !== undefined) this.#agent.followup(last)
    await run.ended
    await this.#agent.whenIdle()
    this.#driving = undefined
    this.#projection = undefined
  }

  /** The opening of every run: what the thread holds, the new messages included. */
  #open(run: Run, parentRunId: string | undefined, messages: readonly UserMessage[]): void {
    run.emit({
      type: EventType.RUN_STARTED, threadId: run.threadId, runId: run.runId, ...parentRunId === undefined ? {} : { parentRunId },
    })
    run.emit({ type: EventType.MESSAGES_SNAPSHOT, messages: [...readMessages(this.#agent), ...messages] })
    for (const card of readCards(this.#agent, this.#tools)) run.emit(card)
  }

  /** Cancels the turn of a run. Deferred, because a session cannot append while it publishes an event. */
  #cancel(run: Run): void {
    if (this.#driving === run) queueMicrotask(() => this.#agent.cancel({ kind: 'user' }))
  }
}
