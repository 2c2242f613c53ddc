export const WorkerMessageHandler: unknown;
