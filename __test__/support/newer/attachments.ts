/**
 * `ctx.attachments` of B and C (host-api §3.11, §4.1): A's real image store, and files beside it. Files are content
 * addressed on disk; a stream is never held in memory.
 */

import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, rename, rm, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { AttachmentError, admitEncodedImages } from '@deepseek-ai/dsh-attachment'
import LocalAttachmentStore from '@deepseek-ai/dsh-attachment-local'

/** A stored file. */
export interface FileRef {
  readonly attachmentId: string
  readonly name: string
  readonly bytes: number
}

/** A part of a prompt before admission. */
export type PromptPart =
  | { readonly type: 'text', readonly text: string }
  | { readonly type: 'image', readonly mediaType: string, readonly data: string, readonly name?: string }
  | { readonly type: 'file', readonly attachment: FileRef }

interface StreamInput {
  readonly data: AsyncIterable<Uint8Array>
  readonly name?: string
  readonly signal?: AbortSignal
}

export class NewerAttachments extends LocalAttachmentStore {
  async saveFileStream({ data, name, signal }: StreamInput): Promise<FileRef> {
    signal?.throwIfAborted()
    await mkdir(this.filesRoot, { recursive: true })
    const temporary = join(this.filesRoot, `${randomUUID()}.part`)
    const hash = createHash('sha256')
    let bytes = 0
    // A stream that opens the file by itself might do so after it was broken off.
    const file = await open(temporary, 'wx')
    try {
      await pipeline(data, async function* (chunks: AsyncIterable<Uint8Array>) {
        for await (const chunk of chunks) {
          hash.update(chunk)
          bytes += chunk.byteLength
          yield chunk
        }
      }, file.createWriteStream(), ...signal === undefined ? [] : [{ signal }])
    } catch (error) {
      await rm(temporary, { force: true })
      if (signal?.aborted === true) throw signal.reason
      throw new AttachmentError('the file could not be written', 'ATTACHMENT_WRITE_FAILED', { cause: error })
    }
    const digest = hash.digest('hex')
    await rename(temporary, join(this.filesRoot, digest))
    return Object.freeze({ attachmentId: `sha256:${digest}`, name: displayName(name), bytes })
  }

  async saveFile({ data, name }: { readonly data: Uint8Array, readonly name?: string }): Promise<FileRef> {
    return await this.saveFileStream({ data: once(data), ...name === undefined ? {} : { name } })
  }

  async admitEncodedFile({ data, name }: { readonly data: string, readonly name?: string }): Promise<FileRef> {
    const bytes = Buffer.from(data, 'base64')
    if (bytes.toString('base64') !== data) throw new AttachmentError('the file is not canonical base64', 'INVALID_ATTACHMENT_REF')
    return await this.saveFile({ data: bytes, ...name === undefined ? {} : { name } })
  }

  async * readFileStream(ref: FileRef, signal?: AbortSignal): AsyncIterable<Uint8Array> {
    const path = this.fileHostPath(ref)
    const found = await stat(path).catch(() => undefined)
    if (found === undefined) throw new AttachmentError('no such file', 'ATTACHMENT_NOT_FOUND')
    if (found.size !== ref.bytes) throw new AttachmentError('the file is not what was stored', 'ATTACHMENT_CORRUPT')
    for await (const chunk of createReadStream(path, signal === undefined ? {} : { signal })) yield chunk as Uint8Array
  }

  fileHostPath({ attachmentId }: FileRef): string {
    const digest = /^sha256:([0-9a-f]{64})$/u.exec(attachmentId)?.[1]
    if (digest === undefined) throw new AttachmentError('no such reference', 'INVALID_ATTACHMENT_REF')
    return join(this.filesRoot, digest)
  }

  /** Makes the content of a message from what a client sent; all images of it are admitted together. */
  async admitPromptContent(parts: readonly PromptPart[]): Promise<object[]> {
    const images = parts.filter(part => part.type === 'image')
    const admitted = [...await admitEncodedImages(this, images as never)]
    return parts.map(part => part.type === 'image' ? { type: 'image', attachment: admitted.shift() } : { ...part })
  }

  isAttachmentError(error: unknown): boolean {
    return error instanceof AttachmentError
  }

  /** Where files are kept. */
  get filesRoot(): string {
    return join(this.root, 'files')
  }
}

async function* once(data: Uint8Array): AsyncIterable<Uint8Array> {
  yield data
}

/** A name without a path; a file without one is called so. */
function displayName(name = 'file'): string {
  return basename(name.replaceAll('\\', '/')) || 'file'
}
