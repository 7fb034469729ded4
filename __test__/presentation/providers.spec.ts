/** The providers that come with the package, published to a Host as a product publishes them (P3, P8, P11). */

import assert from 'node:assert/strict'
import { EventEmitter, once } from 'node:events'
import { PassThrough } from 'node:stream'
import { after, test } from 'node:test'
import {
  API_VERSION, copyTextImplementation, externalRedirectImplementation, externalRedirectSupport, notificationImplementation,
  openExternalImplementation, userInteractionImplementation,
} from 'dsh-ag-ui/presentation'
import type { CapabilityImplementation, PresentationObservation } from 'dsh-ag-ui/presentation'
import { policyProvider } from 'dsh-ag-ui/presentation/providers/policy'
import type { Provider } from 'dsh-ag-ui/presentation/providers/policy'
import { terminalProvider } from 'dsh-ag-ui/presentation/providers/terminal'
import type { TerminalOutput } from 'dsh-ag-ui/presentation/providers/terminal'
import { externalRedirectHandler } from 'dsh-ag-ui/presentation/redirect'
import { closeHosts, EVERYTHING, makeHost } from './hosting.ts'

after(closeHosts)

const operations = ['question', 'approval', 'secret-input'] as const
const INTERACTION = { apiVersion: API_VERSION, kind: 'UserInteraction', spec: { operations } }

/** All that a provider implements. */
function implementations(participantId: string, provider: Provider): CapabilityImplementation[] {
  return [
    openExternalImplementation(participantId, provider),
    copyTextImplementation(participantId, provider),
    notificationImplementation(participantId, provider),
    userInteractionImplementation(participantId, { operations }, provider),
    externalRedirectImplementation(participantId, provider),
  ]
}

/** Two streams that say that they are a terminal. */
class FakeTerminal {
  readonly modes: boolean[] = []
  readonly input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: (mode: boolean) => { this.modes.push(mode) } })
  readonly #stream = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 })
  readonly #changes = new EventEmitter()
  written = ''

  constructor() {
    this.#stream.on('data', (chunk: Buffer) => {
      this.written += chunk.toString()
      this.#changes.emit('change')
    })
  }

  get output(): TerminalOutput {
    return this.#stream
  }

  async shows(text: string): Promise<void> {
    while (!this.written.includes(text)) await once(this.#changes, 'change')
  }
}

test('policy, terminal and redirect receiver serve the consumers of one Host', async () => {
  const host = makeHost({
    policy: {
      bind: [
        { consumer: 'automation', providers: ['policy'] },
        { consumer: 'plugin', providers: ['terminal'] },
        { consumer: 'oauth', providers: ['redirect'] },
      ],
    },
    onProviderError: error => { assert.fail(String(error)) },
  })
  const seen: string[] = []
  host.observe(({ origin, operation, state, provider }: PresentationObservation) => {
    if (state === 'submitted' || state === 'unavailable') seen.push([origin, operation, state, provider].join(' '))
  })

  const opened: string[] = []
  const tty = new FakeTerminal()
  const terminal = terminalProvider({
    input: tty.input, output: tty.output, language: 'en', env: {}, presenting: 'explicit',
    launch: async (uri) => { opened.push(uri) },
  })
  const policy = policyProvider({
    rules: [
      { kind: 'question', decision: 'answer', titles: ['Deploy'], answers: { target: 'staging' } },
      { kind: 'approval', decision: 'ask', actions: ['deploy'] },
    ],
    handlers: terminal,
  })
  host.provide('terminal', implementations('terminal', terminal), { presenting: 'explicit' })
  host.provide('policy', [userInteractionImplementation('policy', { operations }, policy)], { presenting: 'explicit' })
  host.provide('redirect', [externalRedirectImplementation('redirect', externalRedirectHandler())])

  // The policy answers what a rule answers, sends on what a person has to decide, and refuses the rest.
  const automation = host.open(host.admit('automation', [INTERACTION])).clients!.interaction!
  const options = [{ id: 'staging', label: 'Staging' }, { id: 'live', label: 'Live' }]
  assert.deepEqual(
    await automation.interact({ kind: 'question', title: 'Deploy', fields: [{ id: 'target', kind: 'select', label: 'Target', required: true, options }] }),
    { status: 'submitted', value: { answers: { target: 'staging' } } },
  )
  assert.deepEqual(await automation.interact({ kind: 'secret-input', label: 'Token' }), { status: 'unavailable', reason: 'policy-refused' })
  const approval = automation.interact({ kind: 'approval', action: 'deploy', summary: 'Deploy to \u202estaging' })
  await tty.shows('Enter decides')
  assert.match(tty.written, /Approval requested by automation/)
  assert.ok(tty.written.includes('Summary: Deploy to \\u{202e}staging'))
  tty.input.write('\r')
  assert.deepEqual(await approval, { status: 'submitted', value: { decision: 'denied' } })

  // The terminal asks a person.
  const plugin = host.open(host.admit('plugin', EVERYTHING), { deadline: '2999-12-31T23:59:60Z' }).clients!
  assert.deepEqual(await plugin.openExternal!.openExternal({ uri: 'https://example.org/a' }), { status: 'submitted', value: { accepted: true } })
  assert.deepEqual(opened, ['https://example.org/a'])
  const confirm = plugin.interaction!.interact({ kind: 'question', fields: [{ id: 'sure', kind: 'confirm', label: 'Are you sure?', required: true }] })
  await tty.shows('y or n answers')
  tty.input.write('y')
  assert.deepEqual(await confirm, { status: 'submitted', value: { answers: { sure: true } } })
  assert.deepEqual(tty.modes, [true, false, true, false])

  // The receiver takes one GET.
  const call = host.open(host.admit('oauth', [externalRedirectSupport]), { deadline: 60_000 }).clients!.externalRedirect!.receive()
  const { redirectUri, expiresAt } = await call.ready
  assert.ok(expiresAt !== undefined)
  const page = await fetch(`${redirectUri}?code=abc&state=x&state=y`)
  assert.equal(page.status, 200)
  assert.deepEqual(await call.result, { status: 'submitted', value: { query: { code: ['abc'], state: ['x', 'y'] } } })

  assert.deepEqual(seen, [
    'automation question submitted policy',
    'automation secret-input unavailable policy',
    'automation approval submitted policy',
    'plugin OpenExternal submitted terminal',
    'plugin question submitted terminal',
    'oauth ExternalRedirect submitted redirect',
  ])
  await terminal.close()
})
