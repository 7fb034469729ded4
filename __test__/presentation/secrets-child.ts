/**
 * Sends a secret through every path of a Host and an attachment, well and badly, and prints everything that a careless
 * program could log. Its parent looks for the secret in the output.
 */

import { inspect } from 'node:util'
import { MessageChannel } from 'node:worker_threads'
import { PresentationMachine, PresentationLink } from 'dsh-ag-ui/native'
import { attach, createPresentationHost, validateUserInteractionRequest } from 'dsh-ag-ui/presentation'
import { Desk, EVERYTHING, SECRET } from './hosting.ts'

const secret = process.argv[2]!
const submitted = { status: 'submitted', value: { secret } }
let delivered = 0

function log(...values: unknown[]): void {
  for (const value of values) console.log(inspect(value, { depth: 12, showHidden: true, getters: true }), String(value))
}

async function run(clients: any, desk: Desk): Promise<void> {
  const answers: [object, unknown][] = [
    [SECRET, submitted],
    [{ ...SECRET, maxLength: 3 }, submitted],
    [SECRET, { ...submitted, extra: secret }],
    [SECRET, { status: 'submitted', value: { secret, [secret]: secret } }],
    [SECRET, { status: 'submitted', value: secret }],
    [SECRET, { status: 'submitted', value: { secret: `${secret}\ud800` } }],
    [SECRET, { status: secret }],
    [SECRET, { status: 'submitted', value: { secret: () => secret } }],
    [SECRET, new Error(`cannot store ${secret}`)],
    [{ kind: 'approval', action: 'a', summary: 's' }, { status: 'submitted', value: { decision: secret } }],
  ]
  for (const [input, answer] of answers) {
    const asked = clients.interaction.interact(input)
    const held = await desk.next()
    if (answer instanceof Error) held.fail(answer)
    else held.answer(answer)
    try {
      const result = await asked
      if (result.value.secret === secret) delivered += 1
    } catch (error) {
      log(error)
    }
  }
}

const host = createPresentationHost({ onProviderError: (error, provider, request) => {
  // What a handler throws is its own; everything of ours is logged.
  if (!(error instanceof Error && error.message.startsWith('cannot store'))) log(error)
  log(provider, request)
} })
host.observe(observation => { log(observation) })
const local = new Desk('tui')
host.provide('tui', local.implementations)
const invocation = host.open(host.admit('plugin', EVERYTHING))
await run(invocation.clients, local)

const { port1, port2 } = new MessageChannel()
const remote = new Desk('screen')
const served = attach(port2, { participantId: 'screen', implementations: remote.implementations })
const attachment = await host.attach(port1, { participantId: 'screen' })
const away = host.open(host.admit('far', EVERYTHING), { provider: 'screen' })
await run(away.clients, remote)

try {
  validateUserInteractionRequest({ requestId: 'r', invocationId: 'i', origin: 'o', ...SECRET, default: secret })
} catch (error) {
  log(error)
}
log(host, invocation, attachment, served, PresentationMachine, PresentationLink)
host.close()
log(host, invocation, attachment, served)
console.log(`delivered ${delivered}`)
