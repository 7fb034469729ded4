import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'

import { HttpAgent } from '@ag-ui/client'
import { RunAgentInputSchema } from '@ag-ui/core'
import { checkEventStream, parseRunAgentInput, type AgUiIssue, type AgUiRunAgentInput } from 'dsh-ag-ui/native'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }
type JsonObject = { [key: string]: Json }

interface RequestRow {
  name: string
  body: Json
  valid: boolean
  issuePaths: string[]
  parsed?: JsonObject
}

interface EventRow {
  name: string
  event: Json
  valid: boolean
  issuePaths: string[]
}

interface SequenceRow {
  name: string
  events: JsonObject[]
  v0_0_59: { ok: boolean; error?: string }
}

function rows<Row>(file: string): Row[] {
  const text = readFileSync(new URL(`./vectors/${file}.jsonl`, import.meta.url), 'utf8')
  return text.trimEnd().split('\n').map((line) => JSON.parse(line) as Row)
}

const encode = (value: unknown): Uint8Array => new TextEncoder().encode(JSON.stringify(value))

/** The normalised input, or the issues of the thrown error. */
function parse(body: Uint8Array): { input: AgUiRunAgentInput } | { issues: AgUiIssue[] } {
  try {
    return { input: parseRunAgentInput(body) }
  } catch (error) {
    assert.ok(error instanceof Error)
    const { code, issues } = error as Error & { code: string; issues: AgUiIssue[] }
    assert.equal(code, 'INVALID_AGUI_INPUT')
    assert.ok(issues.length > 0)
    assert.ok(error.message.includes(issues[0]!.path), error.message)
    return { issues }
  }
}

const paths = (issues: AgUiIssue[]): string[] => issues.map((issue) => issue.path)

/** Rows that 0.0.59 refuses and the gateway accepts on purpose: `null` reads as absent, members optional since 1.0, shapes of 1.0. */
const lenient = new Set([
  'missing_tools',
  'tools_null',
  'missing_context',
  'user_content_file_source_1_0',
  'assistant_content_null',
  'assistant_toolCalls_null',
  'tool_message_content_parts_1_0',
  'tool_message_error_null',
  'message_metadata_null',
  'message_subagentRunId_null',
  'message_name_null',
  'resume_metadata_null',
])

/** Rows whose normalised form keeps a member of 1.0 that 0.0.59 drops. */
const kept: Record<string, (parsed: JsonObject) => void> = {
  unknown_top_level_key_stripped: (parsed) => {
    parsed.protocolVersion = '1.0'
  },
  user_content_text_part_unknown_keys_stripped: (parsed) => {
    ;((parsed.messages as JsonObject[])[0]!.content as JsonObject[])[0]!.id = 'p1'
  },
}

test('requests.jsonl: verdict, issue paths and normalised form (G4)', () => {
  const seen = { lenient: 0, rows: 0 }
  for (const row of rows<RequestRow>('requests')) {
    seen.rows++
    const outcome = parse(encode(row.body))
    if (row.valid) {
      kept[row.name]?.(row.parsed!)
      assert.deepEqual(outcome, { input: row.parsed }, row.name)
    } else if (lenient.has(row.name)) {
      seen.lenient++
      assert.ok('input' in outcome, row.name)
    } else {
      assert.ok('issues' in outcome, row.name)
      assert.deepEqual(paths(outcome.issues), row.issuePaths, row.name)
    }
  }
  assert.deepEqual(seen, { lenient: lenient.size, rows: 85 })
})

test('a body is bytes: Buffer and Uint8Array, and nothing else', () => {
  const body = { threadId: 't', runId: 'r', messages: [] }
  const expected = { ...body, tools: [], context: [] }
  assert.deepEqual(parseRunAgentInput(Buffer.from(JSON.stringify(body))), expected)
  assert.deepEqual(parseRunAgentInput(encode(body).subarray(0)), expected)
  assert.throws(() => parseRunAgentInput(JSON.stringify(body) as never), { code: 'InvalidArg' })
  assert.throws(() => parseRunAgentInput(body as never), { code: 'InvalidArg' })
})

test('the normalised input is what JSON.parse would have made of it', () => {
  const state = `{"big":9007199254740993,"__proto__":{"polluted":true},"f":1e21}`
  const input = parseRunAgentInput(Buffer.from(`{"threadId":"t","runId":"r","messages":[],"state":${state}}`))
  assert.deepEqual(input.state, JSON.parse(state))
  assert.equal((input.state as { polluted?: boolean }).polluted, undefined)
  assert.ok(Object.hasOwn(input.state as object, '__proto__'))
})

