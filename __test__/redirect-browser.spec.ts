/** A real Chromium is redirected to a receiver (P8). Needs Debian's `chromium`, or another one named by `$CHROMIUM`. */
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { createServer } from 'node:http'
import type { RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, describe, test } from 'node:test'
import { chromium } from 'playwright-core'
import type { Browser, BrowserContextOptions, Page } from 'playwright-core'
import { openRedirectReceiver } from 'dsh-ag-ui/presentation/redirect'

const executablePath = process.env['CHROMIUM'] ?? '/usr/bin/chromium'

/** Serves `listener` while `use` runs. */
async function serving<T>(listener: RequestListener, use: (origin: string) => Promise<T>): Promise<T> {
  const server = createServer(listener).listen(0, '127.0.0.1')
  await once(server, 'listening')
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

describe('in Chromium', { skip: !existsSync(executablePath) && `no ${executablePath}` }, () => {
  let browser: Browser

  before(async () => {
    browser = await chromium.launch({
      executablePath,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync'],
    })
  })

  after(() => browser.close())

  async function withPage<T>(options: BrowserContextOptions, use: (page: Page) => Promise<T>): Promise<T> {
    const context = await browser.newContext(options)
    try {
      return await use(await context.newPage())
    } finally {
      await context.close()
    }
  }

  test('follows a redirect, shows the page, and cannot come back', async () => {
    const receiver = openRedirectReceiver()
    const { redirectUri } = await receiver.ready
    const query = 'code=a%2Bb+c&state=%E4%BD%A0&code=2&bad=%zz&empty='
    await serving((_, response) => response.writeHead(302, { location: `${redirectUri}?${query}` }).end(), origin =>
      withPage({ locale: 'en-GB' }, async (page) => {
        const complaints: string[] = []
        page.on('console', message => complaints.push(message.text()))
        const response = await page.goto(`${origin}/authorize`)
        assert.equal(response?.status(), 200)
        assert.equal(await page.title(), 'Received')
        assert.deepEqual(await receiver.result, {
          status: 'submitted',
          value: { query: { code: ['a+b c', '2'], state: ['你'], bad: ['%zz'], empty: [''] } },
        })
        // The policy admits the page's own style, and nothing was refused.
        assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(246, 247, 249)')
        assert.deepEqual(complaints, [])
        await assert.rejects(page.reload(), /ERR_CONNECTION_REFUSED/)
      }))
  })

  test('reads Chinese, in the dark', async () => {
    const receiver = openRedirectReceiver()
    const { redirectUri } = await receiver.ready
    await withPage({ locale: 'zh-CN', colorScheme: 'dark' }, async (page) => {
      await page.goto(`${redirectUri}?code=1`)
      assert.equal(await page.title(), '已收到')
      assert.equal(await page.evaluate('document.documentElement.lang'), 'zh-CN')
      assert.equal(await page.evaluate('getComputedStyle(document.body).backgroundColor'), 'rgb(23, 24, 26)')
      if (process.env['SCREENSHOTS'] !== undefined) await page.screenshot({ path: `${process.env['SCREENSHOTS']}/redirect-zh-dark.png` })
    })
    assert.equal((await receiver.result).status, 'submitted')
  })

  for (const host of ['localhost', '127.0.0.1', '[::1]']) {
    test(`reaches an exact URI on ${host}`, async (t) => {
      const port = await serving(() => {}, async origin => new URL(origin).port)
      const exactRedirectUri = `http://${host}:${port}/oauth/./callback?app=x%20y`
      const receiver = openRedirectReceiver({ exactRedirectUri })
      if ((await receiver.ready.catch(() => undefined)) === undefined) {
        t.skip(`no ${host} on this machine`)
        return
      }
      const location = `${exactRedirectUri}&code=1`
      await serving((_, response) => response.writeHead(302, { location }).end(), origin =>
        withPage({}, async (page) => {
          assert.equal((await page.goto(origin))?.status(), 200)
        }))
      assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { app: ['x y'], code: ['1'] } } })
    })
  }

  test('another site that knows the URI cannot use it up from its page', async () => {
    const port = await serving(() => {}, async origin => new URL(origin).port)
    const exactRedirectUri = `http://127.0.0.1:${port}/cb`
    const receiver = openRedirectReceiver({ exactRedirectUri })
    await receiver.ready
    const evil = `${exactRedirectUri}?code=evil`
    const html = `<!doctype html><link rel=prefetch href="${evil}"><img src="${evil}"><iframe src="${evil}"></iframe>
      <script>window.tried = fetch("${evil}", { mode: "no-cors" }).then(() => 1, () => 1)</script>`
    await serving((_, response) => response.setHeader('content-type', 'text/html').end(html), origin =>
      withPage({}, async (page) => {
        await page.goto(origin, { waitUntil: 'load' })
        await page.evaluate('window.tried')
        assert.equal((await page.goto(`${exactRedirectUri}?code=real`))?.status(), 200)
      }))
    assert.deepEqual(await receiver.result, { status: 'submitted', value: { query: { code: ['real'] } } })
  })
})
