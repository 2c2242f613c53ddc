export const WorkerMessageHandler: any;
