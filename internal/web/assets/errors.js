// The error codes of the two APIs and the sentence for each. The codes are those of the OpenAPI documents; the names are
// those of the Go errors in internal/identity/errors.go, internal/transfer/errors.go and internal/token/errors.go. Both
// APIs use the same numbers for different errors. A code without a sentence gets the sentence of its HTTP status.

import { F, T, bytes, count, duration } from "./i18n.js";

// Codes, written by go test ./internal/app -run ErrorCodes -update.

/** General: internal/fault/fault.go */
export const GeneralCode = Object.freeze({
  UNAUTHENTICATED: 401001,
  CONFLICT: 409001,
  BAD_RANGE: 416001,
});

/** Tokens: internal/token/errors.go */
export const TokenCode = Object.freeze({
  MISSING: 401901,
  UNVERIFIED: 403901,
  FACTOR_REQUIRED: 403902,
  CROSS_ORIGIN: 403903,
  NOT_OPERATOR: 403907,
  OPERATOR_FACTOR: 403908,
  OPERATOR_SESSION: 403909,
  PROOF_MISSING: 403910,
  PROOF_WRONG: 403911,
  FACTOR_MISSING: 403912,
  FACTOR_WRONG: 403913,
});

/** Identity API and console: internal/identity/errors.go */
export const IdentityCode = Object.freeze({
  UNSUPPORTED_TYPE: 400030,
  MFA_TOKEN: 400031,
  FACTOR_NOT_VERIFIED: 400032,
  EXTERNAL_TOKEN: 400050,
  EXTERNAL_CODE: 400051,
  EXTERNAL_STATE: 400052,
  CREDENTIALS: 401002,
  WRONG_HOST: 401003,
  VERIFIER: 401004,
  EXTERNAL_EMAIL: 401050,
  EXTERNAL_PROVIDER: 401051,
  EXTERNAL_MEMBER: 401052,
  EXTERNAL_PENDING: 401053,
  SESSION_NOT_YOUNG: 403010,
  EMAIL_NOT_RECENT: 403011,
  FEDERATED: 403012,
  TYPE_REGISTERED: 403013,
  SIGNUP_ADDRESS_IN_USE: 403014,
  RESET_REFUSED: 403015,
  FOREIGN_ADDRESS: 403017,
  PRIMARY_ADDRESS: 403018,
  ADDRESS_NOT_VERIFIED: 403019,
  LAST_ADMIN: 403020,
  USER_LIMIT: 403021,
  STILL_MEMBER: 403022,
  NOT_MEMBER: 403023,
  ROLE_MISSING: 403024,
  SHARED_ROLES: 403025,
  INVITATION_ADDRESS: 403026,
  HOSTNAME_REFUSED: 403027,
  INACTIVE_HOSTNAMES: 403028,
  SELF_REMOVAL: 403029,
  FREE_ORGANIZATION: 403040,
  NO_SUBSCRIPTION: 403041,
  PROFILE_INCOMPLETE: 403042,
  NO_CONTRACT: 403043,
  TOO_MANY_ADDRESSES: 403044,
  VERIFICATION_FAILED: 403045,
  KEY_CHANGE: 403046,
  CANNOT_UNREGISTER: 403047,
  FACTOR_FIRST: 403048,
  TOO_MANY_API_TOKENS: 403049,
  EXTERNAL_ADDRESS_IN_USE: 403050,
  EXTERNAL_CLAIMED: 403051,
  TOO_MANY_PASSKEYS: 403055,
  PASSKEY_HOST: 403056,
  JUNIOR: 403058,
  TOO_MANY_ORGANIZATIONS: 403059,
  KEY_NOT_FOUND: 404002,
  NOTHING_PARKED: 404003,
  TOKEN_NOT_FOUND: 404006,
  INVITATION_NOT_FOUND: 404011,
  API_TOKEN_NOT_FOUND: 404017,
  USER_CODE: 404018,
  CONFIRMATION: 404021,
  ADDRESS_IN_USE: 409014,
  HOST_IN_USE: 409015,
  MEMBER_ELSEWHERE: 409016,
  MEMBER_NOT_VERIFIED: 409017,
  ALREADY_MEMBER: 409020,
  EXTERNAL_UNREACHABLE: 409050,
  EMAIL_TOO_OFTEN: 429002,
});

