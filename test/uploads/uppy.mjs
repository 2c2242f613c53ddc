// The Uppy example of docs/use/uploads.md in Chromium, on a page of another site: a file of the given path is sent through a network that
// is cut, the page is loaded again at 40 %, and the owner gets the same bytes. A site that is not listed can do nothing.
import assert from 'node:assert/strict'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { build } from 'esbuild'
import { args, browse, call, list, pages, patient, serve, server, signIn, sum, transfer } from './site.mjs'

const [file] = args
const docs = readFileSync(new URL('../../docs/use/uploads.md', import.meta.url), 'utf8')
const [, example] = docs.match(/^```js uppy\n([^]*?)^```$/m)
const bundle = await build({
  stdin: { contents: `${example}\nglobalThis.deliver = deliver`, resolveDir: import.meta.dirname }, bundle: true, format: 'iife',
    platform: 'browser', write: false, logLevel: 'error',
})
const port = await serve(pages({
  '/': ['text/html', '<!doctype html><title>Shop</title><input type=file><script src=/page.js></script>'],
  '/page.js': ['text/javascript', bundle.outputFiles[0].text],
}))
const shop = `https://shop.localhost:${port}`
const owner = await signIn()
await list(owner, shop)

const browser = await browse()
const context = await browser.newContext({ ignoreHTTPSErrors: true })
const page = await context.newPage()
const requests = []
page.on('request', (r) => { if (r.url().startsWith(server)) requests.push(`${r.method()} ${new URL(r.url()).pathname.split('/')
  .pop()} ${r.headers()['upload-offset'] ?? ''}`.trim()) })
const start = async () => {
  await page.goto(`${shop}/`)
  await page.setInputFiles('input', file)
  await page.evaluate((url) => {
    globalThis.percent = 0
    globalThis.end = ''
    globalThis.deliver(url, 'demo', document.querySelector('input').files, (percent) => { globalThis.percent = percent })
      .then(() => { globalThis.end = 'delivered' }, (error) => { globalThis.end = String(error) })
  }, server)
}

await start()
await page.waitForFunction(() => globalThis.percent >= 40 || globalThis.end, null, { polling: 50, timeout: 600_000 })
assert.equal(await page.evaluate(() => globalThis.end), '', 'before the reload')
const before = requests.length
await start()
await page.waitForFunction(() => globalThis.end, null, { polling: 200, timeout: 1_800_000 })
assert.equal(await page.evaluate(() => globalThis.end), 'delivered')
assert.equal(requests.filter((r) => r === 'POST tus').length, 1, `one upload is created: ${requests}`)
const first = Number(requests.slice(before).find((r) => r.startsWith('PATCH')).split(' ')[2])
assert.ok(first >= statSync(file).size * 0.25, `after the reload it went on at ${first}`)
assert.ok(requests.every((r) => r !== 'PATCH tus 0' || requests.indexOf(r) < before))
assert.deepEqual(await context.cookies(server), [], 'a site gets no cookies')
console.log(`Uppy: delivered; it went on at ${first} of ${statSync(file).size} bytes after the reload`)

const stranger = await context.newPage()
await stranger.goto(`https://evil.localhost:${port}/`)
for (const [what, origin, target] of [['a site that is not listed', stranger, `${transfer}/public/mailbox/demo`],
  ['the inbox', page, `${transfer}/transfers`]]) {
  const error = await origin.evaluate((url) => fetch(url).then(() => '', String), target)
  assert.match(error, /Failed to fetch/, what)
}
await browser.close()

const { transfers } = await call('GET', `${transfer}/transfers?location=received&limit=1`, owner)
const { objects } = await call('GET', `${transfer}/transfers/${transfers[0].uid}`, owner)
const answer = await patient(`${transfer}/transfers/${transfers[0].uid}/objects/${objects[0].uid}/content`,
  { headers: { Authorization: `Bearer ${owner}` } })
assert.equal(await sum(answer.body), await sum(createReadStream(file)), 'the owner gets other bytes')
console.log('the owner gets the same bytes')
process.exit(0)
