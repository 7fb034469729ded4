/**
 * `pnpm test`: everything that must hold, what is quick first. `pnpm test <gate>...` runs the gates whose names begin so.
 */

import { spawnSync } from 'node:child_process'
import { globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'

/** A command that must succeed. */
interface Command {
  readonly kind: 'command'
  readonly run: readonly [program: string, ...args: string[]]
  /** Beside this process's own environment. */
  readonly env?: Readonly<Record<string, string>>
}

/** A command that must succeed and leave some files as they were. */
interface Generator {
  readonly kind: 'generator'
  readonly run: Command['run']
  readonly files: readonly string[]
}

interface Gate {
  readonly name: string
  readonly steps: readonly (Command | Generator)[]
}

const ROOT = join(import.meta.dirname, '..')
/** TypeScript that is not part of the package: checked, never emitted. */
const CHECKED = globSync('{__test__,bench,examples,examples/*,scripts,packages/*}/tsconfig.json', { cwd: ROOT }).toSorted()
const SPECS = '{__test__,bench,packages}/**/*.spec.ts'

/** What runs on any generation of DSH. */
const GENERATION_SPECS = '__test__/{browser-tools,gateway/*}.spec.ts'
/**
 * What is about generation A's own ways: its single place for questions, its presets that are composed anew, its stores and file systems made to fail, uploads
 * over a service that only newer Hosts have, and its log on the disk.
 */
const OF_GENERATION_A = new Set(['deliverables', 'file-memory', 'file-messages', 'files', 'people-host', 'presets', 'restart-anywhere', 'restart-told', 'state-delta'])

const command = (...run: Command['run']): Command => ({ kind: 'command', run })
const specs = (pattern: string): string[] => globSync(pattern, { cwd: ROOT, exclude: ['**/node_modules'] }).toSorted()
const generationSpecs = (): string[] => specs(GENERATION_SPECS).filter(spec => !OF_GENERATION_A.has(basename(spec, '.spec.ts')))

const GATES: readonly Gate[] = [
  { name: 'format', steps: [command('cargo', 'fmt', '--check')] },
  { name: 'types', steps: [command('tsc', '-p', 'tsconfig.json'), ...CHECKED.map(project => command('tsc', '-p', project))] },
  { name: 'lint', steps: [command('oxlint', '--type-aware')] },
  { name: 'unused', steps: [command('knip')] },
  { name: 'clippy', steps: [command('cargo', 'clippy', '--locked', '--all-targets', '--', '-D', 'warnings')] },
  { name: 'rust', steps: [command('cargo', 'test', '--locked')] },
  {
    name: 'addon',
    steps: [{ kind: 'generator', run: ['pnpm', 'build:native', '--', '--locked'], files: ['index.js', 'index.d.ts'] }],
  },
  { name: 'package', steps: [command('publint', '--strict')] },
  { name: 'javascript', steps: [command('node', '--test', ...specs(SPECS))] },
  {
    name: 'generations',
    steps: ['B', 'C'].map(generation => ({ ...command('node', '--test', ...generationSpecs()), env: { DSH_GENERATION: generation } })),
  },
  { name: 'bench', steps: [command('node', 'bench/run.ts', '--small')] },
]

function run([program, ...args]: Command['run'], env: Command['env'] = {}): boolean {
  console.log(`$ ${[...Object.entries(env).map(([name, value]) => `${name}=${value}`), program, ...args].join(' ')}`)
  const { status, error } = spawnSync(program, args, { cwd: ROOT, stdio: 'inherit', env: { ...process.env, ...env } })
  if (error !== undefined) console.error(error.message)
  return status === 0
}

function generate({ run: build, files }: Generator): boolean {
  const read = (): string[] => files.map(file => readFileSync(join(ROOT, file), 'utf8'))
  const before = read()
  if (!run(build)) return false
  const after = read()
  const stale = files.filter((_, at) => before[at] !== after[at])
  for (const file of stale) console.error(`${file} was not current; it is now: commit it`)
  return stale.length === 0
}

const wanted = process.argv.slice(2)
const gates = GATES.filter(({ name }) => wanted.length === 0 || wanted.some(prefix => name.startsWith(prefix)))
if (gates.length === 0) throw new Error(`gates: ${GATES.map(({ name }) => name).join(', ')}`)

const times: string[] = []
for (const { name, steps } of gates) {
  console.log(`\n=== ${name}`)
  const start = performance.now()
  const passed = steps.every(step => step.kind === 'generator' ? generate(step) : run(step.run, step.env))
  times.push(`${name.padEnd(12)}${((performance.now() - start) / 1000).toFixed(1).padStart(8)} s`)
  if (!passed) {
    console.error(`\n=== ${name} FAILED`)
    process.exit(1)
  }
}
console.log(`\n=== all gates passed\n${times.join('\n')}`)
