/**
 * Backend Tools of the playground's agent. All of them are pure functions of their arguments, and together they show
 * the card kinds that a browser is likely to meet first: generic, search (both shapes) and read. One needs an approval.
 *
 * @module
 */

import type { Context } from '@deepseek-ai/cordis'
import { defineTool } from '@deepseek-ai/dsh-tools'

/** A small project for the file Tools to look at. */
const FILES: Readonly<Record<string, string>> = {
  'README.md': '# Lighthouse\n\nA lamp that can be seen from far away.\n\n- `src/lamp.ts` turns it\n- `src/fog.ts` listens for ships\n',
  'src/lamp.ts': 'export interface Lamp {\n  /** Degrees from north. */\n  readonly bearing: number\n}\n\nexport function turn(lamp: Lamp, degrees: number): Lamp {\n  return { bearing: (lamp.bearing + degrees) % 360 }\n}\n',
  'src/fog.ts': 'import type { Lamp } from \'./lamp.ts\'\n\n/** Whether the horn should sound while the lamp is hidden. */\nexport function horn(lamp: Lamp, visibilityMetres: number): boolean {\n  return visibilityMetres < 500 && lamp.bearing < 180\n}\n',
}

const CONDITIONS = ['sunny', 'cloudy', 'windy', 'rainy', 'foggy'] as const

interface Weather {
  readonly city: string
  readonly temperature: number
  readonly conditions: string
  readonly humidity: number
  readonly wind_speed: number
  readonly feels_like: number
}

/**
 * The weather of a place, in degrees Celsius, per cent and kilometres an hour.
 *
 * @returns The same for the same name, whatever its case.
 */
export function weatherIn(location: string): Weather {
  let seed = 7
  for (const character of location.toLowerCase()) seed = (seed * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  const temperature = seed % 31
  const wind = Math.floor(seed / 31) % 40
  return {
    city: location, temperature, conditions: CONDITIONS[seed % CONDITIONS.length] ?? 'sunny',
    humidity: 30 + seed % 60, wind_speed: wind, feels_like: temperature - Math.floor(wind / 10),
  }
}

/** The plugin that registers the Tools; they leave with its fiber. */
export const playgroundTools = {
  name: 'playground-tools',
  inject: ['tools'],
  apply(ctx: Context): void {
    ctx.tools.register(getWeather)
    ctx.tools.register(listFiles)
    ctx.tools.register(searchFiles)
    ctx.tools.register(readFile)
    ctx.tools.register(mailPostcard)
    // What leaves the house needs a person's approval.
    ctx.on('tools/pre-execute', async (exec, next) => exec.name === mailPostcard.name ? { kind: 'ask' } : await next())
  },
}

const getWeather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a place.',
  parameters: { location: { type: 'string', required: true, description: 'Name of the place.' } },
  output: {
    schema: { type: 'json' },
    render: (_args, value) => [{ type: 'text', text: JSON.stringify(value) }],
    presentationMeta: (_args, value) => value,
  },
  isConcurrencySafe: () => true,
  presentCall: ({ location }) => ({ card: 'generic', title: `Weather in ${location}`, kind: 'fetch', rawInput: { location } }),
  presentResult: ({ location }) => {
    const weather = weatherIn(location)
    return {
      card: 'generic',
      title: `Weather in ${location}: ${weather.temperature} °C, ${weather.conditions}`,
      content: [{ type: 'text', text: `Feels like ${weather.feels_like} °C. Humidity ${weather.humidity} %, wind ${weather.wind_speed} km/h.` }],
    }
  },
  execute: async ({ location }) => ({ ...weatherIn(location) }),
})

const mailPostcard = defineTool({
  name: 'mail_postcard',
  description: 'Mails a postcard, once the user approves.',
  parameters: { to: { type: 'string', required: true, description: 'Who gets it.' } },
  output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
  isConcurrencySafe: () => true,
  presentCall: ({ to }) => ({ card: 'generic', title: `Postcard to ${to}` }),
  execute: async ({ to }) => `the postcard to ${to} is on its way`,
})

const listFiles = defineTool({
  name: 'list_files',
  description: 'Paths of the sample project, optionally only those below a folder.',
  parameters: { folder: { type: 'string', description: 'Folder, for example "src".' } },
  output: {
    schema: { type: 'array', items: { type: 'string' } },
    render: (_args, paths) => [{ type: 'text', text: paths.join('\n') }],
  },
  isConcurrencySafe: () => true,
  presentCall: ({ folder }) => ({ card: 'generic', title: `List ${folder ?? 'all files'}`, kind: 'search' }),
  presentResult: ({ folder }, result) => {
    if (result.isError) return undefined
    const paths = pathsBelow(folder)
    return { card: 'search', shape: 'paths', paths, truncated: false, total: paths.length }
  },
  execute: async ({ folder }) => pathsBelow(folder),
})

const searchFiles = defineTool({
  name: 'search_files',
  description: 'Lines of the sample project that contain a text.',
  parameters: { text: { type: 'string', required: true, description: 'Text to look for, case sensitive.' } },
  output: {
    schema: { type: 'array', items: { type: 'string' } },
    render: (_args, lines) => [{ type: 'text', text: lines.length === 0 ? 'no match' : lines.join('\n') }],
  },
  isConcurrencySafe: () => true,
  presentCall: ({ text }) => ({ card: 'generic', title: `Search for "${text}"`, kind: 'search' }),
  presentResult: ({ text }, result) => {
    if (result.isError) return undefined
    const files = matchesOf(text)
    return { card: 'search', shape: 'matches', files, truncated: false, total: files.reduce((sum, file) => sum + file.matches.length, 0) }
  },
  execute: async ({ text }) => matchesOf(text).flatMap(file => file.matches.map(match => `${file.path}:${match.lineNumber}: ${match.line}`)),
})

const readFile = defineTool({
  name: 'read_file',
  description: 'Text of one file of the sample project.',
  parameters: { path: { type: 'string', required: true, description: 'Path as list_files names it.' } },
  output: { schema: { type: 'string' }, render: (_args, text) => [{ type: 'text', text }] },
  isConcurrencySafe: () => true,
  presentCall: ({ path }) => ({ card: 'generic', title: `Read ${path}`, kind: 'read', locations: [{ path, line: 1 }] }),
  presentResult: ({ path }, result) => {
    const text = FILES[path]
    if (result.isError || text === undefined) return undefined
    const lines = linesOf(text).map((line, index) => ({ number: index + 1, text: line }))
    return { card: 'read', path, offset: 1, lines, totalLines: lines.length, ...path.endsWith('.ts') ? { lang: 'typescript' } : {} }
  },
  execute: async ({ path }) => {
    const text = FILES[path]
    if (text === undefined) throw new Error(`there is no file "${path}"`)
    return text
  },
})

function pathsBelow(folder: string | undefined): string[] {
  const prefix = folder === undefined || folder === '' ? '' : `${folder.replace(/\/+$/, '')}/`
  return Object.keys(FILES).filter(path => path.startsWith(prefix))
}

function matchesOf(text: string): { path: string, matches: { lineNumber: number, line: string }[] }[] {
  return Object.entries(FILES).flatMap(([path, content]) => {
    const matches = linesOf(content).flatMap((line, index) => line.includes(text) ? [{ lineNumber: index + 1, line }] : [])
    return matches.length === 0 ? [] : [{ path, matches }]
  })
}

function linesOf(text: string): string[] {
  return text.replace(/\n$/, '').split('\n')
}