/** Webhooks: internal/webhook/errors.go */
export const WebhookCode = Object.freeze({
  TOO_MANY: 403054,
  NOT_FOUND: 404019,
  DELIVERY_NOT_FOUND: 404020,
});

/** Transfer API: internal/transfer/errors.go */
export const TransferCode = Object.freeze({
  KEY_INVALID: 400010,
  UNCONFIRMABLE: 400011,
  BODY_LENGTH: 400012,
  DIGEST: 400013,
  PASSWORD: 401010,
  CODE: 401011,
  TTL: 403002,
  ABSENT: 403030,
  PERSONAL_VOLUME: 403031,
  SUBSCRIPTION_VOLUME: 403032,
  SERVICE_DISABLED: 403033,
  STORAGE_VOLUME: 403034,
  TOO_MANY_FILES: 403035,
  FILE_TOO_LARGE: 403036,
  TOO_MANY_RECIPIENTS: 403037,
  GROUP_LIMIT: 403038,
  MIME_TYPE: 403040,
  FIXED_MEMBER: 403041,
  ADDRESS_NOT_OWN: 403042,
  LIMIT_RAISED: 403043,
  FILTER_UNAVAILABLE: 403044,
  ROLE_MISSING: 403045,
  LOCKED: 403046,
  NO_CODE: 403047,
  LINK_RESERVED: 403048,
  PRIORITY: 403050,
  PROTECTION: 403051,
  ADMIN_ROLE: 403052,
  MAILBOX_UNCONFIRMED: 403071,
  CLIENT_UNCONFIRMED: 403072,
  MESSAGE_TO_MANY: 403073,
  SENDER_CODE: 403074,
  SENDER_CODES_USED: 403075,
  SENDER_ONLY: 403080,
  NO_FORWARDING: 403085,
  DOWNLOAD_LIMIT: 403086,
  RECIPIENT_ONLY: 403087,
  PINNING: 403088,
  BEING_CHECKED: 403090,
  HELD: 403091,
  REMOVED: 403092,
  NO_DOWNLOAD_ANYWAY: 403093,
  REQUEST_CLOSED: 403100,
  LATE: 403101,
  REQUESTS: 403102,
  TEMPLATE: 403103,
  ONE_TIME_KEY: 404010,
  CONFIRMED: 409010,
  CLIENT_ID: 409011,
  OVERTAKEN: 409012,
  VANITY_LINK: 409013,
  LINK_QUARANTINED: 409014,
  ENDED: 409020,
  RECIPIENT_TAKEN: 409021,
  ITEM_TAKEN: 409030,
  ITEM_STATE: 409031,
  ITEM_USED: 409032,
  NEW_TRANSFERS: 429003,
  TOO_MANY_CODES: 429004,
  MAILBOX_BUSY: 429011,
  CLIENT_BUSY: 429012,
  RESERVATION_UPLOADS: 429013,
  CLIENT_UPLOADS: 429014,
  TOO_MANY_RECIPIENTS_TODAY: 429015,
  TOO_MANY_SENDER_CODES: 429016,
  RESENT: 429020,
  ASKED: 429021,
  REMINDED: 429022,
  TOO_MANY_LINKS: 429023,
  CLIENT_TRANSFERS: 429030,
  STORAGE_FULL: 503010,
  STOPPING: 503011,
  DAMAGED: 503012,
  UPLOADS: 503021,
});

// End of the codes.

