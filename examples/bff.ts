/**
 * A backend-for-frontend: the only party that talks to the gateway. It fits every server with Fetch handlers (Hono,
 * Next, Bun, Deno); authentication, CSRF and rate limits are the application's own.
 */

// #region readme
/** Where the application serves runs. A run that broke off is read on from `<ROUTE>/threads/<thread>/runs/<run>`. */
const ROUTE = '/api/agent'

/** Forwards one run of a user whom the application has authenticated. */
export async function forwardRun(request: Request, user: { tenantId: string, userId: string }): Promise<Response> {
  const rest = new URL(request.url).pathname.slice(ROUTE.length)
  if (!/^(?:\/threads\/[^/]+\/runs\/[^/]+)?$/.test(rest)) return new Response(null, { status: 404 })
  const upstream = await fetch(`${process.env['DSH_AG_UI_URL'] ?? 'http://127.0.0.1:3080/ag-ui'}${rest}`, {
    method: request.method,
    // Only these: nothing that the browser sent can pass for credentials or identity.
    headers: {
      ...only(request.headers, 'content-type', 'last-event-id'),
      'authorization': `Bearer ${process.env['DSH_AG_UI_SHARED_SECRET']}`,
      'x-dsh-tenant-id': user.tenantId,
      'x-dsh-user-id': user.userId,
    },
    body: request.method === 'POST' ? await request.arrayBuffer() : null, // unchanged
    signal: request.signal, // the browser leaves: so do we, and the gateway cancels the turn, after its grace if it has one
  })
  const headers = only(upstream.headers, 'content-type', 'cache-control', 'x-accel-buffering')
  return new Response(upstream.body, { status: upstream.status, headers }) // streamed, never collected
}

function only(headers: Headers, ...names: string[]): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => names.includes(name)))
}
// #endregion
