/**
 * The client's half of an authorization-code flow with PKCE. The redirect receiver brings the answer back; what it
 * brings is untrusted until `state` and `iss` are checked.
 *
 * @module
 */

import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { openRedirectReceiver } from 'dsh-ag-ui/presentation/redirect'

export interface SignInOptions {
  readonly issuer: string
  readonly clientId: string
  /** Shows the authorization page to the user. */
  openPage(uri: string): void | Promise<void>
  /** A fixed callback URI, for servers that insist on one. */
  readonly exactRedirectUri?: string
  readonly signal?: AbortSignal
}

/** The flow ended without a token. `code` is an OAuth error code or what happened to the receiver. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: string

  constructor(code: string) {
    super(`sign-in failed: ${code}`)
    this.code = code
  }
}

/** Runs the flow and returns the access token. */
export async function signIn(options: SignInOptions): Promise<string> {
  const { issuer, clientId, exactRedirectUri, signal } = options
  const verifier = randomBytes(32).toString('base64url')
  const state = randomBytes(16).toString('base64url')
  const receiver = openRedirectReceiver({
    keepAlive: 'until-settled',
    ...(exactRedirectUri !== undefined && { exactRedirectUri }),
  })
  const cancel = (): void => receiver.cancel()
  signal?.addEventListener('abort', cancel, { once: true })
  try {
    const { redirectUri } = await receiver.ready
    const page = new URL('/authorize', issuer)
    page.search = String(new URLSearchParams({
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    }))
    // Only now: the browser may be faster than we are.
    await options.openPage(page.href)
    const result = await receiver.result
    if (result.status !== 'submitted') throw new SignInError(result.status)
    const code = codeOf(result.value.query, state, issuer)
    return await exchange(options, code, verifier, redirectUri)
  } finally {
    signal?.removeEventListener('abort', cancel)
    receiver.cancel()
  }
}

function codeOf(query: Readonly<Record<string, readonly string[]>>, state: string, issuer: string): string {
  // RFC 6749, 3.1: a parameter that is given twice makes the response invalid.
  const only = (name: string): string => {
    const values = query[name] ?? []
    if (values.length > 1) throw new SignInError('invalid_response')
    return values[0] ?? ''
  }
  if (!same(only('state'), state)) throw new SignInError('state_mismatch')
  if (only('iss') !== issuer) throw new SignInError('issuer_mismatch')
  if (only('error') !== '') throw new SignInError(only('error'))
  return only('code')
}

function same(one: string, other: string): boolean {
  const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(one), digest(other))
}

async function exchange(options: SignInOptions, code: string, verifier: string, redirectUri: string): Promise<string> {
  const response = await fetch(new URL('/token', options.issuer), {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      code,
      redirect_uri: redirectUri,
      client_id: options.clientId,
      code_verifier: verifier,
    }),
  })
  const answer = await response.json() as { access_token?: string, error?: string }
  if (answer.access_token === undefined) throw new SignInError(answer.error ?? 'invalid_response')
  return answer.access_token
}
