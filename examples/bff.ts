/**
 * A backend-for-frontend: the only party that talks to the gateway. It fits every server with Fetch handlers (Hono,
 * Next, Bun, Deno); authentication, CSRF and rate limits are the application's own.
 */

// #region readme
/** A user whom the application has authenticated. */
interface User {
  readonly tenantId: string
  readonly userId: string
}

/** Where the application serves runs. A run that broke off is read on from `<ROUTE>/threads/<thread>/runs/<run>`. */
const ROUTE = '/api/agent'

/** Forwards one run, or what is left of one. */
export async function forwardRun(request: Request, user: User): Promise<Response> {
  const rest = new URL(request.url).pathname.slice(ROUTE.length)
  if (!/^(?:\/threads\/[^/]+\/runs\/[^/]+)?$/.test(rest)) return new Response(null, { status: 404 })
  const body = request.method === 'POST' ? await request.arrayBuffer() : null // unchanged
  return await forward(rest, user, { method: request.method, body, signal: request.signal }, request.headers)
}

/** Forwards an upload, or a download by a URL of the gateway: `rest` is what stands behind the route base, with its query. */
export async function forwardFile(request: Request, rest: string, user: User): Promise<Response> {
  if (request.method !== 'POST') return await forward(rest, user, { method: 'GET', signal: request.signal })
  const body = { body: request.body, duplex: 'half' } // streamed, never collected
  return await forward(rest, user, { method: 'POST', signal: request.signal, ...body }, request.headers)
}

async function forward(rest: string, user: User, init: RequestInit, sent = new Headers()): Promise<Response> {
  const base = process.env['DSH_AG_UI_URL'] ?? 'http://127.0.0.1:3080/ag-ui'
  const url = new URL(`${base}${rest}`)
  // The gateway's own threads, and nothing else of its Host.
  if (rest !== '' && !url.pathname.startsWith(`${new URL(base).pathname}/threads/`)) return new Response(null, { status: 404 })
  // Only these: nothing that the browser sent can pass for credentials or identity.
  const headers = pick(sent, ['content-type', 'content-length', 'x-file-name', 'last-event-id'])
  headers.set('authorization', `Bearer ${process.env['DSH_AG_UI_SHARED_SECRET']}`)
  headers.set('x-dsh-tenant-id', user.tenantId)
  headers.set('x-dsh-user-id', user.userId)
  // The browser leaves: so do we, and the gateway cancels the turn (after its grace, if it has one) or the transfer.
  const upstream = await fetch(url, { ...init, headers })
  const answered = ['content-type', 'content-length', 'content-disposition', 'cache-control', 'x-accel-buffering', 'x-content-type-options']
  return new Response(upstream.body, { status: upstream.status, headers: pick(upstream.headers, answered) }) // streamed
}

function pick(from: Headers, names: readonly string[]): Headers {
  return new Headers(names.flatMap(name => from.has(name) ? [[name, from.get(name) ?? '']] : []))
}
// #endregion
