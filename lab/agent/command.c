#define _GNU_SOURCE
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "protocol.h"

void command_clear(struct command* command) {
  memset(command, 0, sizeof *command);
  command->in = command->out = command->err = -1;
}

static void close_end(int* fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

static void close_pair(int pair[2]) {
  close_end(&pair[0]);
  close_end(&pair[1]);
}

/* In the child: never returns. A failed exec is told through `report`. */
static void become(char** argv, int in, int out, int err, int report) {
  sigset_t none;

  setsid();
  setpriority(PRIO_PROCESS, 0, 0); /* the agent itself runs above all commands */
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  dup2(in, 0);
  dup2(out, 1);
  dup2(err, 2);
  execvp(argv[0], argv);
  int why = errno;
  ssize_t told = write(report, &why, sizeof why);
  _exit(told == sizeof why ? 127 : 126);
}

static int split_arguments(char* text, size_t length, char** argv) {
  int count = 0;

  if (length == 0 || text[length - 1] != '\0') return EINVAL;
  for (size_t i = 0; i < length; i += strlen(text + i) + 1) {
    if (count == kMaxArguments) return E2BIG;
    argv[count++] = text + i;
  }
  argv[count] = NULL;
  return 0;
}

int command_start(struct command* command, char* arguments, size_t length) {
  static char* argv[kMaxArguments + 1];
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1}, report[2] = {-1, -1};
  int why = split_arguments(arguments, length, argv);

  if (why != 0) return why;
  if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC) ||
      pipe2(report, O_CLOEXEC) || (command->pid = fork()) < 0) {
    why = errno;
    command->pid = 0;
  } else if (command->pid == 0) {
    become(argv, in[0], out[1], err[1], report[1]);
  } else {
    close_end(&report[1]);
    if (read(report[0], &why, sizeof why) != sizeof why) why = 0;
  }
  if (why == 0) {
    command->in = in[1], in[1] = -1;
    command->out = out[0], out[0] = -1;
    command->err = err[0], err[0] = -1;
    fcntl(command->in, F_SETFL, O_NONBLOCK);
    fcntl(command->out, F_SETFL, O_NONBLOCK);
    fcntl(command->err, F_SETFL, O_NONBLOCK);
  } else {
    command->pid = 0; /* a child that could not exec is reaped as a stranger */
  }
  close_pair(in);
  close_pair(out);
  close_pair(err);
  close_pair(report);
  return why;
}

static long unread_bytes(int fd) {
  int bytes = 0;
  return fd >= 0 && ioctl(fd, FIONREAD, &bytes) == 0 ? bytes : 0;
}

void command_exited(struct command* command, int status) {
  command->exited = 1;
  command->status = status;
  command->out_left = unread_bytes(command->out);
  command->err_left = unread_bytes(command->err);
}

size_t command_read(int* fd, const int* exited, long* left, char* buffer, size_t size) {
  if (*fd < 0) return 0;
  if (*exited && (size_t)*left < size) size = (size_t)*left;
  ssize_t got = size > 0 ? read(*fd, buffer, size) : 0;
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
  if (got <= 0) {
    close_end(fd);
    return 0;
  }
  if (*exited) *left -= got;
  return (size_t)got;
}

void command_signal(const struct command* command, int signal) {
  if (command->pid > 0 && !command->exited) kill(-command->pid, signal);
}

void command_end(struct command* command) {
  command_signal(command, SIGKILL);
  close_end(&command->in);
  close_end(&command->out);
  close_end(&command->err);
  command_clear(command);
}
