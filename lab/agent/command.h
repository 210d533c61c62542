/* One process of a session: started with its own session id and three pipes.
 *
 * The process is the leader of its group, so a signal reaches what it started.
 * What it leaves running in the background is left alone.
 */
#ifndef LAB_AGENT_COMMAND_H
#define LAB_AGENT_COMMAND_H

#include <stddef.h>
#include <sys/types.h>

struct command {
  pid_t pid; /* 0: none was started */
  int in;    /* our ends of the pipes, -1 when closed */
  int out;
  int err;
  int exited;
  int status;    /* as wait gives it, once exited */
  long out_left; /* after the exit: bytes that are still its own, not those of
                    a background process that shares the pipe */
  long err_left;
};

void command_clear(struct command* command);

/* Starts the NUL-separated arguments. Returns 0, or an errno value. */
int command_start(struct command* command, char* arguments, size_t length);

void command_exited(struct command* command, int status);

/* Reads at most `size` bytes of *fd; closes it at its end. 0: nothing now. */
size_t command_read(int* fd, const int* exited, long* left, char* buffer, size_t size);

/* Sends a signal to the whole group. */
void command_signal(const struct command* command, int signal);

/* Kills the group and closes the pipes. */
void command_end(struct command* command);

#endif
