/**
 * `ctx.fileUploads` of B and C (host-api §3.12): files that a client has sent and no message names yet. A receipt is good
 * for one live root agent and in this process only.
 */

import { randomUUID } from 'node:crypto'
import { Service } from '@deepseek-ai/cordis'
import type { Context } from '@deepseek-ai/cordis'
import { scopeOf } from '@deepseek-ai/dsh-scope'
import type { NewerAgent } from './agent.ts'
import type { FileRef, NewerAttachments } from './attachments.ts'
import type { AnyMessage } from './generation.ts'
import { RemoteError } from './remote-error.ts'

/** What an upload comes to. */
export interface UploadValue {
  readonly receiptId: string
  readonly file: FileRef
}

/** A file that is staged. */
export interface Staged {
  readonly file: FileRef
  /** The prompt that names the file. */
  requestId?: string
}

interface StreamRequest {
  readonly sessionId: string
  readonly data: AsyncIterable<Uint8Array>
  readonly signal?: AbortSignal
  readonly name?: string
}

/** Receipts on their way into a message. Undone at disposal unless committed. */
export interface PromptBinding extends Disposable {
  commit(): void
}

export class NewerUploads extends Service {
  static inject = ['agents', 'attachments']
  private readonly staged = new WeakMap<object, Map<string, Staged>>()
  private readonly own: { readonly ctx: Context }
  private resolver: ((sessionId: string) => Promise<NewerAgent>) | undefined

  constructor(ctx: Context) {
    super(ctx, 'fileUploads' as never)
    this.own = { ctx }
    ctx.on('session/event', (session, event) => {
      const { type, data } = event as { type: string, data: unknown }
      if (type !== 'user/message') return
      const { kind, rpcId } = (data as AnyMessage).source
      if (kind === 'user' && typeof rpcId === 'string') this.retire(session, rpcId)
    })
    ctx.on('session/disposed', (session) => { this.staged.delete(session) })
  }

  /** Lets uploads for a session that is not live bring it to life. */
  registerAgentResolver(resolver: (sessionId: string) => Promise<NewerAgent>): () => void {
    if (this.resolver !== undefined) throw new Error('an agent resolver is already registered')
    this.resolver = resolver
    return () => {
      if (this.resolver === resolver) this.resolver = undefined
    }
  }

  async uploadStream({ sessionId, ...input }: StreamRequest): Promise<UploadValue> {
    const live = this.own.ctx.agents.get(sessionId as never) as unknown as NewerAgent | undefined
    if (live === undefined && this.resolver === undefined) throw gone(sessionId)
    const agent = live ?? await this.resolver!(sessionId)
    return await this.stage(agent, store => store.saveFileStream(input))
  }

  async upload(agent: NewerAgent, request: { readonly data: string, readonly name?: string }, signal?: AbortSignal): Promise<UploadValue> {
    signal?.throwIfAborted()
    return await this.stage(agent, store => store.admitEncodedFile(request))
  }

  /** The file behind a receipt of this agent. */
  resolve(agent: NewerAgent, receiptId: string): FileRef | undefined {
    assertScope(agent)
    return this.staged.get(agent.session)?.get(receiptId)?.file
  }

  /** Ties receipts to the message that names them. */
  bindPrompt(agent: NewerAgent, receiptIds: readonly string[], requestId: string): PromptBinding {
    assertScope(agent)
    const bound = receiptIds.map((receiptId) => {
      const upload = this.staged.get(agent.session)?.get(receiptId)
      if (upload === undefined) {
        throw new RemoteError('session/attachment-invalid', 'File was not uploaded for this session.', { reason: 'FILE_NOT_STAGED' })
      }
      return { upload, before: upload.requestId }
    })
    for (const { upload } of bound) upload.requestId = requestId
    let open = true
    return {
      commit() {
        open = false
      },
      [Symbol.dispose]() {
        if (!open) return
        open = false
        for (const { upload, before } of bound) {
          if (before === undefined) delete upload.requestId
          else upload.requestId = before
        }
      },
    }
  }

  /** What an agent has staged, by receipt: for tests to look in. */
  stagedBy({ session }: NewerAgent): Map<string, Staged> {
    return this.staged.get(session) ?? new Map()
  }

  /** Lets go of what a message that left the queue named. */
  retirePrompt(agent: NewerAgent, requestId: string): void {
    assertScope(agent)
    this.retire(agent.session, requestId)
  }

  private retire(session: object, requestId: string): void {
    const staged = this.staged.get(session)
    for (const [receiptId, upload] of staged ?? []) if (upload.requestId === requestId) staged?.delete(receiptId)
  }

  private async stage(agent: NewerAgent, save: (store: NewerAttachments) => Promise<FileRef>): Promise<UploadValue> {
    assertScope(agent)
    const { agents, attachments } = this.own.ctx
    if (agent.session.header.origin === 'subagent') {
      throw new RemoteError('subagent/attachment-invalid', 'subagents accept no files', { reason: 'SUBAGENT_FILE_UNSUPPORTED' })
    }
    const file = await save(attachments as unknown as NewerAttachments).catch((error: unknown) => { throw translated(error) })
    if (agents.get(agent.id as never) as unknown !== agent) throw gone(agent.id)
    const staged = this.staged.get(agent.session) ?? new Map<string, Staged>()
    this.staged.set(agent.session, staged)
    const receiptId = randomUUID()
    staged.set(receiptId, { file })
    return { receiptId, file }
  }
}

function gone(sessionId: string): RemoteError {
  return new RemoteError('session/not-found', `session "${sessionId}" is not attached`, { sessionId })
}

function translated(error: unknown): RemoteError {
  const { name, code } = error as { name?: string, code?: string }
  if (name === 'AttachmentError') return new RemoteError('session/attachment-invalid', String(error), { reason: code })
  return new RemoteError('gateway/internal', `failed to store file upload: ${String(error)}`, {}, { cause: error })
}

function assertScope(agent: NewerAgent): void {
  if (scopeOf(agent.ctx) !== agent) throw new Error('file-upload: operation requires the Agent\'s own scope')
}
