/** The terminal provider in a real pseudo-terminal (P10, P11; issue: terminal provider). Needs Python 3. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { test } from 'node:test'
import type { QuestionField, UserInteractionRequest } from 'dsh-ag-ui/presentation/interaction'
import { Driver, KEY } from './providers-driver.ts'
import type { Started } from './providers-driver.ts'

const bound = { requestId: 'r', invocationId: 'i', origin: 'plugin:git' }
/** The end of bracketed paste, and the cursor back. */
const RESTORED = '\x1b[?2004l\x1b[?25h'
const COOKED = ['echo', 'icanon']

function ask(request: object, started: Started = {}): Promise<Driver> {
  const env = { REQUEST: JSON.stringify({ ...bound, ...request }), ...started.env }
  return Driver.start('ask', { ...started, env })
}

function askField(field: object, started: Started = {}): Promise<Driver> {
  return ask({ kind: 'question', fields: [field] }, started)
}

interface Asked {
  readonly result: unknown
  readonly modes: readonly string[]
}

/** The result, once the terminal is known to be as it was. */
async function resultOf(driver: Driver): Promise<unknown> {
  const { result, modes } = await driver.result<Asked>()
  assert.deepEqual(modes, COOKED)
  assert.ok(driver.raw.lastIndexOf(RESTORED) > driver.raw.lastIndexOf('\x1b[?2004h'))
  return result
}

const answered = (answers: object): object => ({ status: 'submitted', value: { answers } })

test('a text is edited and submitted', async () => {
  const driver = await askField({ id: 'name', kind: 'text', label: 'Your name', description: 'As in\nthe passport', required: true })
  const screen = await driver.shows('Enter submits')
  assert.deepEqual(screen.split('\n').slice(0, 5), [
    'Question from plugin:git', '│ Your name', '│ As in', '│ the passport', '> ',
  ])
  driver.type(KEY.enter)
  await driver.shows('An answer is required')
  driver.type('Ada Lovelac你')
  await driver.shows('> Ada Lovelac你')
  assert.equal(driver.beforeCursor, '> Ada Lovelac你')
  driver.type(`${KEY.backspace}e${KEY.home}Lady ${KEY.right}${KEY.left}${KEY.end}!${KEY.backspace}`)
  await driver.shows('> Lady Ada Lovelace')
  driver.type(`${KEY.ctrl('a')}${KEY.delete}${KEY.ctrl('k')}Grace ${KEY.paste('Brewster\r\nHopper\x1b[31m')}`)
  await driver.shows('> Grace Brewster Hopper')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({ name: 'Grace Brewster Hopper' }))
})

test('a text has to have its length', async () => {
  const driver = await askField({ id: 'pin', kind: 'text', label: 'Code', minLength: 3, maxLength: 4 })
  await driver.shows('empty for no answer')
  driver.type(`12${KEY.enter}`)
  await driver.shows('At least 3 characters')
  driver.type(`345${KEY.enter}`)
  await driver.shows('At most 4 characters')
  driver.type(`${KEY.backspace}${KEY.enter}`)
  assert.deepEqual(await resultOf(driver), answered({ pin: '1234' }))
})

test('fields without an answer are absent', async () => {
  const fields: QuestionField[] = [
    { id: 'text', kind: 'text', label: 'Text' },
    { id: 'one', kind: 'select', label: 'One', options: [{ id: 'a', label: 'A' }] },
    { id: 'many', kind: 'select', label: 'Many', multiple: true, options: [{ id: 'a', label: 'A' }] },
    { id: 'yes', kind: 'confirm', label: 'Yes' },
  ]
  const driver = await ask({ kind: 'question', title: 'Four', fields })
  await driver.shows('empty for no answer')
  driver.type(KEY.enter)
  await driver.shows('│ ❯ A')
  driver.type(KEY.down)
  await driver.shows('❯ (no answer)')
  driver.type(KEY.enter)
  await driver.shows('[ ] A')
  driver.type(KEY.enter)
  await driver.shows('❯ Yes')
  driver.type(KEY.end)
  await driver.shows('❯ (no answer)')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({}))
  assert.equal(driver.screen.match(/no answer$/gm)?.length, 4)
})