/** Sentences for TokenCode. @type {Record<number, () => string>} */
const tokenSentences = {
  [TokenCode.UNVERIFIED]: () => T("Please confirm your email address first."),
  [TokenCode.FACTOR_REQUIRED]: () => T("Your organization requires a second factor. Set one up on the account page."),
  [TokenCode.CROSS_ORIGIN]: () => T("Your browser is too old for this. Please update it and reload the page."),
  [TokenCode.PROOF_MISSING]: () => T("To do this, you need to have signed in within the last 15 minutes. Please sign in again."),
  [TokenCode.PROOF_WRONG]: () => T("This password is not right."),
  [TokenCode.FACTOR_MISSING]: () => T("This session began without your second factor. Please sign in again with it."),
  [TokenCode.FACTOR_WRONG]: () => T("This code is not right, or no longer valid."),
};

/** Sentences for IdentityCode. @type {Record<number, () => string>} */
const identitySentences = {
  [IdentityCode.UNSUPPORTED_TYPE]: () => T("This way of signing in is not offered here."),
  [IdentityCode.MFA_TOKEN]: () => T("That took too long. Please sign in again."),
  [IdentityCode.FACTOR_NOT_VERIFIED]: () => T("Your account has no verified second factor of this kind."),
  [IdentityCode.EXTERNAL_TOKEN]: () => T("The other service didn’t sign you in."),
  [IdentityCode.EXTERNAL_CODE]: () => T("That took too long. Please sign in again."),
  [IdentityCode.EXTERNAL_STATE]: () => T("That took too long. Please sign in again."),
  [IdentityCode.CREDENTIALS]: () => T("The email address and the password or code don’t match."),
  [IdentityCode.WRONG_HOST]: () => T("Your organization has its own address. Please sign in there."),
  [IdentityCode.VERIFIER]: () => T("That took too long. Please sign in again."),
  [IdentityCode.EXTERNAL_EMAIL]: () => T("The other service does not confirm your email address."),
  [IdentityCode.EXTERNAL_PROVIDER]: () => T("The other service didn’t sign you in."),
  [IdentityCode.EXTERNAL_MEMBER]: () => T("The organization has as many members as its plan allows."),
  [IdentityCode.EXTERNAL_PENDING]: () => T("The other service didn’t sign you in."),
  [IdentityCode.SESSION_NOT_YOUNG]: () => T("To do this, you need to have signed in within the last 15 minutes. Please sign in again."),
  [IdentityCode.EMAIL_NOT_RECENT]: () =>
    T("For this, your email address must have been confirmed recently. Please set a new password by email."),
  [IdentityCode.FEDERATED]: () => T("Your account is managed by another service; change this there."),
  [IdentityCode.TYPE_REGISTERED]: () => T("There can be only one of this kind."),
  [IdentityCode.SIGNUP_ADDRESS_IN_USE]: () => T("This email address is already in use."),
  [IdentityCode.RESET_REFUSED]: () => T("There is no account with a password for this address, or the address was never confirmed."),
  [IdentityCode.FOREIGN_ADDRESS]: () => T("This email address is already in use."),
  [IdentityCode.PRIMARY_ADDRESS]: () => T("This is your main address. Make another one the main address first."),
  [IdentityCode.ADDRESS_NOT_VERIFIED]: () => T("Please confirm your email address first."),
  [IdentityCode.LAST_ADMIN]: () => T("You’re the last administrator. Make someone else an administrator first."),
  [IdentityCode.USER_LIMIT]: () => T("The organization has as many members as its plan allows."),
  [IdentityCode.STILL_MEMBER]: () => T("You are a member of an organization. Leave it first."),
  [IdentityCode.NOT_MEMBER]: () => T("You are not a member of this organization."),
  [IdentityCode.ROLE_MISSING]: () => T("Only an administrator of the organization may do this."),
  [IdentityCode.SHARED_ROLES]: () => T("A link for everybody can give permissions for services only."),
  [IdentityCode.INVITATION_ADDRESS]: () => T("The invitation is for an address that is not a confirmed one of yours."),
  [IdentityCode.HOSTNAME_REFUSED]: () => T("The hostname cannot be changed."),
  [IdentityCode.INACTIVE_HOSTNAMES]: () => T("Hostnames that are no longer used can be removed, not added."),
  [IdentityCode.TOO_MANY_ORGANIZATIONS]: () =>
    T("You’ve created 3 organizations in the last 30 days. Please wait before you create another one."),
  [IdentityCode.JUNIOR]: () =>
    T("You’ve been an administrator for less than 7 days. An administrator who has been one for longer can do this."),
  [IdentityCode.SELF_REMOVAL]: () => T("To remove yourself, leave the organization."),
  [IdentityCode.FREE_ORGANIZATION]: () => T("This organization cannot be deleted."),
  [IdentityCode.NO_SUBSCRIPTION]: () => T("The document needs an active subscription and a complete profile."),
  [IdentityCode.PROFILE_INCOMPLETE]: () => T("The document needs an active subscription and a complete profile."),
  [IdentityCode.NO_CONTRACT]: () => T("The document needs an active subscription and a complete profile."),
  [IdentityCode.TOO_MANY_ADDRESSES]: () => T("There can be 10 addresses at most."),
  [IdentityCode.VERIFICATION_FAILED]: () => T("This code is not right, or no longer valid."),
  [IdentityCode.KEY_CHANGE]: () => T("This password is not right."),
  [IdentityCode.CANNOT_UNREGISTER]: () => T("This way of signing in cannot be removed."),
  [IdentityCode.FACTOR_FIRST]: () => T("This session began without your second factor. Please sign in again with it."),
  [WebhookCode.TOO_MANY]: () => T("There are too many webhooks. Delete one first."),
  [WebhookCode.NOT_FOUND]: () => T("This webhook no longer exists."),
  [WebhookCode.DELIVERY_NOT_FOUND]: () => T("This delivery is no longer in the log."),
  [IdentityCode.CONFIRMATION]: () => T("This sign-in is over. Begin again where you want to sign in."),
  [IdentityCode.TOO_MANY_PASSKEYS]: () => T("You have as many passkeys as are allowed. Remove one first."),
  [IdentityCode.PASSKEY_HOST]: () => T("Passkeys don’t work here: this page is reached by an IP address."),
  [IdentityCode.TOO_MANY_API_TOKENS]: () => T("There are too many API tokens. Revoke one first."),
  [IdentityCode.EXTERNAL_ADDRESS_IN_USE]: () => T("This email address has an account here already. Sign in with its password."),
  [IdentityCode.EXTERNAL_CLAIMED]: () => T("That took too long. Please sign in again."),
  [IdentityCode.KEY_NOT_FOUND]: () => T("This link is unknown, was already used, or has expired."),
  [IdentityCode.NOTHING_PARKED]: () => T("The other service didn’t sign you in."),
  [IdentityCode.TOKEN_NOT_FOUND]: () => T("This session has already ended."),
  [IdentityCode.INVITATION_NOT_FOUND]: () => T("This link is unknown, was already used, or has expired."),
  [IdentityCode.USER_CODE]: () => T("This code is unknown, used or expired. Start again in the program."),
  [IdentityCode.API_TOKEN_NOT_FOUND]: () => T("This API token no longer exists."),
  [IdentityCode.ADDRESS_IN_USE]: () => T("This email address is already in use."),
  [IdentityCode.HOST_IN_USE]: () => T("This name is already taken."),
  [IdentityCode.MEMBER_ELSEWHERE]: () => T("This person is a member of another organization."),
  [IdentityCode.MEMBER_NOT_VERIFIED]: () => T("There is no account with a password for this address, or the address was never confirmed."),
  [IdentityCode.ALREADY_MEMBER]: () => T("This person is a member already."),
  [IdentityCode.EXTERNAL_UNREACHABLE]: () => T("The other service cannot be reached at the moment. Please try again."),
  [IdentityCode.EMAIL_TOO_OFTEN]: () => T("You can do this once a minute. Please wait a moment."),
};

