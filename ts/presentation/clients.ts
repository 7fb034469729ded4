/**
 * What an invocation may use: a descriptor and the clients behind it (spec: presentation, Invocation availability; P5).
 *
 * @module
 */

import { validatePresentationDescriptor as validateDescriptor } from 'dsh-ag-ui/native'
import { externalRedirectClient, externalRedirectProtocol } from './callback.ts'
import type { ExternalRedirectClient } from './callback.ts'
import { API_VERSION } from './common.ts'
import type { PresentationInvocationScope, PresentationKind } from './common.ts'
import { userInteractionClient, userInteractionProtocol } from './interaction.ts'
import type { UserInteractionClient } from './interaction.ts'
import type { CapabilityClient, ProtocolCatalog, ProtocolDefinition, ProtocolSupport } from './model.ts'
import {
  copyTextClient, copyTextProtocol, notificationClient, notificationProtocol, openExternalClient, openExternalProtocol,
} from './operations.ts'
import type { CopyTextClient, NotificationClient, OpenExternalClient } from './operations.ts'
import { snapshot } from './snapshot.ts'
import { checkScope, native } from './validation.ts'

/** A projection of the active agreements of one invocation. Not to be kept beyond it. */
export interface PresentationDescriptor {
  /** The endpoint that the Host bound. */
  readonly clientId: string
  readonly contracts: readonly ProtocolSupport[]
}

/** The typed clients of one invocation. A member exists only while its agreement has a live binding. */
export interface PresentationClients {
  readonly descriptor: PresentationDescriptor
  readonly openExternal?: OpenExternalClient
  readonly copyText?: CopyTextClient
  readonly notification?: NotificationClient
  readonly interaction?: UserInteractionClient
  readonly externalRedirect?: ExternalRedirectClient
}

/** The five definitions, in the order of the specification. */
export const protocols: readonly ProtocolDefinition[] = Object.freeze([
  openExternalProtocol, copyTextProtocol, notificationProtocol, userInteractionProtocol, externalRedirectProtocol,
] as readonly ProtocolDefinition[])

/** Registers the five definitions; gives the function that takes them out again. A failed registration leaves none behind. */
export function register(catalog: ProtocolCatalog): () => void {
  const registered: (() => void)[] = []
  const unregister = (): void => { for (const dispose of registered.splice(0).reverse()) dispose() }
  try {
    for (const protocol of protocols) registered.push(catalog.register(protocol))
  } catch (error) {
    unregister()
    throw error
  }
  return unregister
}

/** Throws a `TypeError` unless `value` is a `PresentationDescriptor`. */
export function validatePresentationDescriptor(value: unknown): asserts value is PresentationDescriptor {
  checkDescriptor(value)
}

function checkDescriptor(value: unknown): PresentationDescriptor {
  const descriptor = snapshot(value, 'Presentation descriptor')
  native(() => { validateDescriptor(JSON.stringify(descriptor)) })
  return descriptor as unknown as PresentationDescriptor
}

/** The clients of an invocation: those that the descriptor names and for which `client` holds a live binding. */
export function presentationClients(
  descriptor: PresentationDescriptor,
  client: CapabilityClient,
  scope: PresentationInvocationScope,
): PresentationClients {
  const checked = checkDescriptor(descriptor)
  checkScope(scope)
  const has = (kind: PresentationKind): boolean => checked.contracts.some(contract =>
    contract.apiVersion === API_VERSION && contract.kind === kind && client.binding(contract) !== undefined)
  return Object.freeze({
    descriptor: checked,
    ...(has('OpenExternal') ? { openExternal: openExternalClient(client, scope) } : {}),
    ...(has('CopyText') ? { copyText: copyTextClient(client, scope) } : {}),
    ...(has('Notification') ? { notification: notificationClient(client, scope) } : {}),
    ...(has('UserInteraction') ? { interaction: userInteractionClient(client, scope) } : {}),
    ...(has('ExternalRedirect') ? { externalRedirect: externalRedirectClient(client, scope) } : {}),
  })
}
