// A site of somebody else for tests: an https server with an origin of its own, a browser that trusts it, and requests of the mailbox's
// owner. The caller starts with: SERVER DATA_DIR CERTIFICATE KEY.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { chromium } from 'playwright-core'

export const [server, data, certificate, key, ...args] = process.argv.slice(2)
export const transfer = `${server}/transfer/v2`

// serve answers requests of all names on loopback. It returns the port.
export function serve(answer) {
  const site = createServer({ cert: readFileSync(certificate), key: readFileSync(key) }, answer)
  return new Promise((resolve) => { site.listen(0, '127.0.0.1', () => resolve(site.address().port)) })
}

// pages answers with the given files: by path, their type and text.
export const pages = (files) => (request, answer) => {
  const [type, text] = files[request.url.split('?')[0]] ?? ['text/plain', '']
  answer.writeHead(text ? 200 : 404, { 'Content-Type': type }).end(text)
}

// browse opens a browser whose names below localhost are loopback. hosts: further names, each with its port.
export function browse(hosts = {}) {
  const rules = Object.entries(hosts).map(([name, port]) => `MAP ${name}:443 127.0.0.1:${port}`)
  return chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox', `--host-resolver-rules=${rules.join(', ')}`] })
}

// patient repeats a request that the network cuts.
export async function patient(target, options) {
  for (let tries = 0; ; tries++) {
    try {
      return await fetch(target, options)
    } catch (error) {
      if (tries === 20) throw error
    }
  }
}

// call sends a request, and repeats it as often as the server says when: three sign-ins are allowed at once, and a confirm waits for
// copies.
export async function call(method, target, token, body, tries = 30) {
  const headers = { Accept: 'application/json', ...(token && { Authorization: `Bearer ${token}` }),
    ...(body && { 'Content-Type': 'application/json' }) }
  const answer = await patient(target, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  const wait = answer.headers.get('Retry-After')
  if (!answer.ok && wait && tries > 0) {
    await new Promise((done) => { setTimeout(done, wait * 1000) })
    return call(method, target, token, body, tries - 1)
  }
  assert.ok(answer.ok, `${method} ${target} answered ${answer.status}: ${text}`)
  return { ...(text ? JSON.parse(text) : {}), bearer: answer.headers.get('Authorization')?.replace(/^Bearer /, '') }
}

// signIn returns an access token of the demo's owner, who is an administrator of the organization.
export async function signIn() {
  const demo = readFileSync(`${data}/demo.txt`, 'utf8')
  const [, email] = demo.match(/^email: *(.*)$/m), [, password] = demo.match(/^password: *(.*)$/m)
  const { token } = await call('POST', `${server}/id/v3/auth/login`, null, { email, type: 'bcrypt', key: password })
  return (await call('POST', `${server}/id/v3/auth/access`, token)).token
}

// list makes origins the upload origins of the owner's organization.
export async function list(token, ...origins) {
  const { membership } = await call('GET', `${server}/id/v3/profile`, token)
  await call('PUT', `${server}/id/v3/organizations/${membership.organization.uid}/uploadorigins`, token, { origins })
}

export async function sum(stream) {
  const hash = createHash('sha256')
  await pipeline(stream, hash)
  return hash.digest('hex')
}
