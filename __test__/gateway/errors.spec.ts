/** Every refusal over HTTP: its status, its code, its words, and nothing changed behind it (G3, G4, G11, G12). */

import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import {
  bootGateway, browserTool, errorOf, history, hostTool, input, makeHome, registerTools, said, say, SECRET, toolsSeen, transcript, user,
} from '../support/gateway.ts'
import { OWN_PATH, ownServer } from '../support/own-server.ts'
import type { InputFields, PostOptions, TestGateway } from '../support/gateway.ts'

interface Case {
  readonly name: string
  readonly code: string
  readonly status: number
  readonly message: string
  /** Fields of a request that would be fine otherwise, or a whole body. */
  readonly send?: InputFields | string
  readonly options?: PostOptions
  readonly config?: Record<string, number | string>
}

const hi = [user('u-1', 'hi')]
const long = 'x'.repeat(257)
const IDENTITY = 'must match [A-Za-z0-9][A-Za-z0-9._:-]* in at most 256 bytes'
const tenantHeader = 'header x-dsh-tenant-id must carry exactly one valid identity'
const userHeader = 'header x-dsh-user-id must carry exactly one valid identity'
const tool = (others: object) => ({ messages: hi, tools: [{ name: 'pick', description: 'Picks.', ...others }] })
const schema = (parameters: unknown) => tool({ parameters })
const result = (others: object) => ({ messages: [{ id: 't-1', role: 'tool', toolCallId: 'c-1', content: 'x', ...others }] })
const headers = (headers: PostOptions['headers']): PostOptions => ({ headers: headers ?? {} })

const HEAD: readonly Case[] = [
  ...['GET', 'PUT', 'DELETE', 'PATCH', 'OPTIONS'].map(method => ({
    name: `method ${method}`, options: { method }, status: 405, code: 'METHOD_NOT_ALLOWED', message: 'this route takes POST',
  })),
  ...['/threads', '/threads/thread-1', '/x', '//'].map(rest => ({
    name: `path ${rest}`, options: { rest }, status: 404, code: 'NOT_FOUND', message: 'no such route',
  })),
  ...([
    ['no secret', undefined], ['a wrong secret', 'Bearer wrong secret of it'], ['the secret alone', SECRET], ['another scheme', `Basic ${SECRET}`],
    ['a longer secret', `Bearer ${SECRET}!`], ['an empty secret', 'Bearer '], ['two secrets', [`Bearer ${SECRET}`, `Bearer ${SECRET}`]],
  ] as const).map(([name, authorization]) => ({
    name, options: headers({ authorization }), status: 401, code: 'UNAUTHORIZED', message: 'a valid bearer secret is required',
  })),
  ...([
    ['no tenant', undefined], ['an empty tenant', ''], ['a tenant with a space', 'a b'], ['a tenant that starts with a dot', '.a'],
    ['two tenants', ['a', 'b']], ['a list of tenants', 'a,b'], ['a tenant that is too long', long],
  ] as const).map(([name, value]) => ({
    name, options: headers({ 'x-dsh-tenant-id': value }), status: 400, code: 'INVALID_IDENTITY', message: tenantHeader,
  })),
  ...([['no user', undefined], ['an empty user', ''], ['a user with a slash', 'a/b'], ['two users', ['a', 'a']]] as const).map(([name, value]) => ({
    name, options: headers({ 'x-dsh-user-id': value }), status: 400, code: 'INVALID_IDENTITY', message: userHeader,
  })),
  ...([
    ['no media type', undefined], ['another media type', 'text/plain'], ['a longer media type', 'application/jsonp'],
    ['a structured suffix', 'application/ld+json'], ['a form', 'application/x-www-form-urlencoded'],
  ] as const).map(([name, value]) => ({
    name, options: headers({ 'content-type': value }), status: 415, code: 'UNSUPPORTED_MEDIA_TYPE', message: 'the body must be application/json',
  })),
]

