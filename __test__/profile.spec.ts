/**
 * The packed package in a real DSH profile: installed by `dsh plugin add`, run by `dsh --profile web` (N7, G1, G22).
 *
 * The tests follow one home through its life; each finds what the ones before it left.
 */

import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { after, before, test } from 'node:test'
import { connect } from './support/client.ts'
import type { TestClient } from './support/client.ts'
import { body, browserTool, errorOf, history, SECRET, transcript } from './support/gateway.ts'
import type { WireEvent } from './support/gateway.ts'
import { ASIDE, Profile, PROFILE_PROVIDER } from './support/profile.ts'
import type { ProfileHost } from './support/profile.ts'

const ENV = { DSH_AG_UI_PROVIDER: PROFILE_PROVIDER, DSH_AG_UI_MODEL: 'any', DSH_AG_UI_SHARED_SECRET: SECRET }
const CLEAN = { code: 0, signal: null }
/** Whatever a Host does not do in this time, it does not do. */
const PATIENCE = { timeout: 60_000 }

/** The user's own row. It says nothing of `disabled`, so that the bundle's condition stays. */
function row(config: Readonly<Record<string, string>>): string {
  const fields = {
    path: '/ag-ui', provider: PROFILE_PROVIDER, model: 'any', sharedSecret: '!!js process.env.DSH_AG_UI_SHARED_SECRET', ...config,
  }
  return ['- id: ag-ui', '  config:', ...Object.entries(fields).map(([name, value]) => `    ${name}: ${value}`), ''].join('\n')
}

/** One model call of a script, as the bundle's model takes it. */
type Step =
  | { readonly say: string }
  | { readonly hang: string }
  | { readonly call: readonly { readonly id: string, readonly name: string, readonly args: object }[] }

const script = (...steps: Step[]): string => JSON.stringify(steps)

const CHAT = script({ say: 'Hello from the profile.' })
const HANG = script({ hang: 'Waiting' })
const ARGS = {
  write: { file_path: 'note.txt', content: 'one\ntwo\n' },
  read: { file_path: 'note.txt' },
  bash: { command: 'wc -l < note.txt', description: 'Count lines' },
}
const WORK = script(
  ...Object.entries(ARGS).map(([name, args]) => ({ call: [{ id: `call-${name}`, name, args }] })),
  { say: 'Two lines.' },
)

/** Who answers a POST without credentials. */
async function whoIsAt(url: string): Promise<'gateway' | 'nobody'> {
  const response = await fetch(url, { method: 'POST' })
  const text = await response.text()
  if (response.status === 401) {
    assert.equal((JSON.parse(text) as { code: string }).code, 'UNAUTHORIZED')
    return 'gateway'
  }
  // The fallback of the web application, which knows GET only.
  assert.deepEqual([response.status, text], [405, ''])
  return 'nobody'
}

/** A browser that knows nothing yet, on a thread. */
async function open(host: ProfileHost, threadId: string, path?: string): Promise<TestClient> {
  return connect({ url: await host.url(path) }, '0.0.59', { threadId })
}

/** Sends a message, and resolves when the model's first words have come: to the rest of the run. */
async function startTurn(client: TestClient, text: string): Promise<{ readonly end: Promise<readonly WireEvent[]> }> {
  const words = Promise.withResolvers<void>()
  client.agent.subscribe({ onTextMessageContentEvent: () => { words.resolve() } })
  const end = client.say(text)
  await Promise.race([words.promise, end])
  return { end }
}

/** All cards of a run, by Tool and phase. */
function cards(events: readonly WireEvent[]): Record<string, Record<string, unknown>> {
  return Object.fromEntries(events.flatMap(({ name, value }) =>
    name === 'dsh:tool:view' && value !== undefined ? [[`${value.toolName} ${value.phase}`, value.card] as const] : []))
}

/** A run without its frame, which names the run. */
const inner = (events: readonly WireEvent[]): readonly WireEvent[] => events.slice(1, -1)

