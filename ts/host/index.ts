/**
 * The port to the Host, and DeepSeek Harness behind it.
 *
 * @module
 */

export * from './port.ts'
export { createDshHost, DSH_HOST_SERVICES } from './dsh.ts'
export type { DshHostOptions } from './dsh.ts'
export { HostError } from './error.ts'
export type { HostErrorCode, HostLogger } from './error.ts'
export { FRONTEND_RESULT_ID } from './cards.ts'