const BODY: readonly Case[] = [
  { name: 'an empty body', send: '', status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'broken JSON', send: '{"threadId":', status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'JSON of another kind', send: '[]', status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'bytes that are not UTF-8', send: '{"threadId":"\\ud800"}x', status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'no thread', send: '{"runId":"r","messages":[]}', status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'a message of no role', send: { messages: [{ id: 'u-1', content: 'x' }] }, status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  { name: 'metadata that is no object', send: result({ metadata: [1] }), status: 400, code: 'INVALID_AGUI_INPUT', message: '' },
  ...(['', 'a b', '-a', 'ä', 'a/b', long] as const).flatMap(id => [
    { name: `thread id ${JSON.stringify(id.slice(0, 8))}`, send: { threadId: id, messages: hi }, status: 400, code: 'INVALID_IDENTITY', message: `threadId ${IDENTITY}` },
    { name: `run id ${JSON.stringify(id.slice(0, 8))}`, send: { runId: id, messages: hi }, status: 400, code: 'INVALID_IDENTITY', message: `runId ${IDENTITY}` },
    { name: `parent run id ${JSON.stringify(id.slice(0, 8))}`, send: { parentRunId: id, messages: hi }, status: 400, code: 'INVALID_IDENTITY', message: `parentRunId ${IDENTITY}` },
  ]),
  ...['', long].flatMap(id => [
    { name: `message id of ${id.length} bytes`, send: { messages: [user(id, 'x')] }, status: 400, code: 'INVALID_IDENTITY', message: 'message ids and call ids must hold 1 to 256 bytes' },
    { name: `call id of ${id.length} bytes`, send: result({ toolCallId: id }), status: 400, code: 'INVALID_IDENTITY', message: 'message ids and call ids must hold 1 to 256 bytes' },
  ]),
  { name: 'an empty message', send: { messages: [user('u-1', '')] }, status: 400, code: 'UNSUPPORTED_MESSAGE_CONTENT', message: 'a user message is empty' },
  { name: 'a message of no parts', send: { messages: [user('u-1', [])] }, status: 400, code: 'UNSUPPORTED_MESSAGE_CONTENT', message: 'a user message is empty' },
  {
    name: 'a message with inline data', status: 400, code: 'UNSUPPORTED_MESSAGE_CONTENT', message: 'parts of a user message are text or URLs that an upload has answered',
    send: { messages: [user('u-1', [{ type: 'text', text: 'see' }, { type: 'image', source: { type: 'data', value: 'AA==', mimeType: 'image/png' } }])] },
  },
  {
    name: 'metadata that no log can keep', status: 400, code: 'INVALID_TOOL_RESULT_METADATA', message: 'Tool result metadata cannot be kept as it is',
    send: JSON.stringify(input(result({ metadata: { a: 7 } }))).replace('{"a":7}', '{"a":-0}'),
  },
  {
    name: 'metadata that is too deep', status: 400, code: 'INVALID_TOOL_RESULT_METADATA', message: 'Tool result metadata cannot be kept as it is',
    send: result({ metadata: Array.from({ length: 40 }).reduce<object>(inner => ({ a: inner }), {}) }),
  },
  { name: 'a Tool result with inline data', status: 400, code: 'UNSUPPORTED_MESSAGE_CONTENT', message: 'a Tool result holds text parts only', send: result({ content: [{ type: 'image', source: { type: 'data', value: 'AA==', mimeType: 'image/png' } }] }) },
  { name: 'an answer to an unnamed interrupt', send: JSON.stringify({ ...input(), resume: [{ interruptId: '', status: 'resolved' }] }), status: 400, code: 'INVALID_INTERRUPT_RESPONSE', message: 'interruptId must hold 1 to 256 bytes' },
  {
    name: 'two answers to one interrupt', status: 400, code: 'DUPLICATE_INTERRUPT_RESPONSE', message: 'an interrupt is answered twice',
    send: JSON.stringify({ ...input(), resume: [{ interruptId: 'i', status: 'resolved' }, { interruptId: 'i', status: 'cancelled' }] }),
  },
  { name: 'a context without a description', send: { messages: hi, context: [{ description: ' \t', value: 'x' }] }, status: 400, code: 'INVALID_CONTEXT', message: 'every context entry needs a description' },
  ...[['1st'], ['a b'], [long]].map(([name]) => ({
    name: `a Tool named ${name?.slice(0, 8)}`, send: tool({ name }), status: 400, code: 'INVALID_FRONTEND_TOOL_NAME', message: '',
  })),
  { name: 'a Tool under the reserved name', send: tool({ name: 'ag_ui_update_state' }), status: 400, code: 'RESERVED_FRONTEND_TOOL_NAME', message: 'browser Tool name "ag_ui_update_state" is reserved' },
  { name: 'a Tool twice', send: { messages: hi, tools: [browserTool('pick'), browserTool('pick')] }, status: 400, code: 'DUPLICATE_FRONTEND_TOOL', message: 'browser Tool "pick" is declared twice' },
  { name: 'a Tool without a description', send: tool({ description: ' ' }), status: 400, code: 'INVALID_FRONTEND_TOOL', message: 'browser Tool "pick" has a blank description' },
  ...([['a string', 'x'], ['an array', []], ['another root', { type: 'string' }], ['a reference', { type: 'object', properties: { a: { $ref: '#/x' } } }]] as const)
    .map(([name, parameters]) => ({ name: `a schema: ${name}`, send: schema(parameters), status: 400, code: 'INVALID_FRONTEND_TOOL_SCHEMA', message: '' })),
  {
    name: 'a schema that is too deep', status: 413, code: 'TOOL_SCHEMA_TOO_DEEP', message: 'parameters of browser Tool "pick" nest deeper than 16',
    send: schema(Array.from({ length: 20 }).reduce<object>(inner => ({ type: 'object', properties: { a: inner } }), { type: 'string' })),
  },
]

const LIMITS: readonly Case[] = [
  { name: 'messages', config: { maxMessages: 2 }, send: { messages: ['1', '2', '3'].map(id => user(id, 'x')) }, status: 413, code: 'MESSAGE_LIMIT_EXCEEDED', message: 'more than 2 messages' },
  { name: 'message bytes', config: { maxMessageBytes: 100 }, send: { messages: [user('u-1', 'é'.repeat(40))] }, status: 413, code: 'MESSAGE_LIMIT_EXCEEDED', message: 'messages exceed 100 bytes' },
  { name: 'context entries', config: { maxContexts: 1 }, send: { messages: hi, context: ['a', 'b'].map(description => ({ description, value: 'x' })) }, status: 413, code: 'CONTEXT_LIMIT_EXCEEDED', message: 'more than 1 context entries' },
  { name: 'context bytes', config: { maxContextBytes: 60 }, send: { messages: hi, context: [{ description: 'a', value: 'é'.repeat(20) }] }, status: 413, code: 'CONTEXT_LIMIT_EXCEEDED', message: 'context exceeds 60 bytes' },
  { name: 'Tools', config: { maxTools: 1 }, send: { messages: hi, tools: [browserTool('a'), browserTool('b')] }, status: 413, code: 'TOOL_LIMIT_EXCEEDED', message: '2 browser Tools exceed the limit of 1' },
  { name: 'Tool bytes', config: { maxToolBytes: 60 }, send: tool({ description: 'é'.repeat(40) }), status: 413, code: 'TOOL_LIMIT_EXCEEDED', message: '114 bytes of browser Tools exceed the limit of 60' },
  { name: 'schema depth', config: { maxToolSchemaDepth: 2 }, send: schema({ type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'string' } } } } }), status: 413, code: 'TOOL_SCHEMA_TOO_DEEP', message: 'parameters of browser Tool "pick" nest deeper than 2' },
  { name: 'forwardedProps bytes', config: { maxForwardedPropsBytes: 20 }, send: { messages: hi, forwardedProps: { a: 'é'.repeat(8) } }, status: 413, code: 'FORWARDED_PROPS_LIMIT_EXCEEDED', message: 'forwardedProps exceeds 20 bytes' },
  { name: 'state bytes', config: { maxStateBytes: 20 }, send: { messages: hi, state: { a: 'é'.repeat(8) } }, status: 413, code: 'STATE_LIMIT_EXCEEDED', message: 'state exceeds 20 bytes' },
  { name: 'body bytes, in chunks', config: { maxRequestBytes: 256 }, send: { messages: [user('u-1', 'x'.repeat(256))] }, status: 413, code: 'REQUEST_TOO_LARGE', message: 'the body exceeds 256 bytes' },
  { name: 'body bytes, announced', config: { maxRequestBytes: 256 }, send: '{}'.padEnd(300), options: headers({ 'content-length': '300' }), status: 413, code: 'REQUEST_TOO_LARGE', message: 'the body exceeds 256 bytes' },
  { name: 'identity bytes', config: { maxIdentityBytes: 8 }, send: { threadId: 'thread-12', runId: 'r', messages: hi }, status: 400, code: 'INVALID_IDENTITY', message: 'threadId must match [A-Za-z0-9][A-Za-z0-9._:-]* in at most 8 bytes' },
  { name: 'strict schemas', config: { toolSchemas: 'strict' }, send: schema({ $schema: 'x', type: 'object', properties: {} }), status: 400, code: 'INVALID_FRONTEND_TOOL_SCHEMA', message: '' },
]

