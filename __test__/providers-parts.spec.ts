/** The terminal provider's parts that need no terminal (P9, P10). */
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { clipboardRoutes, osc52 } from '../ts/presentation/providers/terminal/clipboard.ts'
import { Editor } from '../ts/presentation/providers/terminal/editor.ts'
import { KeyDecoder } from '../ts/presentation/providers/terminal/keys.ts'
import type { Key } from '../ts/presentation/providers/terminal/keys.ts'
import { hasGraphicalEnvironment } from '../ts/presentation/providers/terminal/launch.ts'
import { paint, wrap } from '../ts/presentation/providers/terminal/layout.ts'
import { ENGLISH } from '../ts/presentation/providers/terminal/messages.ts'
import { SecretPrompt } from '../ts/presentation/providers/terminal/secret.ts'
import { visibleLine, visibleLines } from '../ts/presentation/providers/terminal/visible.ts'
import { webUrl } from '../ts/presentation/providers/web-url.ts'
import { epochMs } from '../ts/presentation/deadline.ts'

describe('visible text', () => {
  test('every control and every override is an escape', () => {
    assert.equal(visibleLine('a\x1b[31mb\x07\x7f\x9b1A'), 'a\\u{1b}[31mb\\u{7}\\u{7f}\\u{9b}1A')
    assert.equal(visibleLine('a\u202eb\u2066c\u200fd\u061ce\ufefff\u2028g'), 'a\\u{202e}b\\u{2066}c\\u{200f}d\\u{61c}e\\u{feff}f\\u{2028}g')
    // An unpaired surrogate is no text; it crosses to the core as the replacement character.
    assert.equal(visibleLine('x\u{e0041}\ud800y\udc00'), 'x\\u{e0041}\ufffdy\ufffd')
    assert.equal(visibleLine('a\nb\tc\r'), 'a\\u{a}b\\u{9}c\\u{d}')
    for (let code = 0; code < 0xa0; code += 1) {
      const shown = visibleLine(String.fromCharCode(code))
      assert.equal(shown.length === 1, code >= 0x20 && code < 0x7f, String(code))
    }
  })

  test('ordinary text of any script stays', () => {
    for (const text of ['plain', '汉字 ünï 🔑 👨‍👩‍👧 नमस्ते', 'שלום', '│ > ❯']) assert.equal(visibleLine(text), text)
  })

  test('a paragraph has lines', () => {
    assert.deepEqual(visibleLines('a\r\nb\n\tc\rd'), ['a', 'b', '    c\\u{d}d'])
  })
})

test('deadlines are read as the core reads them', () => {
  const noon = Date.UTC(2026, 5, 30, 12)
  assert.deepEqual(
    ['2026-06-30T12:00:00Z', '2026-06-30t14:00:00.5+02:00', '2026-06-30T11:59:60z', '2026-06-30T11:59:60.25-00:00'].map(epochMs),
    [noon, noon + 500, noon, noon + 250],
  )
  for (const text of ['', 'tomorrow', '2026', '2026-06-30', '2026-06-30T12:60:00Z', '2026-06-30T12:00:61Z']) {
    assert.throws(() => epochMs(text), TypeError, text)
  }
})

describe('layout', () => {
  test('wraps by columns, never inside a character', () => {
    assert.deepEqual(wrap('abcdef', 4), [{ start: 0, text: 'abcd' }, { start: 4, text: 'ef' }])
    assert.deepEqual(wrap('你好吗', 5), [{ start: 0, text: '你好' }, { start: 2, text: '吗' }])
    assert.deepEqual(wrap('👨‍👩‍👧x', 2).map(({ text }) => text), ['👨‍👩‍👧', 'x'])
    assert.deepEqual(wrap('', 4), [{ start: 0, text: '' }])
    assert.deepEqual(wrap('你', 1), [{ start: 0, text: '你' }])
  })

  test('repeats the prefix on every row', () => {
    assert.deepEqual(paint({ text: 'abcdef', prefix: '│ ', style: 'strong' }, 5), [
      { output: '│ \x1b[1mabc\x1b[0m', width: 5 }, { output: '│ \x1b[1mdef\x1b[0m', width: 5 },
    ])
  })
})

describe('keys', () => {
  function decode(...chunks: string[]): Key[] {
    const keys: Key[] = []
    const decoder = new KeyDecoder(key => keys.push(key))
    for (const chunk of chunks) decoder.write(Buffer.from(chunk, 'latin1'))
    decoder.close()
    return keys
  }

  test('text, keys and their reads', () => {
    assert.deepEqual(decode('a\x1b[A', '\r\x03'), [
      { kind: 'text', text: 'a', chunk: 1 },
      { kind: 'control', name: 'up', chunk: 1 },
      { kind: 'control', name: 'return', chunk: 2 },
      { kind: 'control', name: 'ctrl-c', chunk: 2 },
    ])
  })

  test('characters and sequences cut anywhere', () => {
    assert.deepEqual(decode('\xe4\xbd', '\xa0\x1b', '[', 'B').map(key => key.kind === 'control' ? key.name : key.text), ['你', 'down'])
  })

  test('a paste is one piece and submits nothing', () => {
    assert.deepEqual(decode('\x1b[200~a\r\nb\rc\x03\x1b[201~d'), [
      { kind: 'paste', text: 'a\nb\nc\x03', chunk: 1 }, { kind: 'text', text: 'd', chunk: 1 },
    ])
  })
})