test('half of a surrogate pair becomes U+FFFD, as toWellFormed does', () => {
  const threadId = 'cut \ud83d'
  const input = parseRunAgentInput(encode({ threadId, runId: '\ude00 \ud83d\ude00', messages: [] }))
  assert.deepEqual([input.threadId, input.runId], ['cut \ufffd', '\ufffd \u{1f600}'])
})

test('what is not JSON is one issue without a path, and quotes nothing', () => {
  for (const body of ['', '{"threadId":"secret', '{"secret":1e999}', `${'['.repeat(200_000)}`]) {
    const outcome = parse(Buffer.from(body))
    assert.ok('issues' in outcome)
    assert.deepEqual(paths(outcome.issues), [''])
    assert.ok(!outcome.issues[0]!.message.includes('secret'))
  }
  assert.throws(() => parseRunAgentInput(Buffer.from([0xff])), {
    code: 'INVALID_AGUI_INPUT',
    message: 'Invalid AG-UI input: Body is not UTF-8',
    issues: [{ path: '', message: 'Body is not UTF-8' }],
  })
})

test('events.jsonl: an event that the schema refuses is an invalid event', () => {
  let count = 0
  for (const row of rows<EventRow>('events')) {
    count++
    const violation = checkEventStream(JSON.stringify([row.event]))
    assert.equal(violation?.rule === 'invalid-event', !row.valid, row.name)
    if (!row.valid) {
      for (const path of row.issuePaths) assert.ok(violation!.message.includes(`${path}: `), row.name)
    }
  }
  assert.equal(count, 90)
})

test('sequences.jsonl: verdicts of the official client; a missing terminal event is ours', () => {
  const withoutTerminal: string[] = []
  for (const row of rows<SequenceRow>('sequences')) {
    const violation = checkEventStream(JSON.stringify(row.events))
    if (!row.v0_0_59.ok) {
      assert.ok(violation, row.name)
      const zod = row.v0_0_59.error!.startsWith('ZodError')
      assert.equal(violation.rule === 'invalid-event', zod, row.name)
      if (!zod) assert.equal(violation.message, row.v0_0_59.error, row.name)
    } else if (violation) {
      assert.deepEqual([violation.rule, violation.index], ['missing-terminal', row.events.length], row.name)
      withoutTerminal.push(row.name)
    }
  }
  // The client takes these for success (ag-ui#2300).
  assert.deepEqual(withoutTerminal, [
    'empty_stream',
    'start_only_no_terminal',
    'text_then_eof_without_terminal',
    'chunk_then_eof_without_terminal',
  ])
})

test('a stream is the JSON of an array', () => {
  assert.equal(checkEventStream('[{"type":"RUN_ERROR","message":"m"}]'), null)
  assert.deepEqual(checkEventStream('[]'), {
    index: 0,
    rule: 'missing-terminal',
    message: "The stream ends without 'RUN_FINISHED' or 'RUN_ERROR'.",
  })
  for (const text of ['', '{}', '[']) assert.throws(() => checkEventStream(text), { code: 'INVALID_EVENT_STREAM' })
})

/** Deterministic random numbers (mulberry32), so that a failure can be repeated. */
function randomness(seed: number) {
  const next = (): number => {
    seed = (seed + 0x6d2b79f5) | 0
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
  return {
    chance: (probability: number): boolean => next() < probability,
    pick: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)]!,
  }
}

type Random = ReturnType<typeof randomness>

/** A value that is right somewhere in a request and wrong elsewhere. */
const replacements: Json[] = [
  null, true, 0, -1.5, '', 'x\n', 'user', 'tool', 'assistant', 'activity', 'reasoning', 'system', 'text', 'image', 'url', 'resolved',
  [], [null], {}, [{ type: 'text', text: 'x' }], [{ type: 'binary', mimeType: 'x' }], { type: 'url', value: 'x' },
]

const names = [
  'threadId', 'parentRunId', 'messages', 'tools', 'context', 'resume', 'id', 'role', 'content', 'name', 'toolCalls', 'toolCallId', 'error',
  'activityType', 'metadata', 'subagentRunId', 'encryptedValue', 'type', 'source', 'mimeType', 'data', 'state',
]