async function check(gateway: TestGateway, { name, send = {}, options, status, code, message }: Case): Promise<void> {
  const refusal = await gateway.refuse(typeof send === 'string' ? send : input(send), options)
  assert.deepEqual([refusal.status, refusal.code], [status, code], `${name}: ${refusal.message}`)
  if (message === '') assert.match(refusal.message, /\w/u, name)
  else assert.equal(refusal.message, message, name)
  assert.equal(refusal.headers['cache-control'], 'no-store', name)
  assert.equal(refusal.headers.allow, status === 405 ? 'POST' : undefined, name)
  // No word of the request comes back, and none of the secret.
  assert.ok(!JSON.stringify(refusal).includes(SECRET), name)
}

/** The thread is as if nothing had been asked. */
async function checkUntouched(gateway: TestGateway): Promise<void> {
  assert.deepEqual(gateway.agents, [])
  assert.deepEqual(gateway.host.ctx.sessions.list(), [])
  assert.equal(gateway.adapter.requests.length, 0)
}

for (const [what, cases] of [['a head', HEAD], ['a body', BODY]] as const) {
  test(`${what} that breaks a rule is refused before any agent exists`, async (t) => {
    const gateway = await bootGateway(t)
    for (const each of cases) await check(gateway, each)
    await checkUntouched(gateway)
    gateway.adapter.queue(say('fine'))
    const events = await gateway.run({ messages: hi })
    assert.deepEqual(transcript(history(events)), ['user hi', 'assistant fine'])
    // The same once the thread lives: it is as it was.
    for (const each of cases) await check(gateway, each)
    assert.deepEqual(history(await gateway.run()), history(events))
  })
}

