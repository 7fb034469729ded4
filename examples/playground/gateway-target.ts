/** Where a running gateway is reached, how to tell that it is there, and how it ends. @module */

/** A gateway that the BFF forwards to. */
export interface GatewayTarget {
  /** `http://host:port` of the Host's web server. */
  readonly origin: string
  /** Route of the gateway on it. */
  readonly path: string
  readonly sharedSecret: string
  readonly provider: string
  readonly model: string
  /** Rejects when the Host ends by itself; pending otherwise. */
  readonly failed: Promise<never>
  /** Stops the Host and waits until it is gone. */
  stop(): Promise<void>
}

/** Header with the bearer secret and the identity that the gateway trusts. */
export function trustedHeaders(target: Pick<GatewayTarget, 'sharedSecret'>, user: { tenantId: string, userId: string }): Record<string, string> {
  return {
    'authorization': `Bearer ${target.sharedSecret}`,
    'x-dsh-tenant-id': user.tenantId,
    'x-dsh-user-id': user.userId,
  }
}

/**
 * Asks whether a gateway that accepts our secret answers, without starting anything: a request with credentials but
 * no media type gets a JSON error of the gateway's own.
 */
export async function probeGateway(target: Pick<GatewayTarget, 'origin' | 'path' | 'sharedSecret'>): Promise<'ready' | 'refused' | 'absent'> {
  try {
    const response = await fetch(target.origin + target.path, {
      method: 'POST', headers: trustedHeaders(target, { tenantId: 'playground', userId: 'probe' }), signal: AbortSignal.timeout(5_000),
    })
    const text = await response.text()
    if (response.headers.get('content-type')?.startsWith('application/json') !== true) return 'absent'
    const { code } = JSON.parse(text) as { code?: unknown }
    if (typeof code !== 'string') return 'absent'
    return code === 'UNAUTHORIZED' ? 'refused' : 'ready'
  } catch {
    // Not listening, not HTTP, or not JSON: whatever it is, it is not the gateway.
    return 'absent'
  }
}