describe('editor', () => {
  const control = (name: string): Key => ({ kind: 'control', name, chunk: 1 })
  const typed = (text: string): Key => ({ kind: 'text', text, chunk: 1 })

  test('moves and deletes by what the reader sees as a character', () => {
    const editor = new Editor('single-line')
    editor.press(typed('a👨‍👩‍👧é'))
    editor.press(control('backspace'))
    assert.equal(editor.text, 'a👨‍👩‍👧')
    editor.press(control('left'))
    assert.equal(editor.cursor, 1)
    editor.press(control('delete'))
    assert.equal(editor.text, 'a')
  })

  test('kills to the ends of the line, and words', () => {
    const editor = new Editor('multi-line')
    editor.press({ kind: 'paste', text: 'one two\nthree four', chunk: 1 })
    editor.press(control('ctrl-w'))
    assert.equal(editor.text, 'one two\nthree ')
    editor.press(control('ctrl-u'))
    assert.equal(editor.text, 'one two\n')
    editor.press(control('up'))
    editor.press(control('ctrl-k'))
    assert.equal(editor.text, '\n')
  })

  test('a single line has no line breaks', () => {
    const editor = new Editor('single-line')
    editor.press({ kind: 'paste', text: 'a\nb\x1b\x9fc\td', chunk: 1 })
    editor.press(control('return'))
    assert.equal(editor.text, 'a bc\td')
  })
})

describe('secret', () => {
  test('overwrites what it is given, and its view tells nothing', () => {
    const prompt = new SecretPrompt([], {}, ENGLISH)
    const before = JSON.stringify(prompt.view())
    const chunk = Buffer.from('hunter2')
    assert.equal(prompt.feed(chunk), undefined)
    assert.deepEqual([...chunk], [0, 0, 0, 0, 0, 0, 0])
    assert.equal(JSON.stringify(prompt.view()), before)
    assert.deepEqual(prompt.feed(Buffer.from('\r')), { value: 'hunter2' })
    // Nothing is left for a second submission.
    assert.equal(prompt.feed(Buffer.from('\r')), 'changed')
  })

  test('is text or nothing', () => {
    const prompt = new SecretPrompt([], {}, ENGLISH)
    assert.equal(prompt.feed(Buffer.from([0xff, 0xfe, 0x0d])), 'changed')
    assert.deepEqual(prompt.feed(Buffer.from('\ufeffå\t \r')), { value: '\ufeffå\t ' })
  })

  test('Ctrl-C wins over what follows', () => {
    const prompt = new SecretPrompt([], {}, ENGLISH)
    const chunk = Buffer.from('abc\x03def\r')
    assert.equal(prompt.feed(chunk), 'cancelled')
    assert.ok(chunk.every(byte => byte === 0))
  })
})

describe('environment', () => {
  test('a browser needs a screen before the user', () => {
    assert.ok(hasGraphicalEnvironment('linux', { DISPLAY: ':0' }))
    assert.ok(hasGraphicalEnvironment('linux', { WAYLAND_DISPLAY: 'w' }))
    assert.ok(hasGraphicalEnvironment('linux', { WSL_DISTRO_NAME: 'Debian' }))
    assert.ok(!hasGraphicalEnvironment('linux', {}))
    assert.ok(hasGraphicalEnvironment('darwin', {}) && hasGraphicalEnvironment('win32', {}))
    assert.ok(!hasGraphicalEnvironment('darwin', { SSH_CONNECTION: 'x' }))
  })

  test('only web addresses, in the spelling of browsers', () => {
    assert.equal(webUrl('HTTPS://Example.ORG/a b')?.href, 'https://example.org/a%20b')
    for (const text of ['https:example.org', 'ftp://x', 'javascript:1', ' http://x', 'http://', '']) assert.equal(webUrl(text), undefined)
  })

  test('ways to the clipboard, best first', () => {
    const names = (platform: NodeJS.Platform, env: NodeJS.ProcessEnv): string[] =>
      clipboardRoutes(platform, env).map(route => route === 'osc-52' ? route : route.file)
    assert.deepEqual(names('linux', { TERM: 'xterm' }), ['osc-52'])
    assert.deepEqual(names('linux', { TERM: 'xterm', WAYLAND_DISPLAY: 'w', DISPLAY: ':0' }), ['wl-copy', 'xclip', 'xsel', 'osc-52'])
    assert.deepEqual(names('linux', { TERM: 'xterm', DISPLAY: ':10', SSH_TTY: '/dev/pts/1' }), ['osc-52', 'xclip', 'xsel'])
    assert.deepEqual(names('darwin', { TERM: 'xterm' }), ['pbcopy', 'osc-52'])
    assert.deepEqual(names('darwin', { TERM: 'xterm', SSH_TTY: '/dev/ttys0' }), ['osc-52'])
    assert.deepEqual(names('win32', {}), ['clip.exe'])
    assert.deepEqual(names('linux', { TERM: 'linux' }), [])
    assert.equal(osc52('a'.repeat(74_994))?.length, 7 + 99_992 + 1)
    assert.equal(osc52('a'.repeat(74_995)), undefined)
  })
})
