/**
 * Uploads: a request's body into the Host's stores, as fast as they take it (G16).
 *
 * @module
 */

import { createHash } from 'node:crypto'
import type { HostFile, UploadRequest } from '../native.ts'
import type { StoredFile } from '../host/port.ts'
import type { GatewayDriver } from './driver.ts'
import { Refusal } from './transfer.ts'
import type { Caller, Transfer } from './transfer.ts'

/**
 * Takes an upload and answers it.
 *
 * @throws What the answer to a failure is made of.
 */
export async function takeUpload(driver: GatewayDriver, caller: Caller, upload: UploadRequest, transfer: Transfer): Promise<void> {
  const { native } = driver
  const { tenant, user } = caller
  const verdict = native.upload(tenant, user, upload, driver.stores)
  driver.after(verdict.todo)
  if (verdict.error !== undefined) throw new Refusal(verdict.error)
  const hash = createHash('sha256')
  const data = hashed(transfer.body(upload.length, () => driver.refusal('CONTENT_LENGTH_MISMATCH')), hash)
  const stored = verdict.errand === undefined ? await saveImage(driver, upload, data)
    : await driver.onErrand(verdict.errand, transfer, ({ thread }) => stage(driver, thread, upload, data, transfer.signal))
  const file: HostFile = {
    kind: verdict.kind ?? 'file',
    reference: JSON.stringify(stored.reference),
    sha256: hash.digest('hex'),
    ...stored.receipt === undefined ? {} : { receipt: stored.receipt },
  }
  await transfer.json(201, native.uploaded(tenant, user, upload, file))
}

/** Images are checked whole; the Host's limit, which the announced length keeps, bounds them. */
async function saveImage(driver: GatewayDriver, { mediaType, name, length }: UploadRequest, data: AsyncIterable<Uint8Array>): Promise<StoredFile> {
  const whole = Buffer.allocUnsafe(length)
  let at = 0
  for await (const chunk of data) {
    whole.set(chunk, at)
    at += chunk.length
  }
  return await driver.files.saveImage({ data: whole, mediaType, name })
}

async function stage(
  driver: GatewayDriver, thread: number, { name }: UploadRequest, source: AsyncIterable<Uint8Array>, signal: AbortSignal,
): Promise<StoredFile> {
  const agent = driver.agentOf(thread)
  if (agent.stageFile === undefined) throw driver.refusal('HOST_SERVICE_MISSING')
  const { data, failure } = watched(source)
  try {
    return await agent.stageFile({ data, name, signal })
  } catch (error) {
    // What broke the body off counts, whatever the Host makes of it.
    throw failure() ?? error
  }
}

async function* hashed(data: AsyncIterable<Uint8Array>, hash: { update(chunk: Uint8Array): unknown }): AsyncGenerator<Uint8Array> {
  for await (const chunk of data) {
    hash.update(chunk)
    yield chunk
  }
}

/** The same data, and what it threw. */
function watched(source: AsyncIterable<Uint8Array>): { data: AsyncIterable<Uint8Array>, failure: () => unknown } {
  let failed: unknown
  async function* data(): AsyncGenerator<Uint8Array> {
    try {
      yield* source
    } catch (error) {
      failed = error
      throw error
    }
  }
  return { data: data(), failure: () => failed }
}