test('several lines are typed, moved in and pasted', async () => {
  const driver = await askField({ id: 'note', kind: 'text', label: 'Note', multiline: true, required: true })
  await driver.shows('Ctrl-D submits')
  driver.type(`one${KEY.enter}two${KEY.enter}${KEY.paste('three\nfour')}`)
  await driver.shows('> one\n> two\n> three\n> four')
  driver.type(`${KEY.up}${KEY.up}${KEY.end}!${KEY.up}${KEY.home}#`)
  await driver.shows('> #one\n> two!')
  driver.type(KEY.ctrl('d'))
  await driver.until(screen => !screen.includes('Ctrl-D'), 'submitted')
  assert.deepEqual(await resultOf(driver), answered({ note: '#one\ntwo!\nthree\nfour' }))
})

test('one of several is chosen with the arrows', async () => {
  const options = [
    { id: 'a', label: 'Apple', description: 'red' }, { id: 'b', label: 'Banana' }, { id: 'c', label: 'Cherry\x1b[2K' },
  ]
  const driver = await askField({ id: 'fruit', kind: 'select', label: 'Fruit', required: true, options })
  const screen = await driver.shows('Arrows move')
  assert.ok(screen.includes('│ ❯ Apple\n│     red\n│   Banana\n│   Cherry\\u{1b}[2K'), screen)
  driver.type(`${KEY.down}${KEY.down}${KEY.down}${KEY.up}`)
  await driver.shows('❯ Banana')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({ fruit: 'b' }))
  assert.ok(driver.screen.includes('│ Fruit: Banana'))
})

test('more options than rows scroll', async () => {
  const options = Array.from({ length: 100 }, (_, index) => ({ id: `o${index}`, label: `Option ${index}` }))
  const driver = await askField({ id: 'o', kind: 'select', label: 'Pick', required: true, options }, { rows: 10 })
  await driver.shows('❯ Option 0')
  driver.type(KEY.end)
  await driver.shows('❯ Option 99')
  driver.type(KEY.up)
  await driver.shows('❯ Option 98')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({ o: 'o98' }))
  assert.equal(driver.screen.match(/Question from/g)?.length, 1)
})

test('several of several are marked', async () => {
  const options = ['a', 'b', 'c'].map(id => ({ id, label: id.toUpperCase() }))
  const driver = await askField({ id: 'm', kind: 'select', label: 'Many', multiple: true, required: true, options })
  await driver.shows('Space marks')
  driver.type(KEY.enter)
  await driver.shows('An answer is required')
  driver.type(` ${KEY.down} ${KEY.down} ${KEY.up} `)
  await driver.shows('[x] A\n│ ❯ [ ] B\n│   [x] C')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({ m: ['a', 'c'] }))
  assert.ok(driver.screen.includes('│ Many: A, C'))
})

for (const [key, value] of [['y', true], ['N', false], [KEY.enter, true]] as const) {
  test(`a confirmation is answered with ${JSON.stringify(key)}`, async () => {
    const driver = await askField({ id: 'ok', kind: 'confirm', label: 'Sure?', required: true })
    await driver.shows('y or n answers')
    driver.type(key)
    assert.deepEqual(await resultOf(driver), answered({ ok: value }))
  })
}

const APPROVAL = {
  kind: 'approval',
  origin: 'plugin:git\x1b]0;root\x07',
  action: 'git.push\u202egnp.exe',
  summary: 'Push 3 commits\r\nRisk: low\n\x1b[8mhidden\x1b[0m\x1b[1A',
  risk: 'high',
  details: [
    { label: 'Remote', value: 'origin' },
    { label: 'Token', value: 'ghp_private\nsecond', sensitivity: 'private' },
  ],
}

