// Every flow of the section "Signup and external providers", end to end between a Consign server and npm oidc-provider.
// test/oidc.sh starts the server and runs this with SERVER_URL and IDP_PORT.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { after, before, test } from "node:test";
import * as openid from "openid-client";
import { Browser, formOf } from "./browser.mjs";
import { client, startProvider } from "./provider.mjs";

const consign = process.env.SERVER_URL ?? "";
const api = `${consign}/id/v3`;
/** @type {Awaited<ReturnType<typeof startProvider>>} */
let provider;
let redirectUrl = "";

before(async () => {
  redirectUrl = (await call("GET", "/environment")).body.oidcSettings.redirectUrl;
  provider = await startProvider(Number(process.env.IDP_PORT), { redirect: redirectUrl, logout: `${api}/oidc/auth/logout` });
  provider.people.set("eva", { email: "eva@example.org", email_verified: true, name: "Eva Moss" });
});
after(() => provider.stop());

/**
 * Calls the identity API.
 * @param {string} method @param {string} path @param {{token?: string, json?: unknown, base?: string}} [options]
 */
async function call(method, path, { token, json, base = api } = {}) {
  const response = await fetch(base + path, {
    method,
    redirect: "manual",
    headers: { ...(token ? { authorization: `Bearer ${token}` } : {}), ...(json ? { "content-type": "application/json" } : {}) },
    body: json ? JSON.stringify(json) : undefined,
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: text ? JSON.parse(text) : undefined };
}

/** @param {Record<string, string>} parameters */
function authorization(parameters) {
  const query = { client_id: client.id, redirect_uri: redirectUrl, scope: "openid email profile", ...parameters };
  return `${provider.issuer}/auth?${new URLSearchParams(query)}`;
}

const someone = () => new Browser(provider.issuer);

/** The cookie that binds a login to its browser, by state. @type {Map<string, string>} */
const bindings = new Map();

/** Registers a form post. */
async function register() {
  const { status, body, headers } = await call("POST", "/oidc/auth", { json: { redirectUrl: `${consign}/login?x=1` } });
  assert.equal(status, 200);
  bindings.set(body.state, headers.getSetCookie().map((line) => line.split(";")[0]).join("; "));
  return body;
}

/**
 * Posts the form on a provider's page, as its script would. Returns the URL to which the browser goes.
 * @param {{html: string, url: string}} page
 */
async function submit(page) {
  const { action, fields } = formOf(page.html, page.url);
  assert.equal(action, redirectUrl);
  const response = await fetch(action, { method: "POST", redirect: "manual",
    headers: { origin: provider.issuer, cookie: bindings.get(fields.state) ?? "" }, body: new URLSearchParams(fields) });
  return { status: response.status, location: response.headers.get("location"), body: await response.text() };
}

/** @param {Browser} browser @param {string} login */
async function formPost(browser, login) {
  const { state, token } = await register();
  const page = await browser.signIn(authorization({ response_type: "id_token", response_mode: "form_post", state, nonce: state }), login);
  return { state, token, page };
}

/** @param {Browser} browser @param {string} login */
async function signInByForm(browser, login) {
  const { token, page } = await formPost(browser, login);
  const posted = await submit(page);
  assert.deepEqual([posted.status, posted.location], [303, `${consign}/login?x=1`]);
  const claimed = await call("GET", "/oidc/auth", { token });
  assert.equal(claimed.status, 200, JSON.stringify(claimed.body));
  assert.equal(claimed.headers.get("authorization"), `Bearer ${claimed.body.token}`);
  return /** @type {string} */ (claimed.body.token);
}

/** Returns an ID token of the external provider. @param {string} login */
async function idToken(login) {
  const page = await someone().signIn(authorization({ response_type: "id_token", response_mode: "form_post", state: "s",
    nonce: randomBytes(16).toString("hex") }), login);
  return formOf(page.html, page.url).fields.id_token;
}

/** @param {string} token */
const implicit = (token) => call("POST", "/oidc/auth/implicit", { json: { token } });

/** @param {string} token */
const claims = (token) => JSON.parse(Buffer.from(token.split(".")[1], "base64url").toString());

/** @param {string} token an ID token */
async function access(token) {
  const { status, body } = await call("POST", "/auth/access", { token });
  assert.equal(status, 200);
  return /** @type {string} */ (body.token);
}

/** Requests a code with PKCE and nonce. @param {string} login */
async function code(login) {
  const verifier = randomBytes(32).toString("base64url");
  const challenge = createHash("sha256").update(verifier).digest("base64url");
  const page = await someone().signIn(authorization({
    response_type: "code", state: "s", nonce: challenge, code_challenge: challenge, code_challenge_method: "S256",
  }), login);
  return { code: new URL(page.leaves).searchParams.get("code"), code_verifier: verifier, issuer: provider.issuer, clientId: client.id };
}

test("the environment names the provider", async () => {
  const { body } = await call("GET", "/environment");
  assert.deepEqual(body.oidcSettings.clients, [{ type: "keycloak", issuer: provider.issuer, clientId: client.id, name: "Test provider" }]);
});

test("form post: registered, posted once, claimed once", async () => {
  const { token, page } = await formPost(someone(), "eva");
  assert.equal((await call("GET", "/oidc/auth", { token })).status, 401);
  const posted = await submit(page);
  assert.deepEqual([posted.status, posted.location, posted.body], [303, `${consign}/login?x=1`, ""]);
  const claimed = await call("GET", "/oidc/auth", { token });
  assert.equal(claimed.status, 200);
  assert.equal((await call("GET", "/oidc/auth", { token })).status, 403);
  assert.equal((await submit(page)).status, 400);
  const profile = await call("GET", "/profile", { token: await access(claimed.body.token) });
  assert.equal(profile.body.name, "Eva Moss");
  assert.deepEqual(profile.body.emails, [{ address: "eva@example.org", primary: true, verified: true, removeAt: null }]);
});

// The client below knows the specification alone: no cookie, no page. Its person has an ordinary browser.
test("form post: a client written from the specification alone", async () => {
  const registered = await (await fetch(`${api}/oidc/auth`,
    { method: "POST", headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirectUrl: `${consign}/login?x=2` }) })).json();
  const pickUp = () => fetch(`${api}/oidc/auth`, { headers: { authorization: `Bearer ${registered.token}` } });

  const page = await someone().signIn(authorization({ response_type: "id_token", response_mode: "form_post", state: registered.state,
    nonce: registered.state }), "eva");
  const { action, fields } = formOf(page.html, page.url);
  const posted = await fetch(action, { method: "POST", redirect: "manual", headers: { origin: provider.issuer },
    body: new URLSearchParams(fields) });
  assert.deepEqual([posted.status, posted.headers.get("location")], [303, `${consign}/continue`]);
  const [cookie] = posted.headers.getSetCookie().filter((line) => /confirmation=/.test(line));
  assert.match(cookie, /HttpOnly/);
  assert.match(cookie, /SameSite=Strict/);
  assert.match((await fetch(posted.headers.get("location") ?? "")).headers.get("content-security-policy") ?? "", /frame-ancestors 'none'/);
  assert.equal((await pickUp()).status, 401);

  // What the page does in the person's browser.
  const own = { cookie: cookie.split(";")[0], origin: consign, "sec-fetch-site": "same-origin" };
  const waiting = await fetch(`${api}/oidc/auth/confirmation`, { headers: own });
  assert.equal((await waiting.json()).address, "eva@example.org");
  assert.equal((await pickUp()).status, 401);
  const goes = await fetch(`${api}/oidc/auth/confirmation`, { method: "POST", headers: own });
  assert.deepEqual([goes.status, await goes.json()], [200, { redirectUrl: `${consign}/login?x=2` }]);
  const claimed = await pickUp();
  assert.equal(claimed.status, 200);
  assert.equal(claims((await claimed.json()).token).email, "eva@example.org");
  assert.equal((await pickUp()).status, 403);
});