/** Sentences for TransferCode. @type {Record<number, () => string>} */
const transferSentences = {
  [TransferCode.KEY_INVALID]: () => T("This is not the name of a mailbox."),
  [TransferCode.UNCONFIRMABLE]: () => T("Something is missing before this can be delivered."),
  [TransferCode.BODY_LENGTH]: () => T("The connection was lost. What has arrived is safe."),
  [TransferCode.DIGEST]: () => T("A file was damaged in transit. Please send it again."),
  [TransferCode.PASSWORD]: () => T("This password is not right."),
  [TransferCode.CODE]: () => T("This code is not right, or no longer valid."),
  [TransferCode.TTL]: () => T("This period of availability is not offered."),
  [TransferCode.ABSENT]: () => T("The owner is away and doesn’t accept files right now."),
  [TransferCode.PERSONAL_VOLUME]: () => T("The owner's upload volume for this month is used up."),
  [TransferCode.SUBSCRIPTION_VOLUME]: () => T("The monthly volume of this organization is used up."),
  [TransferCode.SERVICE_DISABLED]: () => T("This mailbox doesn’t accept files right now."),
  [TransferCode.STORAGE_VOLUME]: () => T("The storage of this organization is full."),
  [TransferCode.TOO_MANY_FILES]: () => T("That’s more files than this mailbox accepts at once."),
  [TransferCode.FILE_TOO_LARGE]: () => T("This file is too large for this mailbox."),
  [TransferCode.TOO_MANY_RECIPIENTS]: () => T("That’s more recipients than allowed."),
  [TransferCode.GROUP_LIMIT]: () => T("Your plan includes no more groups."),
  [TransferCode.MIME_TYPE]: () => T("This mailbox doesn’t accept this file type."),
  [TransferCode.FIXED_MEMBER]: () => T("This can no longer be changed."),
  [TransferCode.ADDRESS_NOT_OWN]: () => T("This is not one of your confirmed email addresses."),
  [TransferCode.LIMIT_RAISED]: () => T("This is above the limit of your organization."),
  [TransferCode.FILTER_UNAVAILABLE]: () => T("Filters by file type are not part of your plan."),
  [TransferCode.ROLE_MISSING]: () => T("You lack the permission to transfer files. Ask an administrator of your organization."),
  [TransferCode.LOCKED]: () => T("This transfer has a password. Open it with the link in the message you received."),
  [TransferCode.NO_CODE]: () => T("This transfer is not opened with a code."),
  [TransferCode.LINK_RESERVED]: () => T("This name is reserved. Please choose another one."),
  [TransferCode.PRIORITY]: () => T("Priorities are not used here."),
  [TransferCode.PROTECTION]: () => T("Transfers here need stronger protection."),
  [TransferCode.ADMIN_ROLE]: () => T("Only an administrator of the organization may do this."),
  [TransferCode.ONE_TIME_KEY]: () => T("This download link was used already. Please start the download again."),
  [TransferCode.SENDER_ONLY]: () => T("Only the sender can change this transfer."),
  [TransferCode.NO_FORWARDING]: () => T("The sender does not allow this transfer to be forwarded."),
  [TransferCode.BEING_CHECKED]: () => T("This file is being checked for malware. Please try again in a moment."),
  [TransferCode.HELD]: () => T("This file can’t be downloaded because of its check for malware."),
  [TransferCode.REMOVED]: () => T("This file was deleted because of its check for malware."),
  [TransferCode.NO_DOWNLOAD_ANYWAY]: () => T("Only the owner can download this file, and only if the organization allows it."),
  [TransferCode.DOWNLOAD_LIMIT]: () => T("This was downloaded as often as the sender allows."),
  [TransferCode.PINNING]: () => T("This transfer cannot be kept for longer."),
  [TransferCode.RECIPIENT_ONLY]: () => T("Only a recipient can do this."),
  [TransferCode.ENDED]: () => T("This transfer has ended. Its files are deleted."),
  [TransferCode.RECIPIENT_TAKEN]: () => T("This address is a recipient already."),
  [TransferCode.RESENT]: () => T("The link was sent to this recipient less than a minute ago."),
  [TransferCode.REQUEST_CLOSED]: () => T("The request is closed and takes no more documents."),
  [TransferCode.LATE]: () => T("The due time has passed, and nothing is taken any more."),
  [TransferCode.REQUESTS]: () => T("There are as many requests or people as there may be."),
  [TransferCode.TEMPLATE]: () => T("A template asks nobody. Make a request of it first."),
  [TransferCode.ITEM_TAKEN]: () => T("This document was handed in already."),
  [TransferCode.ITEM_STATE]: () => T("This document has changed meanwhile. Please look again."),
  [TransferCode.ITEM_USED]: () => T("Files were handed in for a document that you want to remove."),
  [TransferCode.REMINDED]: () => T("This person was reminded less than a day ago."),
  [TransferCode.TOO_MANY_LINKS]: () => T("Too many links were sent to this address today. Try again tomorrow."),
  [TransferCode.ASKED]: () => T("The sender was asked already. Please wait a day before you ask again."),
  [TransferCode.CONFIRMED]: () => T("This transfer has already been delivered."),
  [TransferCode.CLIENT_ID]: () => T("There is another file of this name already."),
  [TransferCode.OVERTAKEN]: () => T("The same file is being sent from another window."),
  [TransferCode.VANITY_LINK]: () => T("This name is already taken."),
  [TransferCode.LINK_QUARANTINED]: () => T("This name belonged to someone else until recently. Please choose another one."),
  [GeneralCode.BAD_RANGE]: () => T("The upload lost its place. It continues where the server left off."),
  [TransferCode.NEW_TRANSFERS]: () => T("The owner has received very many transfers in a short time. Please try again later."),
  [TransferCode.TOO_MANY_CODES]: () => T("Too many codes were sent for this link today. Please try again tomorrow."),
  [TransferCode.MAILBOX_BUSY]: () => T("This mailbox has no room for more unfinished transfers. Please try again later."),
  [TransferCode.CLIENT_TRANSFERS]: () => T("Many people in your network are sending files to this mailbox at the moment."),
  [TransferCode.CLIENT_BUSY]: () => T("Too many uploads from your network at once. Please wait a moment, then try again."),
  [TransferCode.MAILBOX_UNCONFIRMED]: () => T("This mailbox has no room for more unfinished transfers. Please try again later."),
  [TransferCode.CLIENT_UNCONFIRMED]: () => T("Too many uploads from your network at once. Please wait a moment, then try again."),
  [TransferCode.RESERVATION_UPLOADS]: () => T("Too many files are being sent at once. Please try again in a moment."),
  [TransferCode.CLIENT_UPLOADS]: () => T("Too many uploads from your network at once. Please wait a moment, then try again."),
  [TransferCode.SENDER_CODE]: () => T("This code is not right, or no longer valid."),
  [TransferCode.SENDER_CODES_USED]: () => T("No more codes can be sent for this delivery. Please start again."),
  [TransferCode.TOO_MANY_SENDER_CODES]: () => T("Too many codes were sent to this address today."),
  [TransferCode.MESSAGE_TO_MANY]: () => T("Without a file, a message goes to one recipient only."),
  [TransferCode.TOO_MANY_RECIPIENTS_TODAY]: () => T("You’ve reached today’s limit of recipients."),
  [TransferCode.UPLOADS]: () => T("Too many files are being sent at once. Please try again in a moment."),
  [TransferCode.STORAGE_FULL]: () => T("The server is out of storage right now. What has arrived is safe."),
  [TransferCode.DAMAGED]: () => T("The stored file is damaged. Ask the sender to send it again."),
  [TransferCode.STOPPING]: () => T("The service is down for maintenance and will be back soon."),
};