test('an approval shows who asks for what, and no text passes for another', async () => {
  const driver = await ask(APPROVAL)
  const screen = await driver.shows('Enter decides')
  assert.equal(screen, [
    'Approval requested by plugin:git\\u{1b}]0;root\\u{7}',
    '│ Action: git.push\\u{202e}gnp.exe',
    '│ Summary:',
    '│   Push 3 commits',
    '│   Risk: low',
    '│   \\u{1b}[8mhidden\\u{1b}[0m\\u{1b}[1A',
    '│ Remote: origin',
    'Risk: HIGH',
    '1 private detail hidden; v shows or hides',
    '❯ Deny',
    '  Approve',
    'Arrows move, Enter decides, Ctrl-C cancels',
  ].join('\n'))
  driver.type('v')
  await driver.shows('│ Token:\n│   ghp_private\n│   second\n❯ Deny')
  driver.type(KEY.down)
  await driver.shows('❯ Approve')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { decision: 'approved' } })
  assert.ok(driver.screen.endsWith('Risk: HIGH\nApproved'))
  assert.ok(!driver.screen.includes('ghp_private'))
})

test('a long approval does not push its origin and action out of sight', async () => {
  const driver = await ask({ ...APPROVAL, summary: Array(60).fill('Everything is fine').join('\n') }, { rows: 12 })
  const screen = await driver.shows('Enter decides')
  const visible = screen.split('\n').slice(-11)
  assert.deepEqual(visible.slice(-7), [
    'Risk: HIGH',
    '1 private detail hidden; v shows or hides',
    'Approval requested by plugin:git\\u{1b}]0;root\\u{7}',
    '│ Action: git.push\\u{202e}gnp.exe',
    '❯ Deny',
    '  Approve',
    'Arrows move, Enter decides, Ctrl-C cancels',
  ])
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { decision: 'denied' } })
})

test('an approval is denied unless the user moves', async () => {
  const driver = await ask({ ...APPROVAL, risk: undefined, details: [] })
  await driver.shows('Risk: not stated')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { decision: 'denied' } })
})

test('what was typed ahead approves nothing', async () => {
  const driver = await ask(APPROVAL)
  await driver.shows('❯ Deny')
  driver.type(`${KEY.down}${KEY.enter}${KEY.enter}`)
  await driver.shows('❯ Approve')
  driver.type('y')
  driver.type(KEY.up)
  await driver.shows('❯ Deny')
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { decision: 'denied' } })
})

test('a secret is never echoed', async () => {
  const driver = await ask({ kind: 'secret-input', label: 'Password', description: 'of the vault', minLength: 6 })
  await driver.shows('What you type is not shown')
  driver.type(`hunter2${KEY.enter}`)
  const first = driver.raw.length
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { secret: 'hunter2' } })
  assert.ok(driver.screen.includes('│ Password: received'))
  assert.ok(!driver.raw.includes('hunter2') && !driver.raw.includes('hunter') && first > 0)
})

test('a secret is corrected unseen', async () => {
  const driver = await ask({ kind: 'secret-input', label: 'Password', minLength: 4, maxLength: 9 })
  await driver.shows('What you type is not shown')
  driver.type(`abc${KEY.enter}`)
  await driver.shows('At least 4 characters')
  driver.type(`${'x'.repeat(10)}${KEY.enter}`)
  await driver.shows('At most 9 characters')
  driver.type(`wrong${KEY.ctrl('u')}pä🔑${KEY.backspace}${KEY.left}${KEY.up}\x1bOP\x1b[1;5Css wört${KEY.enter}`)
  assert.deepEqual(await resultOf(driver), { status: 'submitted', value: { secret: 'päss wört' } })
  assert.ok(!/abc|xxx|wrong|ss w/.test(driver.raw))
})

