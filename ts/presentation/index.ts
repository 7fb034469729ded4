/**
 * `@dsh-std/presentation`: how a runtime asks the user's side (spec: presentation).
 *
 * @module
 */

export * from './operations.ts'
export * from './interaction.ts'
export * from './callback.ts'
export * from './clients.ts'
export * from './errors.ts'
export type * from './model.ts'
export type { PresentationKind, PresentationPermission } from './common.ts'
export { createPresentationHost } from './host.ts'
export type * from './host-api.ts'
export type { PresentationHandlerContext } from './local-provider.ts'
export { attach } from './attach.ts'
export type * from './attach-api.ts'
export { revealText } from './text.ts'