/** Sentences by HTTP status; 0 is a request without an answer. @type {Record<number, () => string>} */
const statusSentences = {
  0: () => T("The server could not be reached. Check the connection and try again."),
  400: () => T("Please check what you entered."),
  401: () => T("The session or link is no longer valid."),
  403: () => T("You don’t have permission to do this."),
  404: () => T("This doesn’t exist, or no longer does."),
  409: () => T("Someone changed this in the meantime. Please reload the page."),
  413: () => T("This is too large."),
  429: () => T("Too many attempts."),
  503: () => T("The service is down for maintenance and will be back soon."),
  509: () => T("Too many attempts."),
};

/**
 * Returns the sentence for an error of an API.
 * @param {boolean} fromIdentity whether the identity API answered, not the transfer API
 * @param {number} status HTTP status, or 0 without an answer @param {number} code @param {number} wait seconds from Retry-After
 * @param {number} [limit] the bound that the request exceeds, 0 when the answer does not name it
 */
export function errorSentence(fromIdentity, status, code, wait, limit = 0) {
  const own = fromIdentity ? identitySentences : transferSentences;
  const sentence = (own[code] ?? tokenSentences[code] ?? statusSentences[status]
    ?? (() => T("Something went wrong. Please try again later.")))();
  const later = wait > 1 && (status === 429 || status === 509) ? ` ${F("Please try again in %s.", duration(wait))}` : "";
  return named(sentence, limit, status === 413 || !fromIdentity && code === TransferCode.FILE_TOO_LARGE) + later;
}