const KINDS: Record<string, Omit<UserInteractionRequest, keyof typeof bound>> = {
  text: { kind: 'question', fields: [{ id: 'a', kind: 'text', label: 'A' }] } as never,
  select: { kind: 'question', fields: [{ id: 'a', kind: 'select', label: 'A', options: [{ id: 'x', label: 'X' }] }] } as never,
  multiple: { kind: 'question', fields: [{ id: 'a', kind: 'select', multiple: true, label: 'A', options: [{ id: 'x', label: 'X' }] }] } as never,
  approval: { kind: 'approval', action: 'a', summary: 's' } as never,
  secret: { kind: 'secret-input', label: 'S' } as never,
}

for (const [name, request] of Object.entries(KINDS)) {
  test(`Ctrl-C cancels: ${name}`, async () => {
    const driver = await ask(request)
    await driver.shows('Ctrl-C cancels')
    driver.type(`abc${KEY.ctrl('c')}`)
    assert.deepEqual(await resultOf(driver), { status: 'cancelled' })
    assert.ok(driver.screen.endsWith('Cancelled'))
  })
}

test('a deadline expires the request', async () => {
  const driver = await Driver.start('expire')
  await driver.shows('Secret requested by')
  driver.type('typed')
  assert.deepEqual(await resultOf(driver), { status: 'expired' })
  assert.ok(driver.screen.endsWith('Expired'))
})

test('a prompt follows the size of the terminal', async () => {
  const driver = await askField({ id: 'a', kind: 'text', label: 'A label of some length, to be wrapped', required: true })
  await driver.shows('Enter submits')
  driver.type('the quick brown fox jumps over the lazy dog')
  await driver.shows('lazy dog')
  driver.resize(24, 30)
  await driver.until(screen => screen.includes('> the quick brown fox jumps o\n> ver the lazy dog'), 'narrow')
  driver.resize(24, 100)
  await driver.until(screen => screen.includes('> the quick brown fox jumps over the lazy dog'), 'wide')
  assert.ok(driver.screen.startsWith('Question from plugin:git\n│ A label'))
  assert.equal(driver.screen.match(/A label of some/g)?.length, 1)
  assert.equal(driver.screen.match(/quick/g)?.length, 1)
  assert.equal(driver.screen.match(/Enter submits/g)?.length, 1)
  driver.type(KEY.enter)
  assert.deepEqual(await resultOf(driver), answered({ a: 'the quick brown fox jumps over the lazy dog' }))
})

test('a text longer than the screen keeps its cursor visible', async () => {
  const driver = await askField({ id: 'a', kind: 'text', label: 'A', multiline: true }, { rows: 6, columns: 20 })
  await driver.shows('Ctrl-D')
  driver.type(KEY.paste(Array.from({ length: 30 }, (_, index) => `line ${index}`).join('\n')))
  await driver.shows('> line 29')
  driver.type(`${KEY.up.repeat(29)}${KEY.home}>`)
  await driver.shows('> >line 0')
  driver.type(KEY.ctrl('d'))
  const result = await resultOf(driver) as { value: { answers: { a: string } } }
  assert.match(result.value.answers.a, /^>line 0\n(.|\n)*line 29$/)
})

test('a notification appears above what is being asked', async () => {
  const driver = await Driver.start('notifyWhileAsking')
  await driver.shows('Warning from plugin:git\n│ build \\u{1b}[31mfailed')
  const screen = await driver.shows('Enter submits')
  assert.ok(screen.indexOf('Warning from') < screen.indexOf('Enter submits'))
  driver.type(`ok${KEY.enter}`)
  assert.deepEqual(await driver.result(), { answer: answered({ name: 'ok' }), notified: { status: 'submitted', value: { accepted: true } } })
})

