/* The words between a lab command on the host and the agent in its guest.
 *
 * One virtio-serial port carries one command at a time; many ports carry many.
 * No network and no host daemon is involved, so a command gets through while
 * the guest's network is broken and while another command is stuck.
 *
 * Host to guest: text lines, so that a client that starts after another one was
 * killed in the middle of a line is understood again after one newline.
 *   HELLO nonce        start over: what ran for an earlier client is killed
 *   RUN base64         argument vector, each argument closed by a NUL
 *   IN base64          its standard input; the next one only after kFrameTaken
 *   EOF                end of its standard input
 *   KILL number        a signal to the command's process group
 *   PING               still there, and still this session?
 * Guest to host: frames of type (1 byte), length (4 bytes, little endian) and
 * payload. A client drops everything before the HELLO frame with its nonce.
 * The agent always reads its port, so a signal or a HELLO is never stuck behind
 * input that the command does not want.
 */
#ifndef LAB_AGENT_PROTOCOL_H
#define LAB_AGENT_PROTOCOL_H

enum {
  kFrameHello = 'H', /* the nonce */
  kFrameStdout = 'O',
  kFrameStderr = 'E',
  kFrameExit = 'X',   /* "exit N" or "signal N": the last frame */
  kFrameFailed = 'F', /* the command could not be started: why */
  kFrameTaken = 'T',  /* the last IN was written, or the command wants no more */
  kFramePong = 'P',
  kFrameNoSession = 'N' /* not this session: the guest was restarted */
};

enum {
  kFrameHeaderBytes = 5,
  kPayloadBytes = 16384,
  kLineBytes = 65536, /* longest line; 48 KiB of arguments or input */
  kFramesPerPump = 32,
  kCheckEveryMs = 200,
  kAwayChecks = 3,
  kMaxPorts = 32,
  kMaxArguments = 4096
};

#endif
