/**
 * Files in the messages of an agent: whether they can still be sent, and using them up when they are (G16, host-api
 * §3.11, §3.12).
 *
 * @module
 */

import { randomUUID } from 'node:crypto'
import type { Context } from '@deepseek-ai/cordis'
import type { Agent } from '@deepseek-ai/dsh-agent'
import { HostError } from './error.ts'
import { needAttachments, needUploads } from './files.ts'
import type { Binding } from './files.ts'
import type { HostMessage, SentFile } from './port.ts'

/** The part of `ctx.llm` that we use. */
interface Models {
  resolveModelInfo?(provider: string, model: string): Promise<{ readonly inputModalities?: readonly string[] }>
}

/**
 * Looks whether files can be sent. An image is in the session for ever, so one that cannot be read would break every
 * later request of it.
 *
 * @param ctx - The plugin's own context.
 * @param agent - The agent that shall get them.
 * @param files - All files of one run.
 * @throws A {@link HostError} with the code of the refusal.
 */
export async function checkFiles(ctx: Context, agent: Agent, files: readonly SentFile[]): Promise<void> {
  const images = files.filter(({ kind }) => kind === 'image')
  const receipts = files.filter(({ kind }) => kind === 'file').map(({ receipt }) => receipt ?? '')
  if (receipts.length > 0) {
    const uploads = needUploads(ctx)
    if (receipts.some(receipt => uploads.resolve(agent, receipt) === undefined)) throw notStaged()
  }
  if (images.length > 0) await checkImages(ctx, agent, images.map(({ reference }) => reference as { readonly bytes: number }))
}

async function checkImages(ctx: Context, agent: Agent, images: readonly { readonly bytes: number }[]): Promise<void> {
  const store = needAttachments(ctx)
  const { maxImagesPerMessage, maxMessageImageBytes } = store.imageLimits
  const bytes = images.reduce((sum, image) => sum + image.bytes, 0)
  if (images.length > maxImagesPerMessage || bytes > maxMessageImageBytes) {
    throw new HostError('MESSAGE_LIMIT_EXCEEDED', 'the Host takes fewer images in a message')
  }
  if (!await takesImages(ctx, agent)) throw new HostError('UNSUPPORTED_MESSAGE_CONTENT', 'the model takes no images')
  for (const image of images) {
    try {
      await store.readImage(image)
    } catch (error) {
      throw notStaged(error)
    }
  }
}

/** Whether the agent's model takes images, as far as its provider says. */
async function takesImages(ctx: Context, agent: Agent): Promise<boolean> {
  const models = ctx.get('llm' as never) as Models | undefined
  const { provider, model } = agent.options as { provider?: string, model?: string }
  if (models?.resolveModelInfo === undefined || provider === undefined || model === undefined) return true
  try {
    const { inputModalities } = await models.resolveModelInfo(provider, model)
    return inputModalities?.includes('image') ?? true
  } catch {
    return true // a model that cannot be resolved fails in its turn, with its provider's own words
  }
}

/** A message on its way into an agent: with the source that its receipts retire by, and what holds them. */
export interface BoundMessage {
  readonly message: HostMessage
  readonly binding?: Binding
}

/**
 * Reserves the uploads that messages use up: all of them or none.
 *
 * @param ctx - The plugin's own context.
 * @param agent - The agent that gets the messages.
 * @param messages - In order.
 * @throws A {@link HostError} `FILE_NOT_STAGED` or `HOST_SERVICE_MISSING`.
 */
export function bindFiles(ctx: Context, agent: Agent, messages: readonly HostMessage[]): BoundMessage[] {
  const bound: BoundMessage[] = []
  try {
    for (const message of messages) bound.push(bind(ctx, agent, message))
  } catch (error) {
    release(bound)
    throw error
  }
  return bound
}

function bind(ctx: Context, agent: Agent, message: HostMessage): BoundMessage {
  const { receipts = [], source } = message
  if (receipts.length === 0) return { message }
  const uploads = needUploads(ctx)
  const requestId = randomUUID()
  try {
    const binding = uploads.bindPrompt(agent, receipts, requestId)
    return { message: { ...message, source: { ...source, rpcId: requestId } }, binding }
  } catch (error) {
    throw notStaged(error)
  }
}

/** The agent does not get the messages: their uploads may be sent again. */
export function release(bound: readonly BoundMessage[]): void {
  for (const { binding } of bound) binding?.[Symbol.dispose]()
}

/**
 * Uploads of messages that an agent has and has not logged yet. They retire with their message; one that the agent
 * lets go may be sent again with its files.
 */
export class HeldUploads {
  readonly #bindings = new Map<string, Binding>()

  /** The agent has the messages. */
  hold(bound: readonly BoundMessage[]): void {
    for (const { message: { id }, binding } of bound) {
      if (id !== undefined && binding !== undefined) this.#bindings.set(id, binding)
    }
  }

  /** A message of that id is in the log: its uploads are used up. */
  logged(id: string): void {
    this.#bindings.get(id)?.commit()
    this.#bindings.delete(id)
  }

  /** The agent rests: what it has not logged, it has let go. */
  release(): void {
    for (const binding of this.#bindings.values()) binding[Symbol.dispose]()
    this.#bindings.clear()
  }
}

function notStaged(cause?: unknown): HostError {
  return new HostError('FILE_NOT_STAGED', 'a file cannot be sent', cause)
}
