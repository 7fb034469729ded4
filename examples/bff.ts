/**
 * A backend-for-frontend: the only party that talks to the gateway. It fits every server with Fetch handlers (Hono,
 * Next, Bun, Deno); authentication, CSRF and rate limits are the application's own.
 */

// #region readme
/** Forwards one run of a user whom the application has authenticated. */
export async function forwardRun(request: Request, user: { tenantId: string, userId: string }): Promise<Response> {
  const upstream = await fetch(process.env['DSH_AG_UI_URL'] ?? 'http://127.0.0.1:3080/ag-ui', {
    method: 'POST',
    // Only these: nothing that the browser sent can pass for credentials or identity.
    headers: {
      authorization: `Bearer ${process.env['DSH_AG_UI_SHARED_SECRET']}`,
      'content-type': request.headers.get('content-type') ?? '',
      'x-dsh-tenant-id': user.tenantId,
      'x-dsh-user-id': user.userId,
    },
    body: await request.arrayBuffer(), // unchanged
    signal: request.signal, // the browser leaves: so do we, and the gateway cancels the turn
  })
  const headers = new Headers()
  for (const name of ['content-type', 'cache-control', 'x-accel-buffering']) {
    const value = upstream.headers.get(name)
    if (value !== null) headers.set(name, value)
  }
  return new Response(upstream.body, { status: upstream.status, headers }) // streamed, never collected
}
// #endregion
