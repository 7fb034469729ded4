/** `pnpm bench`: measures every case on every arm, interleaved, prints tables and writes the samples. See README.md. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { availableParallelism, cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

import type { Case, Scale } from './cases/case.ts'
import { CASES } from './cases/index.ts'
import { formatTable, summarise } from './harness/report.ts'
import type { Sample } from './harness/report.ts'
import { Rig, startClient } from './harness/rig.ts'
import type { Client } from './harness/rig.ts'
import { GATEWAY_ARMS } from './server/arms.ts'
import type { Arm } from './server/arms.ts'

const { values: options } = parseArgs({
  options: {
    small: { type: 'boolean', default: false },
    arm: { type: 'string', multiple: true, default: [...GATEWAY_ARMS] },
    case: { type: 'string', multiple: true },
    reps: { type: 'string' },
  },
})

if (process.platform !== 'linux') throw new Error('the benchmarks read CPU time from /proc and run on Linux only')

const scale: Scale = options.small ? 'small' : 'full'
const repetitions = Number(options.reps ?? (options.small ? 1 : 8))
const cases = CASES.filter(({ name }) => options.case === undefined || options.case.some(wanted => name.startsWith(wanted)))
const gateways = GATEWAY_ARMS.filter(arm => options.arm.includes(arm))
if (cases.length === 0 || gateways.length === 0) {
  throw new Error(`cases: ${CASES.map(({ name }) => name).join(', ')}; arms: ${GATEWAY_ARMS.join(', ')}`)
}

const client = startClient()
const samples: Sample[] = []
for (let repetition = 0; repetition < repetitions; repetition++) {
  for (const subject of cases) {
    for (const arm of armsOf(subject, repetition)) {
      process.stderr.write(`repetition ${repetition + 1}/${repetitions}  ${subject.name}  ${arm}\n`)
      samples.push({ case: subject.name, arm, repetition, values: await measure(subject, arm, client) })
    }
  }
}
await client.stop()

const rows = cases.map(subject => ({ subject, rows: summarise(subject, samples) }))
const machine = { node: process.version, cpu: cpus()[0]?.model ?? 'unknown', cores: availableParallelism() }
console.log(`medians (quartiles) of ${repetitions} repetitions, Node ${machine.node}, ${machine.cores} x ${machine.cpu}`)
if (scale === 'small') console.log('SMALL: fewer and shorter runs than the titles say; shows that the cases run, measures nothing')
for (const { subject, rows: lines } of rows) console.log(`\n${formatTable(subject.title, lines)}`)

const date = new Date().toISOString()
const directory = join(import.meta.dirname, 'results')
const file = join(directory, `${date.replaceAll(':', '-')}.json`)
mkdirSync(directory, { recursive: true })
writeFileSync(file, `${JSON.stringify({ date, scale, repetitions, machine, rows: rows.flatMap(({ rows }) => rows), samples }, null, 2)}\n`)
console.log(`\n${file}`)

/** The arms of a case, each repetition beginning with another one, so that no arm always runs after the same. */
function armsOf(subject: Case, repetition: number): Arm[] {
  const subtracts = Object.values(subject.metrics).some(({ share }) => share === 'own')
  const arms: Arm[] = [...subtracts ? ['direct' as const] : [], ...gateways]
  const first = repetition % arms.length
  return [...arms.slice(first), ...arms.slice(0, first)]
}

async function measure(subject: Case, arm: Arm, client: Client): Promise<Sample['values']> {
  const rig = await Rig.start(arm, subject.limits, client)
  try {
    const values = await subject.measure(rig, scale)
    for (const [metric, { share }] of Object.entries(subject.metrics)) {
      const value = values[metric]
      const expected = arm !== 'direct' || share === 'own'
      if (expected && !Number.isFinite(value)) throw new Error(`${subject.name}: ${arm} has no ${metric}`)
    }
    return values
  } finally {
    await rig.stop()
  }
}
