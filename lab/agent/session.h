/* A port and the command that runs on it: lines in, frames out.
 *
 * Nothing here blocks. Everything is driven by session_pump(), which moves what
 * can be moved: it is called after every event of the session, and it reads each
 * descriptor until that has nothing more (the events are edge-triggered: a port
 * without a host client would otherwise report its hang-up for ever).
 */
#ifndef LAB_AGENT_SESSION_H
#define LAB_AGENT_SESSION_H

#include <stddef.h>

#include "command.h"
#include "protocol.h"

struct session {
  int port;
  int epoll;
  int open; /* HELLO was seen and the command has not ended */
  struct command command;

  char line[kLineBytes]; /* what has arrived of the current line */
  size_t line_length;
  int line_too_long;

  char input[kLineBytes]; /* standard input that is not written yet */
  size_t input_length;
  size_t input_offset;
  int input_ended;

  char frame[kFrameHeaderBytes + kPayloadBytes]; /* being sent */
  size_t frame_length;
  size_t frame_offset;

  int more; /* the last pump stopped at its bound, not for want of work */

  int away; /* checks in a row that found no host client */

  /* Small answers that wait for the frame's place, 0 when there is none. */
  char pong_due;
  char taken_due;
  int failed_due; /* errno of a start that failed */
};

void session_init(struct session* session, int port, int epoll);
void session_pump(struct session* session);

/* To be called every kCheckEveryMs while a session is open: ends it when the host
 * client has been away for kAwayChecks calls in a row. One look is not enough:
 * the driver tells of data and of clients coming and going by different ways, so
 * a new client's first words may be here before the news that it came. */
void session_check_host(struct session* session);

#endif
