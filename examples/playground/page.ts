/** The page's files, read once at start. The names below are all that the BFF serves. @module */

import { readFile } from 'node:fs/promises'

/** One static answer. */
export interface PageFile {
  readonly mediaType: string
  readonly body: Buffer
}

const FILES: readonly (readonly [route: string, file: string, mediaType: string])[] = [
  ['/', 'index.html', 'text/html; charset=utf-8'],
  ['/style.css', 'style.css', 'text/css; charset=utf-8'],
  ['/icon.svg', 'icon.svg', 'image/svg+xml'],
  ...['app', 'cards', 'chat', 'events', 'inspector', 'people', 'thread'].map(name =>
    [`/${name}.js`, `${name}.js`, 'text/javascript; charset=utf-8'] as const),
]

/** Reads every file of the page, by its route. */
export async function loadPage(): Promise<ReadonlyMap<string, PageFile>> {
  return new Map(await Promise.all(FILES.map(async ([route, file, mediaType]) =>
    [route, { mediaType, body: await readFile(new URL(`page/${file}`, import.meta.url)) }] as const)))
}