function mutate(random: Random, body: Json): Json {
  let place = body
  while (typeof place === 'object' && place !== null) {
    const keys = Object.keys(place)
    const children = place as JsonObject
    const key = keys.length > 0 ? random.pick(keys) : undefined
    if (key !== undefined && random.chance(0.75) && typeof children[key] === 'object' && children[key] !== null) {
      place = children[key]
      continue
    }
    if (Array.isArray(place)) {
      if (key !== undefined) place[Number(key)] = structuredClone(random.pick(replacements))
      else place.push(structuredClone(random.pick(replacements)))
    } else if (key !== undefined && random.chance(0.3)) delete children[key]
    else children[key !== undefined && random.chance(0.5) ? key : random.pick(names)] = structuredClone(random.pick(replacements))
    return body
  }
  return structuredClone(random.pick(replacements))
}

/** Takes out of our normalised form what 0.0.59 does not know. */
function without1_0(input: AgUiRunAgentInput): AgUiRunAgentInput {
  delete input.protocolVersion
  for (const message of input.messages) {
    if (!('content' in message) || !Array.isArray(message.content)) continue
    for (const part of message.content) {
      if (part.type !== 'binary') delete part.id
      if (part.type === 'text') delete part.metadata
    }
  }
  return input
}

test('changed bodies: what the official schema accepts is accepted with the same result, and our issues are among its issues', () => {
  const random = randomness(59)
  const bodies = rows<RequestRow>('requests').map((row) => row.body)
  const count = { both: 0, neither: 0 }
  for (let round = 0; round < 3_000; round++) {
    let body = structuredClone(random.pick(bodies))
    do body = mutate(random, body)
    while (random.chance(0.4))
    const official = RunAgentInputSchema.safeParse(structuredClone(body))
    const ours = parse(encode(body))
    const label = JSON.stringify(body)
    if (official.success) {
      assert.ok('input' in ours, label)
      // Through JSON: the official result has members that are `undefined`.
      assert.deepEqual(without1_0(ours.input), JSON.parse(JSON.stringify(official.data)), label)
      count.both++
    } else if ('issues' in ours) {
      // The official schema names the content instead of the part when it refuses another part that we accept.
      const theirs = official.error.issues.map((issue) => issue.path.join('.'))
      for (const path of paths(ours.issues)) {
        assert.ok(theirs.some((their) => path === their || path.startsWith(`${their}.`)), `${path} ${label}`)
      }
      count.neither++
    }
  }
  assert.ok(count.both > 300 && count.neither > 300, JSON.stringify(count))
})

/** Runs the official client on a stream; resolves to the text of the error that it raises, if any. */
async function officialVerdict(events: JsonObject[]): Promise<string | undefined> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
  const agent = new HttpAgent({
    url: 'http://127.0.0.1/',
    fetch: async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }),
  })
  try {
    await agent.runAgent()
    return undefined
  } catch (error) {
    return error instanceof Error && error.name === 'ZodError' ? 'ZodError' : (error as Error).message
  }
}