/** Names the bound that something exceeds. @param {string} sentence @param {number} limit or 0 @param {boolean} [ofBytes] */
export const named = (sentence, limit, ofBytes = false) =>
  (limit ? `${sentence} ${F("The limit is %s.", ofBytes ? bytes(limit) : count(limit))}` : sentence);

/**
 * Returns the details of a 400 by member of the request: what is wrong with it, in the API's English.
 * @param {{details?: string[]} | null | undefined} error @returns {Record<string, string>}
 */
export function members(error) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const detail of error?.details ?? []) {
    const m = /^([A-Za-z_][\w.[\]-]*): (.+)$/.exec(detail);
    if (m) found[m[1]] ??= m[2];
  }
  return found;
}

/** The member of a request that an error is about, for errors without details. @type {Record<number, string>} */
const identityMembers = {
  [IdentityCode.HOST_IN_USE]: "hostname", [IdentityCode.HOSTNAME_REFUSED]: "hostname", [IdentityCode.FOREIGN_ADDRESS]: "address",
    [IdentityCode.ADDRESS_IN_USE]: "address",
};
/** @type {Record<number, string>} */
const transferMembers = {
  [TransferCode.VANITY_LINK]: "vanityLink", [TransferCode.LINK_QUARANTINED]: "vanityLink", [TransferCode.LINK_RESERVED]: "vanityLink",
  [TransferCode.ADDRESS_NOT_OWN]: "email", [TransferCode.FILTER_UNAVAILABLE]: "mimeTypeFilter",
};

/** What is right for a member. @type {Record<string, () => string>} */
const rules = {
  vanityLink: () => T("Use 3 to 64 letters, digits, dots, hyphens or underscores."),
  address: () => T("This is not an email address that can be used."),
  mimeTypeFilter: () => T("Each entry is a media type such as application/pdf or image/*."),
};

/**
 * Returns what is wrong with the members of a refused request, for people: by the name of the member, without indexes.
 * @param {any} error @returns {Record<string, string>}
 */
export function refusals(error) {
  const one = (error?.fromIdentity ? identityMembers : transferMembers)[error?.code];
  /** @type {Record<string, string>} */
  const found = one ? { [one]: error.message } : {};
  for (const name of Object.keys(members(error))) {
    const member = name.replace(/[.[].*$/, "");
    found[member] ??= error.status === 400 ? (rules[member] ?? (() => T("Please check this.")))() : error.message;
  }
  return found;
}