test("form post: the address may change, the person stays", async () => {
  provider.people.set("kim", { email: "kim@example.org", email_verified: true, name: "Kim" });
  const first = claims(await signInByForm(someone(), "kim"));
  provider.people.set("kim", { email: "kim.other@example.org", email_verified: true, name: "Kim" });
  const second = claims(await signInByForm(someone(), "kim"));
  assert.equal(second.sub, first.sub);
  assert.equal(second.email, "kim@example.org");
});

test("form post: what the provider refuses reaches the client", async () => {
  const { state, token } = await register();
  const page = await someone().signIn(authorization({ response_type: "id_token", response_mode: "form_post", state, nonce: state }), "eva",
    { refuse: true });
  const posted = await submit(page);
  assert.deepEqual([posted.status, posted.location], [303, `${consign}/login?x=1&error=access_denied`]);
  assert.equal((await call("GET", "/oidc/auth", { token })).status, 401);
});

test("form post: a token for another state is refused", async () => {
  const { state } = await register();
  const { page } = await formPost(someone(), "eva");
  const { action, fields } = formOf(page.html, page.url);
  const response = await fetch(action, { method: "POST", redirect: "manual", body: new URLSearchParams({ ...fields, state }) });
  assert.deepEqual([response.status, response.headers.get("location")], [303, `${consign}/login?x=1&error=invalid_token`]);
});

