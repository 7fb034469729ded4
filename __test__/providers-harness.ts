/** A program with a terminal provider, for `providers-driver.ts`. The argument names a scenario. */
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { terminalProvider } from 'dsh-ag-ui/presentation/providers/terminal'
import type { HandlerContext, TerminalProviderOptions } from 'dsh-ag-ui/presentation/providers/terminal'
import type { QuestionRequest } from 'dsh-ag-ui/presentation/interaction'

const scenario = process.argv[2] ?? ''
const given: unknown = process.env['REQUEST'] === undefined ? undefined : JSON.parse(process.env['REQUEST'])
const options = JSON.parse(process.env['OPTIONS'] ?? '{}') as TerminalProviderOptions
const provider = terminalProvider(options)
const bound = { requestId: 'r', invocationId: 'i', origin: 'plugin:git' }
const never = new AbortController()

function context(signal = never.signal): HandlerContext {
  return { signal, progress: () => {} }
}

/** Waits until the prompt has the keyboard, and says so on the screen. */
async function onKey(then: () => void): Promise<void> {
  await new Promise(setImmediate)
  process.stdin.once('data', then)
  await provider.notify({ ...bound, text: 'armed' }, context())
}

/** Modes of the terminal as the user's shell finds them. */
function modes(): string[] {
  const flags = execFileSync('stty', ['-a'], { stdio: ['inherit', 'pipe', 'inherit'], encoding: 'utf8' }).split(/[\s;]+/)
  return ['echo', '-echo', 'icanon', '-icanon'].filter(flag => flags.includes(flag))
}

const asked = { ...bound, kind: 'question', fields: [{ id: 'name', kind: 'text', label: 'Name' }] } as const

const scenarios: Record<string, () => unknown> = {
  async ask() {
    const result = await provider.interact(given as QuestionRequest, context())
    return { result, modes: modes() }
  },
  async notifyWhileAsking() {
    const answer = provider.interact({ ...asked }, context())
    const notified = await provider.notify({ ...bound, text: 'build \x1b[31mfailed', level: 'warning' }, context())
    return { answer: await answer, notified }
  },
  async expire() {
    const deadline = new Date(Date.now() + 300).toISOString()
    const result = await provider.interact({ ...bound, deadline, kind: 'secret-input', label: 'Token' }, context())
    return { result, modes: modes() }
  },
  async hangUp() {
    process.on('SIGHUP', () => {})
    const request = { ...bound, kind: 'secret-input', label: 'Token' } as const
    return [await provider.interact(request, context()), await provider.interact(request, context())]
  },
  async queue() {
    const controller = new AbortController()
    const first = provider.interact({ ...asked, fields: [{ id: 'a', kind: 'text', label: 'First' }] }, context())
    const left = provider.interact(asked, context(controller.signal))
    const third = provider.interact({ ...asked, fields: [{ id: 'c', kind: 'text', label: 'Third' }] }, context())
    const refused = await provider.interact(asked, context())
    controller.abort()
    return [await first, await left, await third, refused]
  },
  async explicit() {
    const asked: string[] = []
    const ask = (label: string) => provider.interact(
      { ...bound, kind: 'question', fields: [{ id: 'a', kind: 'text', label }] },
      { ...context(), present: async () => (asked.push(label), label === 'Shown') },
    )
    return [...await Promise.all([ask('Shown'), ask('Moved')]), asked]
  },
  async abortWhileShown() {
    const controller = new AbortController()
    const result = provider.interact(asked, context(controller.signal))
    await onKey(() => controller.abort())
    return { result: await result, modes: modes() }
  },
  async close() {
    const result = provider.interact(asked, context())
    await onKey(() => void provider.close())
    return { result: await result, after: await provider.interact(asked, context()), modes: modes() }
  },
  async otherReaders() {
    const seen: string[] = []
    process.stdin.setEncoding('utf8')
    process.stdin.on('data', (chunk) => {
      seen.push(String(chunk))
      if (seen.length === 2) process.stdin.pause()
    })
    await new Promise(resolve => process.stdin.once('data', resolve))
    const result = await provider.interact({ ...bound, kind: 'secret-input', label: 'Token' }, context())
    process.stdout.write('after\n')
    await new Promise(resolve => process.stdin.once('data', resolve))
    return { result, seen }
  },
  async exitWhileAsking() {
    void provider.interact(asked, context())
    await onKey(() => process.exit(0))
    process.once('exit', () => report({ raw: process.stdin.isRaw }))
    return new Promise(() => {})
  },
  async copy() {
    return provider.copyText({ ...bound, text: 'grüße 🔑', sensitivity: 'private' }, context())
  },
  async open() {
    const uris = JSON.parse(process.env['URIS'] ?? '[]') as string[]
    return Promise.all(uris.map(uri => provider.openExternal({ ...bound, uri }, context())))
  },
  async everything() {
    return [
      await provider.interact(asked, context()),
      await provider.copyText({ ...bound, text: 'x' }, context()),
      await provider.notify({ ...bound, text: 'x' }, context()),
      await provider.openExternal({ ...bound, uri: 'http://127.0.0.1:1/' }, context()),
    ]
  },
}

function report(value: unknown): void {
  const path = process.env['RESULT']
  if (path === undefined) process.stdout.write(JSON.stringify(value))
  else writeFileSync(path, JSON.stringify(value))
}

report(await scenarios[scenario]?.())