for (const each of LIMITS) {
  test(`limit: ${each.name}`, async (t) => {
    const gateway = await bootGateway(t, each.config)
    await check(gateway, each)
    await checkUntouched(gateway)
  })
}

test('what is exactly at a limit passes', async (t) => {
  const messages = [user('u-1', 'é'.repeat(40))]
  const context = [{ description: 'a', value: 'é' }]
  const tools = [browserTool('pick')]
  const bytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value))
  const state = { a: 'é' }
  const gateway = await bootGateway(t, {
    maxMessages: 1, maxMessageBytes: bytes(messages), maxContexts: 1, maxContextBytes: bytes(context), maxTools: 1, maxToolBytes: bytes(tools),
    maxToolSchemaDepth: 3, maxForwardedPropsBytes: bytes(state), maxStateBytes: bytes(state),
  })
  const request = input({ messages, context, tools, forwardedProps: state, state })
  gateway.adapter.queue(say('fits'))
  assert.equal(said(await gateway.post(request).end()), 'fits')
})

test('white space is not counted, the size of the body is', async (t) => {
  const request = input({ messages: hi, state: { a: 1 } })
  const text = JSON.stringify(request, null, 8)
  const gateway = await bootGateway(t, { maxRequestBytes: Buffer.byteLength(text), maxStateBytes: 7 })
  gateway.adapter.queue(say('fits'))
  const exchange = gateway.post(text, headers({ 'content-length': String(Buffer.byteLength(text)) }))
  assert.equal(said(await exchange.end()), 'fits')
  assert.equal((await gateway.refuse(`${text} `)).code, 'REQUEST_TOO_LARGE')
})