test("implicit: once, and found again", async () => {
  const token = await idToken("eva");
  const first = await implicit(token);
  assert.equal(first.status, 200);
  assert.equal((await implicit(token)).status, 400);
  const form = claims(await signInByForm(someone(), "eva"));
  assert.equal(claims(first.body.token).sub, form.sub);
  assert.equal((await call("POST", "/auth/exists", { json: { address: "eva@example.org" } })).body.provider, provider.issuer);
});

test("implicit: addresses that are not proved, missing, or somebody's", async () => {
  provider.people.set("una", { email: "una@example.org", email_verified: false });
  provider.people.set("uma", { email: "uma@example.org", email_verified: "false" });
  provider.people.set("nil", { name: "Nil" });
  provider.people.set("owner", { email: "owner@example.com", email_verified: true }); // of the demo, with a password
  const answers = [];
  for (const login of ["una", "uma", "nil", "owner"]) answers.push(await implicit(await idToken(login)));
  assert.deepEqual(answers.map((a) => a.status), [401, 401, 400, 403]);
  assert.equal(answers[3].body.error.message, "The data could not be stored.");
});

test("code with PKCE: once, with the right verifier", async () => {
  const grant = await code("eva");
  assert.ok(grant.code);
  const answer = await call("POST", "/oidc/auth/code", { json: grant });
  assert.equal(answer.status, 200, JSON.stringify(answer.body));
  assert.equal(claims(answer.body.token).email, "eva@example.org");
  assert.equal((await call("POST", "/oidc/auth/code", { json: grant })).status, 400);
  const wrong = { ...(await code("eva")), code_verifier: randomBytes(32).toString("base64url") };
  assert.equal((await call("POST", "/oidc/auth/code", { json: wrong })).status, 400);
  const unknown = { ...(await code("eva")), clientId: "another" };
  assert.equal((await call("POST", "/oidc/auth/code", { json: unknown })).status, 401);
});

test("device grant: openid-client finds it, waits for the person, and gets a session", async () => {
  const config = await openid.discovery(new URL(api), "a program", undefined, openid.None(),
    { algorithm: "oauth2", execute: [openid.allowInsecureRequests] });
  const begun = await openid.initiateDeviceAuthorization(config, {});
  assert.equal(begun.verification_uri, `${consign}/device`);
  const poll = openid.pollDeviceAuthorizationGrant(config, begun);
  const person = await access(await signInByForm(someone(), "eva"));
  assert.equal((await call("POST", `/device/${begun.user_code}/approve`, { token: person })).status, 204);
  const granted = await poll;
  assert.equal(granted.token_type, "bearer");
  assert.equal((await call("GET", "/profile", { token: granted.access_token })).body.name, "Eva Moss");
  const session = String(granted.session_token);
  assert.equal(claims(session).email, "eva@example.org");
  await access(session);

  const refused = await openid.initiateDeviceAuthorization(config, {});
  assert.equal((await call("POST", `/device/${refused.user_code}/refuse`, { token: person })).status, 204);
  await assert.rejects(openid.pollDeviceAuthorizationGrant(config, refused), { error: "access_denied" });
});

test("federated people register no authenticators", async () => {
  const token = await access(await signInByForm(someone(), "eva"));
  const answer = await call("POST", "/profile/authenticators", { token, json: { type: "totp" } });
  assert.deepEqual([answer.status, answer.body.error.code], [403, 403012]);
});

test("front-channel logout ends the sessions of that browser, within a second", async () => {
  const browser = someone();
  const [one, two] = [await signInByForm(browser, "eva"), await signInByForm(browser, "eva")];
  const elsewhere = await signInByForm(someone(), "eva");
  const tokens = [await access(one), await access(two)];
  const page = await browser.open(`${provider.issuer}/session/end`);
  const form = formOf(page.html, page.url);
  const left = await browser.open(form.action, { ...form.fields, logout: "yes" });
  const frames = [...left.html.matchAll(/<iframe src="([^"]*)"/g)].map((m) => m[1]);
  assert.equal(frames.length, 1, left.html);
  assert.equal((await fetch(frames[0], { headers: { accept: "text/html" } })).status, 200);
  const out = Date.now();
  for (const token of tokens) {
    while ((await call("GET", "/profile", { token })).status === 200) assert.ok(Date.now() - out < 1000, "access goes on");
  }
  for (const token of [one, two]) assert.equal((await call("POST", "/auth/access", { token })).status, 401);
  await access(elsewhere);
});

test("new keys of the provider are found by themselves", async () => {
  provider.rotate();
  assert.equal((await implicit(await idToken("eva"))).status, 200);
});

test("a provider that is down: 409, and the retry works", async () => {
  const grant = await code("eva");
  await provider.stop();
  const down = await call("POST", "/oidc/auth/code", { json: grant });
  assert.deepEqual([down.status, down.body.error.message], [409, "The data could not be stored."]);
  await provider.start();
  assert.equal((await call("POST", "/oidc/auth/code", { json: grant })).status, 200);
});
