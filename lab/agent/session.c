#define _GNU_SOURCE
#include "session.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base64.h"

void session_init(struct session* session, int port, int epoll) {
  memset(session, 0, sizeof *session);
  session->port = port;
  session->epoll = epoll;
  command_clear(&session->command);
}

static void end_session(struct session* session) {
  command_end(&session->command);
  session->input_length = session->input_offset = 0;
  session->input_ended = 0;
  session->pong_due = session->taken_due = 0;
  session->failed_due = 0;
  session->open = 0;
}

void session_check_host(struct session* session) {
  struct pollfd port = {.fd = session->port, .events = POLLIN};

  if (poll(&port, 1, 0) < 1 || !(port.revents & POLLHUP)) {
    session->away = 0;
  } else if (++session->away == kAwayChecks) {
    end_session(session);
    session->frame_length = session->frame_offset = 0;
  }
}

static void put_frame(struct session* session, char type, const char* payload, size_t length) {
  session->frame[0] = type;
  for (int i = 0; i < 4; i++) session->frame[1 + i] = (char)(length >> (8 * i) & 0xff);
  if (payload != NULL) memcpy(session->frame + kFrameHeaderBytes, payload, length);
  session->frame_length = kFrameHeaderBytes + length;
  session->frame_offset = 0;
}

static void watch(struct session* session, int fd, unsigned events) {
  struct epoll_event event = {.events = events | EPOLLET, .data.ptr = session};
  epoll_ctl(session->epoll, EPOLL_CTL_ADD, fd, &event);
}

static void run(struct session* session, char* text) {
  long length = base64_decode_in_place(text);

  if (session->command.pid != 0) return; /* one command per HELLO */
  session->failed_due =
      length > 0 ? command_start(&session->command, text, (size_t)length) : EINVAL;
  if (session->failed_due != 0) return;
  watch(session, session->command.in, EPOLLOUT);
  watch(session, session->command.out, EPOLLIN);
  watch(session, session->command.err, EPOLLIN);
}

static void take_input(struct session* session, char* text) {
  long length = base64_decode_in_place(text);

  if (length < 0 || session->input_length > 0) return;
  memcpy(session->input, text, (size_t)length);
  session->input_length = (size_t)length;
  session->input_offset = 0;
}

static void obey(struct session* session, char* line) {
  if (strncmp(line, "HELLO ", 6) == 0) {
    end_session(session);
    session->open = 1;
    session->away = 0;
    put_frame(session, kFrameHello, line + 6, strnlen(line + 6, 64));
  } else if (strcmp(line, "PING") == 0) {
    session->pong_due = session->open ? kFramePong : kFrameNoSession;
  } else if (!session->open) {
    return;
  } else if (strncmp(line, "RUN ", 4) == 0) {
    run(session, line + 4);
  } else if (strncmp(line, "IN ", 3) == 0) {
    take_input(session, line + 3);
  } else if (strcmp(line, "EOF") == 0) {
    session->input_ended = 1;
  } else if (strncmp(line, "KILL ", 5) == 0) {
    command_signal(&session->command, atoi(line + 5));
  }
}

static void take_byte(struct session* session, char byte) {
  if (byte != '\n') {
    if (session->line_length < sizeof session->line - 1)
      session->line[session->line_length++] = byte;
    else
      session->line_too_long = 1;
    return;
  }
  session->line[session->line_length] = '\0';
  session->line_length = 0;
  if (!session->line_too_long) obey(session, session->line);
  session->line_too_long = 0;
}

static void read_port(struct session* session) {
  char buffer[4096];
  ssize_t got;

  while ((got = read(session->port, buffer, sizeof buffer)) > 0)
    for (ssize_t i = 0; i < got; i++) take_byte(session, buffer[i]);
}

static void write_input(struct session* session) {
  struct command* command = &session->command;

  while (session->input_length > 0) {
    size_t left = session->input_length - session->input_offset;
    ssize_t put = -1;
    errno = EPIPE;
    if (command->in >= 0 && left > 0)
      put = write(command->in, session->input + session->input_offset, left);
    if (put < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (put > 0) session->input_offset += (size_t)put;
    if (put > 0 && session->input_offset < session->input_length) continue;
    session->input_length = session->input_offset = 0;
    session->taken_due = kFrameTaken;
  }
  if (session->input_ended && command->in >= 0) {
    close(command->in);
    command->in = -1;
  }
}

static void put_exit(struct session* session) {
  char text[32];
  int status = session->command.status;
  int length = WIFSIGNALED(status) ? snprintf(text, sizeof text, "signal %d", WTERMSIG(status))
                                   : snprintf(text, sizeof text, "exit %d", WEXITSTATUS(status));

  end_session(session);
  put_frame(session, kFrameExit, text, (size_t)length);
}

/* Puts what is next to be said into the frame's place. Returns 0 if nothing is. */
static int next_frame(struct session* session) {
  struct command* command = &session->command;
  char* payload = session->frame + kFrameHeaderBytes;
  size_t length;

  if (session->pong_due) {
    put_frame(session, session->pong_due, NULL, 0);
    session->pong_due = 0;
  } else if (session->failed_due) {
    const char* reason = strerror(session->failed_due);
    end_session(session);
    put_frame(session, kFrameFailed, reason, strlen(reason));
  } else if (session->taken_due) {
    put_frame(session, session->taken_due, NULL, 0);
    session->taken_due = 0;
  } else if (command->pid == 0) {
    return 0;
  } else if ((length = command_read(&command->out, &command->exited, &command->out_left, payload,
                                    kPayloadBytes)) > 0) {
    put_frame(session, kFrameStdout, NULL, length);
  } else if ((length = command_read(&command->err, &command->exited, &command->err_left, payload,
                                    kPayloadBytes)) > 0) {
    put_frame(session, kFrameStderr, NULL, length);
  } else if (command->exited) {
    put_exit(session);
  } else {
    return 0;
  }
  return 1;
}

void session_pump(struct session* session) {
  int frames = 0;

  read_port(session);
  write_input(session);
  session->more = 0;
  while (session->frame_length > 0 || next_frame(session)) {
    ssize_t put = write(session->port, session->frame + session->frame_offset,
                        session->frame_length - session->frame_offset);
    if (put <= 0) return; /* full; its event brings us back */
    session->frame_offset += (size_t)put;
    if (session->frame_offset < session->frame_length) continue;
    session->frame_length = session->frame_offset = 0;
    if (++frames == kFramesPerPump) {
      session->more = 1; /* the other sessions come first */
      return;
    }
  }
}