function randomEvent(random: Random): JsonObject {
  const id = random.pick(['a', 'b'])
  const tag: JsonObject = random.chance(0.3) ? { subagentRunId: random.pick(['s', 'u']) } : {}
  const optional = (fields: JsonObject): JsonObject => (random.chance(0.5) ? fields : {})
  const delta = { delta: random.pick(['', 'x', '{}']) }
  const templates: (() => JsonObject)[] = [
    () => ({ type: 'RUN_STARTED', threadId: 't', runId: 'r' }),
    () => ({
      type: 'RUN_STARTED', threadId: 't', runId: 'r',
      input: { threadId: 't', runId: 'r', tools: [], context: [], messages: [{ id, role: 'assistant', ...tag }] },
    }),
    () => ({ type: 'RUN_FINISHED', threadId: 't', runId: 'r', ...optional({ outcome: random.pick([null, { type: 'success' }]) }) }),
    () => ({ type: 'RUN_ERROR', message: 'm' }),
    () => ({ type: 'STEP_STARTED', stepName: id, ...tag }),
    () => ({ type: 'STEP_FINISHED', stepName: id, ...tag }),
    () => ({ type: 'TEXT_MESSAGE_START', messageId: id, ...tag }),
    () => ({ type: 'TEXT_MESSAGE_CONTENT', messageId: id, ...delta, ...tag }),
    () => ({ type: 'TEXT_MESSAGE_END', messageId: id, ...tag }),
    () => ({ type: 'TEXT_MESSAGE_CHUNK', ...optional({ messageId: id }), ...optional(delta), ...optional({ metadata: {} }), ...tag }),
    () => ({ type: 'TOOL_CALL_START', toolCallId: id, toolCallName: 'f', ...optional({ parentMessageId: random.pick(['a', 'b', null]) }), ...tag }),
    () => ({ type: 'TOOL_CALL_ARGS', toolCallId: id, ...delta, ...tag }),
    () => ({ type: 'TOOL_CALL_END', toolCallId: id, ...tag }),
    () => ({ type: 'TOOL_CALL_RESULT', messageId: id, toolCallId: id, content: 'x', ...tag }),
    () => ({
      type: 'TOOL_CALL_CHUNK', ...optional({ toolCallId: id }), ...optional({ toolCallName: 'f' }), ...optional(delta),
      ...optional({ parentMessageId: random.pick(['a', 'b']) }), ...tag,
    }),
    () => ({ type: 'STATE_SNAPSHOT', snapshot: {}, ...tag }),
    () => ({ type: 'MESSAGES_SNAPSHOT', messages: [{ id, role: random.pick(['assistant', 'reasoning']), content: '', ...tag }] }),
    () => ({ type: 'ACTIVITY_SNAPSHOT', messageId: id, activityType: 'P', content: {}, ...optional({ replace: false }), ...tag }),
    () => ({ type: 'ACTIVITY_DELTA', messageId: id, activityType: 'P', patch: [], ...tag }),
    () => ({ type: 'CUSTOM', name: 'n', value: 1, ...tag }),
    () => ({ type: 'RAW', event: 1, ...tag }),
    () => ({ type: random.pick(['REASONING_START', 'REASONING_END', 'REASONING_MESSAGE_END']), messageId: id, ...tag }),
    () => ({ type: 'REASONING_MESSAGE_START', messageId: id, role: 'reasoning', ...tag }),
    () => ({ type: 'REASONING_MESSAGE_CONTENT', messageId: id, ...delta, ...tag }),
    () => ({ type: 'REASONING_MESSAGE_CHUNK', ...optional({ messageId: id }), ...optional(delta), ...tag }),
    () => ({ type: 'REASONING_ENCRYPTED_VALUE', subtype: random.pick(['tool-call', 'message']), entityId: id, encryptedValue: 'e', ...tag }),
    () => ({ type: 'SUBAGENT_STARTED', subagentRunId: random.pick(['s', 'u']), name: 'n', ...optional({ parentSubagentRunId: 's' }) }),
    () => ({ type: 'SUBAGENT_FINISHED', subagentRunId: random.pick(['s', 'u']) }),
    () => ({ type: 'SUBAGENT_ERROR', subagentRunId: random.pick(['s', 'u']), message: 'm' }),
    () => ({ type: random.pick(['THINKING_START', 'THINKING_END', 'THINKING_TEXT_MESSAGE_START', 'THINKING_TEXT_MESSAGE_END']) }),
    () => ({ type: 'THINKING_TEXT_MESSAGE_CONTENT', ...delta }),
  ]
  const event = random.pick(templates)()
  if (random.chance(0.03)) event[random.pick(Object.keys(event))] = null
  return event
}

/** A walk along what the checker accepts, that sometimes ends with a step off the path. */
function randomStream(random: Random): JsonObject[] {
  const events: JsonObject[] = random.chance(0.95) ? [{ type: 'RUN_STARTED', threadId: 't', runId: 'r' }] : []
  for (let attempt = 0; attempt < 40; attempt++) {
    const longer = [...events, randomEvent(random)]
    const violation = checkEventStream(JSON.stringify(longer))
    if (violation !== null && violation.rule !== 'missing-terminal') {
      if (random.chance(0.05)) return longer
    } else events.push(longer.at(-1)!)
  }
  return events
}

test('random streams: the same verdict and the same message as the official client', async (t) => {
  for (const method of ['warn', 'error', 'log'] as const) t.mock.method(console, method, () => {})
  const random = randomness(3)
  const rules = new Set<string>()
  for (let round = 0; round < 400; round++) {
    const events = randomStream(random)
    const violation = checkEventStream(JSON.stringify(events))
    const official = await officialVerdict(events)
    const ours = violation === null || violation.rule === 'missing-terminal' ? undefined : violation
    rules.add(violation?.rule ?? 'none')
    if (ours?.rule === 'invalid-event' && official === 'ZodError') continue
    assert.equal(ours?.message, official, JSON.stringify(events))
  }
  assert.ok(rules.size > 15, [...rules].join(' '))
})
