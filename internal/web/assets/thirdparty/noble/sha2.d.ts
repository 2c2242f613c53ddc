export const sha256: { create(): { update(data: Uint8Array): void; digest(): Uint8Array } };
