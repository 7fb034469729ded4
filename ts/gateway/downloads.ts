/**
 * Downloads: uploaded files out of the Host's stores, and deliverables through the agent's own file system (G15, G16).
 *
 * @module
 */

import type { DeliverableRequest, FileRequest } from '../native.ts'
import type { GatewayDriver } from './driver.ts'
import type { ErrandWork } from './errands.ts'
import { Refusal } from './transfer.ts'
import type { Caller, Transfer } from './transfer.ts'

/** Sends an uploaded file. Its URL has been checked; no agent is needed. */
export async function sendFile(driver: GatewayDriver, file: FileRequest, transfer: Transfer): Promise<void> {
  await transfer.file(file, driver.files.read(file.kind, JSON.parse(file.reference), transfer.signal))
}

/** Sends a declared file as it is now. */
export async function sendDeliverable(driver: GatewayDriver, { tenant, user }: Caller, deliverable: DeliverableRequest, transfer: Transfer): Promise<void> {
  const verdict = driver.native.deliverable(tenant, user, deliverable)
  driver.after(verdict.todo)
  if (verdict.errand === undefined) throw verdict.error === undefined ? driver.refusal('') : new Refusal(verdict.error)
  const { bytes, disposition } = await driver.onErrand(verdict.errand, transfer, work => read(driver, work, transfer.signal))
  const head = { size: bytes.length, mediaType: 'application/octet-stream', disposition }
  await transfer.file(head, (async function* () { yield bytes })())
}

async function read(driver: GatewayDriver, work: ErrandWork, signal: AbortSignal): Promise<{ bytes: Uint8Array, disposition: string }> {
  const agent = driver.agentOf(work.thread)
  if (work.type !== 'readDeliverable' || agent.readDeliverable === undefined) {
    throw driver.refusal('HOST_SERVICE_MISSING')
  }
  const { path, maxBytes, disposition } = work
  return { bytes: await agent.readDeliverable(path, maxBytes, signal), disposition }
}
