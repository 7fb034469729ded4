/**
 * A fake of what generation B adds for files: `ctx.fileUploads`, and `readFileStream` of `ctx.attachments`. No package
 * that has them can be installed here, so they are written from host-api §3.12 and mounted as services on the real
 * Host. Bytes go to disk as they come; receipts live in memory, belong to one live root agent, and retire when a
 * message with `{kind: 'user', rpcId}` is logged.
 */

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { original } from './gateway.ts'

/** Points to a stored file. */
export interface FileAttachmentRef {
  readonly attachmentId: string
  readonly name: string
  readonly bytes: number
}

/** An error with the code of a remote procedure. */
class RemoteError extends Error {
  override readonly name = 'RemoteError'
  readonly code: string
  readonly details: { readonly reason?: string }

  constructor(code: string, reason?: string) {
    super(`${code} at /some/secret/place`)
    this.code = code
    this.details = reason === undefined ? {} : { reason }
  }
}

interface Receipt {
  readonly agent: Agent
  readonly file: FileAttachmentRef
  /** The prompt that it is bound to. */
  requestId?: string
}

/** The fake. Its hooks let a test look in. */
export class FakeFileUploads {
  /** Called at every piece that is stored or read. */
  onChunk: () => void | Promise<void> = () => {}
  readonly receipts = new Map<string, Receipt>()
  readonly #ctx: Context
  readonly #root: string

  constructor(ctx: Context, home: string) {
    this.#ctx = ctx
    this.#root = join(home, 'uploads')
    mkdirSync(this.#root, { recursive: true })
  }

  /** Where files are kept. */
  get root(): string {
    return this.#root
  }

  async uploadStream({ sessionId, data, signal, name = 'file' }: {
    sessionId: string, data: AsyncIterable<Uint8Array>, signal?: AbortSignal, name?: string,
  }): Promise<{ receiptId: string, file: FileAttachmentRef }> {
    const agent = this.#ctx.agents.get(sessionId as never)
    if (agent === undefined || !this.#ctx.agents.roots().includes(agent)) throw new RemoteError('session/not-found')
    const temporary = join(this.#root, `${randomUUID()}.part`)
    const hash = createHash('sha256')
    let bytes = 0
    try {
      const handle = await open(temporary, 'wx')
      try {
        for await (const chunk of data) {
          signal?.throwIfAborted()
          await this.onChunk()
          hash.update(chunk)
          bytes += chunk.length
          await handle.write(chunk)
        }
        signal?.throwIfAborted()
      } finally {
        await handle.close()
      }
    } catch (error) {
      rmSync(temporary, { force: true })
      throw error
    }
    const digest = hash.digest('hex')
    renameSync(temporary, join(this.#root, digest))
    const file = Object.freeze({ attachmentId: `sha256:${digest}`, name, bytes })
    const receiptId = randomUUID()
    this.receipts.set(receiptId, { agent, file })
    return { receiptId, file }
  }

  resolve(agent: Agent, receiptId: string): FileAttachmentRef | undefined {
    const receipt = this.receipts.get(receiptId)
    return receipt?.agent === agent && receipt.requestId === undefined ? receipt.file : undefined
  }

  bindPrompt(agent: Agent, receiptIds: readonly string[], requestId: string): Disposable & { commit(): void } {
    const receipts = receiptIds.map(id => this.receipts.get(id))
    if (receipts.some(receipt => receipt?.agent !== agent || receipt.requestId !== undefined)) {
      throw new RemoteError('session/attachment-invalid', 'FILE_NOT_STAGED')
    }
    for (const receipt of receipts) if (receipt !== undefined) receipt.requestId = requestId
    let committed = false
    return {
      commit: () => { committed = true },
      [Symbol.dispose]: () => {
        if (committed) return
        for (const receipt of receipts) if (receipt !== undefined) delete receipt.requestId
      },
    }
  }

  retirePrompt(agent: Agent, requestId: string): void {
    for (const [id, receipt] of this.receipts) {
      if (receipt.agent === agent && receipt.requestId === requestId) this.receipts.delete(id)
    }
  }

  /** `ctx.attachments.readFileStream`. */
  async* readFileStream(reference: FileAttachmentRef, signal?: AbortSignal): AsyncGenerator<Uint8Array> {
    const path = join(this.#root, reference.attachmentId.replace('sha256:', ''))
    if (!existsSync(path)) throw Object.assign(new Error(`no ${path}`), { code: 'ATTACHMENT_NOT_FOUND' })
    for await (const chunk of createReadStream(path, signal === undefined ? {} : { signal })) {
      await this.onChunk()
      yield chunk as Uint8Array
    }
  }
}

/** Mounts the fake on a Host of generation A. */
export async function mountFileUploads(ctx: Context, home: string): Promise<FakeFileUploads> {
  const uploads = new FakeFileUploads(ctx, home)
  await ctx.plugin({ name: 'fake-file-uploads', apply: (plugin: Context) => { plugin.provide('fileUploads' as never, uploads as never) } })
  Object.assign(original(ctx.attachments), {
    readFileStream: (reference: FileAttachmentRef, signal?: AbortSignal) => uploads.readFileStream(reference, signal),
  })
  ctx.on('session/event', (session, event) => {
    if (event.type !== 'user/message') return
    const { source } = event.data as { source: { kind: string, rpcId?: string } }
    const agent = ctx.agents.get(session.id)
    if (source.kind === 'user' && source.rpcId !== undefined && agent !== undefined) uploads.retirePrompt(agent, source.rpcId)
  })
  return uploads
}
