// An OpenID provider (npm oidc-provider) for the test of external logins: people defined by the test, a login page without
// password, and the front-channel logout frames that oidc-provider does not render.
import { createServer } from "node:http";
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { Provider } from "oidc-provider";

export const client = { id: "consign", secret: "secret-of-consign-at-the-test-provider" };

/**
 * Starts a provider.
 * @param {number} port on loopback
 * @param {{redirect: string, logout: string}} consign redirect URIs of logins and logouts
 */
export async function startProvider(port, consign) {
  const issuer = `http://127.0.0.1:${port}`;
  /** @type {Map<string, Record<string, unknown>>} claims of each person, by sub */
  const people = new Map();
  /** @type {import("node:http").RequestListener} */
  let handler;
  /** @type {string[]} sids of the sessions being ended */
  let ending = [];

  function make() {
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const provider = new Provider(issuer, {
      jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kid: randomUUID(), use: "sig", alg: "RS256" }] },
      clients: [{
        client_id: client.id,
        client_secret: client.secret,
        application_type: "native", // http on localhost
        redirect_uris: [consign.redirect],
        response_types: ["id_token", "code"],
        grant_types: ["implicit", "authorization_code"],
        // Makes oidc-provider put sid into ID tokens.
        backchannel_logout_uri: `${issuer}/backchannel`,
        backchannel_logout_session_required: true,
      }],
      claims: { openid: ["sub"], email: ["email", "email_verified"], profile: ["name"] },
      conformIdTokenClaims: false,
      findAccount: (_, sub) => people.has(sub) ? { accountId: sub, claims: () => ({ sub, ...people.get(sub) }) } : undefined,
      cookies: { keys: [randomUUID()] },
      features: {
        devInteractions: { enabled: true },
        backchannelLogout: { enabled: true },
        rpInitiatedLogout: {
          enabled: true,
          logoutSource(ctx, form) {
            ending = Object.values(ctx.oidc.session?.authorizations ?? {}).map((a) => a.sid);
            ctx.body = `<body>${form}</body>`;
          },
          postLogoutSuccessSource(ctx) { // OpenID Connect Front-Channel Logout 1.0, section 3
            ctx.body = ending.map((sid) => `<iframe src="${consign.logout}?${new URLSearchParams({ iss: issuer, sid })}"></iframe>`)
              .join("\n");
          },
        },
      },
    });
    provider.on("server_error", (_, error) => console.error(error));
    handler = provider.callback();
  }

  const server = createServer((request, response) => {
    if (request.url === "/backchannel") {
      request.resume();
      response.end();
      return;
    }
    handler(request, response);
  });
  const listen = () => new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(undefined)));
  make();
  await listen();
  return {
    issuer,
    people,
    /** Replaces the keys and signs everybody out. */
    rotate: make,
    /** Restarts the provider. */
    stop: () => new Promise((resolve) => { server.close(() => resolve(undefined)); server.closeAllConnections(); }),
    start: listen,
  };
}