/** Refusals that need the thread: a fresh one is opened for them, and let go at once. */
const THREAD: readonly Case[] = [
  { name: 'an unknown call', send: result({}), status: 409, code: 'UNKNOWN_TOOL_RESULT', message: 'a Tool result answers no call that waits for the browser' },
  { name: 'one id with two contents', send: { messages: [user('u-1', 'a'), user('u-1', 'b')] }, status: 409, code: 'MESSAGE_ID_CONFLICT', message: 'a message id was used before with other content' },
  { name: 'a Tool that the Host has', send: { messages: hi, tools: [browserTool('taken')] }, status: 409, code: 'FRONTEND_TOOL_NAME_COLLISION', message: 'browser Tool "taken" collides with a Tool that the Agent already has' },
  { name: 'the state Tool that the Host has', send: { messages: hi, state: { a: 1 } }, status: 409, code: 'SHARED_STATE_TOOL_COLLISION', message: 'the agent already has a Tool named ag_ui_update_state' },
]

for (const each of THREAD) {
  test(`a fresh thread: ${each.name}`, async (t) => {
    const gateway = await bootGateway(t)
    await registerTools(gateway, hostTool('taken'), hostTool('ag_ui_update_state'))
    const gone = new Promise<void>((resolve) => { gateway.host.ctx.on('agent/disposed', () => { resolve() }) })
    await check(gateway, each)
    await gone
    await checkUntouched(gateway)
    gateway.adapter.queue(say('fine'))
    const events = await gateway.run({ messages: [user('u-1', 'hello')] })
    assert.deepEqual(transcript(history(events)), ['user hello', 'assistant fine'])
    await check(gateway, each.send === undefined ? each : { ...each, send: { ...each.send as InputFields, messages: renamed(each.send as InputFields) } })
    assert.deepEqual(history(await gateway.run()), history(events))
  })
}

/** The same messages under ids that the thread does not know. */
function renamed({ messages = [] }: InputFields): object[] {
  return messages.map(message => ({ ...message, id: `new-${(message as { id: string }).id}` }))
}

test('an agent that cannot be opened is refused without internals, and the next request tries again', async (t) => {
  const home = makeHome(t)
  const root = join(home, 'in-the-way')
  writeFileSync(root, '')
  const gateway = await bootGateway(t, { workspaceRoot: root })
  const each = { name: 'a workspace', send: { messages: hi }, status: 500, code: 'AGENT_EXECUTION_ERROR', message: 'the agent could not be opened' }
  await check(gateway, each)
  await check(gateway, each)
  await checkUntouched(gateway)
  rmSync(root)
  gateway.adapter.queue(say('fine'))
  assert.equal(said(await gateway.run({ messages: hi })), 'fine')
})