let profile: Profile

before(() => { profile = Profile.create() })
after(async () => { await profile?.dispose() })

test('dormant without the environment, while browser-tools is on; the patch file wakes it in the running Host', PATIENCE, async () => {
  const host = profile.start()
  const url = await host.url()
  await host.activated('BrowserTools')
  assert.deepEqual([await host.has('browserTools'), await host.has('agUi')], [true, false])
  assert.equal(await whoIsAt(url), 'nobody')

  profile.patch(`${row({ sharedSecret: SECRET })}  disabled: false\n`)
  await host.activated('AgUi')
  assert.equal(await whoIsAt(url), 'gateway')
  assert.deepEqual(body(await (await open(host, 'plain')).say(CHAT)), [
    'TEXT_MESSAGE_START', 'text Hello from the profile.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  // In this profile Tools come with presets, and none was asked for.
  assert.deepEqual((await host.request()).tools, [])

  host.terminate()
  assert.deepEqual(await host.exit, CLEAN, host.output)
})

test('a bad value fails the boot and names its field', PATIENCE, async () => {
  profile.patch('[]\n')
  const host = profile.start({ ...ENV, DSH_AG_UI_SHARED_SECRET: 'too short' })
  assert.deepEqual(await host.exit, { code: 1, signal: null }, host.output)
  assert.match(host.output, /failed to apply loader entry ag-ui \(dsh-ag-ui\): invalid config: sharedSecret must hold at least 16 UTF-8 bytes/)
  assert.ok(!host.output.includes('too short'))
})

let host: ProfileHost
/** A history-only run of the thread that worked. */
let read: readonly WireEvent[]

test('a run with real Tools of a preset, with the cards of DSH, live and in the next opening', PATIENCE, async () => {
  profile.patch(row({ agentPreset: 'standard' }))
  host = profile.start(ENV)
  await host.activated('AgUi')
  const client = await open(host, 'work')
  const events = await client.say(WORK)

  const note = /<path>(.*)<\/path>/.exec(events.find(({ toolCallId, content }) => toolCallId === 'call-write' && content !== undefined)?.content ?? '')?.[1] ?? ''
  assert.ok(note.startsWith(join(profile.home, 'workspaces', 'agui-')))
  assert.equal(readFileSync(note, 'utf8'), ARGS.write.content)

  const call = (name: keyof typeof ARGS, result: string, [before, behind]: readonly [string, string]): string[] => [
    `call call-${name} ${name}`,
    `args call-${name} ${JSON.stringify(ARGS[name])}`,
    `end call-${name}`,
    `card call call-${name} ${before}`,
    `result call-${name} ${result}`,
    `card result call-${name} ${behind}`,
  ]
  const file = (content: string): string => `<path>${note}</path>\n<type>file</type>\n<content>\n${content}\n</content>`
  assert.deepEqual(body(events), [
    ...call('write', file('Created file'), ['diff', 'diff']),
    ...call('read', file('1: one\n2: two\n\n(End of file - total 2 lines)'), ['generic', 'read']),
    ...call('bash', '2\n', ['terminal', 'terminal']),
    'TEXT_MESSAGE_START', 'text Two lines.', 'TEXT_MESSAGE_END', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const live = cards(events)
  const diffs = [{ path: 'note.txt', oldText: null, newText: ARGS.write.content }]
  assert.deepEqual(live['write call'], { card: 'diff', title: 'Write note.txt', diffs, locations: [{ path: 'note.txt' }] })
  assert.deepEqual(live['write result'], { card: 'diff', title: 'Write note.txt', diffs })
  assert.deepEqual(live['read result']?.['lines'], [{ number: 1, text: 'one' }, { number: 2, text: 'two' }])
  assert.deepEqual(live['bash result'], { card: 'terminal', output: '2\n', exitCode: 0 })

  read = await client.run()
  assert.deepEqual(cards(read), live)
  assert.deepEqual(history(read), history(events))
  assert.deepEqual(transcript(history(read)), [
    `user ${WORK}`,
    `assistant call-write=write(${JSON.stringify(ARGS.write)})`,
    `tool call-write ${file('Created file')}`,
    `assistant call-read=read(${JSON.stringify(ARGS.read)})`,
    `tool call-read ${file('1: one\n2: two\n\n(End of file - total 2 lines)')}`,
    `assistant call-bash=bash(${JSON.stringify(ARGS.bash)})`,
    'tool call-bash 2\n',
    'assistant Two lines.',
  ])
})

test('what the Host tells and asks the model on its own account stays out of the stream and the history', PATIENCE, async () => {
  await host.calledFor('session-title')
  const { texts, tools } = await host.request()
  // The model was told more than the client said.
  assert.equal(texts.length, 2)
  assert.match(texts[1] ?? '', /^Current runtime context/)
  assert.ok(['bash', 'read', 'write'].every(name => tools.includes(name)))

  const again = await (await open(host, 'work')).run()
  assert.deepEqual(inner(again), inner(read))
  assert.ok(!JSON.stringify(again).includes(ASIDE))
})

test('a Tool of the browser continues the turn; a name that the preset has is refused', PATIENCE, async () => {
  const client = await open(host, 'browser')
  const call = { id: 'call-pick', name: 'pick', args: { label: 'one' } }
  const tools = [browserTool('pick')]
  assert.deepEqual(body(await client.say(script({ call: [call] }, { say: 'Picked.' }), { tools })), [
    'call call-pick pick', 'args call-pick {"label":"one"}', 'end call-pick', 'MESSAGES_SNAPSHOT', 'RUN_FINISHED',
  ])
  const events = await client.answer({ 'call-pick': 'chosen' }, { tools })
  assert.deepEqual(transcript(history(events)).slice(-2), ['tool call-pick chosen', 'assistant Picked.'])
  assert.ok((await host.request()).tools.includes('pick'))
  await assert.rejects(client.say(CHAT, { tools: [browserTool('bash')] }), /409.*FRONTEND_TOOL_NAME_COLLISION/)
})

test('a real escalation is approved by our client, and the preset asks it, although the web application answers here', PATIENCE, async () => {
  const bash = (id: string) => ({
    id, name: 'bash',
    args: { command: 'echo out', description: 'Say it', sandbox_permissions: 'danger-full-access', justification: 'the sandbox has no echo' },
  })
  const questions = [{ id: 'q', question: 'Go on?', options: [{ label: 'yes' }, { label: 'no' }] }]
  const client = await open(host, 'people')
  const held = () => {
    const [interrupt, ...others] = client.interrupts
    assert.ok(interrupt !== undefined && others.length === 0)
    return interrupt
  }
  const work = script({ call: [bash('call-1')] }, { call: [bash('call-2')] }, { call: [{ id: 'call-3', name: 'ask_user_question', args: { questions } }] }, { say: 'Done.' })
  await client.say(work)
  const escalation = held()
  assert.deepEqual([escalation.reason, escalation.toolCallId], ['approval', 'call-1'])
  assert.deepEqual(escalation.metadata?.dsh, { toolName: 'bash', reason: 'escalate sandbox to danger-full-access: the sandbox has no echo' })
  await client.respond({ [escalation.id]: { status: 'resolved', payload: { approved: true } } })
  await client.respond({ [held().id]: { status: 'resolved', payload: { approved: false } } })
  const question = held()
  assert.deepEqual([question.reason, question.message, question.toolCallId], ['user_question', 'Go on?', 'call-3'])
  assert.deepEqual(question.metadata?.dsh, { questions })
  const answers = [{ id: 'q', selected: ['yes'] }]
  await client.respond({ [question.id]: { status: 'resolved', payload: { answers } } })
  assert.deepEqual(transcript(client.messages).filter(line => line.startsWith('tool') || line.endsWith('Done.')), [
    'tool call-1 out\n',
    'tool call-2 Error: the user rejected escalating this command to "danger-full-access"',
    `tool call-3 ${JSON.stringify({ answers })}`,
    'assistant Done.',
  ])
})

test('an edit of the patch file moves the route; the run in flight ends, the thread goes on', PATIENCE, async () => {
  const { end } = await startTurn(await open(host, 'moved'), HANG)
  profile.patch(row({ agentPreset: 'standard', path: '/elsewhere' }))
  assert.deepEqual(body(await end), ['TEXT_MESSAGE_START', 'text Waiting', 'error AGENT_NOT_AVAILABLE'])
  await host.activated('AgUi', 2)
  assert.equal(await whoIsAt(await host.url()), 'nobody')
  assert.equal(await whoIsAt(await host.url('/elsewhere')), 'gateway')

  assert.deepEqual(inner(await (await open(host, 'work', '/elsewhere')).run()), inner(read))
  const client = await open(host, 'moved', '/elsewhere')
  assert.deepEqual(transcript(history(await client.run())), [`user ${HANG}`, 'assistant Waiting'])
  assert.deepEqual(body(await client.say(CHAT)).slice(-2), ['MESSAGES_SNAPSHOT', 'RUN_FINISHED'])
})

test('an edit that the gateway refuses leaves it as it was', PATIENCE, async () => {
  profile.patch(row({ path: 'no-slash' }))
  await host.activated('AgUi', 3)
  assert.equal(await whoIsAt(await host.url('/elsewhere')), 'gateway')
  profile.patch(row({ agentPreset: 'standard' }))
  await host.activated('AgUi', 4)
  assert.equal(await whoIsAt(await host.url()), 'gateway')
})

test('SIGTERM ends a live run with an event, and the process by itself', PATIENCE, async () => {
  const { end } = await startTurn(await open(host, 'stopped'), HANG)
  host.terminate()
  assert.equal(errorOf(await end).code, 'AGENT_NOT_AVAILABLE')
  assert.deepEqual(await host.exit, CLEAN, host.output)
})

test('the home holds compressed sessions, each grouped under its workspace', () => {
  const logs = globSync('sessions/*/*/session.jsonl.zstd', { cwd: profile.home }).map(file => basename(join(file, '..')))
  const { tables } = JSON.parse(readFileSync(join(profile.home, 'storages', 'workspace.json'), 'utf8')) as
    { tables: { workspaces: Record<string, { path: string, sessionIds: string[] }> } }
  const workspaces = Object.values(tables.workspaces)
  assert.equal(logs.length, 6)
  assert.deepEqual(workspaces.flatMap(({ sessionIds }) => sessionIds).toSorted(), logs.toSorted())
  for (const { path, sessionIds } of workspaces) assert.deepEqual([basename(path)], sessionIds)
})

test('a Host that starts again has the history, with the same ids and cards', PATIENCE, async () => {
  host = profile.start(ENV)
  await host.activated('AgUi')
  const client = await open(host, 'work')
  assert.deepEqual(inner(await client.run()), inner(read))
  // The broken turn is told once, and does not hold the thread back.
  const stopped = await open(host, 'stopped')
  assert.equal(errorOf(await stopped.run()).code, 'THREAD_INTERRUPTED')
  assert.equal(transcript(history(await stopped.say(CHAT))).at(-1), 'assistant Hello from the profile.')
  // What the client holds of the former life is known; only the new message is work.
  const next = await client.say(CHAT)
  assert.deepEqual(history(next).slice(0, -2), history(read))
  assert.deepEqual(transcript(history(next)).slice(-2), [`user ${CHAT}`, 'assistant Hello from the profile.'])

  host.terminate()
  assert.deepEqual(await host.exit, CLEAN, host.output)
})