test('requests wait for the terminal, and not for ever', async () => {
  const driver = await Driver.start('queue', { env: { OPTIONS: '{"maxQueued":3}' } })
  await driver.shows('│ First')
  assert.ok(!driver.screen.includes('Third'))
  driver.type(`1${KEY.enter}`)
  await driver.shows('│ Third')
  driver.type(`3${KEY.enter}`)
  assert.deepEqual(await driver.result(), [
    answered({ a: '1' }), { status: 'cancelled' }, answered({ c: '3' }), { status: 'unavailable', reason: 'terminal-queue-full' },
  ])
})

test('a Host that wants to be asked before a request is shown is asked', async () => {
  const driver = await Driver.start('explicit', { env: { OPTIONS: '{"presenting":"explicit"}' } })
  await driver.shows('│ Shown')
  driver.type(`1${KEY.enter}`)
  assert.deepEqual(await driver.result(), [answered({ a: '1' }), { status: 'cancelled' }, ['Shown', 'Moved']])
  assert.ok(!driver.screen.includes('Moved'))
})

test('an aborted call takes its prompt away', async () => {
  const driver = await Driver.start('abortWhileShown')
  await driver.shows('armed')
  driver.type('x')
  assert.deepEqual(await driver.result(), { result: { status: 'cancelled' }, modes: COOKED })
})

test('a closed provider cancels and refuses', async () => {
  const driver = await Driver.start('close')
  await driver.shows('armed')
  driver.type('x')
  assert.deepEqual(await driver.result(), {
    result: { status: 'cancelled' }, after: { status: 'unavailable', reason: 'no-terminal' }, modes: COOKED,
  })
})

test('a terminal that goes away cancels', async () => {
  const driver = await Driver.start('hangUp')
  await driver.shows('What you type is not shown')
  driver.type('partial')
  driver.hangUp()
  assert.deepEqual(await driver.result(), [{ status: 'cancelled' }, { status: 'unavailable', reason: 'no-terminal' }])
})

test('nobody else reads what is typed into a prompt', async () => {
  const driver = await Driver.start('otherReaders')
  driver.type('before\r')
  await driver.shows('What you type is not shown')
  driver.type(`hunter2${KEY.enter}`)
  await driver.shows('after')
  driver.type('after\r')
  assert.deepEqual(await driver.result(), {
    result: { status: 'submitted', value: { secret: 'hunter2' } }, seen: ['before\n', 'after\n'],
  })
})

test('the terminal is restored when the process ends while it asks', async () => {
  const driver = await Driver.start('exitWhileAsking')
  await driver.shows('armed')
  driver.type('x')
  assert.deepEqual(await driver.result(), { raw: false })
  assert.ok(driver.raw.endsWith(RESTORED))
})

test('the provider speaks Chinese', async () => {
  const driver = await ask({ ...APPROVAL, origin: '插件' }, { env: { LANG: 'zh_CN.UTF-8' } })
  const screen = await driver.shows('回车决定')
  assert.ok(screen.startsWith('插件 请求批准\n│ 操作: git.push'))
  driver.type(KEY.enter)
  await resultOf(driver)
  assert.ok(driver.screen.endsWith('已拒绝'))
})

test('without a terminal everything is unavailable', async () => {
  const harness = fileURLToPath(new URL('providers-harness.ts', import.meta.url))
  const child = spawn(process.execPath, [harness, 'everything'], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { PATH: process.env['PATH'] },
  })
  const none = { status: 'unavailable', reason: 'no-terminal' }
  assert.deepEqual(JSON.parse(await text(child.stdout)), [none, none, none, { status: 'unavailable', reason: 'no-graphical-environment' }])
})

