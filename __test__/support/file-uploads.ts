/**
 * A Host that holds files of any type, and what tests see of it: `ctx.fileUploads`, and `readFileStream` of
 * `ctx.attachments`. The Hosts of generations B and C have them. The real Host of generation A has neither, and no
 * package that has them can be installed here, so it gets a fake, written from host-api §3.12. Bytes go to disk as they
 * come; receipts live in memory, belong to one live root agent, and retire when a message with `{kind: 'user', rpcId}`
 * is logged.
 */

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { original } from './gateway.ts'
import type { TestHost } from './gateway.ts'
import type { NewerAttachments } from './newer/attachments.ts'
import type { NewerUploads } from './newer/uploads.ts'

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
  readonly file: FileAttachmentRef
  /** The prompt that it is bound to. */
  requestId?: string
}

/** What a test sees of a Host's uploads. */
export interface WatchedUploads {
  /** Called at every piece that is stored or read. */
  onChunk: () => void | Promise<void>
  /** Where files are kept. */
  readonly root: string
  /** What an agent has staged, by receipt. Deleting an entry takes the upload away. */
  receiptsOf(agent: Agent): Map<string, { readonly requestId?: string }>
}

/** The fake for generation A. */
class FakeFileUploads implements WatchedUploads {
  onChunk: WatchedUploads['onChunk'] = () => {}
  readonly #receipts = new WeakMap<Agent, Map<string, Receipt>>()
  readonly #ctx: Context
  readonly #root: string

  constructor(ctx: Context, home: string) {
    this.#ctx = ctx
    this.#root = join(home, 'uploads')
    mkdirSync(this.#root, { recursive: true })
  }

  get root(): string {
    return this.#root
  }

  receiptsOf(agent: Agent): Map<string, Receipt> {
    const receipts = this.#receipts.get(agent) ?? new Map<string, Receipt>()
    this.#receipts.set(agent, receipts)
    return receipts
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
    this.receiptsOf(agent).set(receiptId, { file })
    return { receiptId, file }
  }

  resolve(agent: Agent, receiptId: string): FileAttachmentRef | undefined {
    const receipt = this.receiptsOf(agent).get(receiptId)
    return receipt?.requestId === undefined ? receipt?.file : undefined
  }

  bindPrompt(agent: Agent, receiptIds: readonly string[], requestId: string): Disposable & { commit(): void } {
    const receipts = receiptIds.map(id => this.receiptsOf(agent).get(id))
    if (receipts.some(receipt => receipt === undefined || receipt.requestId !== undefined)) {
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
    const receipts = this.receiptsOf(agent)
    for (const [id, receipt] of receipts) if (receipt.requestId === requestId) receipts.delete(id)
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

/** Makes a Host hold files of any type where it does not yet, and lets the test look in. */
export async function watchUploads(host: TestHost): Promise<WatchedUploads> {
  return host.generation === 'A' ? await mountFake(host) : watchOwn(host)
}

async function mountFake({ ctx, home }: TestHost): Promise<WatchedUploads> {
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

/** The Host's own, of generations B and C. */
function watchOwn({ ctx }: TestHost): WatchedUploads {
  const store = original(ctx.attachments) as unknown as NewerAttachments
  const service = original(ctx.get('fileUploads' as never) as unknown as NewerUploads)
  const uploads: WatchedUploads = {
    onChunk: () => {},
    root: store.filesRoot,
    receiptsOf: agent => service.stagedBy(agent as never),
  }
  const watched = async function* (chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      await uploads.onChunk()
      yield chunk
    }
  }
  const { saveFileStream, readFileStream } = store
  store.saveFileStream = function ({ data, ...input }) {
    return saveFileStream.call(this, { ...input, data: watched(data) })
  }
  store.readFileStream = function (...args) {
    return watched(readFileStream.apply(this, args))
  }
  return uploads
}
