export { bytesOf, type ReceivedEvent, readEvents } from './event-reader.ts';
export { type ApiResponse, type CheckResponse, checkResponse, responseChecker } from './response-checker.ts';