/** Runs a scenario with a program of that name first on the PATH, which records its arguments and input. */
async function withProgram(name: string, use: (env: NodeJS.ProcessEnv, recorded: () => Promise<string>) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'program-'))
  const record = join(folder, 'record')
  const program = join(folder, name)
  await writeFile(program, `#!${process.execPath}
    const { readFileSync, renameSync, writeFileSync } = require('fs')
    const input = process.stdin.isTTY ? '' : readFileSync(0, 'utf8')
    writeFileSync(${JSON.stringify(`${record}.tmp`)}, JSON.stringify({ args: process.argv.slice(2), input }))
    renameSync(${JSON.stringify(`${record}.tmp`)}, ${JSON.stringify(record)})`)
  await chmod(program, 0o755)
  // Debian's launcher asks it for the desktop's own browser first.
  await writeFile(join(folder, 'xdg-mime'), '#!/bin/sh\n')
  await chmod(join(folder, 'xdg-mime'), 0o755)
  try {
    await use({ PATH: `${folder}:${process.env['PATH']}`, PROGRAM: program }, () => readFile(record, 'utf8'))
  } finally {
    await rm(folder, { recursive: true })
  }
}

const ACCEPTED = { status: 'submitted', value: { accepted: true } }

test('text is copied by the platform\'s command', async () => {
  await withProgram('wl-copy', async (env, recorded) => {
    const driver = await Driver.start('copy', { env: { ...env, WAYLAND_DISPLAY: 'wayland-0' } })
    assert.deepEqual(await driver.result(), ACCEPTED)
    assert.deepEqual(JSON.parse(await recorded()), { args: [], input: 'grüße 🔑' })
    assert.ok(driver.screen.includes('Copied to your clipboard for plugin:git: 8 characters'))
    assert.ok(!driver.raw.includes('\x1b]52'))
    assert.ok(!driver.screen.includes('🔑'))
  })
})

test('text is copied by the terminal, or not at all', async () => {
  const sequence = `\x1b]52;c;${Buffer.from('grüße 🔑').toString('base64')}\x07`
  const driver = await Driver.start('copy', { env: { SSH_CONNECTION: '192.0.2.1 1 192.0.2.2 22' } })
  assert.deepEqual(await driver.result(), ACCEPTED)
  assert.ok(driver.raw.includes(sequence))
  // A command that is there but missing falls through to the terminal.
  const missing = await Driver.start('copy', { env: { WAYLAND_DISPLAY: 'wayland-0', PATH: '/usr/bin:/bin' } })
  assert.deepEqual(await missing.result(), ACCEPTED)
  assert.ok(missing.raw.includes(sequence))
  const dumb = await Driver.start('copy', { env: { TERM: 'dumb' } })
  assert.deepEqual(await dumb.result(), { status: 'unavailable', reason: 'no-clipboard' })
  assert.ok(!dumb.raw.includes('52;c'))
})

test('a page is opened by the launcher, as one argument and without a shell', async () => {
  await withProgram('browser', async (env, recorded) => {
    const uri = 'http://127.0.0.1:9/a?x=$(touch%20pwned)&y=`id`;z=1|2&q=\'"'
    const driver = await Driver.start('open', { env: { ...env, DISPLAY: ':9', BROWSER: env['PROGRAM'], URIS: JSON.stringify([uri]) } })
    assert.deepEqual(await driver.result(), [ACCEPTED])
    assert.ok(driver.screen.includes('Opened in your browser for plugin:git'))
    // The launcher does not wait for the browser; its record is renamed into place.
    let record: string | undefined
    while (record === undefined) record = await recorded().catch(() => undefined)
    assert.deepEqual((JSON.parse(record) as { args: string[] }).args, [new URL(uri).href])
  })
})

test('nothing but the web is opened', async () => {
  const uris = ['file:///etc/passwd', 'javascript:alert(1)', 'http:/x', '-psn', 'http://', '//example.org', 'HTTPS:example.org', 'ftp://example.org']
  const driver = await Driver.start('open', { env: { DISPLAY: ':9', URIS: JSON.stringify(uris) } })
  assert.deepEqual(await driver.result(), uris.map(() => ({ status: 'unavailable', reason: 'uri-rejected' })))
  const blind = await Driver.start('open', { env: { URIS: '["https://example.org/"]' } })
  assert.deepEqual(await blind.result(), [{ status: 'unavailable', reason: 'no-graphical-environment' }])
})