test('a Tool that the Host refuses to register ends the run in its stream, and the thread goes on', async (t) => {
  const gateway = await bootGateway(t)
  gateway.refuseTool('cursed')
  const events = await gateway.run({ messages: hi, tools: [browserTool('pick'), browserTool('cursed')] })
  assert.deepEqual(errorOf(events), { code: 'FRONTEND_TOOL_SYNC_FAILED', message: 'the agent refused the browser\'s Tools' })
  assert.equal(gateway.adapter.requests.length, 0)
  assert.equal(gateway.agent().status, 'idle')
  gateway.adapter.queue(say('fine'))
  // Nothing of it was accepted: the message may be sent again.
  const next = await gateway.run({ messages: hi, tools: [browserTool('pick')] })
  assert.deepEqual(transcript(history(next)), ['user hi', 'assistant fine'])
  assert.deepEqual(toolsSeen(gateway), ['pick'])
})

for (const [kind, code] of [['interrupted', 'AGENT_INTERRUPTED'], ['of-tomorrow', 'AGENT_EXECUTION_ERROR']] as const) {
  test(`a turn that the Host's log ends as ${kind}`, async (t) => {
    const gateway = await bootGateway(t)
    gateway.adapter.queue('hang')
    const run = gateway.post(input({ messages: hi }))
    await run.next('TEXT_MESSAGE_CONTENT')
    // No Host of today does this to a live turn.
    gateway.agent().session.append('turn/end', { turn: 1, reason: { kind } } as never)
    assert.equal(errorOf(await run.end()).code, code)
  })
}

test('a large body that is refused still gets its answer', async (t) => {
  const gateway = await bootGateway(t)
  const large = 'x'.repeat(8 * 1024 * 1024)
  for (let round = 0; round < 5; round += 1) {
    assert.equal((await gateway.refuse(large)).code, 'REQUEST_TOO_LARGE')
    assert.equal((await gateway.refuse(large, headers({ 'content-length': String(large.length) }))).code, 'REQUEST_TOO_LARGE')
    assert.equal((await gateway.refuse(large, headers({ authorization: 'Bearer no' }))).code, 'UNAUTHORIZED')
  }
})

test('media types and paths that are accepted', async (t) => {
  const gateway = await bootGateway(t)
  for (const type of ['application/json; charset=utf-8', 'Application/JSON', 'application/json ;a=b', '  application/json']) {
    assert.equal((await gateway.post(input(), headers({ 'content-type': type })).end()).length, 3, type)
  }
  for (const rest of ['/', '?trace=1', '/?trace=1']) {
    assert.equal((await gateway.post(input(), { rest }).end()).length, 3, rest)
  }
  for (const accept of ['application/vnd.ag-ui.event+proto', '*/*', 'application/json']) {
    assert.equal((await gateway.post(input(), headers({ accept })).end()).length, 3, accept)
  }
})

test('a secret and identities of every allowed character', async (t) => {
  const gateway = await bootGateway(t, { sharedSecret: 'zwölf Zeichen ✓✓' })
  const authorization = Buffer.from('Bearer zwölf Zeichen ✓✓').toString('latin1')
  const sent = headers({ authorization, 'x-dsh-tenant-id': 'A1._:-z', 'x-dsh-user-id': '0' })
  assert.equal((await gateway.post(input({ threadId: 'T.1_:-', runId: 'r'.repeat(256) }), sent).end()).length, 3)
})

test('a handler of the application\'s own answers what is none of its resources', async (t) => {
  const gateway = await bootGateway(t)
  const send = await ownServer(t, gateway)
  for (const target of ['//', '/x', '/', '/gg', '/gg/threads/t/files', '/threads/t/files', '/g/../threads/t/files', 'http://x/h', '/g//']) {
    assert.equal(await send(`POST ${target}`, { 'content-type': 'application/json', 'content-length': '0' }), '404 NOT_FOUND', target)
  }
  for (const target of [OWN_PATH, `${OWN_PATH}/`, `http://x${OWN_PATH}`, `/a/..${OWN_PATH}`]) {
    assert.equal(await send(`POST ${target}`, { 'content-type': 'application/json', 'content-length': '0' }), '400 INVALID_AGUI_INPUT', target)
  }
})
