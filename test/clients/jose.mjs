// Gets a token of every kind through the public API and verifies it with jose: signature against the published keys, issuer,
// audience, expiry. Called by test/jose.sh with the server's URL and the demo credentials.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRemoteJWKSet, decodeProtectedHeader, errors, jwtVerify } from 'jose'

const [url, demo] = process.argv.slice(2)
const identity = `${url}/id/v3`
const transfer = `${url}/transfer/v2`
const [, email] = readFileSync(demo, 'utf8').match(/^email: *(.*)$/m)
const [, password] = readFileSync(demo, 'utf8').match(/^password: *(.*)$/m)

// call sends a request and returns the body of the answer and the token of its Authorization header.
async function call(method, target, token, body) {
  const headers = {}
  if (token) headers.Authorization = `Bearer ${token}`
  if (body) headers['Content-Type'] = 'application/json'
  const answer = await fetch(target, { method, headers, body: body && JSON.stringify(body) })
  const text = await answer.text()
  assert.ok(answer.ok, `${method} ${target} answered ${answer.status}: ${text}`)
  return { ...(text ? JSON.parse(text) : {}), bearer: answer.headers.get('Authorization')?.replace(/^Bearer /, '') }
}

// totp returns the code of a base32 key, `ahead` steps after now (RFC 6238).
function totp(key, ahead = 0) {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'
  const bits = [...key].map((c) => alphabet.indexOf(c).toString(2).padStart(5, '0')).join('')
  const secret = Buffer.from(bits.match(/.{8}/g).map((b) => parseInt(b, 2)))
  const counter = Buffer.alloc(8)
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30000) + ahead))
  const sum = createHmac('sha1', secret).update(counter).digest()
  const code = (sum.readUInt32BE(sum[19] & 15) & 0x7fffffff) % 1_000_000
  return String(code).padStart(6, '0')
}

const keys = createRemoteJWKSet(new URL(`${identity}/auth/keys`))
const seen = []

// check verifies a token of a kind.
async function check(kind, token, scope, audience) {
  const { payload, protectedHeader } = await jwtVerify(token, keys, {
    issuer: identity, audience, algorithms: ['ES256'], requiredClaims: ['sub', 'iat', 'exp', 'jti', 'scope'],
  })
  assert.equal(payload.scope, scope, `${kind}: scope`)
  assert.ok(protectedHeader.kid, `${kind}: kid`)
  const [head, , signature] = token.split('.')
  const forged = Buffer.from(JSON.stringify({ ...payload, sub: '00000000-0000-7000-8000-000000000000' })).toString('base64url')
  await assert.rejects(jwtVerify([head, forged, signature].join('.'), keys), errors.JWSSignatureVerificationFailed)
  seen.push(kind)
  console.log(`${kind.padEnd(12)} ${scope.padEnd(12)} aud ${[payload.aud].flat().join(' ').padEnd(12)} kid ${protectedHeader.kid}`)
  return payload
}

// offers reports whether the server's OpenAPI document has an operation.
async function offers(document, path) {
  return (await (await fetch(`${url}/api/${document}`)).text()).includes(`\n  ${path}:`)
}

const signup = await call('POST', `${identity}/signup`, null, { address: 'new@example.com', password: 'quiet-heron-17-lagoon' })
assert.equal(signup.token, signup.bearer)
assert.equal((await check('signup', signup.token, 'idtoken', 'id')).authLevel, 0)

let login = await call('POST', `${identity}/auth/login`, null, { email, type: 'bcrypt', key: password })
const claims = await check('ID', login.token, 'idtoken', 'id')
assert.equal(claims.ver, '3.0')
let idToken = login.token
let access = (await call('POST', `${identity}/auth/access`, idToken)).token
await check('access', access, 'access', 'id')
await check('access', access, 'access', 'transfer')
await check('uid', (await call('POST', `${identity}/auth/uid`, idToken)).token, 'uidtoken', 'uid')
const park = `${identity}/auth/park?keep_session=true&state=xyz&redirect_uri=${encodeURIComponent(url + '/')}`
const parked = await check('pickup', (await call('POST', park, idToken)).token, 'park', 'id')
assert.equal(parked.nonce, 'xyz')
if (await offers('identity-v3.yaml', '/oidc/auth')) {
  const preflight = await call('POST', `${identity}/oidc/auth`, null, { redirectUrl: `${url}/` })
  assert.equal((await check('preflight', preflight.token, 'preflight', 'id')).state, preflight.state)
}

const reserved = await call('POST', `${transfer}/public/mailbox/demo`, null, { anonEmail: 'sam@example.com', anonSender: 'Sam' })
await check('reservation', reserved.bearer, 'reservation', 'transfer')

if (await offers('transfer-v2.yaml', '/public/transfers/{key}/access') && await offers('transfer-v2.yaml', '/reservations')) {
  const drop = await call('POST', `${transfer}/reservations`, access, {})
  const object = { clientId: 'one', name: 'one.txt', intendedSize: 3 }
  await call('POST', `${transfer}/reservations/${drop.uid}/objects`, drop.bearer, object)
  const put = await fetch(`${transfer}/reservations/${drop.uid}/objects/one/content`, {
    method: 'PUT', headers: { Authorization: `Bearer ${drop.bearer}`, 'Content-Type': 'text/plain' }, body: 'one',
  })
  assert.ok(put.ok, `the upload answered ${put.status}`)
  const confirmed = await call('POST', `${transfer}/reservations/${drop.uid}/confirm`, drop.bearer)
  const key = confirmed.link.split('/').at(-1)
  const opened = await call('POST', `${transfer}/public/transfers/${key}/access`, null, {})
  await check('download', opened.token ?? opened.bearer, 'download', 'transfer')
}

const factor = await call('POST', `${identity}/profile/authenticators`, access, { type: 'totp' })
const proof = { email, type: 'totp', key: totp(factor.key) }
const raised = await call('POST', `${identity}/profile/authenticators/${factor.uid}/verify`, access, proof)
assert.equal((await check('ID', raised.bearer, 'idtoken', 'id')).authLevel, 2)
login = await call('POST', `${identity}/auth/login`, null, { email, type: 'bcrypt', key: password })
assert.deepEqual((await check('mfa', login.token, 'mfa', 'id')).authenticators, ['totp'])
const full = await call('POST', `${identity}/auth/login`, login.token, { ...proof, key: totp(factor.key, 1) })
assert.equal((await check('ID', full.token, 'idtoken', 'id')).authLevel, 2)

const { keys: published } = await (await fetch(`${identity}/auth/keys`)).json()
for (const k of published) assert.ok(!('d' in k), 'a private key is published')
assert.ok(published.some((k) => k.kid === decodeProtectedHeader(full.token).kid))
console.log(`jose verified: ${[...new Set(seen)].join(', ')}`)
