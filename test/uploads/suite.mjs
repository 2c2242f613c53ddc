// The end-to-end suite of tus-js-client as its npm package carries it (dist/browser-test-bundle.js), unmodified, in Chromium. It uploads to
// https://tusd.tusdemo.net/files/ and has no tokens: a proxy of that name adds the reservation's path and token, on the machine only. The
// suite also reads each file back with GET, which tus does not have: the proxy answers that from the server's disk, where HEAD knows the
// upload.
import assert from 'node:assert/strict'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { browse, call, data, list, pages, serve, server, signIn, transfer } from './site.mjs'

const resolve = createRequire(import.meta.url).resolve
const read = (name) => ['text/javascript; charset=utf-8', readFileSync(resolve(name), 'utf8')]
const port = await serve(pages({
  '/': ['text/html; charset=utf-8', '<!doctype html><title>Suite</title>'
    + ['jasmine', 'jasmine-html', 'boot0', 'boot1', 'suite'].map((name) => `<script src=/${name}.js></script>`).join('')],
  '/jasmine.js': read('jasmine-core/lib/jasmine-core/jasmine.js'),
    '/jasmine-html.js': read('jasmine-core/lib/jasmine-core/jasmine-html.js'),
  '/boot0.js': read('jasmine-core/lib/jasmine-core/boot0.js'), '/boot1.js': read('jasmine-core/lib/jasmine-core/boot1.js'),
  '/suite.js': ['text/javascript; charset=utf-8', readFileSync(join(import.meta.dirname,
    '../node_modules/tus-js-client/dist/browser-test-bundle.js'), 'utf8')],
}))
const suite = `https://suite.localhost:${port}`
await list(await signIn(), suite)
const { uid, bearer } = await call('POST', `${transfer}/public/mailbox/demo`, null, { anonSender: 'Sam', anonEmail: 'sam@example.com' })

// stored returns the newest finished file of so many bytes.
function stored(size) {
  const found = readdirSync(data, { recursive: true }).map((name) => join(data, name)).filter((name) => name.includes('/objects/')
    && statSync(name).isFile() && statSync(name).size === size)
  return readFileSync(found.sort((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0])
}

const seen = []
const proxy = await serve(async (request, answer) => {
  const id = request.url.replace('/files/', '')
  const target = `${transfer}/reservations/${uid}/${id ? `objects/${id}/tus` : 'tus'}`
  const headers = { ...request.headers, authorization: `Bearer ${bearer}` }
  for (const name of ['host', 'connection', 'content-length', 'transfer-encoding']) delete headers[name]
  const chunks = []
  for await (const chunk of request) chunks.push(chunk)
  const reading = request.method === 'GET'
  if (reading) headers['tus-resumable'] = '1.0.0'
  const got = await fetch(target, { method: reading ? 'HEAD' : request.method, headers,
    body: chunks.length || request.method === 'PATCH' ? Buffer.concat(chunks) : undefined })
  seen.push(`${request.method} ${got.status}`)
  const back = Object.fromEntries([...got.headers].filter(([name]) =>
    !['connection', 'keep-alive', 'content-length', 'transfer-encoding', 'date'].includes(name)))
  if (back.location) back.location = `https://tusd.tusdemo.net/files/${back.location.split('/').at(-2)}`
  answer.writeHead(got.status, back)
  answer.end(reading && got.ok ? stored(Number(got.headers.get('upload-length'))) : Buffer.from(await got.arrayBuffer()))
})

const browser = await browse({ 'tusd.tusdemo.net': proxy })
const page = await (await browser.newContext({ ignoreHTTPSErrors: true })).newPage()
await page.goto(`${suite}/?spec=tus%20end-to-end`)
await page.waitForFunction(() => globalThis.jsApiReporter?.finished, null, { polling: 100, timeout: 120_000 })
const specs = (await page.evaluate(() => globalThis.jsApiReporter.specs())).filter(({ status }) => status !== 'excluded')
for (const { fullName, status, failedExpectations } of specs) console.log(status, fullName,
  failedExpectations.map(({ message }) => message).join('; '))
await browser.close()
assert.ok(specs.length === 2 && specs.every(({ status }) => status === 'passed'), seen.join(', '))
for (const needed of ['OPTIONS 204', 'POST 201', 'PATCH 204', 'HEAD 200', 'DELETE 204']) assert.ok(seen.includes(needed),
  `${needed} is missing in ${seen.join(', ')}`)
console.log(seen.join(', '))
process.exit(0)
