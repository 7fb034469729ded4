/**
 * What the core costs in one in-process question: ten fields, a provider that answers at once, from the client's call to
 * the settled result, beside the same in plain TypeScript. Both are measured in turns in one process.
 *
 * node bench/presentation/question.ts [rounds] [questions a round]
 */

import { createPresentationHost, userInteractionImplementation } from 'dsh-ag-ui/presentation'
import { PlainHost } from './plain.ts'

const rounds = Number(process.argv[2] ?? 41)
const questions = Number(process.argv[3] ?? 500)

const options = ['fast', 'balanced', 'thorough'].map(id => ({ id, label: `Mode ${id}`, description: `How ${id} the run is` }))
const question = {
  kind: 'question',
  title: 'Configure the run',
  description: 'These values are used once and are not stored.',
  fields: [
    { id: 'name', kind: 'text', label: 'Name', required: true, maxLength: 80 },
    { id: 'purpose', kind: 'text', label: 'Purpose', description: 'One or two sentences', multiline: true, maxLength: 2_000 },
    { id: 'branch', kind: 'text', label: 'Branch', minLength: 1 },
    { id: 'mode', kind: 'select', label: 'Mode', required: true, options },
    { id: 'checks', kind: 'select', label: 'Checks', multiple: true, options },
    { id: 'region', kind: 'select', label: 'Region', options },
    { id: 'notify', kind: 'confirm', label: 'Notify me', description: 'By mail' },
    { id: 'force', kind: 'confirm', label: 'Overwrite' },
    { id: 'ticket', kind: 'text', label: 'Ticket', maxLength: 20 },
    { id: 'agree', kind: 'confirm', label: 'I have read the notes', required: true },
  ],
} as const
const answer = {
  status: 'submitted',
  value: {
    answers: {
      name: 'nightly', purpose: 'Compare the last two releases.\nKeep the logs.', branch: 'main', mode: 'balanced', checks: ['fast', 'thorough'],
      notify: true, force: false, ticket: 'AB-1234', agree: true,
    },
  },
} as const

const handler = async () => answer

/** A fresh invocation a round, as a turn or command has one. */
function core(): (input: typeof question) => Promise<unknown> {
  const host = createPresentationHost({ limits: { maxRequestsPerInvocation: questions } })
  host.provide('tui', [userInteractionImplementation('tui', { operations: ['question'] }, { interact: handler } as never)])
  const consumer = host.admit('plugin', [{ apiVersion: 'presentation.dsh/v1alpha1', kind: 'UserInteraction', spec: { operations: ['question'] } }])
  const { interaction } = host.open(consumer).clients!
  return input => interaction!.interact(input)
}

function plain(): (input: typeof question) => Promise<unknown> {
  const host = new PlainHost(handler)
  return input => host.interact(input)
}

async function measure(ask: (input: typeof question) => Promise<unknown>): Promise<number[]> {
  const times: number[] = []
  for (let count = 0; count < questions; count += 1) {
    const started = performance.now()
    await ask(question)
    times.push((performance.now() - started) * 1_000)
  }
  return times
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1]!

const medians: { core: number[], plain: number[] } = { core: [], plain: [] }
for (let round = 0; round < rounds; round += 1) {
  medians.core.push(median(await measure(core())))
  medians.plain.push(median(await measure(plain())))
}
// The first rounds compile.
const warm = Math.min(5, rounds - 1)
const [ours, theirs] = [median(medians.core.slice(warm)), median(medians.plain.slice(warm))]
console.log(`one in-process question of ${question.fields.length} fields, median of ${rounds - warm} rounds of ${questions}:`)
console.log(`  core              ${ours.toFixed(1)} us`)
console.log(`  plain TypeScript  ${theirs.toFixed(1)} us`)
console.log(`  difference        ${(ours - theirs).toFixed(1)} us (at most 50)`)
