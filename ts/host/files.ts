/**
 * Uploaded files in the Host's stores: images in every generation, files of any type from 0.1.5 on (G16, host-api
 * §3.11, §3.12).
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { serviceMissing, translated } from './error.ts'
import type { HostErrorCode } from './error.ts'
import type { FileKind, HostFiles, HostStores, StoredFile } from './port.ts'

/** The part of `ctx.attachments` that we use. */
export interface Attachments {
  readonly imageLimits: { readonly maxImageBytes: number, readonly maxImagesPerMessage: number, readonly maxMessageImageBytes: number }
  saveImage(image: { data: Uint8Array, mediaType: string, name: string }): Promise<object>
  readImage(reference: object, signal?: AbortSignal): Promise<{ readonly data: Uint8Array }>
  /** Absent in generation A. */
  readFileStream?(reference: object, signal: AbortSignal): AsyncIterable<Uint8Array> | Promise<AsyncIterable<Uint8Array>>
}

/** The part of `ctx.fileUploads` that we use; absent in generation A. */
export interface FileUploads {
  uploadStream(upload: {
    readonly sessionId: string
    readonly data: AsyncIterable<Uint8Array>
    readonly signal: AbortSignal
    readonly name: string
  }): Promise<{ readonly receiptId: string, readonly file: object }>
  resolve(agent: Agent, receiptId: string): object | undefined
  bindPrompt(agent: Agent, receiptIds: readonly string[], requestId: string): Binding
}

/** Receipts that wait for their message to be delivered. */
export interface Binding extends Disposable {
  commit(): void
}

/** What a store says of a file that it does not take or give, in the gateway's words. */
const CODES: Readonly<Record<string, HostErrorCode>> = {
  UNSUPPORTED_IMAGE_TYPE: 'UNSUPPORTED_MEDIA_TYPE',
  INVALID_IMAGE: 'UNSUPPORTED_MEDIA_TYPE',
  IMAGE_TYPE_MISMATCH: 'UNSUPPORTED_MEDIA_TYPE',
  IMAGE_TOO_LARGE: 'FILE_TOO_LARGE',
  IMAGES_TOO_LARGE: 'FILE_TOO_LARGE',
  IMAGE_TOO_MANY_PIXELS: 'FILE_TOO_LARGE',
  IMAGE_DIMENSION_TOO_LARGE: 'FILE_TOO_LARGE',
  ATTACHMENT_NOT_FOUND: 'FILE_NOT_FOUND',
  INVALID_ATTACHMENT_REF: 'FILE_NOT_FOUND',
}

/** The Host's stores, looked up at every use: they come and go with their plugins. */
export class DshFiles implements HostFiles {
  readonly #ctx: Context

  /** @param ctx - The plugin's own context. */
  constructor(ctx: Context) {
    this.#ctx = ctx
  }

  get stores(): HostStores {
    const attachments = attachmentsOf(this.#ctx)
    return {
      ...attachments === undefined ? {} : { maxImageBytes: attachments.imageLimits.maxImageBytes },
      files: uploadsOf(this.#ctx) === undefined ? 'missing' : 'present',
    }
  }

  async saveImage(image: { data: Uint8Array, mediaType: string, name: string }): Promise<StoredFile> {
    const store = needAttachments(this.#ctx)
    try {
      return { reference: await store.saveImage(image) }
    } catch (error) {
      throw inOurWords(error)
    }
  }

  async* read(kind: FileKind, reference: unknown, signal: AbortSignal): AsyncGenerator<Uint8Array> {
    const store = needAttachments(this.#ctx)
    try {
      if (kind === 'image') {
        yield (await store.readImage(reference as object, signal)).data
      } else if (store.readFileStream === undefined) {
        throw serviceMissing('attachments.readFileStream')
      } else {
        yield* await store.readFileStream(reference as object, signal)
      }
    } catch (error) {
      throw inOurWords(error)
    }
  }
}

/**
 * Stages a file with a live agent.
 *
 * @param ctx - The plugin's own context.
 * @param sessionId - The agent's session.
 * @param file - Its bytes as they come, its name, and what stops it.
 */
export async function stageFile(
  ctx: Context, sessionId: string, file: { data: AsyncIterable<Uint8Array>, name: string, signal: AbortSignal },
): Promise<StoredFile> {
  const { receiptId, file: reference } = await needUploads(ctx).uploadStream({ sessionId, ...file })
  return { reference, receipt: receiptId }
}

function attachmentsOf(ctx: Context): Attachments | undefined {
  return ctx.get('attachments' as never) as Attachments | undefined
}

function uploadsOf(ctx: Context): FileUploads | undefined {
  return ctx.get('fileUploads' as never) as FileUploads | undefined
}

/** The Host's store of attachments. Throws a `HostError` where it has none. */
export function needAttachments(ctx: Context): Attachments {
  return attachmentsOf(ctx) ?? raise(serviceMissing('attachments'))
}

/** The Host's uploads. Throws a `HostError` where it has none. */
export function needUploads(ctx: Context): FileUploads {
  return uploadsOf(ctx) ?? raise(serviceMissing('fileUploads'))
}

function raise(error: Error): never {
  throw error
}

function inOurWords(error: unknown): unknown {
  return translated(error, CODES, 'the Host\'s store refuses the file')
}
